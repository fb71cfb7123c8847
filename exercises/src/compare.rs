//! The same runs on another machine, compared with what the check expects.
//!
//! A machine that is not the simulator shows neither the order of its accesses nor its counts, so there are no findings
//! and no gates here: only what stands in memory at the end of each run, and whether its kernels came to their end.

use crate::judge::{Attempt, DIFFERENT, FAULT, REFUSED, SCHEDULES, UNWRITTEN, attempt_on};
use crate::machine::{Failure, Machine};
use crate::run::{Different, Place};
use crate::{Exercise, Launcher, Result};
use simt::Geometry;
use simt::launcher::{Call, Device, Failed, Memory};
use std::cell::Cell;
use std::ops::Range;

/// What was said of an answer on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// All outputs are what the check expects.
    Equal {
        /// Runs: one for each size of input and seed.
        runs: u32,
        /// Kernels launched.
        launches: u64,
    },
    /// Something is not.
    Wrong {
        /// `refused`, `fault`, `canary`, `unwritten` or `different`.
        what: &'static str,
        /// The same at length.
        text: String,
    },
    /// The machine does not have what the kernels need, in words.
    Lacking(String),
}

/// Something that is wrong in one run, by its place in the order of a verdict.
struct Problem {
    rank: u8,
    what: &'static str,
    text: String,
}

/// Runs an answer on a machine, with the inputs that [`judge`](crate::judge) makes, and compares each output with what
/// the check expects. What is wrong is told in the order of [`judge`](crate::judge).
pub fn compare(exercise: &Exercise, machine: &dyn Machine) -> Compared {
    let counted = Counted { machine, launches: Cell::new(0) };
    let (mut runs, mut worst) = (0, None::<Problem>);
    'sizes: for n in exercise.sizes_by_worth() {
        if n == 0 && worst.is_some() {
            break;
        }
        for seed in 0..u64::from(SCHEDULES) {
            let Attempt { result, different, input } = attempt_on(&counted, exercise, n, seed);
            runs += 1;
            let failure = result.as_ref().err().map(|failed| machine.failure(failed));
            if let (Some(Failure::Lacking), Err(failed)) = (failure, &result) {
                return Compared::Lacking(failed.to_string());
            }
            let shown = different.as_ref().map(|different| different.shown.clone()).unwrap_or_default();
            if let Some(Problem { rank, what, text }) = problem(failure, result, different)
                && worst.as_ref().is_none_or(|worst| rank < worst.rank)
            {
                worst = Some(Problem { rank, what, text: format!("{text}\n  input: {input}{shown}") });
            }
            // A GPU does nothing more after a fault, and refuses the same launch each time.
            if failure.is_some() {
                break 'sizes;
            }
        }
    }
    match worst {
        Some(Problem { what, text, .. }) => Compared::Wrong { what, text },
        None => Compared::Equal { runs, launches: counted.launches.get() },
    }
}

/// The first thing that is wrong with one run.
fn problem(failure: Option<Failure>, result: Result, different: Option<Different>) -> Option<Problem> {
    if let Err(failed) = result {
        let (rank, what) = if failure == Some(Failure::Fault) { (FAULT, "fault") } else { (REFUSED, "refused") };
        return Some(Problem { rank, what, text: failed.to_string() });
    }
    let Different { text, place, .. } = different?;
    let (rank, what) = match place {
        Place::Outside => (FAULT, "canary"),
        Place::Unwritten => (UNWRITTEN, "unwritten"),
        Place::Inside => (DIFFERENT, "different"),
    };
    Some(Problem { rank, what, text })
}

/// A machine, and how many kernels it was asked to run.
struct Counted<'a> {
    machine: &'a dyn Machine,
    launches: Cell<u64>,
}

impl Launcher for Counted<'_> {
    fn device(&self) -> Device {
        self.machine.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.launches.update(|launches| launches + u64::from(!geometry.is_empty()));
        self.machine.enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.machine.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: as the caller says.
        unsafe { self.machine.clear_bytes(address, bytes) }
    }
}

