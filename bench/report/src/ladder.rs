//! Ladders and a summary of reports, in Markdown, for the README.

use crate::table::{grid, size, times_as_fast};
use crate::{Kind, Ratio, Report, Row, rate, time};
use std::collections::{BTreeMap, BTreeSet};

/// A rung, as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// Its family.
    pub family: String,
    /// Its name.
    pub name: String,
    /// The idea in a few words.
    pub idea: String,
    /// Its file, as a reader of the table finds it.
    pub file: String,
}

/// The text if there are no measurements.
const NO_RESULTS: &str = "No results are recorded yet: `rungs bench --peers --save FILE` on a GPU makes some.";

/// An empty cell.
const NOTHING: &str = "–";

/// Elements, or columns of C with its rows and the columns of A.
type Size = (u64, Option<u64>, Option<u64>);

/// The origin of a family's ladder: the report and the kind of problem in which most of its rungs ran.
struct Source<'r> {
    report: &'r Report,
    dtype: &'r str,
    keys: &'r str,
    task: String,
    /// The largest size.
    size: Size,
}

impl<'r> Source<'r> {
    /// The report with the most rungs; of two with as many, the one that has a library beside them, then the first.
    fn of(family: &str, reports: &[&'r Report]) -> Option<Self> {
        let mut best: Option<((usize, bool), Self)> = None;
        for &report in reports {
            let mut kinds: BTreeMap<(&str, &str, String), Vec<&Row>> = BTreeMap::new();
            for row in measured(report).filter(|row| row.family == family) {
                kinds.entry((&row.dtype, &row.keys, row.task())).or_default().push(row);
            }
            for ((dtype, keys, task), rows) in kinds {
                let rungs = rows.iter().map(|row| &row.name).collect::<BTreeSet<_>>().len();
                let Some(size) = rows.iter().map(|row| row.case().size).max() else { continue };
                let rank = (rungs, rows.iter().any(|row| row.over_peer.is_some()));
                if best.as_ref().is_none_or(|(most, _)| rank > *most) {
                    best = Some((rank, Self { report, dtype, keys, task, size }));
                }
            }
        }
        best.map(|(_, source)| source)
    }

    fn is_of_this_kind(&self, row: &Row) -> bool {
        row.dtype == self.dtype && row.keys == self.keys && row.task() == self.task
    }

    /// The rows of a rung in this report, the largest problem last.
    fn rows(&self, family: &str, rung: &str) -> Vec<&'r Row> {
        let mut rows: Vec<&Row> = measured(self.report)
            .filter(|row| row.family == family && row.name == rung && self.is_of_this_kind(row))
            .collect();
        rows.sort_by_key(|row| row.case().size);
        rows
    }

    /// Where a rung was measured: in this report, or else elsewhere.
    fn place(&self, family: &str, rung: &str, reports: &[&'r Report]) -> Option<(&'r Report, &'r Row)> {
        let here = self.rows(family, rung).pop().map(|row| (self.report, row));
        here.or_else(|| self.elsewhere(family, rung, reports))
    }

    /// The largest problem that any report has of a rung: one of this kind, if there is any, or else of the same keys.
    fn elsewhere(&self, family: &str, rung: &str, reports: &[&'r Report]) -> Option<(&'r Report, &'r Row)> {
        let rank = |row: &Row| (self.is_of_this_kind(row), row.keys == self.keys, row.case().size);
        let mut largest: Option<(&Report, &Row)> = None;
        for &report in reports {
            for row in measured(report).filter(|row| row.family == family && row.name == rung) {
                if largest.is_none_or(|(_, other)| rank(row) > rank(other)) {
                    largest = Some((report, row));
                }
            }
        }
        largest
    }
}

/// The number of rungs with a time.
fn measured(report: &Report) -> impl Iterator<Item = &Row> {
    report.results.iter().filter(|row| row.kind == Kind::Rung && row.call.is_some() && row.group.is_none())
}

/// The row of a function of the library that a rung is compared with.
fn library<'r>(report: &'r Report, row: &Row, ratio: &Option<Ratio>) -> Option<&'r Row> {
    let name = &ratio.as_ref()?.of;
    report.results.iter().find(|other| other.case() == row.case() && other.name == *name)
}

