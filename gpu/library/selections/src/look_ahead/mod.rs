//! # Select, warps with fixed roles and bulk copies in place
//!
//! The selections of [`crate::compact`] for large inputs on devices of compute capability 9.0: words between two
//! bounds, the first word of each run, and a partition by bounds.
//!
//! **Idea.** A persistent block works on several tiles at once, as scan's `look-ahead` does. One thread copies tiles to
//! a ring in shared memory; four warps count the kept items of a tile and publish the number; one warp adds up the
//! numbers of the tiles before; four warps compact the tile where it lies; and the copier stores it. Each role is ahead
//! of the next by some tiles, so loads and stores never pause.
//!
//! **In place.** A compacting thread takes its items into registers and waits until the number of items before is
//! known. After a barrier, when all have taken theirs, it writes those that are kept. Item number i goes to a place of
//! the stage that is as far from a multiple of 16 bytes as place i of the output is. So one bulk copy stores all but
//! the ragged ends, up to 3 items on each side, which the copier stores itself. A partition has its other items behind
//! those that are kept, shifted likewise. The stage has room before and behind the tile for that. In a selection that
//! looks at the item before, the 16 bytes in front of the tile are copied to the room before it.
//!
//! **Bottleneck.** Memory; at 2²⁴ items and few of them kept, the start and the end of the pipeline. On an H100, times
//! CUB's from 2¹⁶ to 2²⁸ items: `unique` 1.2 to 1.6, `partition` 1.0 to 1.2, a selection by bounds 1.0 to 1.8 where
//! half is kept, and 0.8 to 1.7 where a tenth is, the least at 2²⁸ words of 4 bytes.
//!
//! **Cost.** One read of each item and one write of each kept one; a state of 8 bytes per tile, which each block reads;
//! 2 barriers of four warps per tile; one launch. Tags count launches, so the workspace is cleared once, not before
//! each launch.
//!
//! **Threads.** Warps 0 to 3 count, 4 to 7 compact, the first lane of warp 8 copies tiles, warp 9 looks ahead. In a
//! tile each of 128 threads has 11 consecutive packs of 16 bytes, an odd number: a stride without bank conflicts.
//!
//! **Limits.** Items of 4 and 8 bytes; input and outputs begin on multiples of 16 bytes; compute capability 9.0 and 197
//! KiB of shared memory. Below [`pass::LEAST`](crate::pass::LEAST) items, and where one of these does not hold, the
//! look-back of [`crate::compact`] runs instead.
//!
//! **Not faster.** In a prototype in CUDA C++ on an H100: two warps that look ahead by turns (4 to 18 % slower at 2²⁸),
//! counting and compacting warps in eights (1 to 20 %), 13 or 15 packs per thread with fewer stages (1 to 3 %).
//!
//! **Source.** Scan's rung `look-ahead`, whose roles these are; compaction in place is our own.

#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod ring;

use crate::compact::{Between, FirstOfRun, If, Keep, within};
use ring::{Staged, copy_tiles, next_tile};
use rungs_common::keys::Word;
use rungs_common::operator::{Sum, warp_exclusive_of, warp_scan_inclusive};
use rungs_common::ring::Place;
use rungs_common::state::{NOTHING, look, publish};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::mbarrier::{self, Mbarrier};
use simt::warp::{self, FULL, WARP};
use simt::{Argument, Global, Scalar, bulk, kernel, opaque, shared, thread, unroll};

/// Warps that count, and warps that compact.
const WARPS: usize = 4;
/// Threads that count, and threads that compact.
const SQUAD: u32 = WARPS as u32 * WARP;
/// Packs of 16 bytes per thread and tile.
const VECTORS: usize = 11;
/// The thread that copies tiles.
const COPIER: u32 = 2 * SQUAD;
/// Tiles in the ring.
const STAGES: u32 = 8;
/// Groups of 32 states that the look-ahead loads at once: enough for 132 blocks, whichever state of a group comes
/// first.
const GROUPS: usize = 6;

