//! # Select, warps with fixed roles and bulk copies in place
//!
//! The selections of [`crate::compact`] for large inputs on devices of compute capability 9.0: words between two
//! bounds, the first word of each run, and a partition by bounds. By the same mechanism the lengths of runs, their
//! values combined, and scans inside them: [`runs`].
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
//! **Limits.** Items of 4 and 8 bytes; input and outputs begin on multiples of 16 bytes; compute capability 9.0 and 227
//! KiB of shared memory. Below [`pass::LEAST`](crate::pass::LEAST) items, and where one of these does not hold, the
//! look-back of [`crate::compact`] runs instead.
//!
//! **Not faster.** In a prototype in CUDA C++ on an H100: two warps that look ahead by turns (4 to 18 % slower at 2²⁸),
//! counting and compacting warps in eights (1 to 20 %), 13 or 15 packs per thread with fewer stages (1 to 3 %).
//!
//! **Source.** Scan's rung `look-ahead`, whose roles these are; compaction in place is our own.

mod hands;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod ring;
pub mod runs;
mod sift;

pub use ring::turns;
pub use sift::shape;
#[cfg(not(target_os = "cuda"))]
pub use sift::{partition_look_ahead, select_look_ahead, unique_look_ahead};

use crate::compact::{Keep, within};
use crate::look_back::{Carry, scan_warp};
use hands::Hands;
use ring::{Staged, copy_tiles, next_tile};
use rungs_common::ring::Place;
use rungs_common::state::NOTHING;
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::mbarrier::{self, Mbarrier};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, bulk, opaque, shared, thread, unroll};

/// Warps that count, and warps that compact.
const WARPS: usize = 4;
/// Threads that count, and threads that compact.
const SQUAD: u32 = WARPS as u32 * WARP;
/// The thread that copies tiles.
const COPIER: u32 = 2 * SQUAD;
/// Most tiles in the ring.
const MOST_STAGES: u32 = 8;
/// Groups of 32 states that the look-ahead loads at once: enough for 132 blocks, whichever state of a group comes
/// first.
const GROUPS: usize = 6;
/// Most words of what a tile hands on: a number of runs, and a value of 8 bytes.
const MOST_WORDS: u32 = 3;

/// Threads per block: two squads, the warp that copies tiles, the warp that looks ahead.
pub const BLOCK: u32 = 2 * SQUAD + 2 * WARP;
/// Bytes in front of the tile in its stage: for the items before it, and for the shift of those that are kept.
const FRONT: u32 = 16;
/// Where the states begin in the workspace: 128 bytes after the control word, from which all blocks draw tiles.
const STATES: u32 = 16;
/// Bytes of shared memory that a device must give a block.
pub const NEEDED: u32 = 227 << 10;
/// Bytes of them that the ring may take; the others are for the static arrays.
const MOST_BYTES: u32 = NEEDED - (2 << 10);

/// How a kernel divides its items and the shared memory of a block.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Items of a tile.
    pub tile: u32,
    /// Words of 64 bits in the state of a tile.
    state_words: u32,
    /// Bytes of a stage: the room in front of the tile, the tile, what lies behind it, and what stands before the items
    /// of each thread.
    stage_bytes: u32,
    /// Tiles in the ring.
    stages: u32,
}

impl Shape {
    /// The shape for items of type `T`, of which a thread has `vectors` packs, with `behind` bytes behind the tile, and
    /// tiles that hand on `words` words of 32 bits in a state of `state_words` words of 64.
    const fn new<T>(vectors: usize, behind: u32, words: u32, state_words: u32) -> Self {
        let tile_bytes = SQUAD * vectors as u32 * 16;
        let stage_bytes = FRONT + tile_bytes + behind + 4 * SQUAD * words;
        let stages = MOST_BYTES / stage_bytes;
        let stages = if stages < MOST_STAGES { stages } else { MOST_STAGES };
        Self { tile: tile_bytes / size_of::<T>() as u32, state_words, stage_bytes, stages }
    }

    /// Blocks for `n` items: one per SM, or one per tile if there are fewer tiles, but at least one, which writes the
    /// count.
    pub const fn grid(self, n: u32, multiprocessors: u32) -> u32 {
        let tiles = n.div_ceil(self.tile);
        let tiles = if tiles == 0 { 1 } else { tiles };
        if tiles < multiprocessors { tiles } else { multiprocessors }
    }

