//! A run under one schedule of a check, as the page plays it: each access and each barrier in the order in which they
//! happened, and the two accesses of a finding among them.

use super::html;
use crate::checks::{Finding, Side, Site};
use crate::counters;
use rungs::error::Result;
use serde::Serialize;
use simt::sim::{self, AccessKind, Check, Event, Space};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::Location;
use std::rc::Rc;

/// The most events on a page: those before the finding, and with none the first.
const EVENTS: usize = 6000;

/// Events behind the finding.
const AFTER: usize = 200;

/// Lines of the source above and below each place, which the page shows too.
const AROUND: u32 = 3;

/// What the page plays.
#[derive(Serialize)]
struct Run<'a> {
    family: &'a str,
    rung: &'a str,
    schedule: &'a str,
    finding: Option<&'a Finding>,
    /// Other findings.
    others: usize,
    launches: Vec<Launched>,
    places: Vec<Placed>,
    /// The lines of the files, those around places.
    files: BTreeMap<String, BTreeMap<u32, String>>,
    events: Vec<Told>,
    /// The accesses of the finding among the events.
    first: Option<usize>,
    second: Option<usize>,
    /// Events that were left out.
    before: usize,
}

#[derive(Clone, Serialize)]
struct Launched {
    kernel: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
}

#[derive(Serialize)]
struct Placed {
    file: String,
    line: u32,
}

/// An event for the page: `[kind, launch, block, thread, place, space, address, bytes, value]`. The kinds are read,
/// write, atomic, barrier, the end of a block and a launch; a barrier's number stands for the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Told(u8, usize, u32, u32, usize, u8, u64, u32, u64);

/// One event, with the launch that it belongs to.
type Seen = (usize, Event);

/// Writes down what happens, as much as the page holds.
struct Recorder {
    finding: Option<Finding>,
    launches: Vec<Launched>,
    events: VecDeque<Seen>,
    /// Events that came and are not kept.
    before: usize,
    /// For each address, the event that may be the finding's first access, counted from the beginning.
    firsts: HashMap<(usize, u64), usize>,
    /// The events of the finding, counted from the beginning.
    pair: (Option<usize>, Option<usize>),
    /// Events that are still written down.
    left: usize,
}

impl Recorder {
    fn note(&mut self, event: Event) {
        if let Event::Launch { kernel, grid, block } = event {
            self.launches.push(Launched { kernel, grid: grid.0, block: block.0 });
        }
        if self.left == 0 || self.launches.is_empty() {
            return;
        }
        let (launch, number) = (self.launches.len() - 1, self.before + self.events.len());
        self.events.push_back((launch, event));
        match &self.finding {
            None => self.left -= 1,
            Some(_) if self.pair.1.is_some() => self.left -= 1,
            Some(finding) => {
                let launched = &self.launches[launch];
                let word = |event: &Event| match event {
                    Event::Access(access) => {
                        // Each block has shared memory of its own.
                        let block = if access.space == Space::Shared { u64::from(access.block) << 40 } else { 0 };
                        Some((launch, access.address ^ block))
                    }
                    _ => None,
                };
                if launched.kernel == finding.kernel && is(&event, &finding.second, launched) {
                    let first = word(&event).and_then(|word| self.firsts.get(&word).copied());
                    if first.is_some() || finding.first.as_ref().is_none_or(|side| side.site.is_none()) {
                        self.pair = (first, Some(number));
                        self.left = AFTER;
                    }
                }
                let first = finding.first.as_ref().is_some_and(|side| is(&event, side, launched));
                if let (true, Some(word)) = (first && launched.kernel == finding.kernel, word(&event)) {
                    self.firsts.insert(word, number);
                }
                // The first access stays, and what came after it, as far as there is room.
                if self.events.len() > EVENTS {
                    self.events.pop_front();
                    self.before += 1;
                }
            }
        }
    }
}

/// Whether the event is what a side of a finding says.
fn is(event: &Event, side: &Side, launched: &Launched) -> bool {
    let Event::Access(access) = event else { return false };
    let number = |at: [u32; 3], of: [u32; 3]| at[0] + of[0] * (at[1] + of[1] * at[2]);
    access.block == number(side.block, launched.grid)
        && access.thread == number(side.thread, launched.block)
        && side.site.as_ref().is_some_and(|Site { file, line, column }| {
            file_of(access.site) == *file && (access.site.line(), access.site.column()) == (*line, *column)
        })
}

fn file_of(site: &Location) -> String {
    site.file().replace('\\', "/")
}

