//! Mbarriers: barriers in shared memory that count threads and bytes (compute capability 9.0).
//!
//! A barrier runs through phases. A phase completes after the number of arrivals set by [`Mbarrier::init`], and after
//! all bytes that [`Mbarrier::arrive_expecting`] announced have been copied. A waiting thread names the parity of the
//! phase (0 for the first, 1 for the second, 0 for the third …) and continues when that phase is complete. It then sees
//! the writes of every thread before its arrival, and the copied data.

use crate::machine::{MBARRIER_MAX, Machine};
use crate::{Backend, Shared};

/// One barrier: 8 bytes of shared memory.
#[derive(Clone, Copy)]
pub struct Mbarrier {
    address: u32,
}

impl Mbarrier {
    /// Most arrivals, and most bytes, that a phase can wait for.
    pub const MAX: u32 = MBARRIER_MAX;

    /// The barrier in word `i` of `words`. The kernel must not use that word for anything else.
    #[inline(always)]
    #[track_caller]
    pub fn at(words: Shared<u64>, i: u32) -> Self {
        Self { address: words.slice(i, 1).address() }
    }

    /// Makes the word a barrier in its first phase, each phase of which ends after `arrivals` arrivals. One thread
    /// does it; the others wait at a barrier of the block, and the thread calls [`fence_init`] before that.
    #[inline(always)]
    #[track_caller]
    pub fn init(self, arrivals: u32) {
        // SAFETY: `at` checked that the word is in the block's shared memory; it is aligned as a u64.
        unsafe { Backend::mbarrier_init(self.address, arrivals) }
    }

    /// Arrives.
    #[inline(always)]
    #[track_caller]
    pub fn arrive(self) {
        // SAFETY: as for `init`.
        unsafe { Backend::mbarrier_arrive(self.address) }
    }

    /// Announces that `bytes` will be copied, then arrives: the phase does not end before they are there.
    #[inline(always)]
    #[track_caller]
    pub fn arrive_expecting(self, bytes: u32) {
        // SAFETY: as for `init`.
        unsafe { Backend::mbarrier_arrive_expecting(self.address, bytes) }
    }

    /// Whether the phase of that parity has ended. On the GPU the thread may be suspended for a while first; on the
    /// simulator the block's other threads run if it has not.
    #[inline(always)]
    #[track_caller]
    #[must_use = "the phase may go on: a thread that does not ask has not waited"]
    pub fn try_wait(self, parity: u32) -> bool {
        // SAFETY: as for `init`.
        unsafe { Backend::mbarrier_try_wait(self.address, parity) }
    }

    /// Waits until the phase of that parity has ended.
    #[inline(always)]
    #[track_caller]
    pub fn wait(self, parity: u32) {
        while !self.try_wait(parity) {}
    }

    /// Arrives at the barrier that block `rank` of the cluster has at the same address. Those who wait for the phase
    /// there with [`Mbarrier::wait_cluster`] then know that this thread has read what it read before, so they may have
    /// it copied over. What the thread wrote is shown by [`crate::cluster::sync`], not by this: a release for the whole
    /// cluster would wait for memory at every arrival, which made a matrix product take 1.4 times as long on an H200.
    /// The simulator does not tell the two apart.
    #[inline(always)]
    #[track_caller]
    pub fn arrive_at(self, rank: u32) {
        // SAFETY: as for `init`; blocks of a cluster have the same shared memory. That the block is there is the
        // kernel's to ensure, as `crate::cluster` says: a GPU ends the kernel otherwise.
        unsafe { Backend::mbarrier_arrive_at(self.address, rank) }
    }

    /// [`Mbarrier::try_wait`] for a phase at which threads of other blocks of the cluster arrive: it also shows what
    /// those did before.
    #[inline(always)]
    #[track_caller]
    #[must_use = "the phase may go on: a thread that does not ask has not waited"]
    pub fn try_wait_cluster(self, parity: u32) -> bool {
        // SAFETY: as for `init`.
        unsafe { Backend::mbarrier_try_wait_cluster(self.address, parity) }
    }

    /// [`Mbarrier::wait`] for such a phase.
    #[inline(always)]
    #[track_caller]
    pub fn wait_cluster(self, parity: u32) {
        while !self.try_wait_cluster(parity) {}
    }

    /// The byte address of the barrier in the block's shared memory.
    #[inline(always)]
    pub const fn address(self) -> u32 {
        self.address
    }
}

/// Makes initialised barriers known to TMA. The thread that called [`Mbarrier::init`] calls it.
#[inline(always)]
#[track_caller]
pub fn fence_init() {
    Backend::fence_mbarrier_init()
}