    /// Words of the workspace for up to `n` items. It is zero before the first launch. After that only launches of
    /// kernels of the same state use it, with any number of items, one at a time.
    pub const fn workspace(self, n: u32) -> u32 {
        STATES + (n.div_ceil(self.tile) + 1) * self.state_words
    }

    /// Bytes of dynamic shared memory: the ring.
    pub const fn shared_bytes(self) -> u32 {
        self.stages * self.stage_bytes
    }
}

// Each stage of the ring has a barrier for each phase of its tile. The tile is first full (its number and its items are
// there), then ready (what stands before each thread's items is known), then done (it is compacted).
shared!(FULL_AT: [u64; MOST_STAGES]);
shared!(READY: [u64; MOST_STAGES]);
shared!(DONE: [u64; MOST_STAGES]);
// The word drawn for each stage: the launch's number in the upper half, the tile's in the lower. A tile number past the
// last tile ends the work.
shared!(DRAWN: [u64; MOST_STAGES]);
// For each stage what each counting warp has of the tile,
shared!(OF_WARPS: [u32; MOST_STAGES * WARPS as u32 * MOST_WORDS]);
// what the tile hands on,
shared!(OF_TILE: [u32; MOST_STAGES * MOST_WORDS]);
// and what all tiles before do.
shared!(BEFORE: [u32; MOST_STAGES * MOST_WORDS]);

/// What stands before the items of a thread.
#[derive(Clone, Copy)]
struct Known<H> {
    /// What the tiles before hand on.
    before: H,
    /// What the tile adds.
    here: H,
    /// What the tile adds before the thread's own items.
    own: H,
}

/// What a kernel makes of its items. A thread has `VECTORS` packs of a tile.
trait Job<T: Scalar, const VECTORS: usize>: Copy {
    /// Says which items are kept.
    type Keep: Keep<T>;
    /// What a tile hands on.
    type Hands: Hands;
    /// What a thread takes of a tile in addition to its items.
    type Beside: Copy;
    /// Bytes of a stage behind the tile.
    const BEHIND: u32;
    /// How items and memory are divided.
    const SHAPE: Shape = Shape::new::<T>(VECTORS, Self::BEHIND, Self::Hands::WORDS, Self::Hands::STATE_WORDS);

    /// The test of the items.
    fn keep(self) -> Self::Keep;
    /// What thread `t` takes in addition to its items.
    fn beside(self, tile: Staged<T>, t: u32) -> Self::Beside;
    /// What the items of thread `t` add; of `kept` see [`kept`].
    fn own(self, tile: Staged<T>, kept: [u32; 2], beside: &Self::Beside, t: u32) -> Self::Hands;
    /// Writes what becomes of the items of thread `t` to the stage.
    fn put(self, tile: Staged<T>, items: Items<'_, T, Self::Beside, VECTORS>, known: Known<Self::Hands>, t: u32);
    /// Starts to copy the tile to its stage, with `front` items before it, and completes the stage's phase.
    fn load(self, tile: Staged<T>, input: Global<T>, front: u32, full: Mbarrier);
    /// Starts to store what [`Job::put`] has written.
    fn store(self, tile: Staged<T>, before: Self::Hands, here: Self::Hands);
    /// Writes the results of all `n` items.
    fn finish(self, all: Self::Hands, n: u32);
}

/// What a thread has of a tile: its items, which of them are kept, and what it took with them.
struct Items<'i, T: Scalar, B, const VECTORS: usize> {
    packs: &'i [T::Pack; VECTORS],
    kept: [u32; 2],
    beside: &'i B,
}

impl<T: Scalar, B, const VECTORS: usize> Items<'_, T, B, VECTORS> {
    /// Item `j` of pack `v`.
    #[simt::device]
    fn get(&self, v: usize, j: usize) -> T {
        self.packs[v].as_ref()[j]
    }

    /// Whether it is kept.
    #[simt::device]
    fn is_kept(&self, v: usize, j: usize) -> bool {
        is_kept(self.kept, v, j)
    }
}

/// Whether item `j` of pack `v` is kept.
#[simt::device]
fn is_kept(kept: [u32; 2], v: usize, j: usize) -> bool {
    kept[v / 8] >> (v % 8 * 4 + j) & 1 != 0
}

