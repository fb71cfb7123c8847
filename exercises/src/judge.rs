//! The verdict on an answer.

use crate::endless::{self, ALLOWED, Known, NO_END};
use crate::gate::{Gate, Measured};
use crate::machine::{Failure, Machine};
use crate::run::{Different, Place, Run, SHOWN};
use simt::launcher::{Failed, Result};
use simt::sim::stats::statistics;
use simt::sim::{AccessKind, Check, Event, Finding, Gpu, Kind, LaunchError, check, observe, plural, shortest, within};
use std::cell::RefCell;
use std::collections::HashMap;
use std::process::{self, ExitCode};
use std::rc::Rc;
use std::thread;

/// Schedules that each size of input runs under, each with values of its own.
pub const SCHEDULES: u32 = 32;

/// An exercise, as its check file describes it.
pub struct Exercise {
    /// Its name: number and idea.
    pub name: &'static str,
    /// Sizes of the input, from the smallest up.
    pub sizes: &'static [u32],
    /// Launches the answer and says what it should put out.
    pub run: fn(&Run) -> Result,
    /// What it may cost.
    pub gates: &'static [Gate],
}

/// What was said of an answer.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What is wrong: `refused`, `canary`, `different`, the name of a finding's kind, or a gate's counter. None if
    /// nothing is.
    pub wrong: Option<String>,
    /// The same at length.
    pub text: String,
    /// The gates' counters, where the output is right.
    pub measured: Vec<Measured>,
}

impl Exercise {
    /// The sizes in the order in which they are judged: without elements last, which says least about an answer.
    pub(crate) fn sizes_by_worth(&self) -> impl Iterator<Item = u32> {
        let (empty, others): (Vec<u32>, Vec<u32>) = self.sizes.iter().partition(|&&n| n == 0);
        others.into_iter().chain(empty)
    }
}

/// Something that is wrong in one run.
#[derive(Clone)]
struct Problem {
    /// Which problem is told first: the lowest.
    rank: u8,
    name: &'static str,
    text: String,
    input: String,
    /// Its elements, and those of a wrong output.
    shown: String,
    n: u32,
    seed: u64,
}

/// Elements of an input that shows what is wrong better than a smaller one, and those that a reader still surveys.
const TELLING: std::ops::RangeInclusive<u32> = 4..=SHOWN as u32;

impl Problem {
    fn with_input(&self) -> String {
        format!("{}\n  input: {}", self.text, self.input)
    }

    /// Whether it is told instead of one that was found with a smaller input: what explains more, or an output whose
    /// other elements can be seen next to the wrong one.
    fn is_told_instead_of(&self, other: &Self) -> bool {
        let is_telling = TELLING.contains(&self.n) && other.n < *TELLING.start();
        self.rank < other.rank || self.rank == DIFFERENT && other.rank == DIFFERENT && is_telling
    }
}

/// Judges an answer. It does not return if a thread of the answer never comes back to the simulator; [`main`] does.
pub fn judge(exercise: &Exercise) -> Verdict {
    judge_known(exercise, &Known::default())
}

fn judge_known(exercise: &Exercise, known: &Known) -> Verdict {
    let mut worst: Option<Problem> = None;
    let (mut first_race, mut endless) = (None::<Problem>, None);
    'sizes: for n in exercise.sizes_by_worth() {
        if n == 0 && worst.is_some() {
            break;
        }
        for seed in 0..SCHEDULES.into() {
            known.begins(n, seed);
            let problems = problems(exercise, n, seed);
            known.rests();
            if let Some(no_end) = problems.iter().find(|problem| problem.name == NO_END) {
                endless = Some(endless::in_words(&endless::repeats(exercise, n, seed), &no_end.input));
            }
            // That two threads race explains best why others wait for ever.
            let race = problems.iter().find(|problem| problem.rank == UNORDERED);
            first_race = first_race.or_else(|| race.cloned());
            let Some(problem) = problems.into_iter().min_by_key(|problem| problem.rank) else { continue };
            let hangs = endless.is_some() || Kind::ALL.iter().any(|kind| kind.hangs() && kind.name() == problem.name);
            if worst.as_ref().is_none_or(|worst| problem.is_told_instead_of(worst)) {
                worst = Some(problem);
            }
            if let Some(before) = first_race.as_ref().or(worst.as_ref()) {
                known.found(&before.with_input());
            }
            // The wait for a kernel that waits for ever is long.
            if hangs {
                break 'sizes;
            }
        }
    }
    if let Some(problem) = first_race.filter(|_| endless.is_some()).or(worst) {
        let text = match endless {
            Some(no_end) if problem.name == NO_END => no_end,
            Some(no_end) => endless::told(Some(problem.with_input()), &no_end),
            None => format!("{}{}", problem.text, how_it_shows(exercise, &problem)),
        };
        return Verdict { wrong: Some(problem.name.into()), text, measured: vec![] };
    }
    let measured = |gate: &Gate| {
        known.begins(gate.n, 0);
        measure(exercise, gate)
    };
    let measured: Vec<Measured> = exercise.gates.iter().map(measured).collect();
    known.rests();
    let wrong = measured.iter().find(|measured| !measured.passes());
    let text = match wrong {
        Some(measured) => format!("The output is right, and it costs too much:\n  {}", measured.text()),
        None => {
            let lines: Vec<String> = measured.iter().map(|measured| format!("\n  {}", measured.text())).collect();
            format!(
                "right for {} sizes of input under {SCHEDULES} schedules each{}",
                exercise.sizes.len(),
                lines.concat()
            )
        }
    };
    Verdict { wrong: wrong.map(|measured| measured.what.into()), text, measured }
}

