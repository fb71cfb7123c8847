//! An answer that does not end: where its threads are.
//!
//! The simulator finds most waits that never end by itself, as a deadlock or an endless spin. It cannot find a loop
//! each round of which passes a barrier or changes memory: such a run is ended after [`ALLOWED`], and a second, shorter
//! one counts by source line. Nor does it get a thread back that accesses no memory, or launches for ever on the host:
//! for that, a watchdog ends the program and tells what is known by then.

use crate::judge::{Exercise, attempt, one_schedule};
use simt::sim::stats::{Line, statistics};
use simt::sim::{Event, check, observe, plural, within};
use std::backtrace::Backtrace;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time for one run, which takes some milliseconds.
pub(crate) const ALLOWED: Duration = Duration::from_secs(8);

/// Time for a run that ends by no error of the simulator's. More than [`ALLOWED`], so that this comes first.
const WATCHED: Duration = Duration::from_secs(9);

/// Time in which it is found out where threads are.
const LOOK: Duration = Duration::from_secs(1);

/// Lines of a loop that are told.
const LINES: usize = 8;

/// The name of this problem.
pub(crate) const NO_END: &str = "no-end";

/// What a run that was ended after [`ALLOWED`] repeats, by source line.
pub(crate) fn repeats(exercise: &Exercise, n: u32, seed: u64) -> String {
    let (_, counted) = statistics(|| within(LOOK, || check(one_schedule(seed), || attempt(exercise, n, seed))));
    let mut lines: Vec<Line> = counted.kernels().into_iter().flat_map(|(_, _, lines)| lines).collect();
    let times = |line: &Line| line.counts.barriers.max(line.counts.requests);
    // What comes before the loop was passed a few times only.
    let most = lines.iter().map(times).max().unwrap_or(0);
    lines.retain(|line| times(line) * 10 > most);
    let ran = lines.iter().take(LINES).map(|line| {
        let (times, location) = (times(line), line.location);
        format!("\n      {} at {location}, {times} {}", line.instruction.name(), plural(times, "time"))
    });
    let (ran, seconds) = (ran.collect::<String>(), LOOK.as_secs());
    format!("  where its threads are: in {seconds} s they passed these lines again and again{ran}")
}

/// What is known of an answer while it is judged.
#[derive(Clone, Default)]
pub(crate) struct Known(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The run that is going on: since when, its size and seed.
    run: Option<(Instant, u32, u64)>,
    /// What was wrong in the runs before.
    before: Option<String>,
}

impl Known {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run begins.
    pub(crate) fn begins(&self, n: u32, seed: u64) {
        self.state().run = Some((Instant::now(), n, seed));
    }

    /// No run is going on.
    pub(crate) fn rests(&self) {
        self.state().run = None;
    }

    /// Something was wrong in a run.
    pub(crate) fn found(&self, text: &str) {
        self.state().before = Some(text.into());
    }

    /// Waits until a run takes longer than [`WATCHED`], and says what is known then.
    pub(crate) fn watch(&self, exercise: &'static Exercise) -> String {
        loop {
            thread::sleep(Duration::from_millis(50));
            let state = self.state();
            let Some((since, n, seed)) = state.run else { continue };
            if since.elapsed() > WATCHED {
                let before = state.before.clone();
                drop(state);
                return told(before, &in_words(&last_line(exercise, n, seed), &format!("n = {n}, seed {seed}")));
            }
        }
    }
}

/// A run that does not end, behind what was wrong before: that may be the cause.
pub(crate) fn told(before: Option<String>, no_end: &str) -> String {
    match before {
        None => no_end.into(),
        Some(before) => format!("{before}\n\nPerhaps for that reason a run did not end:\n\n{no_end}"),
    }
}

/// That a run did not end, with the place of its threads.
pub(crate) fn in_words(place: &str, input: &str) -> String {
    let seconds = ALLOWED.as_secs();
    format!("{NO_END}: a run was given up after {seconds} s; does every loop end?\n{place}\n  input: {input}")
}

/// Where a thread was that the simulator does not get back: makes the run again, and sees what was accessed last.
fn last_line(exercise: &'static Exercise, n: u32, seed: u64) -> String {
    type Last = Option<(Instant, u32, u32, Backtrace)>;
    let last: Arc<Mutex<Last>> = Arc::default();
    let seen = Arc::clone(&last);
    let observer = move |event| {
        if let Event::Access(access) = event {
            // Where it is in the answer, only the stack knows. This is slow, and short.
            let known = (Instant::now(), access.block, access.thread, Backtrace::force_capture());
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        }
    };
    // It does not end either: the program will.
    thread::spawn(move || observe(observer, || check(one_schedule(seed), || attempt(exercise, n, seed))));
    thread::sleep(LOOK);
    let last = last.lock().unwrap_or_else(PoisonError::into_inner).take();
    let none = "  where its threads are: none has accessed memory";
    last.map_or(none.into(), |(when, block, thread, stack)| {
        let place = in_answer(&stack.to_string()).map_or(String::new(), |place| format!(", at {place}"));
        let since = match when.elapsed() > LOOK / 4 {
            true => ";\n  since then a loop has run that accesses none",
            false => "",
        };
        format!(
            "  where its threads are: the last access to memory was by thread {thread} of block {block}{place}{since}"
        )
    })
}

/// The reader's line in a stack's frames, which are told innermost first.
fn in_answer(stack: &str) -> Option<String> {
    let places = stack.lines().filter_map(|line| line.trim_start().strip_prefix("at "));
    // The path is that of the program's module, of which the compiler may show the whole.
    places.filter_map(|place| Some(format!("src/bin/../../answers/{}", place.rsplit_once("/answers/")?.1))).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readers_line_is_found_in_a_stack() {
        let stack = "   0: simt::look\n             at /a/simt/src/sim/mod.rs:129:5\n\
                     \x20  1: answer::merge\n\
                     \x20            at ./src/bin/../../answers/35_x.rs:42:9\n   2: f\n\
                     \x20            at ./src/bin/../../answers/1.rs:2:3\n";
        assert_eq!(in_answer(stack).as_deref(), Some("src/bin/../../answers/35_x.rs:42:9"));
        assert_eq!(in_answer("   0: f\n             at /rustc/x.rs:1:2\n"), None);
    }
}