/// Threads per block: two squads, the warp that copies tiles, the warp that looks ahead.
pub const BLOCK: u32 = 2 * SQUAD + 2 * WARP;
/// Bytes of a tile.
const TILE_BYTES: u32 = SQUAD * VECTORS as u32 * 16;
/// Bytes in front of the tile in its stage: for the items before it, and for the shift of those that are kept.
const FRONT: u32 = 16;
/// Bytes behind it: a partition has two shifts, and rounds up between them.
const BEHIND: u32 = 32;
/// Bytes of a stage.
const STAGE_BYTES: u32 = FRONT + TILE_BYTES + BEHIND;
/// Where the states begin in the workspace: 128 bytes after the control word, from which all blocks draw tiles.
const STATES: u32 = 16;

/// Items of a tile.
pub const fn tile<T>() -> u32 {
    TILE_BYTES / size_of::<T>() as u32
}

/// Blocks for `n` items: one per SM, or one per tile if there are fewer tiles, but at least one, which writes the
/// count.
pub const fn grid<T>(n: u32, multiprocessors: u32) -> u32 {
    let tiles = n.div_ceil(tile::<T>());
    let tiles = if tiles == 0 { 1 } else { tiles };
    if tiles < multiprocessors { tiles } else { multiprocessors }
}

/// Words of the workspace for up to `n` items. It is zero before the first launch. After that only launches of kernels
/// here, of any type and size, one at a time, use it.
pub const fn workspace<T>(n: u32) -> u32 {
    STATES + n.div_ceil(tile::<T>()) + 1
}

/// Bytes of dynamic shared memory: the ring.
pub const SHARED_BYTES: u32 = STAGES * STAGE_BYTES;

/// Bytes of shared memory that a device must give a block: the ring, and room for the static arrays.
pub const NEEDED: u32 = SHARED_BYTES + (8 << 10);

// Each stage of the ring has a barrier for each phase of its tile. The tile is first full (its number and its items are
// there), then ready (the number of kept items before each thread's own is known), then done (it is compacted).
shared!(FULL_AT: [u64; STAGES]);
shared!(READY: [u64; STAGES]);
shared!(DONE: [u64; STAGES]);
// The word drawn for each stage: the launch's number in the upper half, the tile's in the lower. A tile number past the
// last tile ends the work.
shared!(DRAWN: [u64; STAGES]);
// For each stage the kept items of the tile before each thread's own.
shared!(OFFSETS: [u32; STAGES * SQUAD]);
// For each stage the kept items of each counting warp.
shared!(OF_WARPS: [u32; STAGES * WARPS as u32]);
// For each stage the kept items of the tile,
shared!(KEPT: [u32; STAGES]);
// and those of all tiles before.
shared!(BEFORE: [u32; STAGES]);

/// [`select_compact`](crate::compact::select_compact) for words that begin on a multiple of 16 bytes. `count` is always
/// written.
#[kernel(sm_90, max_threads = BLOCK, min_blocks = 1, instances(
    select_look_ahead_u32: <u32>, select_look_ahead_u64: <u64>,
))]
#[allow(clippy::too_many_arguments, reason = "views and bounds")]
pub fn select_look_ahead<W: Word + Argument>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    workspace: Global<u64>,
    low: W,
    high: W,
    order: u32,
) {
    let keep = If(Between { low, high, order });
    compact::<W, _, false>(input, limit, (output, count), (output, count), workspace, keep)
}

/// [`partition_compact`](crate::compact::partition_compact), likewise.
#[kernel(sm_90, max_threads = BLOCK, min_blocks = 1, instances(
    partition_look_ahead_u32: <u32>, partition_look_ahead_u64: <u64>,
))]
#[allow(clippy::too_many_arguments, reason = "views and bounds")]
pub fn partition_look_ahead<W: Word + Argument>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    rest: Global<W>,
    rest_count: Global<u32>,
    workspace: Global<u64>,
    low: W,
    high: W,
    order: u32,
) {
    let keep = If(Between { low, high, order });
    compact::<W, _, true>(input, limit, (output, count), (rest, rest_count), workspace, keep)
}

/// [`unique_compact`](crate::compact::unique_compact), likewise.
#[kernel(sm_90, max_threads = BLOCK, min_blocks = 1, instances(
    unique_look_ahead_u32: <u32>, unique_look_ahead_u64: <u64>,
))]
pub fn unique_look_ahead<W: Scalar>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    workspace: Global<u64>,
) {
    compact::<W, _, false>(input, limit, (output, count), (output, count), workspace, FirstOfRun)
}