fn measure(exercise: &Exercise, gate: &Gate) -> Measured {
    let (_, statistics) = statistics(|| (exercise.run)(&Run::new(gate.n, 0, &Gpu::default())));
    Measured { what: gate.what, value: (gate.counter)(&statistics), bound: gate.bound }
}

/// The check of one run.
pub(crate) fn one_schedule(seed: u64) -> Check {
    Check { seed, schedules: 1, ..Check::default() }
}

/// What is wrong with one run.
fn problems(exercise: &Exercise, n: u32, seed: u64) -> Vec<Problem> {
    let checked = within(ALLOWED, || check(one_schedule(seed), || attempt(exercise, n, seed)));
    let Some(Attempt { result, different, input }) = checked.results.into_iter().next() else {
        return vec![];
    };
    let with = |rank, name, text| Problem { rank, name, text, input: input.clone(), shown: String::new(), n, seed };
    let mut problems = vec![];
    if let Err(failed) = &result {
        let (rank, name) = if is_out_of_time(failed) { (ENDLESS, NO_END) } else { (refusal_rank(failed), "refused") };
        problems.push(with(rank, name, failed.to_string()));
    }
    if let Some(Different { text, place: Place::Outside, .. }) = &different {
        problems.push(with(FAULT, "canary", text.clone()));
    }
    let findings = checked.report.findings.iter();
    problems.extend(findings.map(|finding| with(rank(finding), finding.kind.name(), in_words(finding))));
    if let Some(Different { text, shown, place: Place::Inside | Place::Unwritten, .. }) = different {
        problems.push(Problem { shown, ..with(DIFFERENT, "different", text) });
    }
    problems
}

/// Whether a launch was given up after [`ALLOWED`].
fn is_out_of_time(failed: &Failed) -> bool {
    let Failed::Machine(error) = failed else { return false };
    matches!(error.downcast_ref(), Some(LaunchError::OutOfTime { .. }))
}

pub(crate) fn attempt(exercise: &Exercise, n: u32, seed: u64) -> Attempt {
    attempt_on(&Gpu::default(), exercise, n, seed)
}

/// One run on a machine.
pub(crate) struct Attempt {
    /// How its launches ended.
    pub result: Result,
    /// The first difference.
    pub different: Option<Different>,
    /// Its input, in words.
    pub input: String,
}

pub(crate) fn attempt_on(machine: &dyn Machine, exercise: &Exercise, n: u32, seed: u64) -> Attempt {
    let run = Run::new(n, seed, machine);
    let result = (exercise.run)(&run);
    // What a check was not told of came before the launches that were refused because of it.
    let result = run.failure().and(result);
    let different = run.ended();
    Attempt { result: result.and(run.failure()), different, input: run.input_in_words() }
}

/// A finding in words. That of memory which was not written names no thread: no thread is at fault more than another.
fn in_words(finding: &Finding) -> String {
    if finding.kind != Kind::Unwritten {
        return finding.to_string();
    }
    let (name, meaning, what) = (finding.kind.name(), finding.kind.meaning(), &finding.second.what);
    let ran = match finding.kernel {
        "" => "no kernel ran: a grid without blocks launches nothing".into(),
        kernel => format!("the last kernel was {kernel}"),
    };
    format!("{name}: {meaning}\n  {ran}\n  the threads {}\n  {}", what.trim_start_matches(OTHER), finding.advice)
}

