//! Time inside a kernel.

use crate::Backend;
use crate::machine::Machine;

/// The SM's cycle counter. Each SM has its own: differences are meaningful only between
/// readings of threads that ran on the same one. The simulator counts nanoseconds of the host instead.
#[inline(always)]
pub fn clock() -> u64 {
    Backend::clock()
}

/// Nanoseconds on one clock for the whole device; it ticks coarsely (32 ns to 1 µs, by GPU).
#[inline(always)]
pub fn global_timer() -> u64 {
    Backend::global_timer()
}

/// Suspends the thread for about `nanoseconds`. A spinning thread calls it between two polls, so that other threads can
/// work. In the simulator it lets the block's other threads run.
#[inline(always)]
#[track_caller]
pub fn nanosleep(nanoseconds: u32) {
    Backend::nanosleep(nanoseconds)
}