/// The rows of both functions of the library that a rung is compared with.
fn libraries<'r>(report: &'r Report, row: &Row) -> Functions<&'r Row> {
    [&row.over_peer, &row.over_tuned].map(|ratio| library(report, row, ratio))
}

/// The library's functions that a rung is compared with: the usual one, and the one that was tuned.
type Functions<T> = [Option<T>; 2];

/// The ladder of one family: one line for each of `rungs`, measured or not. If no library is beside them, the rungs
/// share a paragraph.
pub fn ladder(family: &str, rungs: &[Rung], reports: &[&Report]) -> String {
    match lines(family, rungs, reports) {
        (first, [None, _], lines) => paragraph(&first, &lines),
        (first, functions, lines) => table(&first, &functions, lines),
    }
}

/// The ladder of one family as a table, also if no library is beside it.
pub fn whole(family: &str, rungs: &[Rung], reports: &[&Report]) -> String {
    let (first, functions, lines) = lines(family, rungs, reports);
    table(&first, &functions, lines)
}

/// A ladder as a table, with a column for each function of the library, and at least one.
fn table(first: &str, functions: &Functions<String>, mut lines: Vec<Vec<String>>) -> String {
    let [usual, tuned] = functions.each_ref().map(|function| function.as_ref().map(|name| format!("`{name}`")));
    let usual = usual.unwrap_or("library".into());
    let mut columns = vec![first, "idea", "time", "rate", "of limit", "× before", usual.as_str()];
    columns.extend(tuned.as_deref());
    lines.iter_mut().for_each(|cells| cells.truncate(columns.len()));
    grid(&columns, &lines)
}

/// Family, type and size; the library's functions; a line for each rung.
fn lines(family: &str, rungs: &[Rung], reports: &[&Report]) -> (String, Functions<String>, Vec<Vec<String>>) {
    let source = Source::of(family, reports);
    let rungs: Vec<&Rung> = rungs.iter().filter(|rung| rung.family == family).collect();
    let found: Vec<_> =
        rungs.iter().map(|rung| source.as_ref().and_then(|source| source.place(family, &rung.name, reports))).collect();
    // The functions that have a column are those of the ladder's own report.
    let mut functions: Functions<&str> = [None; 2];
    for (report, row) in found.iter().flatten() {
        if source.as_ref().is_some_and(|source| std::ptr::eq(source.report, *report)) {
            for (function, theirs) in functions.iter_mut().zip(libraries(report, row)) {
                *function = function.or(theirs.map(|row| row.name.as_str()));
            }
        }
    }
    let mut before = None;
    let mut lines = vec![];
    for (rung, found) in rungs.iter().zip(found) {
        let mut cells = vec![format!("[{}]({})", rung.name, rung.file), rung.idea.clone()];
        cells.extend(match (found, &source) {
            (Some((report, row)), Some(source)) => {
                measured_cells(source, before, row, libraries(report, row), functions)
            }
            _ => [vec!["not measured".into()], vec![NOTHING.into(); 5]].concat(),
        });
        lines.push(cells);
        before = Some(rung.name.as_str());
    }
    let kind = source.map_or(String::new(), |source| {
        let row = measured(source.report).find(|row| row.case().size == source.size && row.family == family);
        // Tensor cores take less power for whole numbers than for fractions, and large products are faster for that.
        let elements = if source.keys == "small" && row.is_some_and(|row| row.m.is_some()) {
            ", whole numbers from -4 to 4"
        } else {
            ""
        };
        row.map_or(String::new(), |row| format!(", {}{elements}, n = {}", source.dtype, size(row)))
    });
    (format!("**{family}**{kind}"), functions.map(|function| function.map(str::to_string)), lines)
}

/// A ladder's rungs with their times.
fn paragraph(head: &str, lines: &[Vec<String>]) -> String {
    let rungs: Vec<_> = lines.iter().map(|cells| format!("{} {}", cells[0], cells[2])).collect();
    format!("{head}, beside no library: {}.\n", rungs.join(", "))
}

