//! The ladders as tables in Markdown, from reports.

use crate::table::{grid, size};
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
    /// Its file, as a reader of the table finds it; empty if there is none.
    pub file: String,
    /// Whether it is the library's, which is no step of the course.
    pub library: bool,
}

impl Rung {
    /// Its name, as a link if it has a file.
    pub fn linked(&self) -> String {
        if self.file.is_empty() { self.name.clone() } else { format!("[{}]({})", self.name, self.file) }
    }
}

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
    /// The report with the most rungs; of two with as many, the one that has a library next to them, then the first.
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

    /// Type, input and size in words.
    fn problem(&self, family: &str) -> String {
        let row = measured(self.report).find(|row| row.case().size == self.size && row.family == family);
        // Tensor cores take less power for whole numbers than for fractions, and large products are faster for that.
        let elements = if self.keys == "small" && row.is_some_and(|row| row.m.is_some()) {
            ", whole numbers from -4 to 4"
        } else {
            ""
        };
        row.map_or_else(String::new, |row| format!("{}{elements}, n = {}", self.dtype, size(row)))
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

/// The rows of rungs, on one device, with a time.
pub(crate) fn measured(report: &Report) -> impl Iterator<Item = &Row> {
    report.results.iter().filter(|row| row.kind == Kind::Rung && row.call.is_some() && row.group.is_none())
}

/// The row of a function of the library that a rung is compared with.
pub(crate) fn library<'r>(report: &'r Report, row: &Row, ratio: &Ratio) -> Option<&'r Row> {
    report.results.iter().find(|other| other.case() == row.case() && other.name == ratio.of)
}

/// The rows of both functions of the library that a rung is compared with.
fn libraries<'r>(report: &'r Report, row: &Row) -> Functions<&'r Row> {
    [&row.over_peer, &row.over_tuned].map(|ratio| library(report, row, ratio.as_ref()?))
}

/// The library's functions that a rung is compared with: the usual one, and the one that was tuned.
type Functions<T> = [Option<T>; 2];

/// A family's section on the page of ladders: the rungs of the course, then the library's rows, then rows of reports
/// whose kernel has another name by now.
pub fn section(family: &str, rungs: &[Rung], reports: &[&Report]) -> String {
    let mut text = format!("## {family}\n");
    if let Some(source) = Source::of(family, reports) {
        let day = source.report.date.split('T').next().unwrap_or_default();
        text += &format!("\n{}. {}, {day}.\n", source.problem(family), source.report.device.name);
    }
    let named = |library: bool| rungs.iter().filter(move |rung| rung.family == family && rung.library == library);
    let earlier = earlier(family, rungs, reports);
    let parts: [(&str, &str, Vec<&Rung>); 3] = [
        ("", "rung", named(false).collect()),
        ("\nThe library's rows:\n", "row", named(true).collect()),
        ("\nMeasured under names that the source no longer has:\n", "name", earlier.iter().collect()),
    ];
    for (intro, name, rungs) in parts.iter().filter(|(_, _, rungs)| !rungs.is_empty()) {
        let table = Ladder::of(family, rungs, reports).table(name);
        text += &format!("{intro}\n{table}");
    }
    text
}