/// What a finding of unwritten memory says behind the thread that stands for all.
const OTHER: &str = "or another ";

pub(crate) const REFUSED: u8 = 0;
pub(crate) const FAULT: u8 = 1;
const UNORDERED: u8 = 2;
const UNINITIALISED: u8 = 3;
const PANIC: u8 = 4;
/// Behind what may be the cause.
const ENDLESS: u8 = 5;
pub(crate) const UNWRITTEN: u8 = 6;
pub(crate) const DIFFERENT: u8 = 7;

/// A fault comes with a finding, which says more.
fn refusal_rank(failed: &Failed) -> u8 {
    if Gpu::default().failure(failed) == Failure::Fault { u8::MAX } else { REFUSED }
}

fn rank(finding: &Finding) -> u8 {
    match finding.kind {
        Kind::SharedRace
        | Kind::GlobalRace
        | Kind::SameValueWrite
        | Kind::MixedAtomic
        | Kind::ScopeTooSmall
        | Kind::CopyInFlight
        | Kind::MissingProxyFence
        | Kind::BeforeWait => UNORDERED,
        // Behind the races: a word that is read too early was not written yet. And a panic, of an overflow say, comes
        // of such a word.
        Kind::UninitialisedShared | Kind::UninitialisedGlobal => UNINITIALISED,
        Kind::Fault => PANIC,
        Kind::Unwritten => UNWRITTEN,
        _ => FAULT,
    }
}

/// When a problem shows: its input, who wrote the element, and the shortest schedule if the plain one is not enough.
fn how_it_shows(exercise: &Exercise, problem: &Problem) -> String {
    let Problem { input, shown, .. } = problem;
    let &Problem { n, seed, name, .. } = problem;
    let mut text = String::new();
    if problem.rank == DIFFERENT {
        text += &writer(exercise, n, seed);
    }
    text += &format!("\n  input: {input}");
    text += shown;
    if seed != 0 {
        let fails = |attempt: &Attempt, report: &simt::sim::Report| {
            report.findings.iter().any(|f| f.kind.name() == name) || name == "different" && attempt.different.is_some()
        };
        if let Some(schedule) = shortest(one_schedule(seed), || attempt(exercise, n, seed), fails) {
            text += &format!("\n  schedule: {schedule}");
        }
    }
    text
}

/// A write to memory.
struct Write {
    block: u32,
    thread: u32,
    /// Launches before it, and barriers of its block before it.
    launches: u32,
    barriers: u32,
}

/// Who wrote the element that differs, and when.
fn writer(exercise: &Exercise, n: u32, seed: u64) -> String {
    #[derive(Default)]
    struct Log {
        launches: u32,
        barriers: HashMap<u32, u32>,
        writes: HashMap<u64, Write>,
    }
    let log = Rc::new(RefCell::new(Log::default()));
    let writing = Rc::clone(&log);
    let observer = move |event| {
        let log = &mut *writing.borrow_mut();
        match event {
            Event::Launch { .. } => {
                log.launches += 1;
                log.barriers.clear();
            }
            Event::Barrier { block, .. } => *log.barriers.entry(block).or_default() += 1,
            Event::Access(access) if access.kind != AccessKind::Read => {
                let barriers = log.barriers.get(&access.block).copied().unwrap_or(0);
                let (block, thread, launches) = (access.block, access.thread, log.launches);
                log.writes.insert(access.address, Write { block, thread, launches, barriers });
            }
            _ => {}
        }
    };
    let checked = observe(observer, || check(one_schedule(seed), || attempt(exercise, n, seed)));
    let Some(Attempt { different: Some(different), .. }) = checked.results.into_iter().next() else {
        return String::new();
    };
    // No single thread wrote a sum.
    let Some(address) = different.address else { return String::new() };
    match log.borrow().writes.get(&address) {
        Some(Write { block, thread, launches, barriers }) => {
            let barrier = plural((*barriers).into(), "barrier");
            let when = format!("in launch {launches}, after {barriers} {barrier} of its block");
            format!("\n  written last by thread {thread} of block {block}, {when}")
        }
        None => "\n  no kernel wrote it".into(),
    }
}

