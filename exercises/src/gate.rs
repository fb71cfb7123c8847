//! Gates: how much an answer may cost, by the simulator's counters.

use simt::sim::stats::{Instruction, Statistics};

/// A limit on a counter.
pub struct Gate {
    /// The counter, as the reader sees it: "barriers per block".
    pub what: &'static str,
    /// The size of the input that is counted.
    pub n: u32,
    /// The counter; none where the answer does nothing that it counts.
    pub counter: fn(&Statistics) -> Option<f64>,
    /// The limit.
    pub bound: Bound,
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

/// A gate's counter in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The counter.
    pub what: &'static str,
    /// What was counted; none where there was nothing to count.
    pub value: Option<f64>,
    /// The limit.
    pub bound: Bound,
}

impl Measured {
    /// Whether it was measured and keeps to the limit.
    pub fn passes(&self) -> bool {
        self.value.is_some_and(|value| match self.bound {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
        })
    }

    /// In words, with the limit.
    pub fn text(&self) -> String {
        let bound = match self.bound {
            Bound::AtMost(most) => format!("at most {most}"),
            Bound::AtLeast(least) => format!("at least {least}"),
        };
        match self.value {
            Some(value) => format!("{}: {} ({bound})", self.what, (value * 100.0).round() / 100.0),
            None => format!("{}: nothing was counted, so nothing is proved ({bound})", self.what),
        }
    }
}

/// Bytes that lanes asked for, per sector of 32 bytes that global memory moved, of the instructions that are asked for.
pub fn bytes_per_sector(statistics: &Statistics, which: fn(Instruction) -> bool) -> Option<f64> {
    let counts = statistics.sum(which);
    (counts.sectors > 0).then(|| counts.bytes as f64 / counts.sectors as f64)
}

/// Wavefronts of shared memory, beyond those that the same requests need, per request.
pub fn wavefront_excess(statistics: &Statistics) -> Option<f64> {
    let counts = statistics.sum(Instruction::is_shared);
    (counts.requests > 0).then(|| counts.conflicts() as f64 / counts.requests as f64)
}

/// Barriers per block, on average over all launches.
pub fn barriers_per_block(statistics: &Statistics) -> Option<f64> {
    let blocks: u64 = statistics.launches.iter().map(|l| l.grid.0.iter().map(|&d| u64::from(d)).product::<u64>()).sum();
    let barriers = statistics.sum(|i| i == Instruction::Barrier).barriers;
    (blocks > 0 && barriers > 0).then(|| barriers as f64 / blocks as f64)
}

/// Lanes that did an atomic operation on global memory.
pub fn global_atomics(statistics: &Statistics) -> Option<f64> {
    let lanes = statistics.sum(|i| i == Instruction::GlobalAtomic).lanes;
    (lanes > 0).then_some(lanes as f64)
}

/// Launches.
pub fn launches(statistics: &Statistics) -> Option<f64> {
    (!statistics.launches.is_empty()).then_some(statistics.launches.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_was_not_measured_passes_no_gate() {
        for bound in [Bound::AtMost(4.0), Bound::AtLeast(0.0)] {
            let measured = Measured { what: "sectors", value: None, bound };
            assert!(!measured.passes());
            assert!(measured.text().contains("nothing was counted"));
            assert!(Measured { value: Some(4.0), ..measured }.passes());
        }
        assert!(!Measured { what: "", value: Some(4.1), bound: Bound::AtMost(4.0) }.passes());
        assert!(!Measured { what: "", value: Some(3.9), bound: Bound::AtLeast(4.0) }.passes());
    }

    #[test]
    fn nothing_is_counted_of_no_launches() {
        let none = Statistics::default();
        assert_eq!(bytes_per_sector(&none, Instruction::is_global), None);
        let all = [wavefront_excess, barriers_per_block, global_atomics, launches];
        assert!(all.iter().all(|counter| counter(&none).is_none()));
    }
}