/// The reports that [`ladder`] takes its numbers from, by their places in `reports`.
pub fn sources(family: &str, rungs: &[Rung], reports: &[&Report]) -> BTreeSet<usize> {
    let source = Source::of(family, reports);
    let rungs = rungs.iter().filter(|rung| rung.family == family);
    let used = rungs.filter_map(|rung| source.as_ref()?.place(family, &rung.name, reports));
    used.filter_map(|(used, _)| reports.iter().position(|report| std::ptr::eq(*report, used))).collect()
}

/// Time, rate, share of the limit, times the rung before, the times of the library's functions; each with its name
/// where it is not the one that `heads` its column.
fn measured_cells(
    source: &Source,
    before: Option<&str>,
    row: &Row,
    theirs: Functions<&Row>,
    heads: Functions<&str>,
) -> Vec<String> {
    let unlike: Vec<String> = [
        (row.case().size != source.size).then(|| format!("n = {}", size(row))),
        (row.dtype != source.dtype).then(|| row.dtype.clone()),
        (row.keys != source.keys).then(|| row.keys.clone()),
        (row.task() != source.task).then(|| row.task()),
    ]
    .into_iter()
    .flatten()
    .collect();
    let unlike = if unlike.is_empty() { String::new() } else { format!(" ({})", unlike.join(", ")) };
    let times_before = before.and_then(|before| times_before(source, before, row));
    let or_nothing = |text: Option<String>| text.unwrap_or(NOTHING.into());
    let library = |theirs: Option<&Row>, head: Option<&str>| {
        let theirs = theirs?;
        let named = if head == Some(&theirs.name) { String::new() } else { format!(" (`{}`)", theirs.name) };
        Some(time(theirs.call_ms()?) + &named)
    };
    let [usual, tuned] = [0, 1].map(|i| or_nothing(library(theirs[i], heads[i])));
    vec![
        or_nothing(row.call_ms().map(time)) + &unlike,
        or_nothing(row.rate.map(|value| rate(value, &row.rate_unit))),
        or_nothing(row.share().map(percent)),
        or_nothing(times_before),
        usual,
        tuned,
    ]
}

