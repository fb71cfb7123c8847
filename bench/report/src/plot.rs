//! Plots of reports, as SVG.

use crate::chart::{self, Axis, Ceiling, Line, Point, Whose, superscript};
use crate::{Case, Kind, Report, Row};
use std::collections::{BTreeMap, BTreeSet};

/// Fewest sizes for which a rate or a ratio can be drawn over n.
const SIZES: usize = 2;

/// Fewest sizes for which it is drawn next to a table.
const SIZES_BESIDE_TABLE: usize = 4;

/// Fewest kinds of input whose ratios are drawn next to each other.
const INPUTS: usize = 4;

/// A file's name and its content.
pub type Plot = (String, String);

/// Rows grouped by family, type, distribution and parameters; those of a group differ in size and owner.
type Groups<'r> = BTreeMap<(&'r str, &'r str, &'r str, &'r str), Vec<&'r Row>>;

fn groups(report: &Report, sizes: usize) -> Groups<'_> {
    let mut groups = Groups::new();
    for row in report.results.iter().filter(|row| row.rate.is_some() && row.group.is_none()) {
        let Case { family, dtype, keys, parameters, .. } = row.case();
        groups.entry((family, dtype, keys, parameters)).or_default().push(row);
    }
    groups.retain(|_, rows| rows.iter().map(|row| row.n).collect::<BTreeSet<_>>().len() >= sizes);
    groups
}

/// All plots of a report. The same report gives the same bytes.
///
/// - For each family, type, distribution and parameters with more than one size: the rate over n, one line per rung and
///   per peer; on a second plot the speed of the rungs over the peer's, where there is one.
/// - For each family, type and parameters with enough kinds of input: the speed over the peer's by input.
/// - One roofline of all rungs whose operations are counted.
pub fn all(report: &Report) -> Vec<Plot> {
    let mut plots = over_sizes(report, SIZES);
    plots.extend(inputs(report));
    plots.extend(roofline(&[report]).map(|svg| (file(&["roofline"], ""), svg)));
    plots
}

/// The plots of a report that show more than its tables.
pub fn beside_tables(report: &Report) -> Vec<Plot> {
    let mut plots = over_sizes(report, SIZES_BESIDE_TABLE);
    plots.extend(inputs(report));
    plots
}

fn over_sizes(report: &Report, sizes: usize) -> Vec<Plot> {
    let mut plots = vec![];
    for ((family, dtype, keys, parameters), rows) in &groups(report, sizes) {
        let what: Vec<&str> = [*family, dtype, keys, parameters].into_iter().filter(|word| !word.is_empty()).collect();
        let title = format!("{} on {}", what.join(" "), report.device.name);
        plots.push((file(&what, "rate"), rates(&title, rows)));
        if rows.iter().any(|row| row.over_peer.is_some()) {
            plots.push((file(&what, "ratio"), ratios(&title, rows)));
        }
    }
    plots
}

/// A file's name from words.
fn file(words: &[&str], last: &str) -> String {
    let words: Vec<&str> =
        words.iter().flat_map(|w| w.split([' ', '='])).chain([last]).filter(|w| !w.is_empty()).collect();
    format!("{}.svg", words.join("-"))
}

/// A size with its exponent raised.
fn size(row: &Row) -> String {
    let exponent = row.size().strip_prefix("2^").and_then(|exponent| exponent.parse().ok());
    exponent.map_or_else(|| row.size(), |exponent| format!("2{}", superscript(exponent)))
}

fn whose(row: &Row) -> Whose {
    if row.kind == Kind::Rung { Whose::Ours } else { Whose::Library }
}

/// Adds a point to the line of this name, in the order in which they come.
fn add(lines: &mut Vec<Line>, name: &str, whose: Whose, point: (f64, f64)) {
    match lines.iter_mut().find(|line| line.name == name) {
        Some(line) => line.points.push(point),
        None => lines.push(Line { name: name.into(), points: vec![point], whose }),
    }
}

/// Lines of all that have a value at some n.
fn lines(rows: &[&Row], value: impl Fn(&Row) -> Option<f64>) -> Vec<Line> {
    let mut lines = vec![];
    for row in rows {
        let Some(y) = value(row) else { continue };
        add(&mut lines, &row.name, whose(row), (row.n as f64, y));
    }
    in_order(lines)
}

fn in_order(mut lines: Vec<Line>) -> Vec<Line> {
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    lines
}

