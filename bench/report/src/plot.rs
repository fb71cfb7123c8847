//! Plots of a report, as SVG.

use crate::svg::{Axis, COLOURS, Line, plot};
use crate::{Case, Kind, Report, Row};
use std::collections::{BTreeMap, BTreeSet};

/// All plots of a report: names of files and their content. The same report gives the same bytes.
///
/// - For each family, type, distribution and parameters with more than one size: the rate over n, a line for each rung
///   and each peer; on a second plot the speed of the rungs over the peer's, where there is one.
/// - One roofline of all rungs whose operations are counted.
pub fn all(report: &Report) -> Vec<(String, String)> {
    let mut groups: BTreeMap<(&str, &str, &str, &str), Vec<&Row>> = BTreeMap::new();
    for row in report.results.iter().filter(|row| row.rate.is_some()) {
        let Case { family, dtype, keys, parameters, .. } = row.case();
        groups.entry((family, dtype, keys, parameters)).or_default().push(row);
    }
    let mut plots = vec![];
    for ((family, dtype, keys, parameters), rows) in &groups {
        let sizes: BTreeSet<u64> = rows.iter().map(|row| row.n).collect();
        if sizes.len() < 2 {
            continue;
        }
        let what: Vec<&str> = [*family, dtype, keys, parameters].into_iter().filter(|word| !word.is_empty()).collect();
        let title = format!("{} on {}", what.join(" "), report.device.name);
        plots.push((file(&what, "rate"), rates(&title, rows)));
        if rows.iter().any(|row| row.over_peer.is_some()) {
            plots.push((file(&what, "ratio"), ratios(&title, rows)));
        }
    }
    plots.extend(roofline(report).map(|svg| (file(&["roofline"], ""), svg)));
    plots
}

/// A file's name from words.
fn file(words: &[&str], last: &str) -> String {
    let words: Vec<&str> =
        words.iter().flat_map(|w| w.split([' ', '='])).chain([last]).filter(|w| !w.is_empty()).collect();
    format!("{}.svg", words.join("-"))
}

/// Lines of all who have a value at some n, in the order in which they come.
fn lines(rows: &[&Row], value: impl Fn(&Row) -> Option<f64>) -> Vec<Line> {
    let mut lines: Vec<Line> = vec![];
    for row in rows {
        let Some(y) = value(row) else { continue };
        let point = (row.n as f64, y);
        match lines.iter_mut().find(|line| line.name == row.name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                name: row.name.clone(),
                points: vec![point],
                dashed: row.kind != Kind::Rung,
                marked: true,
            }),
        }
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    lines
}

/// The largest of all values.
fn most(lines: &[Line]) -> f64 {
    lines.iter().flat_map(|line| &line.points).map(|(_, y)| *y).fold(0.0, f64::max)
}

fn sizes(rows: &[&Row]) -> Axis {
    let n = || rows.iter().map(|row| row.n.max(1) as f64);
    Axis::powers("n", n().fold(f64::INFINITY, f64::min), n().fold(1.0, f64::max))
}

/// The rate over n.
fn rates(title: &str, rows: &[&Row]) -> String {
    let (scale, unit) = match rows[0].rate_unit.as_str() {
        "keys/s" => (1e-9, "10⁹ keys/s"),
        other => (1.0, other),
    };
    let lines = lines(rows, |row| row.rate.map(|rate| rate * scale));
    plot(&format!("{title}: one call"), &sizes(rows), &Axis::linear(unit, most(&lines)), &lines)
}

/// The rungs' speed over the peer's.
fn ratios(title: &str, rows: &[&Row]) -> String {
    let mut lines = lines(rows, |row| row.over_peer.as_ref().map(|ratio| ratio.call));
    let n = sizes(rows);
    let peer = rows.iter().find_map(|row| row.over_peer.as_ref()).map_or("", |ratio| &ratio.of);
    let level =
        Line { name: "equal".into(), points: vec![(n.range.0, 1.0), (n.range.1, 1.0)], dashed: true, marked: false };
    let top = Axis::linear("speed over the peer's", most(&lines).max(1.0));
    lines.push(level);
    plot(&format!("{title}, over {peer}"), &n, &top, &lines)
}

/// The rungs and peers that count operations, below what memory and arithmetic allow. Of each the largest problem.
fn roofline(report: &Report) -> Option<String> {
    let limit = report.limits.fp32_gflops?;
    let (copy, mut points) = (report.limits.copy_gbs, BTreeMap::<(&str, &str), &Row>::new());
    for row in report.results.iter().filter(|row| row.gflops.is_some() && row.flops_per_byte.is_some()) {
        let largest = points.entry((&row.family, &row.name)).or_insert(row);
        if row.n > largest.n {
            *largest = row;
        }
    }
    let mut lines: Vec<Line> = points
        .into_values()
        .filter_map(|row| {
            let point = (row.flops_per_byte?, row.gflops?);
            let name = format!("{} {} {}", row.family, row.name, row.size());
            Some(Line { name, points: vec![point], dashed: row.kind != Kind::Rung, marked: true })
        })
        .take(COLOURS.len() * 2)
        .collect();
    let xs = || lines.iter().map(|line| line.points[0].0);
    let ridge = limit / copy;
    let (least, last) = (xs().fold(ridge, f64::min) / 2.0, xs().fold(ridge, f64::max) * 2.0);
    let lowest = lines.iter().map(|line| line.points[0].1).fold(least * copy, f64::min);
    let (x, y) = (
        Axis::decades("floating-point operations a byte that must be moved", least, last),
        Axis::decades("GFLOP/s", lowest, limit.max(most(&lines))),
    );
    (!lines.is_empty()).then(|| {
        let (from, to) = x.range;
        // Below the frame's lower edge nothing is drawn.
        let start = from.max(y.range.0 / copy);
        lines.push(Line {
            name: format!("copy {copy:.0} GB/s, fp32 {:.1} TFLOP/s", limit * 1e-3),
            points: vec![(start, start * copy), (ridge, limit), (to, limit)],
            dashed: true,
            marked: false,
        });
        plot(&format!("Roofline of {}", report.device.name), &x, &y, &lines)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

    #[test]
    fn a_report_gives_rates_ratios_and_a_roofline() {
        let report = sample();
        let plots = all(&report);
        let names: Vec<_> = plots.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["radix-u32-uniform-rate.svg", "radix-u32-uniform-ratio.svg", "roofline.svg"]);
        assert_eq!(plots, all(&report), "the same report gives the same plots");
        for (name, svg) in &plots {
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
            assert!(svg.contains("NVIDIA H200"), "{name}");
        }
        let rate = &plots[0].1;
        assert_eq!(rate.matches("<polyline").count(), 2);
        assert!(rate.contains("msd-buckets") && rate.contains("cub_radix_sort_keys_u32") && rate.contains("2¹⁶"));
        assert!(plots[1].1.contains(">equal<"));
    }
}
