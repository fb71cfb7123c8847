//! The primitives of the front page: for each, the fastest kernel of ours and the library's fastest function.

use crate::ladder;
use crate::table::{grid, size, times_as_fast};
use crate::{Ratio, Report, Row, chart, time};

/// A primitive, and the problem by which it is shown.
struct Primitive {
    name: &'static str,
    family: &'static str,
    dtype: &'static str,
    keys: &'static str,
    task: &'static str,
    /// Elements, or the side of square matrices.
    n: u64,
    /// The library's function that reports compare with. If a second one was tuned for the shape, the faster counts.
    function: &'static str,
}

impl Primitive {
    const fn new(name: &'static str, family: &'static str, function: &'static str) -> Self {
        Self { name, family, dtype: "u32", keys: "uniform", task: "", n: 1 << 28, function }
    }

    const fn product(name: &'static str, dtype: &'static str, n: u64, function: &'static str) -> Self {
        Self { dtype, n, ..Self::new(name, "matmul", function) }
    }

    fn is_shown_by(&self, row: &Row) -> bool {
        row.family == self.family
            && row.dtype == self.dtype
            && row.keys == self.keys
            && row.task() == self.task
            && row.n == self.n
            && row.m.is_none_or(|m| m == self.n && row.k == row.m)
            && row.over_peer.as_ref().is_some_and(|ratio| ratio.of == self.function)
    }
}

/// One row for each primitive, those that we lose included. Sizes are the largest that every primitive was measured at.
const PRIMITIVES: &[Primitive] = &[
    Primitive { keys: "small", task: "sum", ..Primitive::new("reduction, sum", "reduce", "cub_reduce_sum_u32") },
    Primitive { task: "sum inclusive", ..Primitive::new("scan, inclusive sum", "scan", "cub_inclusive_sum_u32") },
    Primitive {
        dtype: "u8",
        task: "bins=256",
        ..Primitive::new("histogram, 256 bins", "histogram", "cub_histogram_u8")
    },
    Primitive::new("radix sort, keys", "radix", "cub_radix_sort_keys_u32"),
    Primitive { task: "values", ..Primitive::new("radix sort, pairs", "radix", "cub_radix_sort_pairs_u32") },
    Primitive::new("merge sort, keys", "merge", "cub_merge_sort_keys_u32"),
    Primitive { task: "run-length=2", ..Primitive::new("unique, runs of 2", "unique", "cub_unique_u32") },
    Primitive {
        task: "uniform=1..64",
        n: 1 << 24,
        ..Primitive::new("sort of segments, 1 to 64 keys", "segmented-sort", "cub_segmented_sort_u32")
    },
    Primitive::product("matrix product, fp32", "f32", 8192, "cublas_sgemm_pedantic"),
    Primitive::product("matrix product, TF32", "f32", 8192, "cublas_sgemm_tf32"),
    Primitive::product("matrix product, bf16", "bf16", 8192, "cublas_gemm_bf16_bf16"),
    Primitive::product("matrix product, fp64", "f64", 4096, "cublas_dgemm"),
];

/// A primitive that was measured next to the library.
struct Shown<'r> {
    primitive: &'static Primitive,
    ours: &'r Row,
    theirs: &'r Row,
    ratio: &'r Ratio,
}

/// The primitives that were measured: of the first report that has one, the fastest row.
fn shown<'r>(reports: &[&'r Report]) -> Vec<Shown<'r>> {
    let of = |primitive: &'static Primitive| {
        reports.iter().find_map(|&report| {
            let rows = ladder::measured(report).filter(|row| primitive.is_shown_by(row));
            let ours =
                rows.min_by(|x, y| x.call_ms().unwrap_or(f64::MAX).total_cmp(&y.call_ms().unwrap_or(f64::MAX)))?;
            let ratio = ours.over_fastest()?;
            Some(Shown { primitive, ours, theirs: ladder::library(report, ours, ratio)?, ratio })
        })
    };
    PRIMITIVES.iter().filter_map(of).collect()
}

/// A line for each primitive: the ratio, which a phone shows without scrolling, and both times.
pub fn table(reports: &[&Report]) -> String {
    let cells = |shown: &Shown| {
        let Shown { primitive, ours, theirs, ratio } = shown;
        // A narrow screen does not part a number from its unit.
        let took = |row: &Row| row.call_ms().map_or_else(String::new, |ms| time(ms).replace(' ', "\u{a0}"));
        vec![
            primitive.name.into(),
            format!("{} {}", size(ours), primitive.dtype),
            format!("**{}**", times_as_fast(ratio.call)),
            format!("{}, {}", took(ours), ours.name),
            format!("{}, `{}`", took(theirs), theirs.name),
        ]
    };
    let lines: Vec<_> = shown(reports).iter().map(cells).collect();
    grid(&["primitive", "n, type", "ratio", "ours", "library"], &lines)
}

/// A bar for each primitive: our speed over the library's. `None` if none was measured.
pub fn plot(reports: &[&Report]) -> Option<String> {
    let bars: Vec<_> = shown(reports).iter().map(|shown| (shown.primitive.name, shown.ratio.call)).collect();
    let device = &reports.first()?.device.name;
    let title = format!("Speedup over CUB and cuBLAS, {device} (above 1, ours is faster)");
    (!bars.is_empty()).then(|| chart::bars(&title, &bars, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{sample, sample_with_tuned};

    /// The sample, its larger sort at the size of the front page.
    fn at_the_size(mut report: Report) -> Report {
        report.results.iter_mut().filter(|row| row.n == 1 << 20).for_each(|row| row.n = 1 << 28);
        report
    }

    #[test]
    fn a_primitive_has_the_fastest_rung_and_the_fastest_function() {
        let (usual, tuned) = (at_the_size(sample()), at_the_size(sample_with_tuned()));
        let row = "| radix sort, keys | 2<sup>28</sup> u32 | **2.00** | 50.0\u{a0}µs, msd-buckets | \
                   100.0\u{a0}µs, `cub_radix_sort_keys_u32` |";
        let text = table(&[&usual]);
        assert_eq!(text.lines().skip(2).collect::<Vec<_>>(), [row]);
        let text = table(&[&tuned, &usual]);
        assert!(text.contains("| **1.82** |") && text.contains("| 90.9\u{a0}µs, `tuned_best` |"), "{text}");
        // Nothing else is of that size.
        assert_eq!(table(&[&sample()]).lines().count(), 2);
    }

    #[test]
    fn a_bar_names_its_primitive_and_its_ratio() {
        let svg = plot(&[&at_the_size(sample())]).unwrap();
        assert!(svg.contains("radix sort, keys") && svg.contains("2.00") && svg.contains("NVIDIA H200"), "{svg}");
        assert!(plot(&[&sample()]).is_none() && plot(&[]).is_none());
    }
}