/// The speed of a rung relative to the rung before, in the largest problem that both solved in the ladder's report.
fn times_before(source: &Source, before: &str, shown: &Row) -> Option<String> {
    let earlier = source.rows(&shown.family, before);
    let rows = source.rows(&shown.family, &shown.name).into_iter().rev();
    let (before, row) =
        rows.filter_map(|row| Some((*earlier.iter().find(|other| other.case() == row.case())?, row))).next()?;
    let size = if row.case().size == shown.case().size { String::new() } else { format!(" (n = {})", size(row)) };
    Some(format!("{:.2}{size}", before.call_ms()? / row.call_ms()?))
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        percent if percent < 0.01 => "< 0.01 %".into(),
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// One line per family that was measured beside a library, and per function of the library: the family's fastest rung
/// in the largest problem that the library solves too. Values that move with keys have a line of their own, and so have
/// types that another rung takes.
pub fn summary(families: &[&str], reports: &[&Report]) -> String {
    let mut lines = vec![];
    for &family in families {
        let Some(source) = Source::of(family, reports) else { continue };
        let values = |row: &Row| row.task().split(' ').any(|word| word == "values");
        // The task apart from the values, which have a line of their own.
        let words = |task: &str| task.split(' ').filter(|word| *word != "values").collect::<String>();
        let same_task = |row: &Row| words(&row.task()) == words(&source.task);
        // Other types may have had other inputs, and a product's elements do not decide which rung is the fastest.
        let shown = |row: &Row, dtype: &str, with: bool| {
            let like = row.family == family && row.dtype == dtype;
            let same_input = row.keys == source.keys || dtype != source.dtype || row.m.is_some();
            like && same_input && same_task(row) && values(row) == with && row.over_peer.is_some()
        };
        let fastest = |dtype: &str, with: bool, of: Option<&str>| {
            let beside = |row: &Row| of.is_none() || row.over_peer.as_ref().map(|ratio| ratio.of.as_str()) == of;
            fastest(reports, |row| shown(row, dtype, with) && beside(row))
        };
        let functions = |dtype: &str, with: bool| -> BTreeSet<&str> {
            let rows = reports.iter().flat_map(|report| measured(report)).filter(|row| shown(row, dtype, with));
            rows.filter_map(|row| Some(row.over_peer.as_ref()?.of.as_str())).collect()
        };
        let takes = |rung: &str, dtype: &str| {
            reports.iter().flat_map(|report| measured(report)).any(|row| row.name == rung && row.dtype == dtype)
        };
        let own = [(family.to_string(), source.dtype, false), (format!("{family}, key and value"), source.dtype, true)];
        let rows = reports.iter().flat_map(|report| measured(report)).filter(|row| row.family == family);
        let dtypes: BTreeSet<&str> = rows.map(|row| row.dtype.as_str()).collect();
        let others = dtypes.iter().filter(|&&dtype| {
            fastest(dtype, false, None).is_some_and(|(_, row)| dtype != source.dtype && !takes(&row.name, source.dtype))
        });
        let others = others.map(|&dtype| (format!("{family}, {dtype}"), dtype, false));
        let lines_of = own.into_iter().chain(others);
        let lines_of = lines_of.flat_map(|(what, dtype, with)| {
            functions(dtype, with).into_iter().map(move |of| (what.clone(), dtype, with, of))
        });
        for (what, dtype, with, of) in lines_of {
            let Some((report, row)) = fastest(dtype, with, Some(of)) else { continue };
            for over in [&row.over_peer, &row.over_tuned] {
                let (Some(ratio), Some(theirs)) = (over, library(report, row, over)) else { continue };
                let or_nothing = |text: Option<String>| text.unwrap_or(NOTHING.into());
                lines.push(vec![
                    what.clone(),
                    row.name.clone(),
                    format!("{}, {dtype}", size(row)),
                    or_nothing(row.call_ms().map(time)),
                    or_nothing(row.rate.map(|value| rate(value, &row.rate_unit))),
                    format!("`{}`", theirs.name),
                    or_nothing(theirs.call_ms().map(time)),
                    format!("**{}**", times_as_fast(ratio.call)),
                ]);
            }
        }
    }
    grid(&["family", "fastest rung", "n, type", "time", "rate", "library", "its time", "ratio"], &lines)
}

/// Of the rungs that `wanted` names the fastest in the largest problem; of reports that have it the first.
fn fastest<'r>(reports: &[&'r Report], wanted: impl Fn(&&Row) -> bool) -> Option<(&'r Report, &'r Row)> {
    let rows = || reports.iter().flat_map(|&report| measured(report).map(move |row| (report, row)));
    let largest = rows().filter(|(_, row)| wanted(row)).map(|(_, row)| row.case().size).max()?;
    let mut best: Option<(&Report, &Row)> = None;
    for (report, row) in rows().filter(|(_, row)| wanted(row) && row.case().size == largest) {
        let better =
            |(other, earlier): (&Report, &Row)| std::ptr::eq(other, report) && row.call_ms() < earlier.call_ms();
        if best.is_none_or(better) {
            best = Some((report, row));
        }
    }
    best
}

/// The speed of the fastest rung of a case relative to the library, or to what it tuned where that is faster: by single
/// calls, and back to back.
#[derive(Clone, Copy)]
struct Beside {
    call: f64,
    back_to_back: Option<f64>,
}

impl Beside {
    fn is_behind(&self) -> bool {
        self.call < 1.0
    }

    fn is_behind_back_to_back(&self) -> bool {
        self.back_to_back.is_some_and(|ratio| ratio < 1.0)
    }
}

/// What decides the result: family and type with the task, the input, the size. And with which function of the library
/// a rung is compared, if a family's rungs have several: products in TF32 are not a library's in fp32.
type Case<'r> = (String, &'r str, Size);

