//! When blocks begin and end, on two clocks.

use simt::{Global, clock, thread};

/// Words that a block writes to `times`: the SM's clock at start and end, the device's timer at both.
pub const TIMES: u32 = 4;

/// When a block began.
///
/// The clock counts cycles of one SM; the clocks of two SMs are unrelated. So "latest end minus
/// earliest start" over blocks is a time on the timer only.
#[derive(Clone, Copy)]
pub struct Start {
    clock: u64,
    timer: u64,
}

impl Start {
    /// Reads both clocks.
    #[simt::device]
    pub fn now() -> Self {
        Self { clock: clock::clock(), timer: clock::global_timer() }
    }

    /// Reads both clocks again and writes the block's four words. All threads call it after a barrier, so that the work
    /// of the block is done; the readings of the first thread count.
    #[simt::device]
    pub fn record(self, times: Global<u64>) {
        if thread::thread_idx_x() == 0 {
            let end = Self::now();
            let row = times.slice(thread::block_idx_x() * TIMES, TIMES);
            row.set(0, self.clock);
            row.set(1, end.clock);
            row.set(2, self.timer);
            row.set(3, end.timer);
        }
    }
}
