//! Tables of a report, in Markdown.

use crate::{Case, Kind, Ratio, Report, Row, rate, time};
use std::collections::BTreeSet;

/// The explanation of the tables, once for all of them.
pub const METHOD: &str = "Times are medians of single calls, launch gaps included; in brackets back to back. Ratio: \
the library's or the twin's time over ours; above 1, ours is faster. The plots have every size, a table has some. A \
row names the fastest rung that was measured for its input, compared with that function. A short sort takes as long \
as the host needs to enqueue its launches: its ratio depends on the host that drives the GPU. A library's function \
whose name ends with `_best` runs the fastest of the algorithms that the library proposes for the shape, found by \
timing them before.";

/// The tables of one report: for each case with a peer the fastest rung next to each function of the library that it is
/// compared with, and for each rung with a twin or a source's algorithm both, in a table each.
///
/// `file` is the report's name, as a reader of the table finds it.
pub fn section(file: &str, report: &Report) -> String {
    let (origin, copy) = (origin(report), report.limits.copy_gbs);
    let mut text = format!("[{file}]({file}): {origin}. A copy within the device moves {copy:.0} GB/s.");
    report.notes.iter().for_each(|note| text += &format!(" {}.", capitalised(note)));
    text += &format!("\n\n    {}\n", report.command);
    let peers = with_peers(report);
    if !peers.is_empty() {
        let head = ["family", "n", "type", "input", "rung", "time", "rate", "peer", "its time", "ratio"];
        text += &format!("\n{}", grid(&head, &peers));
    }
    let twins = beside(report, |row| row.over_twin.as_ref());
    if !twins.is_empty() {
        text += &format!("\n{}", grid(TWINS, &twins));
    }
    let sources = beside(report, |row| row.over_source.as_ref());
    if !sources.is_empty() {
        let head = ["family", "n", "type", "rung", "time", "the source's algorithm", "its time", "ratio"];
        text += &format!("\n{}", grid(&head, &sources));
    }
    let groups = groups(report);
    if !groups.is_empty() {
        let head = [
            "family",
            "n",
            "type",
            "input",
            "rung",
            "GPUs",
            "by",
            "time",
            "rate",
            "speed-up",
            "efficiency",
            "exchange",
        ];
        text += &format!("\n{}", grid(&head, &groups));
    }
    let wrong: Vec<&Row> = report.results.iter().filter(|row| row.error.is_some()).collect();
    if !wrong.is_empty() {
        text += "\nWithout a number, because the result was wrong or the call failed:\n\n";
        for row in wrong {
            let error = row.error.as_deref().unwrap_or_default();
            text += &format!(
                "- {} {} at n = {} of {} ({}): {error}\n",
                row.family,
                row.name,
                row.size(),
                row.dtype,
                row.keys
            );
        }
    }
    text
}

/// What a report was measured on, when, and from which commit.
pub fn origin(report: &Report) -> String {
    let (device, date) = (&report.device, &report.date);
    let driver = device.nvidia_smi.get("driver_version").map_or(String::new(), |version| format!(", driver {version}"));
    let commit: String = report.commit.chars().take(12).collect();
    format!("{}{driver}, {date}, commit {commit}", device.name)
}

/// The rungs of one family next to their twins; `None` if the report has none.
pub fn twins(family: &str, report: &Report) -> Option<String> {
    let mut rows = beside(report, |row| row.over_twin.as_ref());
    rows.retain(|row| row[0] == family);
    (!rows.is_empty()).then(|| grid(TWINS, &rows))
}

/// The columns of the table of twins.
const TWINS: &[&str] = &["family", "n", "type", "rung", "time", "twin in CUDA C++", "its time", "ratio"];

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Sizes that stand in the table where more than a handful were measured; the plots have them all.
const SIZES: [u64; 5] = [1 << 16, 1 << 20, 1 << 22, 1 << 24, 1 << 28];

/// Whether a row's size is one of those in the table; products are few, and all of them are.
fn stands_in_table(report: &Report, row: &Row) -> bool {
    let like = |other: &&Row| Case { size: row.case().size, ..other.case() } == row.case();
    let sizes: BTreeSet<u64> = report.results.iter().filter(like).map(|other| other.n).collect();
    row.m.is_some() || sizes.len() <= SIZES.len() || SIZES.contains(&row.n)
}

/// The fastest rung of each case and each function of the library, next to that function.
fn with_peers(report: &Report) -> Vec<Vec<String>> {
    let mut best: Vec<&Row> = vec![];
    for row in report.results.iter().filter(|row| row.over_peer.is_some() && stands_in_table(report, row)) {
        let speed = |row: &Row| row.over_peer.as_ref().map_or(0.0, |ratio| ratio.call);
        let function = |row: &Row| row.over_peer.as_ref().map(|ratio| ratio.of.clone());
        let like = |other: &&mut &Row| other.case() == row.case() && function(other) == function(row);
        match best.iter_mut().find(like) {
            Some(other) if speed(row) > speed(other) => *other = row,
            Some(_) => {}
            None => best.push(row),
        }
    }
    best.into_iter()
        .flat_map(|row| row.over_library().map(move |ratio| (row, ratio)))
        .filter_map(|(row, ratio)| {
            let theirs = report.results.iter().find(|other| other.case() == row.case() && other.name == ratio.of)?;
            let input = [row.keys.as_str(), row.parameters.as_str()].join(" ").trim().to_string();
            Some(vec![
                row.family.clone(),
                size(row),
                row.dtype.clone(),
                input,
                row.name.clone(),
                times(row),
                row.rate.map_or("-".into(), |value| rate(value, &row.rate_unit)),
                format!("`{}`", ratio.of),
                times(theirs),
                both(Some(ratio.call), ratio.back_to_back),
            ])
        })
        .collect()
}