/// Every case that was measured beside a library, with its fastest rung.
fn beside<'r>(reports: &[&'r Report]) -> BTreeMap<Case<'r>, Beside> {
    let rows = || reports.iter().flat_map(|&report| measured(report));
    let what = |row: &Row| {
        let words = [row.family.as_str(), &row.dtype, &row.task()].map(str::to_string);
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let function = |row: &Row| row.over_library().next().map(|ratio| ratio.of.clone());
    let mut functions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in rows() {
        functions.entry(what(row)).or_default().extend(function(row));
    }
    let mut cases = BTreeMap::new();
    for row in rows() {
        let (Some(ratio), Some(function)) = (row.over_fastest(), function(row)) else { continue };
        let back_to_back = row.over_library().filter_map(|ratio| ratio.back_to_back).min_by(f64::total_cmp);
        let here = Beside { call: ratio.call, back_to_back };
        let mut what = what(row);
        if functions[&what].len() > 1 {
            what += &format!(" beside `{function}`");
        }
        let best = cases.entry((what, row.keys.as_str(), row.case().size)).or_insert(here);
        if here.call > best.call {
            *best = here;
        }
    }
    cases
}

/// Place and time of the reports, and in how many cases the fastest measured rung is slower than the library, with the
/// lowest ratio of each family and type. `all` is where [`behind`] lists the cases.
pub fn behind_in_short(reports: &[&Report], all: &str) -> String {
    let cases = beside(reports);
    let devices: BTreeSet<&str> = reports.iter().map(|report| report.device.name.as_str()).collect();
    let days: BTreeSet<&str> = reports.iter().map(|report| report.date.split('T').next().unwrap_or_default()).collect();
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return NO_RESULTS.into() };
    let days = if first == last { first.to_string() } else { format!("{first} to {last}") };
    let devices = devices.into_iter().collect::<Vec<_>>().join(", ");
    let count = |is: fn(&Beside) -> bool| cases.values().filter(|beside| is(beside)).count();
    let (single, more) =
        (count(Beside::is_behind), count(|beside| beside.is_behind_back_to_back() && !beside.is_behind()));
    let mut text = format!(
        "Measured on {devices}, {days}; times are medians of single calls, launch gaps included. **Behind**: the \
         library is ahead in {single} of the {} cases that were measured",
        cases.len()
    );
    let mut kinds: Vec<(&str, Vec<(Case, f64)>)> = vec![];
    for (case, beside) in &cases {
        match kinds.last_mut() {
            Some((what, ratios)) if *what == case.0 => ratios.push((case.clone(), beside.call)),
            _ => kinds.push((&case.0, vec![(case.clone(), beside.call)])),
        }
    }
    let kinds = kinds.iter().filter_map(|(what, ratios)| {
        let behind = ratios.iter().filter(|(_, ratio)| *ratio < 1.0).count();
        let ((_, keys, size), lowest) = ratios.iter().min_by(|x, y| x.1.total_cmp(&y.1))?;
        let (of, lowest) = (ratios.len(), times_as_fast(*lowest));
        (behind > 0).then(|| format!("{what} in {behind} of {of}, lowest {lowest} ({keys}, {})", sized(*size)))
    });
    let kinds = kinds.collect::<Vec<_>>().join("; ");
    text += &if single == 0 { ".".into() } else { format!(": {kinds}.") };
    if more > 0 {
        text += &format!(" Where many calls follow each other without a pause, it is ahead in {more} more.");
    }
    if single + more > 0 {
        text += &format!(" [All of them]({all}).");
    }
    text
}

/// The heading above [`behind`]'s table.
pub const BEHIND: &str = "Where the library is ahead";

/// Every case in which the fastest measured rung is slower than the library, by single calls or back to back.
pub fn behind(reports: &[&Report]) -> String {
    let cases = beside(reports);
    let lines: Vec<Vec<String>> = cases
        .iter()
        .filter(|(_, beside)| beside.is_behind() || beside.is_behind_back_to_back())
        .map(|((what, keys, size), beside)| {
            let back_to_back = beside.back_to_back.map_or(NOTHING.into(), times_as_fast);
            vec![what.clone(), keys.to_string(), sized(*size), times_as_fast(beside.call), back_to_back]
        })
        .collect();
    grid(&["what", "input", "n", "ratio, single calls", "back to back"], &lines)
}