/// The page of `work` under the schedule of a finding, or under the first of `options` if nothing was found.
///
/// # Errors
/// If the page cannot be written as JSON.
pub fn run_page(
    (family, rung): (&str, &str),
    options: Check,
    findings: &[Finding],
    work: impl FnMut() -> Result<()>,
) -> Result<String> {
    // The first that is about two accesses, or at least one: the page shows them.
    let told = |finding: &&Finding| finding.first.as_ref().is_some_and(|side| side.site.is_some());
    let finding = findings.iter().find(told).or(findings.first());
    let (seed, choices) = finding.map_or((options.seed, options.choices), |finding| {
        (finding.again.schedule, finding.again.choices.unwrap_or(options.choices))
    });
    let options = Check { seed, choices, schedules: 1, ..options };
    let recorder = Rc::new(RefCell::new(Recorder {
        finding: finding.cloned(),
        launches: Vec::new(),
        events: VecDeque::new(),
        before: 0,
        firsts: HashMap::new(),
        pair: (None, None),
        left: EVENTS,
    }));
    let log = recorder.clone();
    // Its report is known.
    sim::observe(move |event| log.borrow_mut().note(event), || drop(sim::check(options, work)));
    let Recorder { launches, events, before, pair, .. } =
        Rc::try_unwrap(recorder).ok().expect("the observer is gone").into_inner();
    let mut places: Vec<Placed> = Vec::new();
    let mut known = HashMap::new();
    let mut place = |site: &'static Location<'static>| {
        *known.entry((file_of(site), site.line())).or_insert_with(|| {
            places.push(Placed { file: file_of(site), line: site.line() });
            places.len() - 1
        })
    };
    let told = |(launch, event): Seen| match event {
        Event::Access(a) => {
            let kind = match a.kind {
                AccessKind::Read => 0,
                AccessKind::Write => 1,
                AccessKind::Atomic => 2,
            };
            let space = (a.space == Space::Shared) as u8;
            Told(kind, launch, a.block, a.thread, place(a.site), space, a.address, a.bytes, a.value)
        }
        Event::Barrier { block, id, site } => Told(3, launch, block, id, place(site), 0, 0, 0, 0),
        Event::BlockEnd { block } => Told(4, launch, block, 0, 0, 0, 0, 0, 0),
        _ => Told(5, launch, 0, 0, 0, 0, 0, 0, 0),
    };
    let events: Vec<Told> = events.into_iter().filter(|(_, e)| !matches!(e, Event::LaunchEnd)).map(told).collect();
    let files = around(&places);
    let at = |number: Option<usize>| number.and_then(|n| n.checked_sub(before)).filter(|&n| n < events.len());
    let schedule = finding.and_then(|finding| finding.again.shortest.clone()).unwrap_or(format!("schedule {seed}"));
    let (first, second) = (at(pair.0), at(pair.1));
    let (others, schedule) = (findings.len().saturating_sub(1), &*schedule);
    html::fill(
        &Run { family, rung, schedule, finding, others, launches, places, files, events, first, second, before },
        &format!("{family} {rung}"),
        &[],
    )
}

/// The lines of the source around places, where the source is known.
fn around(places: &[Placed]) -> BTreeMap<String, BTreeMap<u32, String>> {
    let mut files: BTreeMap<String, BTreeMap<u32, String>> = BTreeMap::new();
    for Placed { file, line } in places {
        let Some(text) = counters::source(file) else { continue };
        let lines = files.entry(file.clone()).or_default();
        let from = line.saturating_sub(AROUND).max(1);
        let texts = text.lines().skip(from as usize - 1).take((line + AROUND + 1 - from) as usize);
        lines.extend((from..).zip(texts.map(str::to_string)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;
    use rungs::error::Error;
    use rungs_gallery::{Simulated, Trial, named};
    use serde_json::Value;

    /// The data of the page of a bug of the gallery, planted or fixed.
    fn page(name: &str, fixed: bool) -> Value {
        let (_, case) = named(name).unwrap();
        let work = || (case.run)(&Trial::new(&Simulated::default(), fixed)).map(drop).map_err(Error::from);
        let options = Check { schedules: 8, ..Check::default() };
        let checked = checks::check(options, work, None).unwrap();
        assert_eq!(checked.is_clean(), fixed, "{}", checked.text());
        let page = run_page(("gallery", name), options, &checked.findings, work).unwrap();
        assert!(!page.contains("src=") && !page.contains("href=\"http"), "it needs another file");
        let json = page.lines().find_map(|line| line.strip_prefix("const trace = ")).unwrap();
        serde_json::from_str(json.strip_suffix(';').unwrap()).unwrap()
    }

    #[test]
    fn the_accesses_of_a_finding_are_among_the_events() {
        for name in
            ["left-neighbour", "bitonic-step", "histogram-across-blocks", "relaxed-flag", "counter-read-plainly"]
        {
            let page = page(name, false);
            let (finding, events) = (&page["finding"], page["events"].as_array().unwrap());
            let mut words = Vec::new();
            for side in ["first", "second"] {
                let event = &events[page[side].as_u64().unwrap_or_else(|| panic!("{name}: no {side}")) as usize];
                let place = &page["places"][event[4].as_u64().unwrap() as usize];
                let site = &finding[side]["site"];
                assert_eq!((&place["file"], &place["line"]), (&site["file"], &site["line"]), "{name}, {side}");
                let launched = &page["launches"][event[1].as_u64().unwrap() as usize];
                assert_eq!(launched["kernel"], finding["kernel"]);
                assert_eq!(event[2], finding[side]["block"][0], "{name}, {side}: all their grids are lines");
                assert_eq!(event[3], finding[side]["thread"][0], "{name}, {side}");
                let text = &page["files"][place["file"].as_str().unwrap()][place["line"].to_string()];
                assert!(text.as_str().is_some_and(|text| text.contains('.')), "{name}: {text}");
                words.push((event[5].clone(), event[6].clone()));
            }
            assert_eq!(words[0], words[1], "{name}: one word, in one memory");
            let space = if finding["memory"]["space"] == "shared" { 1 } else { 0 };
            assert_eq!(words[0].0, space, "{name}");
            assert!(page["first"].as_u64() < page["second"].as_u64(), "{name}");
        }
    }

    #[test]
    fn a_clean_run_has_all_its_events_and_no_finding() {
        let page = page("left-neighbour", true);
        assert!(page["finding"].is_null() && page["first"].is_null() && page["second"].is_null());
        let count = |kind: u64| page["events"].as_array().unwrap().iter().filter(|e| e[0] == kind).count();
        let threads = page["launches"][0]["block"][0].as_u64().unwrap() as usize;
        // A load of the input and one of the tile, a store to the tile and one to the output; a barrier between.
        assert_eq!((count(0), count(1), count(3), count(4), count(5)), (2 * threads, 2 * threads, 1, 1, 1));
        assert_eq!(page["before"], 0);
    }
}
