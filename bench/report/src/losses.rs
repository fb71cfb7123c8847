//! The cases in which the library is faster than every kernel of ours that was measured.

use crate::ladder::{library, measured};
use crate::table::{grid, size, times_as_fast};
use crate::{Case, Ratio, Report, Row, Times, time};
use std::collections::{BTreeMap, BTreeSet};

/// The text if there are no measurements.
const NO_RESULTS: &str = "No results are recorded yet: `rungs bench --peers --save FILE` on a GPU makes some.";

/// Our fastest kernel of a case: the first report that has the best ratio.
#[derive(Clone, Copy)]
struct Fastest<'r> {
    report: &'r Report,
    row: &'r Row,
}

/// The problem, and the library's function that reports compare with: a product in TF32 is not one in fp32.
type Key<'r> = (&'r str, &'r str, String, &'r str, (u64, Option<u64>, Option<u64>), &'r str);

impl<'r> Fastest<'r> {
    /// The library's fastest function by single calls, or by calls in a row.
    fn function(&self, ratio: impl Fn(&Ratio) -> Option<f64>) -> Option<(&'r Ratio, f64)> {
        let functions = self.row.over_library().filter_map(|of| Some((of, ratio(of)?)));
        functions.min_by(|x, y| x.1.total_cmp(&y.1))
    }

    fn single(&self) -> Option<(&'r Ratio, f64)> {
        self.function(|ratio| Some(ratio.call))
    }

    fn in_a_row(&self) -> Option<(&'r Ratio, f64)> {
        self.function(|ratio| ratio.back_to_back)
    }

    fn cells(&self, (ratio, value): (&'r Ratio, f64), times: impl Fn(&Row) -> Option<Times>) -> Vec<String> {
        let took = |row: &Row| times(row).map_or_else(String::new, |times| time(times.median_ms));
        let theirs = library(self.report, self.row, ratio).map_or_else(String::new, took);
        vec![
            [self.row.family.as_str(), &self.row.task()].join(" ").trim().to_string(),
            self.row.keys.clone(),
            size(self.row),
            self.row.dtype.clone(),
            format!("{}, {}", took(self.row), self.row.name),
            format!("{theirs}, `{}`", ratio.of),
            times_as_fast(value),
        ]
    }
}

/// Every case that was measured next to a library, with our fastest kernel.
fn cases<'r>(reports: &[&'r Report]) -> BTreeMap<Key<'r>, Fastest<'r>> {
    let mut cases = BTreeMap::<Key, Fastest>::new();
    for &report in reports {
        for row in measured(report) {
            let (Some(function), Some(ratio)) = (row.over_library().next(), row.over_fastest()) else { continue };
            let Case { family, size, dtype, keys, .. } = row.case();
            let here = Fastest { report, row };
            let best = cases.entry((family, dtype, row.task(), keys, size, &function.of)).or_insert(here);
            if best.row.over_fastest().is_some_and(|other| ratio.call > other.call) {
                *best = here;
            }
        }
    }
    cases
}

/// Place and time of the reports, and in how many cases the library is ahead. `all` is the page that lists them.
pub fn in_short(reports: &[&Report], all: &str) -> String {
    let devices: BTreeSet<&str> = reports.iter().map(|report| report.device.name.as_str()).collect();
    let days: BTreeSet<&str> = reports.iter().map(|report| report.date.split('T').next().unwrap_or_default()).collect();
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return NO_RESULTS.into() };
    let days = if first == last { first.to_string() } else { format!("{first} to {last}") };
    let cases = cases(reports);
    let behind = cases.values().filter(|case| case.single().is_some_and(|(_, ratio)| ratio < 1.0)).count();
    format!(
        "{}, {days}; medians of single calls. The library is ahead in {behind} of the {} cases that we measured: \
         [all losses]({all}).",
        devices.into_iter().collect::<Vec<_>>().join(", "),
        cases.len()
    )
}