/// The largest of all values.
fn most(lines: &[Line]) -> f64 {
    lines.iter().flat_map(|line| &line.points).map(|(_, y)| *y).fold(0.0, f64::max)
}

fn sizes(lines: &[Line]) -> Axis {
    let n = || lines.iter().flat_map(|line| &line.points).map(|(n, _)| n.max(1.0));
    Axis::powers("n", n().fold(f64::INFINITY, f64::min), n().fold(1.0, f64::max))
}

/// The rate over n.
fn rates(title: &str, rows: &[&Row]) -> String {
    let (scale, unit) = match rows[0].rate_unit.as_str() {
        "keys/s" => (1e-9, "10⁹ keys/s"),
        other => (1.0, other),
    };
    let lines = lines(rows, |row| row.rate.map(|rate| rate * scale));
    chart::lines(title, &sizes(&lines), &Axis::linear(unit, most(&lines)), &lines, None)
}

/// The rungs' speed over the peer's.
fn ratios(title: &str, rows: &[&Row]) -> String {
    let lines = lines(rows, |row| row.over_peer.as_ref().map(|ratio| ratio.call));
    let peer = rows.iter().find_map(|row| row.over_peer.as_ref()).map_or("", |ratio| &ratio.of);
    over(&format!("{title}, over {peer}"), &lines)
}

/// Speeds over a library's.
fn over(title: &str, lines: &[Line]) -> String {
    let y = Axis::linear("speed over the library's", most(lines).max(1.0));
    chart::lines(title, &sizes(lines), &y, lines, Some((1.0, "as fast as the library")))
}

/// For every family that is compared with a library at enough sizes, the fastest rung's speed over that of the
/// library's fastest function.
pub fn over_libraries(reports: &[&Report]) -> Option<String> {
    let mut all: Vec<Line> = vec![];
    for report in reports {
        for ((family, dtype, keys, parameters), rows) in &groups(report, SIZES_BESIDE_TABLE) {
            let words = [family, dtype, keys, parameters];
            let name = words.into_iter().copied().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
            // A family that an earlier report has at these sizes is in the plot already.
            if all.iter().any(|line| line.name == name) {
                continue;
            }
            let mut best = BTreeMap::<u64, f64>::new();
            for (row, ratio) in rows.iter().filter_map(|row| Some((row, row.over_fastest()?.call))) {
                let fastest = best.entry(row.n).or_insert(ratio);
                *fastest = fastest.max(ratio);
            }
            let points = best.into_iter().map(|(n, ratio)| (n as f64, ratio)).collect::<Vec<_>>();
            if !points.is_empty() {
                all.push(Line { name, points, whose: Whose::Ours });
            }
        }
    }
    let device = &reports.first()?.device.name;
    (!all.is_empty()).then(|| over(&format!("The fastest rung over the library's function, on {device}"), &all))
}

/// Speeds over the peer's for many kinds of input: a row for each, a marker for each size.
fn inputs(report: &Report) -> Vec<Plot> {
    let mut groups = BTreeMap::<(&str, &str, &str), Vec<_>>::new();
    for (row, ratio) in report.results.iter().filter_map(|row| Some((row, row.over_peer.as_ref()?.call))) {
        groups.entry((&row.family, &row.dtype, &row.parameters)).or_default().push((row, ratio));
    }
    let mut plots = vec![];
    for ((family, dtype, parameters), rows) in groups {
        let (mut names, mut lines): (Vec<String>, _) = (vec![], vec![]);
        for (row, ratio) in &rows {
            let place = names.iter().position(|name| *name == row.keys).unwrap_or_else(|| {
                names.push(row.keys.clone());
                names.len() - 1
            });
            add(&mut lines, &format!("n = {}", size(row)), Whose::Ours, (*ratio, place as f64));
        }
        if names.len() < INPUTS {
            continue;
        }
        let peer = rows[0].0.over_peer.as_ref().map_or("", |ratio| &ratio.of);
        let what: Vec<&str> = [family, dtype, parameters].into_iter().filter(|word| !word.is_empty()).collect();
        let title = format!("{} by kind of input on {}, over {peer}", what.join(" "), report.device.name);
        let x = Axis::linear("speed over the library's", rows.iter().map(|row| row.1).fold(1.0, f64::max));
        plots.push((file(&what, "inputs"), chart::rows(&title, &names, &x, &lines, (1.0, "as fast"))));
    }
    plots
}

