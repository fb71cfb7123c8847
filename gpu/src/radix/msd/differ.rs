//! Finds the bits in which the keys of a block differ.

use super::Key;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{shared, thread, unroll, warp};

/// Bytes of static shared memory.
pub const IN_BLOCK_STATIC: u32 = 8;

shared!(DIFFER: [u32; 2]);

/// The number of top bits that all keys of the block share. `differ`: the bits in which the keys of this thread differ
/// from one key of the block.
#[inline(always)]
#[track_caller]
pub(super) fn same_bits<W: Key>(differ: u64) -> u32 {
    let all = differing_bits::<W>(differ);
    // Without a difference any shift will do.
    (all << (64 - 32 * W::HALVES)).leading_zeros().min(32 * W::HALVES - 1)
}

/// The bits in which any key of the block differs from one of them. `differ`: those of the keys of this thread.
#[inline(always)]
#[track_caller]
pub fn differing_bits<W: Key>(differ: u64) -> u64 {
    let halves = [differ as u32, (differ >> 32) as u32];
    if thread::thread_idx_x() < 2 {
        DIFFER::view().set(thread::thread_idx_x(), 0);
    }
    thread::sync_threads(); // the bits are zero before any is set
    unroll::<2>(|h| {
        if (h as u32) < W::HALVES {
            let half = warp::reduce_or(warp::FULL, halves[h]);
            if warp::lane_id() == 0 && half != 0 {
                DIFFER::view().fetch_or(h as u32, half, Relaxed, Scope::Block);
            }
        }
    });
    thread::sync_threads(); // every warp's bits are there
    DIFFER::view().get(0) as u64 | (DIFFER::view().get(1) as u64) << 32
}
