//! The simulator: kernels on the CPU, thread by thread, where there is no GPU.
//!
//! The threads of a block are coroutines on one thread of the host. A barrier is a yield: the scheduler (schedule.rs)
//! resumes each thread in turn until it waits, and lets all continue when the last has arrived. Blocks run side by side
//! on the host's cores ([`launch`]), started in the order of their index, so a kernel that waits for blocks before it
//! (look-back) makes progress.
//!
//! A run always follows the same schedule inside a block. Between blocks only the order of global atomics can differ
//! from run to run; [`Options::workers`] = 1 fixes that too.
//!
//! Behaviour that a GPU leaves undefined ends the launch with an error here: an access out of bounds or misaligned, a
//! barrier that some threads never reach or that they reach in different places, a warp operation that some lanes never
//! reach, a thread that spins for ever or overflows its stack, a panic.

// The files use each other in one direction, held by tests/modules.rs; from the top:
//
//     launch, checked                         launches, plain and under a check
//     simulator, access, collective, wgmma …  what a kernel's calls do
//     cluster, schedule                       the scheduler: who runs next, and what it means if nobody can
//     block                                   a block: its threads, barriers and memory
//     threads, barrier, warp, shared …        the parts of a block, each with its own state
//     watchers                                the seam: all that a block tells of its threads goes through here, to
//     observe, stats, check                   those who watch, who know no block
mod access;
mod async_copy;
mod barrier;
mod block;
mod check;
mod checked;
mod cluster;
mod collective;
mod cores;
mod decoded;
mod error;
mod finding;
mod launch;
mod launcher;
mod limit;
mod limits;
mod map;
mod mbarrier;
mod memory;
mod mma;
pub mod mutant;
mod observe;
mod overflow;
mod registers;
mod schedule;
mod shared;
mod simulator;
mod spin;
mod stack;
pub mod stats;
mod tensor_map;
mod threads;
mod waits;
mod warp;
mod watchdog;
mod watchers;
mod wgmma;
mod words;

pub use check::{Check, Checked, NOT_MODELLED, Report, expect_written, host_cleared, host_wrote};
pub use checked::{Shortest, check, shortest};
pub use cores::cores;
pub use error::{Fault, LaunchError};
pub use finding::{Element, Finding, Kind, Memory, Side, Site};
pub use launch::{Options, enqueue, launch};
pub use launcher::{Gpu, HostMemory, POISON};
pub use limit::within;
pub use limits::*;
pub use observe::{Access, AccessKind, Event, Space, observe};
#[doc(hidden)]
pub use simulator::static_shared;
pub use words::plural;

pub(crate) use simulator::Simulator;
