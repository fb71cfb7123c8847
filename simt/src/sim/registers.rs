//! Registers of a block's threads, which warpgroups give back and take.

use std::cell::Cell;

/// Registers of an SM, and the most that a thread has.
const ALL: u32 = 1 << 16;
const MOST: u32 = 256;

/// The registers of a block. A kernel that sets no bound of its threads has none here: ptxas ignores its calls.
pub(super) struct Registers {
    /// What each thread begins with: as many as fit all threads that the kernel is compiled for, if one block of it
    /// runs on an SM. More blocks make them fewer, which is not known here.
    each: Option<u32>,
    held: Vec<Cell<u32>>,
    free: Cell<u32>,
}

impl Registers {
    pub(super) fn new(threads: usize, max_threads: u32) -> Self {
        let each = ALL.checked_div(max_threads).map(|each| (each / 8 * 8).min(MOST));
        Self { each, held: vec![Cell::new(each.unwrap_or(0)); threads], free: Cell::new(0) }
    }

    /// As the block before began.
    pub(super) fn reset(&self) {
        self.held.iter().for_each(|held| held.set(self.each.unwrap_or(0)));
        self.free.set(0);
    }

    /// A thread keeps so many. Returns whether others can have more.
    pub(super) fn release(&self, thread: usize, keeps: u32) -> bool {
        let more = self.held[thread].get().saturating_sub(keeps);
        self.held[thread].update(|held| held - more);
        self.free.update(|free| free + more);
        more > 0
    }

    /// A thread takes registers until it has so many; false if there are not enough.
    pub(super) fn claim(&self, thread: usize, wants: u32) -> bool {
        let more = wants.saturating_sub(self.held[thread].get());
        let enough = self.each.is_none() || more <= self.free.get();
        if enough && self.each.is_some() {
            self.held[thread].update(|held| held + more);
            self.free.update(|free| free - more);
        }
        enough
    }

    /// What a thread lacks that waits for registers, in words.
    pub(super) fn lacks(&self) -> String {
        let (free, each) = (self.free.get(), self.each.unwrap_or(0));
        format!(
            "waits for registers: each thread began with {each}, and {free} of those that the block's threads gave \
             back are left"
        )
    }
}