/// A size as Markdown shows it.
fn sized((n, m, k): Size) -> String {
    let cells =
        |n: u64| if n.is_power_of_two() && n > 512 { format!("2<sup>{}</sup>", n.ilog2()) } else { n.to_string() };
    match (m, k) {
        (Some(m), Some(k)) if m == n && k == n => format!("{n}³"),
        (Some(m), Some(k)) => format!("{m}x{n}x{k}"),
        _ => cells(n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{sample, sample_with_tuned};

    fn rungs() -> Vec<Rung> {
        ["lsd-blocks", "onesweep", "msd-buckets"]
            .map(|name| Rung {
                family: "radix".into(),
                name: name.into(),
                idea: format!("what {name} does"),
                file: format!("gpu/radix/src/{name}.rs"),
            })
            .into()
    }

    fn lines(text: &str) -> Vec<&str> {
        text.lines().collect()
    }

    #[test]
    fn a_ladder_names_every_rung_measured_or_not() {
        let text = ladder("radix", &rungs(), &[&sample()]);
        let lines = lines(&text);
        assert_eq!(lines.len(), 2 + 3, "{text}");
        assert_eq!(
            lines[0],
            "| **radix**, u32, n = 2<sup>20</sup> | idea | time | rate | of limit | × before | \
             `cub_radix_sort_keys_u32` |"
        );
        assert!(
            lines[2].starts_with(
                "| [lsd-blocks](gpu/radix/src/lsd-blocks.rs) | what lsd-blocks does | 40.0 µs (n = 2<sup>16</sup>) |"
            ),
            "{text}"
        );
        assert!(lines[2].ends_with("| 50 % | – | 20.0 µs |"), "{text}");
        // Its result was wrong, so it has no time.
        assert!(lines[3].ends_with("| not measured | – | – | – | – |"), "{text}");
        assert!(lines[4].contains("| 50.0 µs | 20.97 Gkeys/s | 50 % | – | 100.0 µs |"), "{text}");
    }

    #[test]
    fn a_whole_ladder_is_a_table_without_a_library_too() {
        let mut alone = sample();
        alone.results.iter_mut().for_each(|row| row.over_peer = None);
        let text = whole("radix", &rungs(), &[&alone]);
        assert!(text.contains("| × before | library |") && text.lines().count() == 5, "{text}");
        assert_eq!(whole("radix", &rungs(), &[&sample()]), ladder("radix", &rungs(), &[&sample()]));
    }

    #[test]
    fn the_sources_of_a_ladder_are_the_reports_that_it_shows() {
        let (mut here, mut there, whole) = (sample(), sample(), sample());
        here.results.retain(|row| row.name != "lsd-blocks");
        there.results.retain(|row| row.name == "lsd-blocks");
        assert_eq!(sources("radix", &rungs(), &[&here, &whole]), BTreeSet::from([1]));
        let mut beside = here.clone();
        beside.results.retain(|row| row.kind == Kind::Peer);
        assert_eq!(sources("radix", &rungs(), &[&beside, &there, &here]), BTreeSet::from([1, 2]));
        assert_eq!(sources("scan", &rungs(), &[&here]), BTreeSet::new());
    }

    #[test]
    fn a_second_function_of_the_library_has_a_column_and_a_line() {
        let report = sample_with_tuned();
        let text = ladder("radix", &rungs(), &[&report]);
        assert!(lines(&text)[0].ends_with("| `cub_radix_sort_keys_u32` | `tuned_best` |"), "{text}");
        assert!(lines(&text)[3].ends_with("| not measured | – | – | – | – | – |"), "{text}");
        assert!(lines(&text)[4].ends_with("| 50 % | – | 100.0 µs | 90.9 µs |"), "{text}");
        let text = summary(&["radix"], &[&report]);
        assert!(lines(&text)[2].ends_with("| `cub_radix_sort_keys_u32` | 100.0 µs | **2.00** |"), "{text}");
        assert!(lines(&text)[3].ends_with("| `tuned_best` | 90.9 µs | **1.82** |"), "{text}");
        // A rung is behind where it is slower than the faster of the two.
        let mut report = report;
        let halved = |ratio: &mut Option<Ratio>| {
            ratio.iter_mut().for_each(|ratio| (ratio.call, ratio.back_to_back) = (ratio.call * 0.52, None))
        };
        report.results.iter_mut().for_each(|row| {
            halved(&mut row.over_peer);
            halved(&mut row.over_tuned);
        });
        let text = behind(&[&report]);
        assert!(lines(&text)[2].ends_with("| 2<sup>16</sup> | 0.95 | – |"), "{text}");
        report.results.iter_mut().for_each(|row| row.over_tuned = None);
        assert_eq!(lines(&behind(&[&report])).len(), 2);
    }

    #[test]
    fn a_function_that_does_not_head_its_column_is_named_beside_its_time() {
        let mut report = sample();
        let other = "cub_radix_sort_pairs_u32";
        let theirs = report.results.iter().find(|row| row.kind == Kind::Peer && row.n == 1 << 20).cloned().unwrap();
        report.results.push(Row { name: other.into(), ..theirs });
        for row in report.results.iter_mut().filter(|row| row.name == "msd-buckets") {
            row.over_peer.as_mut().unwrap().of = other.into();
        }
        let text = ladder("radix", &rungs(), &[&report]);
        assert!(lines(&text)[0].ends_with("| `cub_radix_sort_keys_u32` |"), "{text}");
        assert!(lines(&text)[2].ends_with("| 20.0 µs |"), "{text}");
        assert!(lines(&text)[4].ends_with("| 100.0 µs (`cub_radix_sort_pairs_u32`) |"), "{text}");
        // The functions of another report have no column.
        let (mut few, mut tuned) = (sample(), sample_with_tuned());
        few.results.retain(|row| row.name != "msd-buckets");
        tuned.results.retain(|row| row.name != "lsd-blocks");
        assert!(lines(&ladder("radix", &rungs(), &[&few, &tuned]))[0].ends_with("`cub_radix_sort_keys_u32` |"));
    }

    /// A report of twins may have as many rungs.
    #[test]
    fn a_report_with_a_library_is_taken_first() {
        let (with, mut without) = (sample(), sample());
        without.results.iter_mut().for_each(|row| row.over_peer = None);
        let text = ladder("radix", &rungs(), &[&without, &with]);
        assert!(lines(&text)[0].ends_with("`cub_radix_sort_keys_u32` |"), "{text}");
        assert!(lines(&text)[4].ends_with("| 100.0 µs |"), "{text}");
    }

    #[test]
    fn a_rung_is_compared_with_the_one_before_where_both_ran_in_one_report() {
        let mut report = sample();
        let two: Vec<Rung> = rungs().into_iter().filter(|rung| rung.name != "onesweep").collect();
        let text = ladder("radix", &two, &[&report]);
        assert!(
            lines(&text)[3].ends_with("| 50.0 µs | 20.97 Gkeys/s | 50 % | 4.00 (n = 2<sup>16</sup>) | 100.0 µs |"),
            "{text}"
        );
        report.results.retain(|row| row.n == 1 << 16);
        let text = ladder("radix", &two, &[&report]);
        assert!(lines(&text)[3].ends_with("| 50 % | 4.00 | 20.0 µs |"), "{text}");
        // From another report it is shown and not compared.
        let mut other = report.clone();
        report.results.retain(|row| row.name != "msd-buckets");
        other.results.retain(|row| row.name != "lsd-blocks");
        let text = ladder("radix", &two, &[&report, &other]);
        assert!(lines(&text)[3].ends_with("| 50 % | – | 20.0 µs |"), "{text}");
        assert!(ladder("radix", &two, &[]).contains("not measured"));
    }

    #[test]
    fn the_summary_has_the_fastest_rung_of_the_largest_problem() {
        let text = summary(&["radix", "matmul", "scan"], &[&sample()]);
        let lines = lines(&text);
        assert_eq!(
            lines[2],
            "| radix | msd-buckets | 2<sup>20</sup>, u32 | 50.0 µs | 20.97 Gkeys/s | `cub_radix_sort_keys_u32` | \
             100.0 µs | **2.00** |"
        );
        // No library was beside the others.
        assert_eq!(lines.len(), 3, "{text}");
    }

    #[test]
    fn pairs_have_a_line_of_their_own() {
        let mut report = sample();
        let pairs: Vec<Row> = report.results.iter().filter(|row| row.family == "radix").cloned().collect();
        report.results.extend(pairs.into_iter().map(|row| Row { parameters: "values".into(), ..row }));
        let text = summary(&["radix"], &[&report]);
        assert!(lines(&text)[3].starts_with("| radix, key and value | msd-buckets |"), "{text}");
        // Another task has none, however large.
        let others: Vec<Row> = report.results.iter().filter(|row| row.n == 1 << 20).cloned().collect();
        report.results.extend(others.into_iter().map(|row| Row { n: 1 << 24, parameters: "low-half".into(), ..row }));
        assert!(!summary(&["radix"], &[&report]).contains("2<sup>24</sup>"));
    }

    #[test]
    fn a_type_with_a_rung_of_its_own_has_a_line_of_its_own() {
        let mut report = sample();
        let others: Vec<Row> = report.results.iter().filter(|row| row.family == "radix").cloned().collect();
        report.results.extend(others.iter().cloned().map(|row| Row { dtype: "u64".into(), ..row }));
        assert_eq!(lines(&summary(&["radix"], &[&report])).len(), 3, "its fastest rung takes u32, too");
        for row in report.results.iter_mut().filter(|row| row.dtype == "u64" && row.name == "msd-buckets") {
            row.name = "msd-wide".into();
        }
        let text = summary(&["radix"], &[&report]);
        assert!(lines(&text)[3].starts_with("| radix, u64 | msd-wide | 2<sup>20</sup>, u64 |"), "{text}");
    }

    #[test]
    fn where_the_library_is_ahead_is_said_with_the_ratio() {
        let mut report = sample();
        let short = |report: &Report| behind_in_short(&[report], "all.md");
        assert!(behind_in_short(&[], "all.md").contains("No results are recorded"));
        let text = short(&report);
        assert!(
            text.starts_with("Measured on NVIDIA H200, 2026-11-21; ") && text.contains("ahead in 0 of the 2 cases")
        );
        assert_eq!(behind(&[&report]).lines().count(), 2, "no case");
        for row in &mut report.results {
            if let Some(ratio) = &mut row.over_peer {
                (ratio.call, ratio.back_to_back) = if row.n == 1 << 16 { (0.5, Some(0.4)) } else { (1.2, Some(0.9)) };
            }
        }
        let text = short(&report);
        let end = "the library is ahead in 1 of the 2 cases that were measured: radix u32 in 1 of 2, lowest 0.50 \
                   (uniform, 2<sup>16</sup>). Where many calls follow each other without a pause, it is ahead in 1 \
                   more. [All of them](all.md).";
        assert!(text.ends_with(end), "{text}");
        let text = behind(&[&report]);
        let cases = [
            "| radix u32 | uniform | 2<sup>16</sup> | 0.50 | 0.40 |",
            "| radix u32 | uniform | 2<sup>20</sup> | 1.20 | 0.90 |",
        ];
        assert_eq!(lines(&text)[2..], cases, "{text}");
        // The number of columns changes how a sort works, not its result: the faster one counts.
        let faster = report.results.iter().find(|row| row.over_peer.is_some()).cloned().unwrap();
        let of = |name: &str| Some(crate::Ratio { of: name.into(), call: 3.0, back_to_back: None });
        let usual = faster.over_peer.as_ref().unwrap().of.clone();
        let faster = Row { parameters: "columns=8".into(), over_peer: of(&usual), ..faster };
        report.results.push(faster.clone());
        assert!(short(&report).contains("ahead in 0 of the 2"));
        // Beside another function it does not count.
        report.results.last_mut().unwrap().over_peer = of("other");
        let text = short(&report);
        assert!(text.contains("ahead in 1 of the 3 cases that were measured: radix u32 beside `"), "{text}");
    }
}