impl Machine for Counted<'_> {
    fn memory(&self, bytes: &[u8], unwritten: Range<usize>) -> Result<Box<dyn Memory>> {
        self.machine.memory(bytes, unwritten)
    }

    unsafe fn read(&self, from: *const u8, to: &mut [u8]) -> Result {
        // SAFETY: as the caller says.
        unsafe { self.machine.read(from, to) }
    }

    fn failure(&self, failed: &Failed) -> Failure {
        self.machine.failure(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;
    use simt::sim::Gpu;
    use simt::{Global, kernel, thread};

    #[kernel]
    fn number(output: Global<u32>) {
        let i = thread::index_1d();
        output.set(i, i);
    }

    #[kernel]
    fn number_up_to(output: Global<u32>, end: u32) {
        let i = thread::index_1d();
        // SAFETY: a word longer than the buffer, into its guard, which is memory too.
        let longer = unsafe { Global::from_raw(output.as_ptr(), output.len() + 1) };
        if i < end {
            longer.set(i, i);
        }
    }

    /// The simulator, without its checks as all machines here; the rest of its options is set.
    #[derive(Default)]
    struct Other {
        gpu: Gpu,
        /// Whether memory is lost once a kernel has run.
        faults: bool,
        /// Whether it has no kernels.
        lacks: bool,
        ran: Cell<bool>,
    }

    impl Launcher for Other {
        fn device(&self) -> Device {
            self.gpu.device()
        }

        fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
            if self.lacks {
                return Err(Failed::Machine(format!("no kernel {}", call.name()).into()));
            }
            self.ran.set(true);
            self.gpu.enqueue(call, geometry)
        }

        fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
            self.gpu.allocate(bytes)
        }

        unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
            // SAFETY: as the caller says.
            unsafe { self.gpu.clear_bytes(address, bytes) }
        }
    }

    impl Machine for Other {
        fn memory(&self, bytes: &[u8], unwritten: Range<usize>) -> Result<Box<dyn Memory>> {
            match self.faults && self.ran.get() {
                true => Err(Failed::Machine("an illegal address".into())),
                false => self.gpu.memory(bytes, unwritten),
            }
        }

        unsafe fn read(&self, from: *const u8, to: &mut [u8]) -> Result {
            match self.faults && self.ran.get() {
                true => Err(Failed::Machine("an illegal address".into())),
                // SAFETY: as the caller says.
                false => unsafe { self.gpu.read(from, to) },
            }
        }

        fn failure(&self, failed: &Failed) -> Failure {
            match (self.faults, self.lacks) {
                (true, _) => Failure::Fault,
                (_, true) => Failure::Lacking,
                _ => self.gpu.failure(failed),
            }
        }
    }

    fn on(machine: &Other, run: fn(&Run) -> Result) -> Compared {
        compare(&Exercise { name: "00_test", sizes: &[0, 32, 64], run, gates: &[] }, machine)
    }

    fn wrong(run: fn(&Run) -> Result) -> (&'static str, String) {
        match on(&Other::default(), run) {
            Compared::Wrong { what, text } => (what, text),
            other => panic!("{other:?}"),
        }
    }

    fn numbers(on: &Run) -> Result {
        let output = on.output("output", on.n);
        on.launch(number, Geometry::linear(on.n / 32, 32), (output.view(),))?;
        on.expect(&output, 0..on.n);
        Ok(())
    }

    /// Numbers up to `end`, of which one should be another.
    fn up_to(on: &Run, end: u32, other: Option<u32>) -> Result {
        let output = on.output("output", on.n);
        on.launch(number_up_to, Geometry::linear(3, 32), (output.view(), end))?;
        on.expect(&output, (0..on.n).map(|i| if other == Some(i) { 7 } else { i }));
        Ok(())
    }

    #[test]
    fn all_runs_are_made_and_launches_counted() {
        // A grid without blocks is no launch.
        assert_eq!(on(&Other::default(), numbers), Compared::Equal { runs: 3 * SCHEDULES, launches: 2 * 32 });
    }

    #[test]
    fn what_is_wrong_is_named_in_order() {
        let (what, text) = wrong(|on| up_to(on, on.n, Some(40)));
        let (told, shown) = text.split_at(text.find("\n      ").unwrap());
        assert_eq!((what, told), ("different", "output[40] is 40 and should be 7\n  input: n = 64, seed 0"));
        let expected = "      output[37..45]  [37, 38, 39, 40, 41, 42, 43, 44]\n\
                        \x20     expected        [37, 38, 39, 7, 41, 42, 43, 44]";
        assert_eq!(shown, format!("\n{expected}"));
        // An element before it is wrong too.
        let (what, text) = wrong(|on| up_to(on, on.n.min(50), Some(40)));
        let told = "output[50] was not written and should be 50\n  input: n = 64, seed 0\n\
                    \x20     output[47..55]  [47, 48, 49, unwritten, ";
        assert!(what == "unwritten" && text.starts_with(told), "{text}");
        // A smaller input shows less: elements that are not written.
        let (what, text) = wrong(|on| up_to(on, if on.n == 64 { 65 } else { on.n.min(3) }, None));
        assert_eq!(what, "canary");
        assert!(text.starts_with("output: a byte behind the buffer was written") && text.contains("n = 64"), "{text}");
        let (what, text) = wrong(|on| {
            let output = on.output("output", on.n);
            on.launch(number, Geometry::linear(1, 2048), (output.view(),))
        });
        assert_eq!(what, "refused", "{text}");
        let (what, text) = wrong(|on| {
            let output = on.output("output", on.n);
            on.launch(number, Geometry::linear(1, on.n + 1), (output.view(),))
        });
        assert!(what == "fault" && text.contains("n = 32, seed 0"), "{text}");
    }

    #[test]
    fn input_that_is_changed_differs() {
        let (what, text) = wrong(|on| {
            let input = on.input("input", &vec![7u32; on.n as usize]);
            on.launch(number, Geometry::linear(on.n / 32, 32), (input.view(),))
        });
        assert!(what == "different" && text.contains("input: byte 0 was changed"), "{text}");
    }

    #[test]
    fn what_was_not_summed_was_not_written() {
        let (what, text) = wrong(|on| {
            let output = on.output("output", on.n);
            on.launch(number_up_to, Geometry::linear(1, 32), (output.view(), on.n.min(5)))?;
            on.expect_sum(&output, 0);
            Ok(())
        });
        assert!(what == "unwritten" && text.starts_with("output[5] was not written"), "{text}");
    }

    #[test]
    fn a_fault_that_shows_late_ends_the_comparison() {
        let faulty = Other { faults: true, ..Other::default() };
        let Compared::Wrong { what, text } = on(&faulty, numbers) else { panic!("a fault") };
        assert_eq!((what, &*text), ("fault", "an illegal address\n  input: n = 32, seed 0"));
        let second = Other { faults: true, ..Other::default() };
        let two = |on: &Run| {
            numbers(on)?;
            numbers(on)
        };
        assert!(matches!(on(&second, two), Compared::Wrong { what: "fault", .. }));
    }

    #[test]
    fn what_a_machine_lacks_is_not_held_against_an_answer() {
        let lacking = Other { lacks: true, ..Other::default() };
        assert_eq!(on(&lacking, numbers), Compared::Lacking("no kernel number".into()));
    }
}