/// Calls `f` for the `VECTORS` packs of a thread and the items of each.
#[simt::device]
fn each<T: Scalar, const VECTORS: usize>(mut f: impl FnMut(usize, usize)) {
    unroll::<VECTORS>(|v| {
        unroll::<4>(|j| {
            if j < T::PACK as usize {
                f(v, j);
            }
        });
    });
}

/// The kernel of a job.
#[simt::device]
fn run<T: Scalar, J: Job<T, VECTORS>, const VECTORS: usize>(
    input: Global<T>,
    limit: Global<u32>,
    workspace: Global<u64>,
    job: J,
) {
    let (t, warp) = (thread::thread_idx_x(), thread::thread_idx_x() / WARP);
    let (control, states) = (workspace.slice(0, 1), workspace.slice(STATES, workspace.len() - STATES));
    let mut drawn = 0;
    if t == COPIER {
        // The atomic is in flight while the barriers are made.
        drawn = control.fetch_add(0, 1, Relaxed, Device);
        for stage in 0..J::SHAPE.stages {
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
        count::<T, J, VECTORS>(input, states, job, t);
    } else if warp < 2 * SQUAD / WARP {
        move_items::<T, J, VECTORS>(input, job, t - SQUAD);
    } else if t == COPIER {
        copy_tiles::<T, J, VECTORS>(input, (control, states), drawn, job);
    } else if warp > COPIER / WARP {
        look_ahead::<T, J, VECTORS>(input, states);
    }
}

/// A thread's items of a tile, in packs. Places past the end of the tile are not read.
#[simt::device]
fn items<T: Scalar, const VECTORS: usize>(tile: Staged<T>, t: u32) -> [T::Pack; VECTORS] {
    let mut packs = [T::Pack::default(); VECTORS];
    if tile.is_whole() {
        unroll::<VECTORS>(|v| packs[v] = tile.items().get_pack(t * VECTORS as u32 + v as u32));
    } else {
        each::<T, VECTORS>(|v, j| {
            let i = place::<T, VECTORS>(t, v, j);
            if i < tile.len {
                packs[v].as_mut()[j] = tile.items().get(i);
            }
        });
    }
    packs
}

/// The place in the tile of item `j` of a thread's pack `v`.
#[simt::device]
fn place<T: Scalar, const VECTORS: usize>(t: u32, v: usize, j: usize) -> u32 {
    (t * VECTORS as u32 + v as u32) * T::PACK + j as u32
}

/// Which of a thread's items are kept: a bit for each, 4 for each pack.
#[simt::device]
fn kept<T: Scalar, K: Keep<T>, const VECTORS: usize>(
    tile: Staged<T>,
    packs: &[T::Pack; VECTORS],
    keep: K,
    t: u32,
) -> [u32; 2] {
    let (is_whole, mut kept) = (tile.is_whole(), [0; 2]);
    let mut last = item_before::<T, K, VECTORS>(tile, t);
    each::<T, VECTORS>(|v, j| {
        let item = packs[v].as_ref()[j];
        // Both sides of each condition, without a branch: LLVM 7 would keep one per item.
        let is_there = is_whole | (place::<T, VECTORS>(t, v, j) < tile.len);
        kept[v / 8] |= u32::from(is_there & keep.keeps(item, last, 0)) << (v % 8 * 4 + j);
        last = Some(item);
    });
    // The compiler would keep each bit in a register of its own.
    [opaque(kept[0]), opaque(kept[1])]
}

/// The item before a thread's own, for tests that look at it.
#[simt::device]
fn item_before<T: Scalar, K: Keep<T>, const VECTORS: usize>(tile: Staged<T>, t: u32) -> Option<T> {
    let (first, is_first) = (place::<T, VECTORS>(t, 0, 0), tile.number == 0 && t == 0);
    // It lies in front of the thread's own, for thread 0 in the room before the tile.
    if K::LOOKS_BEHIND && !is_first && first < tile.len { Some(tile.room.get(T::PACK + first - 1)) } else { None }
}

/// Adds up what the items of tile after tile hand on, publishes it, and stores what stands before each thread's items.
#[simt::device]
fn count<T: Scalar, J: Job<T, VECTORS>, const VECTORS: usize>(input: Global<T>, states: Global<u64>, job: J, t: u32) {
    let mut place = Place::FIRST;
    while let Some(tile) = next_tile::<T, J, VECTORS>(input, place) {
        let (stage, packs) = (place.stage, items::<T, VECTORS>(tile, t));
        let kept = kept(tile, &packs, job.keep(), t);
        let own = job.own(tile, kept, &job.beside(tile, t), t);
        let of_warps = OF_WARPS::view().slice(stage * WARPS as u32 * MOST_WORDS, WARPS as u32 * MOST_WORDS);
        let (in_warp, of_warp) = scan_warp(own);
        if warp::lane_id() == WARP - 1 {
            of_warp.store(of_warps, t / WARP * MOST_WORDS, 1);
        }
        thread::barrier(1, SQUAD); // what all four warps have is written before it is read
        let (mut in_tile, mut all) = (J::Hands::NOTHING, J::Hands::NOTHING);
        unroll::<WARPS>(|w| {
            if w as u32 == t / WARP {
                in_tile = all;
            }
            all = all.then(J::Hands::load(of_warps, w as u32 * MOST_WORDS, 1));
        });
        if t == 0 {
            all.publish_own(states, tile.number, tile.tag);
            all.store(OF_TILE::view(), stage * MOST_WORDS, 1);
        }
        in_tile.then(in_warp).store(tile.known, t, SQUAD);
        // Every thread arrives for itself, so that the threads that wait see its own write.
        Mbarrier::at(READY::view(), stage).arrive();
        place = place.next(J::SHAPE.stages);
    }
}

/// Finds what stands before tile after tile: it adds what the tiles since the block's last have published.
#[simt::device]
fn look_ahead<T: Scalar, J: Job<T, VECTORS>, const VECTORS: usize>(input: Global<T>, states: Global<u64>) {
    let (mut place, mut before, mut end) = (Place::FIRST, J::Hands::NOTHING, 0);
    while let Some(tile) = next_tile::<T, J, VECTORS>(input, place) {
        // One round is enough unless this block has fallen far behind the others.
        while end < tile.number {
            let (mut seen, mut looked) = ([(NOTHING, J::Hands::NOTHING); GROUPS], true);
            let number = move |g: usize| end + g as u32 * WARP + warp::lane_id();
            // What is not there counts as seen. LLVM 7 would make a loop for each group if the loop tested for the end.
            unroll::<GROUPS>(|g| seen[g].0 = if number(g) < tile.number { NOTHING } else { tile.tag });
            while looked {
                looked = false;
                // All loads are issued before the next round uses their results.
                unroll::<GROUPS>(|g| {
                    if seen[g].0 != tile.tag {
                        (seen[g], looked) = (J::Hands::look_at(states, number(g)), true);
                    }
                });
            }
            before = before.then(J::Hands::gather(seen, tile.number - end));
            end += GROUPS as u32 * WARP;
        }
        end = tile.number;
        if warp::lane_id() == 0 {
            before.store(BEFORE::view(), place.stage * MOST_WORDS, 1);
        }
        warp::sync_warp(FULL); // all lanes have read the stage's number before it can change
        if warp::lane_id() == 0 {
            Mbarrier::at(READY::view(), place.stage).arrive();
        }
        place = place.next(J::SHAPE.stages);
    }
}

/// Writes what becomes of tile after tile to its stage.
#[simt::device]
fn move_items<T: Scalar, J: Job<T, VECTORS>, const VECTORS: usize>(input: Global<T>, job: J, t: u32) {
    let mut at = Place::FIRST;
    while let Some(tile) = next_tile::<T, J, VECTORS>(input, at) {
        let packs = items::<T, VECTORS>(tile, t);
        let kept = kept(tile, &packs, job.keep(), t);
        let beside = job.beside(tile, t);
        Mbarrier::at(READY::view(), at.stage).wait(at.parity);
        let known = Known {
            before: J::Hands::load(BEFORE::view(), at.stage * MOST_WORDS, 1),
            here: J::Hands::load(OF_TILE::view(), at.stage * MOST_WORDS, 1),
            own: J::Hands::load(tile.known, t, SQUAD),
        };
        thread::barrier(2, SQUAD); // all have taken what is theirs, before any of it is overwritten
        job.put(tile, Items { packs: &packs, kept, beside: &beside }, known, t);
        bulk::fence(); // this thread's accesses come before the copy to the output, and the next copy to the stage
        Mbarrier::at(DONE::view(), at.stage).arrive();
        at = at.next(J::SHAPE.stages);
    }
}