/// The rows of reports that no rung has the name of.
fn earlier(family: &str, rungs: &[Rung], reports: &[&Report]) -> Vec<Rung> {
    let rows = reports.iter().flat_map(|report| measured(report)).filter(|row| row.family == family);
    let mut names: Vec<&str> = vec![];
    for row in rows {
        let known = rungs.iter().any(|rung| rung.family == family && rung.name == row.name);
        if !known && !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let rung = |name: &str| Rung {
        family: family.into(),
        name: name.into(),
        idea: NOTHING.into(),
        file: String::new(),
        library: false,
    };
    names.into_iter().map(rung).collect()
}

/// The ladder of one family as one table, also if no library is next to it: the rungs, then the library's rows.
pub fn whole(family: &str, rungs: &[Rung], reports: &[&Report]) -> String {
    let mut of_family: Vec<&Rung> = rungs.iter().filter(|rung| rung.family == family).collect();
    of_family.sort_by_key(|rung| rung.library);
    let problem = Source::of(family, reports).map_or(String::new(), |source| format!(", {}", source.problem(family)));
    Ladder::of(family, &of_family, reports).table(&format!("**{family}**{problem}"))
}

/// The cells of a ladder, and the names of the library's functions that have a column.
struct Ladder {
    functions: Functions<String>,
    lines: Vec<Vec<String>>,
}

impl Ladder {
    /// A line for each of these rungs, measured or not.
    fn of(family: &str, rungs: &[&Rung], reports: &[&Report]) -> Self {
        let source = Source::of(family, reports);
        let find = |rung: &&Rung| source.as_ref().and_then(|source| source.place(family, &rung.name, reports));
        let found: Vec<_> = rungs.iter().map(find).collect();
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
            let mut cells = vec![rung.linked(), rung.idea.clone()];
            cells.extend(match (found, &source) {
                (Some((report, row)), Some(source)) => {
                    // Only a rung of the course continues the one before.
                    let before = before.filter(|_| !rung.library && !rung.file.is_empty());
                    measured_cells(source, before, row, libraries(report, row), functions)
                }
                _ => [vec!["not measured".into()], vec![NOTHING.into(); 5]].concat(),
            });
            lines.push(cells);
            before = Some(rung.name.as_str());
        }
        Self { functions: functions.map(|function| function.map(str::to_string)), lines }
    }

    /// A table with a column for each function of the library.
    fn table(&self, first: &str) -> String {
        let [usual, tuned] = self.functions.each_ref().map(|name| name.as_ref().map(|name| format!("`{name}`")));
        let (usual, tuned) = (usual.unwrap_or("library".into()), tuned.unwrap_or("library, tuned".into()));
        let columns = [first, "idea", "time", "rate", "% of peak", "speedup over previous", &usual, &tuned];
        // A column in which nothing stands is left out.
        let kept: Vec<usize> =
            (0..columns.len()).filter(|&i| self.lines.iter().any(|cells| cells[i] != NOTHING)).collect();
        let columns: Vec<&str> = kept.iter().map(|&i| columns[i]).collect();
        let lines: Vec<Vec<String>> =
            self.lines.iter().map(|cells| kept.iter().map(|&i| cells[i].clone()).collect()).collect();
        grid(&columns, &lines)
    }
}

