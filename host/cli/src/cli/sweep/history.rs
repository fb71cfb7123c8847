//! Figures that the sources print, and figures of their own code on an H200, as docs/sources.md quotes them.

/// A line of S0's table: odd-even transposition on a GPU and on one core of the host.
pub(super) struct BubbleRow {
    /// The GPU.
    pub gpu: &'static str,
    /// The host's processor.
    pub cpu: &'static str,
    /// Keys.
    pub n: u64,
    /// Milliseconds on the GPU.
    pub gpu_ms: f64,
    /// Milliseconds on the host, if the source has them.
    pub host_ms: Option<f64>,
}

impl BubbleRow {
    /// The time on the host divided by the time on the GPU.
    pub(super) fn ratio(&self) -> Option<f64> {
        self.host_ms.map(|host| host / self.gpu_ms)
    }
}

const fn bubble(gpu: &'static str, cpu: &'static str, n: u64, gpu_ms: f64, host_ms: f64) -> BubbleRow {
    BubbleRow { gpu, cpu, n, gpu_ms, host_ms: Some(host_ms) }
}

const fn bubble_h200(n: u64, gpu_ms: f64) -> BubbleRow {
    BubbleRow { gpu: "H200", cpu: "-", n, gpu_ms, host_ms: None }
}

/// S0 · "CUDA 程式設計 (9): 泡泡龍 part 2" (2008), and its own code on an H200 (nvcc 13.0).
pub(super) static BUBBLE: &[BubbleRow] = &[
    bubble("8800 GTX Ultra", "Q6600", 131_072, 1330.0, 22_940.0),
    bubble("8800 GTX Ultra", "Q6600", 262_144, 5330.0, 91_850.0),
    bubble("GTX 280", "Q9400", 262_144, 2920.0, 84_070.0),
    bubble("GTX 280", "Q9400", 524_288, 11_470.0, 348_880.0),
    bubble("C1060", "Q9300", 131_072, 830.0, 22_450.0),
    bubble("C1060", "Q9300", 262_144, 2900.0, 90_260.0),
    bubble_h200(131_072, 15.7),
    bubble_h200(262_144, 45.4),
    bubble_h200(524_288, 184.2),
];

/// R1 of S0: the time of a compare-exchange on its host divided by that on an SM of its GPU.
pub(super) const BUBBLE_R1: f64 = 1.9;

/// A figure of S1, "CUDA编程(六) 进一步并行": the sum of the cubes of 2²⁰ values on a GT 640.
pub(super) struct CubesRow {
    /// Blocks.
    pub blocks: u32,
    /// Threads per block.
    pub threads: u32,
    /// Clocks from the earliest start to the latest end, as it prints them.
    pub clocks: u64,
}

/// Clock rate of S1's GT 640 in Hz.
pub(super) const CUBES_HZ: f64 = 797e6;

/// Values that S1 adds up.
pub(super) const CUBES_VALUES: u64 = 1 << 20;

/// S1 · "CUDA编程(六) 进一步并行".
pub(super) static CUBES: &[CubesRow] = &[
    CubesRow { blocks: 1, threads: 256, clocks: 3_488_971 },
    CubesRow { blocks: 32, threads: 256, clocks: 133_133 },
    CubesRow { blocks: 128, threads: 1024, clocks: 153_292 },
];

/// S1's own program on an H200: the clocks that it prints, and the kernel's time between events in milliseconds.
pub(super) const CUBES_H200: (u64, f64) = (24_839_510, 0.0258);

/// Keys that S4 sorts.
pub(super) const RADIX_KEYS: u64 = 4096;

/// The numbers of columns in S4's table.
pub(super) static RADIX_COLUMNS: &[u32] = &[8, 16, 32, 64, 128];

/// S4 · "cuda练习(三):使用gpu进行排序": seconds of `std::sort`, by columns (it does not depend on them, but was timed each
/// time).
pub(super) static RADIX_STD: [f64; 5] = [0.000508, 0.000507, 0.000507, 0.000507, 0.000508];

/// A line of S4's table.
pub(super) struct RadixRow {
    /// The rung that does the same.
    pub rung: &'static str,
    /// S4's name for it.
    pub name: &'static str,
    /// Seconds, by [`RADIX_COLUMNS`].
    pub seconds: [f64; 5],
    /// Seconds of its own code on an H200, if measured.
    pub h200: [Option<f64>; 5],
}

const fn h200(eight: f64, thirty_two: f64, last: f64) -> [Option<f64>; 5] {
    [Some(eight), None, Some(thirty_two), None, Some(last)]
}

/// S4's four merges.
pub(super) static RADIX: &[RadixRow] = &[
    RadixRow {
        rung: "columns-one-thread",
        name: "1: one thread",
        seconds: [0.001352, 0.001272, 0.001692, 0.002857, 0.006376],
        h200: h200(0.00138, 0.00126, 0.00645),
    },
    RadixRow {
        rung: "columns-atomic-min",
        name: "2: atomicMin",
        seconds: [0.001223, 0.000884, 0.001078, 0.001001, 0.000941],
        h200: h200(0.00110, 0.00051, 0.00035),
    },
    RadixRow {
        rung: "columns-tree",
        name: "3: pairwise",
        seconds: [0.003408, 0.003782, 0.004312, 0.004930, 0.005784],
        h200: h200(0.00264, 0.00286, 0.00358),
    },
    RadixRow {
        rung: "columns-groups",
        name: "4: groups of 8",
        seconds: [0.001868, 0.001484, 0.001300, 0.001242, 0.001242],
        h200: h200(0.00136, 0.00075, 0.00064),
    },
];

/// Seconds of `std::sort` on the CPU next to the H200.
pub(super) const RADIX_STD_H200: f64 = 0.00016;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_that_s0_prints() {
        let printed = [17.2, 17.2, 28.8, 30.4, 27.0, 31.1];
        for (row, printed) in BUBBLE.iter().zip(printed) {
            let ratio = row.ratio().unwrap();
            // S0 cuts where it does not round.
            assert!((ratio - printed).abs() < 0.1, "{} {}: {ratio} and {printed}", row.gpu, row.n);
        }
    }

    #[test]
    fn clocks_are_the_times_and_rates_that_s1_prints() {
        assert_eq!(format!("{:.1}", CUBES[0].clocks as f64 / CUBES[1].clocks as f64), "26.2");
        let seconds = CUBES[1].clocks as f64 / CUBES_HZ;
        let gib = CUBES_VALUES as f64 * 4.0 / seconds / (1u64 << 30) as f64;
        assert_eq!(format!("{gib:.1}"), "23.4", "it counts a gigabyte as 2^30");
    }

    #[test]
    fn every_line_of_s4_has_its_rung() {
        let family = crate::algorithms::family("radix").unwrap();
        assert_eq!(RADIX.len(), 4);
        RADIX.iter().for_each(|row| assert!(family.rung(row.rung).is_ok(), "{}", row.rung));
    }
}
