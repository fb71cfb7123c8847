//! # Waiting on the device
//!
//! A measurement of calls back to back must not contain the time that the host takes to enqueue them. So a kernel runs
//! before them that waits until the host is done. It also measures the clock rate: cycles over nanoseconds.

use simt::{Global, clock, kernel};

/// Waits for `nanoseconds`; writes the cycles that passed, and the nanoseconds. One thread.
#[kernel(max_threads = 1)]
pub fn wait(nanoseconds: u64, passed: Global<u64>) {
    let (clock, timer) = (clock::clock(), clock::global_timer());
    let mut waited = 0;
    while waited < nanoseconds {
        waited = clock::global_timer().wrapping_sub(timer);
    }
    passed.set(0, clock::clock().wrapping_sub(clock));
    passed.set(1, waited);
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = &[<wait as simt::Instances>::NAMES];