/// Judges an answer and prints the verdict: the program of each exercise.
pub fn main(exercise: &'static Exercise) -> ExitCode {
    let known = Known::default();
    let watched = known.clone();
    thread::spawn(move || {
        let text = watched.watch(exercise);
        println!("{}: not yet\n\n{text}", exercise.name);
        // The thread that judges cannot be ended.
        process::exit(1);
    });
    let verdict = judge_known(exercise, &known);
    let text = &verdict.text;
    let (outcome, code) = match verdict.wrong {
        None => ("passed", ExitCode::SUCCESS),
        Some(_) => ("not yet", ExitCode::FAILURE),
    };
    println!("{}: {outcome}\n\n{text}", exercise.name);
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Bound, launches};
    use simt::{Geometry, Global, kernel, shared, thread};
    use std::thread as thread_of_host;

    const N: u32 = 64;

    shared!(ONE: [u32; 1]);

    #[kernel]
    fn number(output: Global<u32>) {
        let i = thread::index_1d();
        output.set(i, i);
    }

    #[kernel]
    fn first_half(output: Global<u32>) {
        let i = thread::index_1d();
        if i < output.len() / 2 {
            output.set(i, i + 1);
        }
    }

    #[kernel]
    fn behind_the_end(output: Global<u32>) {
        let i = thread::index_1d();
        // SAFETY: a word longer than the buffer, into its guard, which is memory too.
        let longer = unsafe { Global::from_raw(output.as_ptr(), output.len() + 1) };
        output.set(i, i);
        longer.set(i + 1, 0);
    }

    #[kernel]
    fn in_passing(output: Global<u32>) {
        let (i, one) = (thread::index_1d(), ONE::view());
        one.set(0, i);
        output.set(i, one.get(0));
    }

    #[kernel]
    fn adds_while_others_do(output: Global<u32>) {
        use simt::atomic::{Order::Relaxed, Scope};
        let i = thread::index_1d();
        let old = output.load(0, Relaxed, Scope::Device);
        output.store(0, old + 1, Relaxed, Scope::Device);
        if i > 0 {
            output.set(i, i);
        }
    }

    /// The verdict on a kernel that writes its index into each element of the output.
    fn verdict(run: fn(&Run) -> Result, gates: &'static [Gate]) -> Verdict {
        judge(&Exercise { name: "00_test", sizes: &[N], run, gates })
    }

    fn with<K: simt::Kernel<Args = (Global<u32>,)> + Default>(on: &Run, threads: u32) -> Result {
        let output = on.output("output", on.n);
        on.launch(K::default(), Geometry::linear(on.n.div_ceil(threads), threads), (output.view(),))?;
        on.expect(&output, 0..on.n);
        Ok(())
    }

    #[test]
    fn what_is_wrong_is_named_in_order() {
        assert_eq!(verdict(|on| with::<number>(on, 32), &[]).wrong, None);
        let refused = verdict(|on| with::<number>(on, 2048), &[]);
        assert_eq!(refused.wrong.as_deref(), Some("refused"), "{}", refused.text);
        let fault = verdict(|on| with::<number>(on, 96), &[]);
        assert_eq!(fault.wrong.as_deref(), Some("out-of-bounds"), "{}", fault.text);
        let canary = verdict(|on| with::<behind_the_end>(on, 1), &[]);
        assert_eq!(canary.wrong.as_deref(), Some("canary"), "{}", canary.text);
        // Its output is wrong too.
        let race = verdict(|on| with::<in_passing>(on, 32), &[]);
        assert_eq!(race.wrong.as_deref(), Some("shared-race"), "{}", race.text);
        // As are the elements that it wrote.
        let unwritten = verdict(|on| with::<first_half>(on, 32), &[]);
        assert_eq!(unwritten.wrong.as_deref(), Some("unwritten"), "{}", unwritten.text);
    }

    #[test]
    fn an_element_that_differs_is_told_with_its_writer() {
        let run = |on: &Run| {
            let output = on.output("output", on.n);
            for _ in 0..2 {
                on.launch(number, Geometry::linear(on.n / 32, 32), (output.view(),))?;
            }
            on.expect(&output, (0..on.n).map(|i| if i == 35 { 0 } else { i }));
            Ok(())
        };
        let text = verdict(run, &[]).text;
        assert!(text.contains(
            "\n      output[32..40]  [32, 33, 34, 35, 36, 37, 38, 39]\n      expected        [32, 33, 34, 0, "
        ));
        assert!(text.contains("output[35] is 35 and should be 0"), "{text}");
        assert!(
            text.contains("written last by thread 3 of block 1, in launch 2, after 0 barriers of its block"),
            "{text}"
        );
        assert!(text.contains("n = 64, seed 0") && !text.contains("schedule:"), "{text}");
    }

    #[test]
    fn what_only_some_schedules_show_is_told_with_the_shortest() {
        let run = |on: &Run| {
            let output = on.in_place("output", &vec![0u32; on.n as usize]);
            on.launch(adds_while_others_do, Geometry::linear(1, on.n), (output.view(),))?;
            on.expect(&output, (0..on.n).map(|i| if i == 0 { on.n } else { i }));
            Ok(())
        };
        let verdict = verdict(run, &[]);
        assert_eq!(verdict.wrong.as_deref(), Some("different"), "{}", verdict.text);
        assert!(verdict.text.contains("\n  schedule: "), "{}", verdict.text);
    }

    #[test]
    fn what_was_not_written_names_no_thread() {
        let half = verdict(|on| with::<first_half>(on, 32), &[]).text;
        assert!(
            half.contains("the last kernel was first_half\n  the threads had to write 32 of 64 elements"),
            "{half}"
        );
        assert!(half.contains("not written: elements 32 to 63, the last 32;"), "{half}");
        assert!(!half.contains("thread ("), "{half}");
        let none = |on: &Run| {
            let output = on.output("output", on.n);
            on.launch(number, Geometry::linear(0, 32), (output.view(),))?;
            on.expect(&output, 0..on.n);
            Ok(())
        };
        let none = verdict(none, &[]).text;
        assert!(none.contains("no kernel ran: a grid without blocks launches nothing\n  the threads had to"), "{none}");
    }

    /// An input without elements fails too, and says least.
    #[test]
    fn the_smallest_input_with_elements_is_told() {
        let one_more = |on: &Run| {
            let output = on.output("output", on.n);
            on.launch(number, Geometry::linear(1, on.n + 1), (output.view(),))?;
            on.expect(&output, 0..on.n);
            Ok(())
        };
        let judged = |sizes| judge(&Exercise { name: "00_test", sizes, run: one_more, gates: &[] }).text;
        assert!(judged(&[0, 5, 9]).contains("\n  input: n = 5, seed 0"));
        assert!(judged(&[0]).contains("\n  input: n = 0, seed 0"));
    }

    #[test]
    fn a_small_wrong_output_is_shown_with_its_input() {
        let copied = |on: &Run| {
            let (_before, after) = (on.input("before", &vec![7u32; on.n as usize]), on.output("after", on.n));
            on.launch(number, Geometry::linear(1, on.n), (after.view(),))?;
            on.expect(&after, (0..on.n).map(|i| i.min(1)));
            Ok(())
        };
        let judged = |sizes| judge(&Exercise { name: "00_test", sizes, run: copied, gates: &[] }).text;
        let five = "  input: n = 5, seed 0\n      before    [7, 7, 7, 7, 7]\n      after     [0, 1, 2, 3, 4]\n\
                    \x20     expected  [0, 1, 1, 1, 1]";
        // Five elements say more than three, and are still surveyed.
        assert!(judged(&[1, 3, 5, 9]).contains(five), "{}", judged(&[1, 3, 5, 9]));
        assert!(judged(&[1, 3]).contains("n = 3, seed 0\n      before    [7, 7, 7]\n"));
        assert!(judged(&[1, 3, 100]).contains("n = 3, "), "more than a reader surveys");
    }

    #[kernel]
    fn never_done(output: Global<u32>) {
        let i = thread::index_1d();
        let one = ONE::view();
        one.set(0, i);
        loop {
            thread::sync_threads();
            if output.get(0) == 1 {
                break;
            }
        }
    }

    #[kernel]
    fn turns_round_alone(output: Global<u32>) {
        let i = thread::index_1d();
        output.set(i, i);
        let mut k = i;
        while k < 100 {
            k = std::hint::black_box(i);
        }
    }

    /// Each round passes a barrier, so that the simulator takes it for work.
    #[test]
    fn a_run_that_does_not_end_is_told_behind_the_race_that_it_had() {
        let run = |on: &Run| {
            let output = on.in_place("output", &vec![0u32; on.n as usize]);
            on.launch(never_done, Geometry::linear(1, on.n), (output.view(),))
        };
        let Verdict { wrong, text, .. } = judge(&Exercise { name: "00_test", sizes: &[8], run, gates: &[] });
        assert_eq!(wrong.as_deref(), Some("shared-race"), "{text}");
        assert!(
            text.contains("\n  input: n = 8, seed 0\n\nPerhaps for that reason a run did not end:\n\nno-end: "),
            "{text}"
        );
        assert!(
            text.contains("\n      barrier at src/judge.rs:") && text.contains("\n      global load at "),
            "{text}"
        );
        // The race was seen once, in front of the loop.
        assert!(!text.contains("shared store at "), "{text}");
    }

    #[test]
    fn a_thread_that_does_not_come_back_is_found_by_the_watchdog() {
        static ENDLESS: Exercise = Exercise {
            name: "00_test",
            sizes: &[8],
            run: |on| {
                let output = on.output("output", on.n);
                on.launch(turns_round_alone, Geometry::linear(1, on.n), (output.view(),))
            },
            gates: &[],
        };
        let known = Known::default();
        let judging = known.clone();
        thread_of_host::spawn(move || judge_known(&ENDLESS, &judging));
        known.found("what was wrong before");
        let text = known.watch(&ENDLESS);
        assert!(
            text.starts_with("what was wrong before\n\nPerhaps for that reason a run did not end:\n\nno-end: "),
            "{text}"
        );
        assert!(
            text.contains("by thread 0 of block 0") && text.contains("a loop has run that accesses none"),
            "{text}"
        );
        assert!(text.ends_with("\n  input: n = 8, seed 0"), "{text}");
    }

    #[test]
    fn an_element_of_a_matrix_is_told_with_row_and_column() {
        let run = |on: &Run| {
            let output = on.output("output", on.n).in_rows_of(10);
            on.say(format!("{} rows of 10", on.n / 10));
            on.launch(number, Geometry::linear(1, on.n), (output.view(),))?;
            on.expect(&output, (0..on.n).map(|i| if i == 35 { 0 } else { i }));
            Ok(())
        };
        let text = judge(&Exercise { name: "00_test", sizes: &[40], run, gates: &[] }).text;
        assert!(text.contains("output[35], row 3 and column 5, is 35 and should be 0"), "{text}");
        assert!(text.contains("\n  input: 4 rows of 10, seed 0"), "{text}");
    }

    #[test]
    fn a_sum_has_no_writer() {
        let run = |on: &Run| {
            let output = on.output("output", on.n);
            on.launch(number, Geometry::linear(1, on.n), (output.view(),))?;
            on.expect_sum(&output, 1);
            Ok(())
        };
        let text = verdict(run, &[]).text;
        assert!(text.contains("add up to 2016 and should add up to 1") && !text.contains("written"), "{text}");
    }

    #[test]
    fn input_that_is_changed_differs() {
        let run = |on: &Run| {
            let input = on.input("input", &vec![7u32; on.n as usize]);
            on.launch(number, Geometry::linear(1, on.n), (input.view(),))
        };
        let verdict = verdict(run, &[]);
        assert_eq!(verdict.wrong.as_deref(), Some("different"));
        assert!(verdict.text.contains("input: byte 0 was changed"), "{}", verdict.text);
    }

    #[test]
    fn gates_come_last_and_need_a_counter() {
        const MOST: Gate = Gate { what: "launches", n: N, counter: launches, bound: Bound::AtMost(0.5) };
        const NONE: Gate = Gate { what: "nothing", n: N, counter: |_| None, bound: Bound::AtMost(9.0) };
        assert_eq!(verdict(|on| with::<number>(on, 32), &[MOST]).wrong.as_deref(), Some("launches"));
        assert_eq!(verdict(|on| with::<number>(on, 32), &[NONE]).wrong.as_deref(), Some("nothing"));
        assert_eq!(verdict(|on| with::<first_half>(on, 32), &[MOST]).wrong.as_deref(), Some("unwritten"));
    }

    #[test]
    fn numbers_are_distinct_and_follow_from_the_seed() {
        let numbers = |seed| Run::new(100, seed, &Gpu::default()).numbers(100);
        let mut sorted = numbers(1);
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 100);
        assert!(numbers(1) == numbers(1) && numbers(1) != numbers(2) && numbers(1) != sorted);
    }
}
