//! Clusters: blocks that run at the same time and access each other's shared memory (compute capability 9.0).
//!
//! A kernel declared with `#[kernel(sm_90, cluster = 2)]` runs in clusters of two blocks that are neighbours along x;
//! the grid must consist of whole clusters. A block addresses another by its rank. Four operations cross blocks:
//!
//! - [`sync`] is the barrier of all threads of all blocks of the cluster;
//! - [`Mbarrier::arrive_at`](crate::mbarrier::Mbarrier::arrive_at) arrives at another block's barrier, which then waits
//!   with [`Mbarrier::wait_cluster`](crate::mbarrier::Mbarrier::wait_cluster);
//! - [`TensorMap::load_multicast`](crate::tensor_map::TensorMap::load_multicast) copies one box to several blocks;
//! - [`Remote`] is a view of another block's shared memory, for reading.
//!
//! A block must be running while others access it. So before the first such call all threads call [`sync`], after which
//! every block has started and has initialised its barriers. A block must not exit while an arrival or a copy to it is
//! in flight; if it cannot know this otherwise, it calls [`sync`] at its end.

use crate::global::checked;
use crate::machine::{Machine, Register};
use crate::{Backend, Scalar, Shared};
use core::marker::PhantomData;

/// The block's number in its cluster, from 0; 0 in a kernel without clusters.
#[inline(always)]
pub fn rank() -> u32 {
    Backend::register(Register::ClusterRank)
}

/// Blocks of the cluster; 1 in a kernel without clusters.
#[inline(always)]
pub fn blocks() -> u32 {
    Backend::register(Register::ClusterBlocks)
}

/// Waits until every thread of every block of the cluster is here; after it all see what all did before it, in global
/// memory and in each other's shared memory. The threads may come from different calls.
#[inline(always)]
#[track_caller]
pub fn sync() {
    Backend::sync_cluster()
}

/// A view of `len` elements of the shared memory of a block of the cluster, which may be the thread's own: for reading.
///
/// To see another block's writes, both blocks call [`sync`] between the writes and the reads. A block whose memory
/// others read calls [`sync`] after their reads, before it writes there again or exits. Bounds are checked as for
/// [`Shared`]. The simulator's statistics do not count these reads.
pub struct Remote<T> {
    /// As the cluster knows it.
    address: u32,
    len: u32,
    element: PhantomData<T>,
}

impl<T> Clone for Remote<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Remote<T> {}

impl<T: Scalar> Remote<T> {
    /// What the block of rank `rank` has where this one has `own`: the blocks of a cluster have the same arrays at the
    /// same places.
    #[inline(always)]
    #[track_caller]
    pub fn of(own: Shared<T>, rank: u32) -> Self {
        Self { address: Backend::cluster_address(own.address(), rank), len: own.len(), element: PhantomData }
    }

    /// Elements in view.
    #[inline(always)]
    pub const fn len(self) -> u32 {
        self.len
    }

    /// Whether the view is empty.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Element `i`.
    #[inline(always)]
    #[track_caller]
    pub fn get(self, i: u32) -> T {
        if checked() && i >= self.len {
            Backend::out_of_bounds("shared memory of the cluster", i as u64, self.len as u64);
        }
        // SAFETY: the index has been checked; `of` was given a view of shared memory that each block of the cluster
        // has. That the block is there is the kernel's to ensure, as the module says: a GPU ends the kernel otherwise.
        unsafe { Backend::load_cluster(self.address.wrapping_add(i.wrapping_mul(size_of::<T>() as u32))) }
    }

    /// Pack `i`: the 16 bytes of elements `i * PACK` and following, in one access. The view starts on a multiple of 16
    /// bytes.
    #[inline(always)]
    #[track_caller]
    pub fn get_pack(self, i: u32) -> T::Pack {
        if checked() && i >= self.len / T::PACK {
            Backend::out_of_bounds("shared pack of the cluster", i as u64, (self.len / T::PACK) as u64);
        }
        let address = self.address.wrapping_add(i.wrapping_mul(16));
        if checked() && !address.is_multiple_of(16) {
            Backend::misaligned("shared pack of the cluster", address as u64, 16);
        }
        // SAFETY: as for `get`; T::Pack is 16 bytes of scalars.
        unsafe { core::mem::transmute_copy(&Backend::load_cluster_pack(address)) }
    }
}
