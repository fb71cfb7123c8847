//! # Bubble sort, one window per warp, in registers
//!
//! **Idea.** A warp holds a window of 1024 keys in its registers, 32 neighbours per lane. In a round of two phases a
//! lane compares 31 pairs of its own registers. For the two pairs that it shares with its neighbours, it gets the first
//! key of the lane above and the last key of the lane below by shuffles.
//!
//! **Changed from the rung before.** `shared-block` uses shared memory and waits at a barrier for every
//! compare-exchange. Here there is no shared memory. The only barrier is one of each warp before its stores, and each
//! lane does two shuffles per round.
//!
//! **Bottleneck.** The arithmetic: a minimum and a maximum for each compare-exchange, of which there are about n². The
//! next rung needs half of them.
//!
//! **Cost.** About n² compare-exchanges: ⌈n/512⌉ launches, each of 512 rounds of two phases; no barrier but one per
//! warp; two shuffles per warp and round, four for keys of 8 bytes. Up to 1024 keys take one launch.
//!
//! **Threads.** One window per warp, four warps per block, so that each scheduler of an SM has one. Lane l ends with
//! the keys 32·l to 32·l + 31. It starts with every 32nd key, so that the loads of a warp are contiguous. That is
//! possible because a pass sorts its window from any order.
//!
//! **Limits.** Any n.
//!
//! **Source.** The forum course "CUDA 程式設計 (9): 泡泡龍 part 2" (2008), its two passes. Changed: any n, and registers and
//! shuffles in place of shared memory and barriers.

use super::{Key, key_or_last, set_if_inside};
use simt::warp::{FULL, WARP};
use simt::{Global, kernel, thread, unroll, warp};

/// Threads per block.
pub const BLOCK: u32 = 4 * WARP;

/// Keys per lane.
const LANE_KEYS: usize = 32;

/// Keys of a warp's window.
pub const WARP_KEYS: u32 = WARP * LANE_KEYS as u32;

/// Blocks of a pass over `n` keys, with windows from `offset` on.
pub const fn grid(n: u32, offset: u32) -> u32 {
    super::r2_shared_block::grid(n, WARP_KEYS, offset).div_ceil(BLOCK / WARP)
}

/// The passes that sort `n` keys, in order: the offset of each.
pub fn passes(n: u32) -> impl Iterator<Item = u32> {
    super::r2_shared_block::passes(n, WARP_KEYS)
}

/// One pass: sorts each window of [`WARP_KEYS`] keys; the first window starts at `offset`.
#[kernel(
    max_threads = BLOCK, min_blocks = 1,
    instances(bubble_warp_registers: <u32>, bubble_warp_registers_u64: <u64>)
)]
pub fn bubble_warp_registers<T: Key>(keys: Global<T>, offset: u32) {
    let (warps, lane) = (BLOCK / WARP, warp::lane_id());
    let windows_before = thread::block_idx_x() * warps + thread::thread_idx_x() / WARP;
    // A window beyond the last possible key is beyond all keys: it has nothing to load, sort or store.
    let window = windows_before.saturating_mul(WARP_KEYS).saturating_add(offset);
    let mut own = [T::LAST; LANE_KEYS];
    unroll::<LANE_KEYS>(|i| own[i] = key_or_last(keys, window.saturating_add(i as u32 * WARP + lane)));
    // The same for all lanes of the warp, so that all of them shuffle. A window with few keys takes as many rounds as a
    // full one: a key may lie anywhere in it.
    let rounds = if window < keys.len() { WARP_KEYS / 2 } else { 0 };
    let mut round = 0;
    while round < rounds {
        even_phase(&mut own);
        odd_phase(&mut own, lane);
        round += 1;
    }
    // The shuffles carry values and order no memory: without this, a lane could store to a place that another lane has
    // yet to load.
    warp::sync_warp(FULL);
    let first = window.saturating_add(lane * LANE_KEYS as u32);
    unroll::<LANE_KEYS>(|i| set_if_inside(keys, first.saturating_add(i as u32), own[i]));
}

/// Exchanges within the pairs (0,1) (2,3) … (30,31) of the lane.
#[simt::device]
fn even_phase<T: Key>(own: &mut [T; LANE_KEYS]) {
    unroll::<{ LANE_KEYS / 2 }>(|i| exchange(own, 2 * i));
}

/// Exchanges within the pairs (1,2) (3,4) … (29,30) of the lane and those across the seams to its neighbours.
#[simt::device]
fn odd_phase<T: Key>(own: &mut [T; LANE_KEYS], lane: u32) {
    const LAST_OWN: usize = LANE_KEYS - 1;
    // The shuffles come first: their results arrive while the lane compares its own pairs.
    let (above, below) = (warp::shuffle_down(FULL, own[0], 1), warp::shuffle_up(FULL, own[LAST_OWN], 1));
    unroll::<{ LANE_KEYS / 2 - 1 }>(|i| exchange(own, 2 * i + 1));
    // The seams: the lower lane keeps the smaller key, the upper one the larger. At the ends of the window there is no
    // neighbour, and a shuffle gives the lane's own value back.
    let (last, first) = (own[LAST_OWN].min(above), own[0].max(below));
    own[LAST_OWN] = if lane < WARP - 1 { last } else { own[LAST_OWN] };
    own[0] = if lane > 0 { first } else { own[0] };
}

/// Puts keys `i` and `i` + 1 of the lane in order.
#[simt::device]
fn exchange<T: Key>(own: &mut [T; LANE_KEYS], i: usize) {
    (own[i], own[i + 1]) = (own[i].min(own[i + 1]), own[i].max(own[i + 1]));
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: a kernel per pass, at the offsets a and b in turn.

    use super::*;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r3_warp_registers.rs", [bubble_warp_registers])
        .with_tiles(&[WARP_KEYS as u64])
        .run_by(Sort::both(&Words { scratch: no_scratch, sort }, &Words { scratch: no_scratch, sort }));

    /// Sorts `keys` in place: a launch per pass.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, (): &mut ()) -> Result
    where
        bubble_warp_registers<W>: Kernel<Args = (Global<W>, u32)>,
    {
        for offset in passes(keys.len()) {
            let geometry = Geometry::linear(grid(keys.len(), offset), BLOCK);
            on.launch(bubble_warp_registers::<W>::default(), geometry, (keys, offset))?;
        }
        Ok(())
    }
}
