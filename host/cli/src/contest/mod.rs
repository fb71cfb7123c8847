//! A reader's launches against a rung: checked on the simulator, compared on the GPU, and timed in turns.
//!
//! Each round has an input of its own. On it each of the two runs once: an output that was kept from an earlier run is
//! the output for another input. Each output is verified, whole, after the run that was timed. Who starts changes with
//! each round. No time counts if one of them is below the *floor*: what the memory's bandwidth needs to read the input
//! and write the output once. Such a run has left out work that the verification does not see, or a clock is wrong.

mod ladder;
mod program;

pub use ladder::{YOURS, family};
pub use program::main;

use crate::algorithms::{Family, Kind, Parameters, Prepared, Rung, Size, Workload};
use crate::checks::Checked;
use crate::data::Dtype;
use crate::measure::{median, run_once};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use simt::sim::Check;

/// Rounds that are timed.
const ROUNDS: u64 = 15;

/// Rounds before them: the first loads the kernels, and clocks rise.
const WARM_UP: u64 = 2;

/// Sizes on which the answer is checked, from the smallest up: around a warp and a block, and some blocks.
const CHECKED_SIZES: [u64; 9] = [1, 2, 31, 33, 255, 257, 1000, 1025, 5000];

/// Schedules of a check.
const SCHEDULES: u32 = 8;

/// A device's rate beyond that of a copy within its memory, where the driver does not tell the memory's peak: no kernel
/// of the project has read at more than 1.1 times the rate of a copy.
const BEYOND_A_COPY: f64 = 1.25;

/// Measures one run.
pub trait Stopwatch {
    /// Runs once and returns milliseconds. The input is fresh, and nothing else runs.
    ///
    /// # Errors
    /// As for [`Prepared::run`].
    fn time(&mut self, who: &str, prepared: &mut dyn Prepared) -> Result<f64>;
}

/// An engine's own clock: two events on a GPU.
impl Stopwatch for Engine {
    fn time(&mut self, _: &str, prepared: &mut dyn Prepared) -> Result<f64> {
        self.synchronize()?;
        Engine::time(self, || prepared.run()).map(|((), ms)| ms)
    }
}

/// Milliseconds of one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Of the answer.
    pub yours: f64,
    /// Of the rung.
    pub theirs: f64,
}

/// How a contest ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The answer is faster: the medians.
    Faster(Round),
    /// It is not: the medians.
    NotFaster(Round),
    /// A run took less time than the bandwidth of memory allows, so nothing counts.
    BelowFloor {
        /// Milliseconds of the first such run.
        ms: f64,
        /// Milliseconds that any run needs.
        floor: f64,
    },
}

/// Judges the times of all rounds. `floor`: milliseconds that any run needs.
pub fn judge(rounds: &[Round], floor: f64) -> Verdict {
    let times: [fn(&Round) -> f64; 2] = [|round| round.yours, |round| round.theirs];
    let all = || times.iter().flat_map(|of| rounds.iter().map(of));
    // Not `ms < floor`: a time that is no number counts as little as one that is too short.
    if let Some(ms) = all().find(|&ms| !(ms >= floor && ms > 0.0)) {
        return Verdict::BelowFloor { ms, floor };
    }
    let [yours, theirs] = times.map(|of| median(&mut rounds.iter().map(of).collect::<Vec<_>>()));
    let medians = Round { yours, theirs };
    if yours < theirs { Verdict::Faster(medians) } else { Verdict::NotFaster(medians) }
}

/// Milliseconds that moving this many bytes takes at the memory's peak; `peak_gbs` 0 if the driver does not tell it.
pub fn floor_ms(bytes: f64, peak_gbs: f64, copy_gbs: f64) -> f64 {
    let gbs = if peak_gbs > 0.0 { peak_gbs } else { BEYOND_A_COPY * copy_gbs };
    bytes / (gbs * 1e6)
}

/// A problem of the family, drawn again for each seed.
fn workload(family: &Family, size: Size, seed: u64) -> Workload {
    let dtype = if family.kind == Kind::Histogram { Dtype::U8 } else { Dtype::U32 };
    Workload { size, dtype, distribution: family.input, seed, input: None, parameters: Parameters::default() }
}

/// The sizes on which an answer is checked: those that the rung takes.
pub fn checked_sizes(family: &Family) -> impl Iterator<Item = u64> {
    let capacity = family.rungs[0].capacity.unwrap_or(u64::MAX);
    CHECKED_SIZES.into_iter().filter(move |&n| n <= capacity)
}

/// The two rungs of a contest's family: the project's, and the reader's.
fn pair(family: &'static Family) -> [&'static Rung; 2] {
    [family.rungs[0], family.rungs[1]]
}

/// Runs the answer on one size on the simulator under several schedules, and looks for what a right output does not
/// show: races, memory that nobody wrote.
///
/// # Errors
/// What ends a run without being a mistake of the kernels.
pub fn checked(family: &'static Family, n: u64) -> Result<Checked> {
    let options = Check { schedules: SCHEDULES, ..Check::default() };
    let engine = Engine::simulator().checked(options)?;
    let problem = family.make(workload(family, Size::Elements(n), n))?;
    let checked = crate::measure::checked(&engine, &*problem, pair(family)[1])?;
    checked.ok_or_else(|| Error::Usage("the engine checks nothing".into()))
}

/// Runs the answer on one size on an engine, and compares the output with the oracle, element by element. The input is
/// that of [`checked`].
///
/// # Errors
/// [`Error::Mismatch`] at the first difference; those of a launch.
pub fn compared(engine: &Engine, family: &'static Family, n: u64) -> Result<()> {
    let problem = family.make(workload(family, Size::Elements(n), n))?;
    run_once(&mut *problem.prepare(engine, pair(family)[1])?)
}

/// Times both in turns, each round on an input of its own, drawn from `seed` on, and verifies each output. `tell` hears
/// of each round.
///
/// # Errors
/// [`Error::Mismatch`] if an output is wrong; those of a launch; [`Error::Usage`] if one of the two does not take the
/// size.
pub fn rounds(
    engine: &Engine,
    family: &'static Family,
    size: Size,
    seed: u64,
    stopwatch: &mut dyn Stopwatch,
    mut tell: impl FnMut(u64, Round) -> Result<()>,
) -> Result<(Vec<Round>, f64)> {
    let (mut rounds, mut bytes) = (vec![], 0.0);
    for number in 0..WARM_UP + ROUNDS {
        let problem = family.make(workload(family, size, seed.wrapping_add(number)))?;
        bytes = problem.work().bytes;
        let [theirs, yours] = pair(family);
        let mut both = [(theirs.name, problem.prepare(engine, theirs)?), (yours.name, problem.prepare(engine, yours)?)];
        let mut times = [0.0; 2];
        for turn in 0..2 {
            let i = (turn + number as usize) % 2;
            let (name, prepared) = &mut both[i];
            prepared.restore()?;
            times[i] = stopwatch.time(name, &mut **prepared)?;
            prepared.verify()?;
        }
        let round = Round { theirs: times[0], yours: times[1] };
        if number >= WARM_UP {
            tell(number - WARM_UP + 1, round)?;
            rounds.push(round);
        }
    }
    Ok((rounds, bytes))
}

#[cfg(test)]
mod tests;
