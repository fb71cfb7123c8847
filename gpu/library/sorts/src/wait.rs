//! How the blocks of a launch wait for each other at the end of a phase: for items that running blocks have taken,
//! never for a block that has yet to start.

use simt::atomic::{self, Order, Order::Relaxed, Scope};
use simt::{Global, clock, thread};

/// Waits until all items of a phase are done, of which this block has done `mine`, as thread 0 knows. All threads of
/// the block call it, behind a barrier after their last write.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub(in crate) fn wait_for_items(
    phase: impl Fn() -> (Global<u32>, Global<u32>), extent: impl Fn() -> u32, mine: impl FnOnce() -> u32,
) {
    if thread::thread_idx_x() == 0 {
        // What this block wrote becomes visible before its items count as done; the caller's barrier has
        // collected the writes of all its threads.
        atomic::fence(Order::AcqRel, Scope::Device);
        let (_, done) = phase();
        done.fetch_add(0, mine(), Relaxed, Scope::Device);
        while done.load(0, Relaxed, Scope::Device) != extent() {
            clock::nanosleep(20);
        }
        // What other blocks wrote is read after their items count as done.
        atomic::fence(Order::AcqRel, Scope::Device);
    }
    thread::sync_threads(); // all wait for thread 0, and see what it sees
}