#[inline(always)]
fn compact<T: Scalar, K: Keep<T>, const PARTITION: bool>(
    input: Global<T>,
    limit: Global<u32>,
    kept: (Global<T>, Global<u32>),
    others: (Global<T>, Global<u32>),
    workspace: Global<u64>,
    keep: K,
) {
    let (t, warp) = (thread::thread_idx_x(), thread::thread_idx_x() / WARP);
    let (control, states) = (workspace.slice(0, 1), workspace.slice(STATES, workspace.len() - STATES));
    let mut drawn = 0;
    if t == COPIER {
        // The atomic is in flight while the barriers are made.
        drawn = control.fetch_add(0, 1, Relaxed, Device);
        for stage in 0..STAGES {
            Mbarrier::at(FULL_AT::view(), stage).init(1); // the copier, and the bytes that it announces
            Mbarrier::at(READY::view(), stage).init(SQUAD + 1); // the threads that count, and the look-ahead
            Mbarrier::at(DONE::view(), stage).init(SQUAD); // the threads that compact
        }
        mbarrier::fence_init();
        bulk::fence(); // bulk copies see the barriers too
    }
    thread::sync_threads(); // the barriers are made before any thread uses them
    let input = input.slice(0, within(input.len(), limit));
    if warp < SQUAD / WARP {
        count(input, states, keep, t);
    } else if warp < 2 * SQUAD / WARP {
        move_items::<T, K, PARTITION>(input, keep, t - SQUAD);
    } else if t == COPIER {
        copy_tiles::<T, PARTITION>(input, kept, others, (control, states), drawn, K::LOOKS_BEHIND);
    } else if warp > COPIER / WARP {
        look_ahead(input, states);
    }
}

/// A thread's items of a tile, in packs. Places past the end of the tile are not read.
#[inline(always)]
fn items<T: Scalar>(tile: Staged<T>, t: u32) -> [T::Pack; VECTORS] {
    let mut packs = [T::Pack::default(); VECTORS];
    if tile.is_whole() {
        unroll::<VECTORS>(|v| packs[v] = tile.items().get_pack(t * VECTORS as u32 + v as u32));
    } else {
        unroll::<VECTORS>(|v| {
            unroll::<4>(|j| {
                let i = place::<T>(t, v, j);
                if j < T::PACK as usize && i < tile.len {
                    packs[v].as_mut()[j] = tile.items().get(i);
                }
            });
        });
    }
    packs
}

/// The place in the tile of item `j` of a thread's pack `v`.
#[inline(always)]
fn place<T: Scalar>(t: u32, v: usize, j: usize) -> u32 {
    (t * VECTORS as u32 + v as u32) * T::PACK + j as u32
}

/// Which of a thread's items are kept: a bit for each, 4 for each pack. `last` is the item before the thread's own.
#[inline(always)]
fn kept<T: Scalar, K: Keep<T>>(
    tile: Staged<T>,
    packs: &[T::Pack; VECTORS],
    mut last: Option<T>,
    keep: K,
    t: u32,
) -> [u32; 2] {
    let (is_whole, mut kept) = (tile.is_whole(), [0; 2]);
    unroll::<VECTORS>(|v| {
        unroll::<4>(|j| {
            if j < T::PACK as usize {
                let item = packs[v].as_ref()[j];
                let is_there = is_whole || place::<T>(t, v, j) < tile.len;
                kept[v / 8] |= u32::from(is_there && keep.keeps(item, last, 0)) << (v % 8 * 4 + j);
                last = Some(item);
            }
        });
    });
    // The compiler would keep each bit in a register of its own.
    [opaque(kept[0]), opaque(kept[1])]
}

/// The item before a thread's own, for tests that look at it.
#[inline(always)]
fn item_before<T: Scalar, K: Keep<T>>(tile: Staged<T>, t: u32) -> Option<T> {
    let (first, is_first) = (place::<T>(t, 0, 0), tile.number == 0 && t == 0);
    // It lies in front of the thread's own, for thread 0 in the room before the tile.
    if K::LOOKS_BEHIND && !is_first && first < tile.len { Some(tile.room.get(T::PACK + first - 1)) } else { None }
}

