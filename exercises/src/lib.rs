//! Judges a reader's kernels on the simulator, and compares another machine with it.
//!
//! An exercise is a check file (`checks/`): which input a kernel gets, what it has to put out, and how much it may
//! cost. The same check serves the stub, the solution, each wrong answer and the reader's own answer.
//!
//! A verdict names the first thing that is wrong, in the order of what explains most: a launch that was refused, a
//! fault that ended a kernel, accesses that nothing orders or that read what nobody wrote, output that was not
//! written, the first element that differs, and last what the kernel cost.

mod answer;
mod compare;
mod endless;
mod gate;
mod judge;
mod machine;
mod run;

pub use answer::Answer;
pub use compare::{Compared, compare};
pub use gate::{
    Bound, Gate, Measured, barriers_per_block, bytes_per_sector, global_atomics, launches, wavefront_excess,
};
pub use judge::{Exercise, SCHEDULES, Verdict, judge, main};
pub use machine::{Failure, Machine};
pub use run::{Buffer, Run};
pub use simt::Geometry;
pub use simt::launcher::{Launcher, Result};
pub use simt::sim::stats::{Instruction, Statistics};