/// What groups of devices did.
fn groups(report: &Report) -> Vec<Vec<String>> {
    let number = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.2}"));
    let rows = report.results.iter().filter_map(|row| row.group.as_ref().map(|group| (row, group)));
    rows.map(|(row, group)| {
        vec![
            row.family.clone(),
            size(row),
            row.dtype.clone(),
            [row.keys.as_str(), row.parameters.as_str()].join(" ").trim().to_string(),
            row.name.clone(),
            group.gpus.to_string(),
            group.transport.clone(),
            times(row),
            row.rate.map_or("-".into(), |value| rate(value, &row.rate_unit)),
            number(group.speedup),
            number(group.efficiency),
            group.exchange_gbs.map_or("-".into(), |gbs| rate(gbs, "GB/s")),
        ]
    })
    .collect()
}

/// Every rung that has this ratio, with the row that it is compared with.
fn beside(report: &Report, ratio: impl Fn(&Row) -> Option<&Ratio>) -> Vec<Vec<String>> {
    let rows = report.results.iter().filter(|row| row.kind == Kind::Rung);
    rows.filter_map(|row| {
        let ratio = ratio(row)?;
        let theirs = report.results.iter().find(|other| other.case() == row.case() && other.name == ratio.of)?;
        Some(vec![
            row.family.clone(),
            size(row),
            row.dtype.clone(),
            row.name.clone(),
            times(row),
            format!("`{}`", ratio.of),
            times(theirs),
            both(Some(ratio.call), ratio.back_to_back),
        ])
    })
    .collect()
}

/// A ratio of times, with two decimal places.
pub(crate) fn times_as_fast(ratio: f64) -> String {
    if ratio < 0.005 { "< 0.01".into() } else { format!("{ratio:.2}") }
}

/// Text for Markdown, with powers raised.
pub(crate) fn size(row: &Row) -> String {
    row.size().strip_prefix("2^").map_or_else(|| row.size(), |exponent| format!("2<sup>{exponent}</sup>"))
}

fn times(row: &Row) -> String {
    let back = row.back_to_back.map_or(String::new(), |t| format!(" ({})", time(t.median_ms)));
    row.call.map_or("-".into(), |t| time(t.median_ms)) + &back
}

fn both(call: Option<f64>, back: Option<f64>) -> String {
    let back = back.map_or(String::new(), |ratio| format!(" ({})", times_as_fast(ratio)));
    call.map_or("-".into(), times_as_fast) + &back
}

/// A table in Markdown.
pub fn grid(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.iter().map(|cell| cell.to_string()).collect());
    text += &line(vec!["---".into(); head.len()]);
    rows.iter().for_each(|row| text += &line(row.clone()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{sample, sample_of_groups, sample_with_tuned};

    #[test]
    fn groups_of_devices_have_a_table() {
        let text = section("two.json", &sample_of_groups());
        let row = "| radix | 2<sup>20</sup> | u32 | uniform | exchange-ranges | 2 | copy engines | 1.000 ms |";
        assert!(text.contains(row), "{text}");
        assert!(
            text.contains(" | 2.00 | 1.00 | 390 GB/s |") && !section("one.json", &sample()).contains("GPUs"),
            "{text}"
        );
    }

    #[test]
    fn twins_and_sources_have_a_table_each() {
        let text = section("h200.json", &sample());
        let (twins, sources) = text.split_once("the source's algorithm").unwrap();
        let row = |peer, its_time, ratio| {
            let size = "2<sup>17</sup>";
            format!("| bubble | {size} | u32 | shared-block | 10.000 ms (8.000 ms) | `{peer}` | {its_time} | {ratio} |")
        };
        let (twin, source) = ("twin_bubble_shared_block_u32", "source_bubble_shared_block_u32");
        assert!(twins.contains(&row(twin, "10.200 ms (8.160 ms)", "1.02")), "{text}");
        assert!(sources.contains(&row(source, "15.000 ms (12.000 ms)", "1.50")), "{text}");
        assert!(!twins.contains(source) && !sources.contains(twin), "{text}");
    }

    #[test]
    fn the_fastest_rung_of_each_case_stands_beside_the_peer() {
        let text = section("h200.json", &sample());
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| radix")).collect();
        assert_eq!(rows.len(), 2, "{text}");
        assert_eq!(
            rows[0],
            "| radix | 2<sup>16</sup> | u32 | uniform | msd-buckets | 10.0 µs (8.0 µs) | 6.55 Gkeys/s | \
             `cub_radix_sort_keys_u32` | 20.0 µs (16.0 µs) | 2.00 (2.00) |"
        );
        // A second function of the library has a row of its own.
        let tuned = section("h200.json", &sample_with_tuned());
        let tuned: Vec<&str> = tuned.lines().filter(|line| line.starts_with("| radix")).collect();
        assert_eq!((tuned.len(), tuned[0], tuned[2]), (4, rows[0], rows[1]));
        assert!(tuned[1].ends_with("| 6.55 Gkeys/s | `tuned_best` | 18.2 µs (14.5 µs) | 1.82 (1.82) |"), "{tuned:?}");
        // Of many sizes only the usual ones.
        let mut report = sample();
        for n in (10..19).map(|i| 1u64 << i) {
            let row = Row { n, ..report.results[1].clone() };
            report.results.push(row);
        }
        let of_many = section("a.json", &report);
        assert_eq!(of_many.lines().filter(|line| line.starts_with("| radix")).count(), 2, "{of_many}");
        assert!(text.contains("NVIDIA H200, driver 580.1") && text.contains("[h200.json](h200.json)"));
        assert!(text.contains("- radix onesweep at n = 2^16 of u32 (uniform): key 3 is wrong"), "{text}");
    }
}