/// Counts the kept items of tile after tile, publishes their numbers, and stores the number before each thread's items.
#[inline(always)]
fn count<T: Scalar, K: Keep<T>>(input: Global<T>, states: Global<u64>, keep: K, t: u32) {
    let (offsets, mut place) = (OFFSETS::view(), Place::FIRST);
    while let Some(tile) = next_tile(input, place) {
        let (stage, packs) = (place.stage, items(tile, t));
        let kept = kept(tile, &packs, item_before::<T, K>(tile, t), keep, t);
        let own = kept[0].count_ones() + kept[1].count_ones();
        let of_warps = OF_WARPS::view().slice(stage * WARPS as u32, WARPS as u32);
        let inclusive = warp_scan_inclusive::<Sum, u32>(own);
        if warp::lane_id() == WARP - 1 {
            of_warps.set(t / WARP, inclusive);
        }
        thread::barrier(1, SQUAD); // the numbers of all four warps are written before they are read
        let (mut before, mut total) = (0, 0);
        unroll::<WARPS>(|w| {
            before += if (w as u32) < t / WARP { of_warps.get(w as u32) } else { 0 };
            total += of_warps.get(w as u32);
        });
        if t == 0 {
            publish(states, tile.number, tile.tag, total);
            KEPT::view().set(stage, total);
        }
        offsets.set(stage * SQUAD + t, before + warp_exclusive_of::<Sum, u32>(inclusive));
        // Every thread arrives for itself, so that the threads that wait see its own write.
        Mbarrier::at(READY::view(), stage).arrive();
        place = place.next(STAGES);
    }
}

/// Finds the number of kept items before tile after tile: it adds those of the tiles since the block's last.
#[inline(always)]
fn look_ahead<T: Scalar>(input: Global<T>, states: Global<u64>) {
    let (mut place, mut before, mut end) = (Place::FIRST, 0, 0);
    while let Some(tile) = next_tile(input, place) {
        let mut own = 0;
        // One round is enough unless this block has fallen far behind the others.
        while end < tile.number {
            let (mut seen, mut looked) = ([(NOTHING, 0u32); GROUPS], true);
            while looked {
                looked = false;
                // All loads are issued before the next round uses their results.
                unroll::<GROUPS>(|g| {
                    let number = end + g as u32 * WARP + warp::lane_id();
                    if number < tile.number && seen[g].0 != tile.tag {
                        (seen[g], looked) = (look(states, number), true);
                    }
                });
            }
            unroll::<GROUPS>(|g| own += seen[g].1);
            end += GROUPS as u32 * WARP;
        }
        end = tile.number;
        before += warp::reduce_add(FULL, own);
        if warp::lane_id() == 0 {
            BEFORE::view().set(place.stage, before);
        }
        warp::sync_warp(FULL); // all lanes have read the stage's number before it can change
        if warp::lane_id() == 0 {
            Mbarrier::at(READY::view(), place.stage).arrive();
        }
        place = place.next(STAGES);
    }
}

/// Compacts tile after tile in place.
#[inline(always)]
fn move_items<T: Scalar, K: Keep<T>, const PARTITION: bool>(input: Global<T>, keep: K, t: u32) {
    let mut at = Place::FIRST;
    while let Some(tile) = next_tile(input, at) {
        let packs = items(tile, t);
        let is_kept = kept(tile, &packs, item_before::<T, K>(tile, t), keep, t);
        Mbarrier::at(READY::view(), at.stage).wait(at.parity);
        let own = OFFSETS::view().get(at.stage * SQUAD + t);
        let (kept, others) = tile.parts(BEFORE::view().get(at.stage), KEPT::view().get(at.stage));
        thread::barrier(2, SQUAD); // all have taken their items, and their numbers, before any is overwritten
        let mut next = kept.first + own;
        let mut next_other = others.first + place::<T>(t, 0, 0).wrapping_sub(own);
        unroll::<VECTORS>(|v| {
            unroll::<4>(|j| {
                if j < T::PACK as usize {
                    // A store for both parts; two, of which one is made, would have both numbers in memory.
                    let is_kept = is_kept[v / 8] >> (v % 8 * 4 + j) & 1;
                    if is_kept != 0 || PARTITION && place::<T>(t, v, j) < tile.len {
                        tile.room.set(if is_kept != 0 { next } else { next_other }, packs[v].as_ref()[j]);
                    }
                    next += is_kept;
                    next_other += 1 - is_kept;
                }
            });
        });
        bulk::fence(); // this thread's accesses come before the copy to the output, and the next copy to the stage
        Mbarrier::at(DONE::view(), at.stage).arrive();
        at = at.next(STAGES);
    }
}