/// The rungs and libraries that count operations, below what memory and arithmetic allow. Each has its largest
/// problem, of the first report that has it.
pub fn roofline(reports: &[&Report]) -> Option<String> {
    let mut points = BTreeMap::<(&str, &str, &str), &Row>::new();
    for row in reports.iter().flat_map(|report| &report.results).filter(|row| row.kind != Kind::Twin) {
        if row.gflops.is_some() && row.flops_per_byte.is_some() {
            let largest = points.entry((&row.family, &row.name, &row.dtype)).or_insert(row);
            if row.n > largest.n {
                *largest = row;
            }
        }
    }
    let points: Vec<Point> = points
        .into_values()
        .filter_map(|row| {
            // A library's function has its type in its name.
            let name = match row.kind {
                Kind::Rung => format!("{} {} {} {}", row.family, row.name, row.dtype, size(row)),
                _ => format!("{} {}", row.name, size(row)),
            };
            Some(Point { name, at: (row.flops_per_byte?, row.gflops?), whose: whose(row) })
        })
        .collect();
    let report = reports.iter().find(|report| report.limits.fp32_gflops.is_some())?;
    let limits = &report.limits;
    let ceilings = [
        ("fp32", limits.fp32_gflops),
        ("TF32, tensor cores", limits.tf32_gflops),
        ("bf16, tensor cores", limits.bf16_gflops),
    ];
    let ceilings: Vec<Ceiling> = ceilings
        .into_iter()
        .filter_map(|(name, gflops)| Some(Ceiling { name: name.into(), gflops: gflops? }))
        .collect();
    let title = format!("Roofline of {}", report.device.name);
    (!points.is_empty()).then(|| chart::roofline(&title, limits.copy_gbs, &ceilings, &points))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;

    /// The sample at four sizes.
    fn wide() -> Report {
        let mut report = sample();
        for n in [1 << 17, 1 << 18] {
            let more: Vec<Row> =
                report.results.iter().filter(|row| row.n == 1 << 20).map(|row| Row { n, ..row.clone() }).collect();
            report.results.extend(more);
        }
        report
    }

    #[test]
    fn a_report_gives_rates_ratios_and_a_roofline() {
        let report = wide();
        let plots = all(&report);
        let names: Vec<_> = plots.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["radix-u32-uniform-rate.svg", "radix-u32-uniform-ratio.svg", "roofline.svg"]);
        assert_eq!(plots, all(&report), "the same report gives the same plots");
        for (name, svg) in &plots {
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
            assert!(svg.contains("NVIDIA H200"), "{name}");
        }
        let rate = &plots[0].1;
        assert!(rate.contains("msd-buckets") && rate.contains("cub_radix_sort_keys_u32") && rate.contains("2¹⁶"));
        assert!(plots[1].1.contains("as fast as the library"));
        assert!(plots[2].1.contains("matmul naive u32 4096³") && !plots[2].1.contains("TF32"));
    }

    #[test]
    fn few_sizes_are_left_to_the_table() {
        assert_eq!(all(&sample()).len(), 3);
        assert!(beside_tables(&sample()).is_empty());
        assert_eq!(beside_tables(&wide()).len(), 2);
    }

    #[test]
    fn many_kinds_of_input_stand_beside_each_other() {
        let mut report = sample();
        for keys in ["sorted", "reversed", "equal"] {
            let more: Vec<Row> = report.results.iter().filter(|row| row.over_peer.is_some()).cloned().collect();
            report.results.extend(more.into_iter().map(|row| Row { keys: keys.into(), ..row }));
        }
        let (name, svg) = beside_tables(&report).remove(0);
        assert_eq!(name, "radix-u32-inputs.svg");
        for part in ["uniform", "reversed", "n = 2²⁰", "as fast"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn the_fastest_rung_of_each_size_is_held_against_the_library() {
        assert!(over_libraries(&[&sample()]).is_none());
        let svg = over_libraries(&[&wide()]).unwrap();
        assert!(svg.contains("radix u32 uniform") && svg.contains("as fast as the library"), "{svg}");
    }

    #[test]
    fn tensor_cores_have_ceilings_of_their_own() {
        let mut report = sample();
        report.limits.bf16_gflops = Some(990_000.0);
        assert!(roofline(&[&report]).unwrap().contains("bf16, tensor cores: 990 TFLOP/s"));
    }
}