/// Every case in which the library is ahead: a table by single calls, and one of those that it leads only in a row.
pub fn tables(reports: &[&Report]) -> String {
    let (mut single, mut in_a_row) = (vec![], vec![]);
    for case in cases(reports).values() {
        let row = case.in_a_row();
        match case.single() {
            Some(slower) if slower.1 < 1.0 => {
                let mut cells = case.cells(slower, |row| row.call);
                cells.push(row.map_or("–".into(), |(_, ratio)| times_as_fast(ratio)));
                single.push(cells);
            }
            _ => in_a_row
                .extend(row.filter(|(_, ratio)| *ratio < 1.0).map(|slower| case.cells(slower, |row| row.back_to_back))),
        }
    }
    let head = ["primitive", "input", "n", "type", "ours", "library", "ratio", "ratio in a row"];
    format!(
        "## One call at a time\n\n{}\n## Only in calls in a row\n\n{}",
        grid(&head, &single),
        grid(&head[..7], &in_a_row)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{sample, sample_of_groups, sample_with_tuned};

    /// The sample with these ratios, by single calls and in a row, at its smaller size, and others at the larger.
    fn with(mut report: Report, small: (f64, f64), large: (f64, f64)) -> Report {
        for row in &mut report.results {
            for ratio in [&mut row.over_peer, &mut row.over_tuned].into_iter().flatten() {
                let (call, back_to_back) = if row.n == 1 << 16 { small } else { large };
                (ratio.call, ratio.back_to_back) = (call, Some(back_to_back));
            }
        }
        report
    }

    #[test]
    fn losses_are_counted_and_listed() {
        assert!(in_short(&[], "all.md").contains("No results are recorded"));
        let none = in_short(&[&sample()], "all.md");
        assert!(none.starts_with("NVIDIA H200, 2026-11-21; ") && none.contains("0 of the 2 cases"), "{none}");
        assert!(!tables(&[&sample()]).contains("radix"));
        let report = with(sample(), (0.5, 0.4), (1.2, 0.9));
        assert!(in_short(&[&report], "all.md").ends_with("1 of the 2 cases that we measured: [all losses](all.md)."));
        let text = tables(&[&report]);
        let (single, in_a_row) = text.split_once("## Only").unwrap();
        let row = "| radix | uniform | 2<sup>16</sup> | u32 | 40.0 µs, lsd-blocks | 20.0 µs, \
                   `cub_radix_sort_keys_u32` | 0.50 | 0.40 |";
        assert!(single.contains(row) && single.matches("radix |").count() == 1, "{text}");
        let row = "| radix | uniform | 2<sup>20</sup> | u32 | 40.0 µs, msd-buckets | 80.0 µs, \
                   `cub_radix_sort_keys_u32` | 0.90 |";
        assert!(in_a_row.contains(row) && in_a_row.matches("radix |").count() == 1, "{text}");
    }

    #[test]
    fn the_faster_of_two_functions_counts() {
        let mut report = with(sample_with_tuned(), (1.04, 1.0), (1.04, 1.0));
        report.results.iter_mut().flat_map(|row| &mut row.over_tuned).for_each(|ratio| ratio.call = 0.95);
        assert!(in_short(&[&report], "").contains("2 of the 2"));
        assert!(tables(&[&report]).contains("`tuned_best` | 0.95 | 1.00 |"));
        report.results.iter_mut().for_each(|row| row.over_tuned = None);
        assert!(in_short(&[&report], "").contains("0 of the 2"));
    }

    #[test]
    fn the_fastest_kernel_counts_beside_the_same_function() {
        let mut report = with(sample(), (0.5, 0.4), (1.2, 1.2));
        // The number of columns changes how a sort works, not its result.
        let slower = report.results.iter().find(|row| row.over_peer.is_some()).cloned().unwrap();
        let mut faster = Row { parameters: "columns=8".into(), ..slower };
        faster.over_peer.as_mut().unwrap().call = 3.0;
        report.results.push(faster);
        assert!(in_short(&[&report], "").contains("0 of the 2"));
        report.results.last_mut().unwrap().over_peer.as_mut().unwrap().of = "other".into();
        assert!(in_short(&[&report], "").contains("1 of the 3"));
        // Several devices are no case.
        let groups = Report { results: [report.results.clone(), sample_of_groups().results].concat(), ..sample() };
        assert_eq!(in_short(&[&groups], ""), in_short(&[&report], ""));
    }
}
