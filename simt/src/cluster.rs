//! Clusters: blocks that run at the same time and see each other's shared memory (compute capability 9.0).
//!
//! A kernel declared with `#[kernel(sm_90, cluster = 2)]` runs in clusters of two blocks that follow each other along
//! x; the grid has whole clusters. A block names another by its rank. Three things reach across:
//!
//! - [`sync`] is the barrier of all threads of all blocks of the cluster;
//! - [`Mbarrier::arrive_at`](crate::mbarrier::Mbarrier::arrive_at) arrives at another block's barrier, which then waits
//!   with [`Mbarrier::wait_cluster`](crate::mbarrier::Mbarrier::wait_cluster);
//! - [`TensorMap::load_multicast`](crate::tensor_map::TensorMap::load_multicast) copies one box to several blocks.
//!
//! What reaches a block has to find it there. Before the first such call all threads pass [`sync`], behind which every
//! block has begun and has initialised its barriers. Before a block ends, nothing may be under way to it: a block that
//! cannot know that otherwise passes [`sync`] at its end.

use crate::Backend;
use crate::machine::{Machine, Register};

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
