//! The times of one rung by the PTX of two compilers.

use crate::table::{grid, origin, size, times_as_fast};
use crate::{Kind, Report, Row, time};

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
    let first = |reports: &[&Report]| reports.iter().min_by(|a, b| a.date.cmp(&b.date)).map(|report| origin(report));
    let origin = first(&ours.1).unwrap_or_default();
    format!("{}\n{origin} and the seconds after it.\n", grid(&head, &lines))
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
        assert!(text.contains(&origin(&one)), "{text}");
    }
}