/// The reports that [`whole`] takes its numbers from, by their places in `reports`.
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
                library: false,
            })
            .into()
    }

    fn lines(text: &str) -> Vec<&str> {
        text.lines().collect()
    }

    #[test]
    fn a_ladder_names_every_rung_measured_or_not() {
        let text = whole("radix", &rungs(), &[&sample()]);
        let lines = lines(&text);
        assert_eq!(lines.len(), 2 + 3, "{text}");
        assert_eq!(
            lines[0],
            "| **radix**, u32, n = 2<sup>20</sup> | idea | time | rate | % of peak | \
             `cub_radix_sort_keys_u32` |"
        );
        assert!(
            lines[2].starts_with(
                "| [lsd-blocks](gpu/radix/src/lsd-blocks.rs) | what lsd-blocks does | 40.0 µs (n = 2<sup>16</sup>) |"
            ),
            "{text}"
        );
        assert!(lines[2].ends_with("| 50 % | 20.0 µs |"), "{text}");
        // Its result was wrong, so it has no time.
        assert!(lines[3].ends_with("| what onesweep does | not measured | – | – | – |"), "{text}");
        assert!(lines[4].contains("| 50.0 µs | 20.97 Gkeys/s | 50 % | 100.0 µs |"), "{text}");
    }

    #[test]
    fn a_column_in_which_nothing_stands_is_left_out() {
        let mut alone = sample();
        alone.results.iter_mut().for_each(|row| row.over_peer = None);
        let text = whole("radix", &rungs(), &[&alone]);
        assert!(lines(&text)[0].ends_with("| idea | time | rate | % of peak |") && lines(&text).len() == 5, "{text}");
    }

    #[test]
    fn a_section_has_rungs_then_the_librarys_rows_then_earlier_names() {
        let mut rungs = rungs();
        rungs.remove(0);
        rungs[1].library = true;
        let text = section("radix", &rungs, &[&sample()]);
        assert!(
            text.starts_with("## radix\n\nu32, n = 2<sup>20</sup>. NVIDIA H200, 2026-11-21.\n\n| rung |"),
            "{text}"
        );
        let places = ["| [onesweep](", "The library's rows", "| [msd-buckets](", "no longer has:", "| lsd-blocks |"];
        let places = places.map(|part| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}")));
        assert!(places.is_sorted(), "{text}");
        assert!(
            text.ends_with("| lsd-blocks | 40.0 µs (n = 2<sup>16</sup>) | 1.64 Gkeys/s | 50 % | 20.0 µs |\n"),
            "{text}"
        );
        // The library's rows go on from no rung: in the course this one is 4 times as fast.
        let [mut first, mut second] = [0, 2].map(|i| self::tests::rungs().remove(i));
        assert!(whole("radix", &[first.clone(), second.clone()], &[&sample()]).contains("| 4.00 (n"));
        second.library = true;
        assert!(!whole("radix", &[second.clone(), first.clone()], &[&sample()]).contains("4.00"));
        first.file = String::new();
        assert!(
            section("radix", &[first, second], &[]).contains("| lsd-blocks | what lsd-blocks does | not measured |")
        );
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
        let text = whole("radix", &rungs(), &[&report]);
        assert!(lines(&text)[0].ends_with("| `cub_radix_sort_keys_u32` | `tuned_best` |"), "{text}");
        assert!(lines(&text)[3].ends_with("| not measured | – | – | – | – |"), "{text}");
        assert!(lines(&text)[4].ends_with("| 50 % | 100.0 µs | 90.9 µs |"), "{text}");
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
        let text = whole("radix", &rungs(), &[&report]);
        assert!(lines(&text)[0].ends_with("| `cub_radix_sort_keys_u32` |"), "{text}");
        assert!(lines(&text)[2].ends_with("| 20.0 µs |"), "{text}");
        assert!(lines(&text)[4].ends_with("| 100.0 µs (`cub_radix_sort_pairs_u32`) |"), "{text}");
        // A function of another report heads no column.
        let (mut few, mut tuned) = (sample(), sample_with_tuned());
        few.results.retain(|row| row.name != "msd-buckets");
        tuned.results.retain(|row| row.name != "lsd-blocks");
        let text = whole("radix", &rungs(), &[&few, &tuned]);
        assert!(lines(&text)[0].ends_with("`cub_radix_sort_keys_u32` | library, tuned |"), "{text}");
        assert!(lines(&text)[4].ends_with("| 90.9 µs (`tuned_best`) |"), "{text}");
    }

    /// A report of twins may have as many rungs.
    #[test]
    fn a_report_with_a_library_is_taken_first() {
        let (with, mut without) = (sample(), sample());
        without.results.iter_mut().for_each(|row| row.over_peer = None);
        let text = whole("radix", &rungs(), &[&without, &with]);
        assert!(lines(&text)[0].ends_with("`cub_radix_sort_keys_u32` |"), "{text}");
        assert!(lines(&text)[4].ends_with("| 100.0 µs |"), "{text}");
    }

    #[test]
    fn a_rung_is_compared_with_the_one_before_where_both_ran_in_one_report() {
        let mut report = sample();
        let two: Vec<Rung> = rungs().into_iter().filter(|rung| rung.name != "onesweep").collect();
        let text = whole("radix", &two, &[&report]);
        assert!(
            lines(&text)[3].ends_with("| 50.0 µs | 20.97 Gkeys/s | 50 % | 4.00 (n = 2<sup>16</sup>) | 100.0 µs |"),
            "{text}"
        );
        report.results.retain(|row| row.n == 1 << 16);
        let text = whole("radix", &two, &[&report]);
        assert!(lines(&text)[3].ends_with("| 50 % | 4.00 | 20.0 µs |"), "{text}");
        // From another report it is shown and not compared.
        let mut other = report.clone();
        report.results.retain(|row| row.name != "msd-buckets");
        other.results.retain(|row| row.name != "lsd-blocks");
        let text = whole("radix", &two, &[&report, &other]);
        assert!(lines(&text)[3].ends_with("| 50 % | 20.0 µs |"), "{text}");
        assert!(whole("radix", &two, &[]).contains("not measured"));
    }
}
