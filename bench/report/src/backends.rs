//! The times of one rung by the PTX of two compilers.

use crate::table::{grid, origin_by_day, size, times_as_fast};
use crate::{Kind, Report, Row, time};
use std::collections::{BTreeMap, BTreeSet};

/// A table of the rungs that two compilers' reports have in common, in the order of the first one's reports, and where
/// the reports come from. The first compiler is that of the reports whose [`Device::ptx`](crate::Device::ptx) does not
/// contain `second`. Times are those of calls back to back, which the host does not slow down; `≈` stands before a
/// ratio of which one time is [not stable](crate::Times::stable).
pub fn backends(reports: &[&Report], second: &str) -> String {
    let is_second = |report: &Report| report.device.ptx.as_ref().is_some_and(|ptx| ptx.contains(second));
    let (theirs, ours): (Vec<&Report>, Vec<&Report>) = reports.iter().partition(|report| is_second(report));
    let rows = |reports: &[&Report]| -> Vec<Row> {
        let rows = reports.iter().flat_map(|report| &report.results);
        rows.filter(|row| row.kind == Kind::Rung && row.verified).cloned().collect()
    };
    let (ours, theirs) = ((rows(&ours), ours), (rows(&theirs), theirs));
    let mut lines = vec![];
    for row in &ours.0 {
        let same = |other: &&Row| (other.case(), &other.name) == (row.case(), &row.name);
        let Some(other) = theirs.0.iter().find(same) else { continue };
        let (Some(a), Some(b)) = (row.back_to_back, other.back_to_back) else { continue };
        let sign = if a.stable && b.stable { "" } else { "≈ " };
        lines.push(vec![
            row.family.clone(),
            row.name.clone(),
            size(row),
            row.dtype.clone(),
            time(a.median_ms),
            time(b.median_ms),
            sign.to_string() + &times_as_fast(a.median_ms / b.median_ms),
        ]);
    }
    let head = ["family", "rung", "n", "type", "rustc", second, "ratio"];
    format!("{}\n{}\n", grid(&head, &lines), origins(&ours.1))
}

/// What reports were measured on, and the families of each commit.
fn origins(reports: &[&Report]) -> String {
    let mut families: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for report in reports {
        let rungs = report.results.iter().filter(|row| row.kind == Kind::Rung && row.back_to_back.is_some());
        families.entry(origin_by_day(report)).or_default().extend(rungs.map(|row| row.family.as_str()));
    }
    let lines = families
        .iter()
        .map(|(origin, families)| format!("{origin}: {}.", families.iter().copied().collect::<Vec<_>>().join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

    #[test]
    fn rows_of_one_rung_and_case_stand_in_one_line() {
        let (mut one, mut other) = (sample(), sample());
        one.device.ptx = Some("sm_90 by rustc".into());
        other.device.ptx = Some("sm_90 by another".into());
        for row in &mut other.results {
            row.back_to_back = row.back_to_back.map(|mut times| {
                times.median_ms *= 2.0;
                times
            });
        }
        let last = other.results.iter().rposition(|row| row.kind == Kind::Rung && row.verified).unwrap();
        let gone = other.results.remove(last);
        let text = backends(&[&other, &one], "another");
        let lines = text.lines().filter(|line| line.ends_with("| 0.50 |")).count();
        let rungs = one.results.iter().filter(|row| row.kind == Kind::Rung && row.verified);
        assert_eq!(lines, rungs.filter(|row| row.back_to_back.is_some()).count() - 1, "{text}");
        assert!(lines > 0 && gone.back_to_back.is_some(), "{text}");
        assert!(text.contains(&format!("{}: bubble, matmul, radix.", origin_by_day(&one))), "{text}");
    }
}
