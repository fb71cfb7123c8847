//! # Select, compaction in one pass that looks back
//!
//! **Idea.** Which items are kept is a [`Keep`]: a test of an item, of its flag, or of it and the item before it. A
//! block takes a tile of [`TILE`] items, ranks the kept ones by ballots, looks back for the number kept before the
//! tile, stages the kept items in shared memory, and stores them side by side. A partition stages the others behind
//! them, and stores those to a second view. Items keep their order.
//!
//! **A test of your own.** A [`Functor`] with a result of `bool` is a test. A PTX entry cannot be generic, so it needs
//! a kernel of its own, in the crate of the functor:
//!
//! ```
//! use rungs_common::transform::Functor;
//! use rungs_selections::{BLOCK, compact};
//! use simt::{Global, kernel};
//!
//! /// Multiples of a number.
//! #[simt::argument]
//! #[derive(Clone, Copy)]
//! pub struct Multiple {
//!     pub of: u32,
//! }
//!
//! impl Functor<u32> for Multiple {
//!     type Out = bool;
//!
//!     #[simt::device]
//!     fn call(&self, x: u32) -> bool {
//!         x % self.of == 0
//!     }
//! }
//!
//! #[kernel(max_threads = BLOCK)]
//! pub fn multiples(
//!     input: Global<u32>,
//!     limit: Global<u32>,
//!     output: Global<u32>,
//!     count: Global<u32>,
//!     workspace: Global<u64>,
//!     test: Multiple,
//! ) {
//!     compact::select(input, limit, output, count, workspace, compact::If(test))
//! }
//! ```
//!
//! The host then writes `x.select_if(multiples, Multiple { of: 3 })`, with `x` a `rungs::vec::DeviceVec`.
//!
//! **Kernels.** Here are those of the library's own tests: words between two bounds, with or without the others, and
//! the first word of each run. Those by flags are in [`crate::kernels`].
//!
//! **Bottleneck.** Memory; a block's loads and stores pause while it looks back, and the other blocks of the SM fill
//! the gap. Where that is not enough, [`crate::look_ahead`] has roles for warps and a ring of bulk copies.
//!
//! **Cost.** One read of each item and one write of each kept one; a state of 8 bytes per tile; 3 barriers per tile;
//! one launch, and the clearing of the states before it.
//!
//! **Threads.** A block of 256 threads per tile of 4096 items. A warp has a consecutive piece of the tile and takes it
//! in rows of 32; stores go in stripes of the block.
//!
//! **Limits.** Any n, any alignment, items of 1 to 8 bytes.
//!
//! **Source.** D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016), as the
//! course's rung `look-back`.

#[cfg(not(target_os = "cuda"))]
pub mod launches;

use crate::look_back::{self, look_back, next_tile};
use crate::{BLOCK, WARPS};
use rungs_common::keys::Word;
use rungs_common::transform::Functor;
use simt::warp::{self, FULL, WARP};
use simt::{Argument, Global, Scalar, Shared, kernel, thread};

/// Items per thread: a warp takes its part of a tile in this number of rows of 32.
pub const ITEMS: usize = 16;

/// Items of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Words of shared memory before the stage: the numbers kept by the warps, the tile's number, the number kept before.
const WORDS: u32 = 16;
const NUMBER: u32 = WARPS as u32;
const BEFORE: u32 = NUMBER + 1;
const _: () = assert!(BEFORE < WORDS);

/// Tiles of `n` items.
const fn tiles(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Blocks for `n` items: one per tile, and one for no items, which writes that there are none.
pub const fn grid(n: u32) -> u32 {
    if n == 0 { 1 } else { tiles(n) }
}

/// Words of the workspace for `n` items; all are zero before a launch.
pub const fn workspace(n: u32) -> u32 {
    look_back::workspace::<u32>(tiles(n))
}

/// Bytes of dynamic shared memory.
pub const fn shared_bytes<T>() -> u32 {
    4 * WORDS + TILE * size_of::<T>() as u32
}

/// Says which items are kept.
pub trait Keep<T>: Copy {
    /// Whether [`Keep::keeps`] looks at the item before.
    const LOOKS_BEHIND: bool = false;

    /// What is loaded with item `i`.
    #[simt::device]
    fn flag(&self, _i: u32) -> u8 {
        0
    }

    /// Whether the item is kept. `before` is the item before it, if [`Keep::LOOKS_BEHIND`] and it is not the first.
    fn keeps(&self, item: T, before: Option<T>, flag: u8) -> bool;
}

/// Keeps the items for which a functor is true.
#[derive(Clone, Copy)]
pub struct If<F>(pub F);

impl<T, F: Functor<T, Out = bool> + Copy> Keep<T> for If<F> {
    #[simt::device]
    fn keeps(&self, item: T, _: Option<T>, _: u8) -> bool {
        self.0.call(item)
    }
}

/// Keeps the items whose flags, at the same places, are not zero.
#[derive(Clone, Copy)]
pub struct Flagged(pub Global<u8>);

impl<T> Keep<T> for Flagged {
    #[simt::device]
    fn flag(&self, i: u32) -> u8 {
        self.0.get(i)
    }

    #[simt::device]
    fn keeps(&self, _: T, _: Option<T>, flag: u8) -> bool {
        flag != 0
    }
}

/// Keeps the first item, and each whose bits are not those of the item before it.
#[derive(Clone, Copy)]
pub struct FirstOfRun;

impl<T: Scalar> Keep<T> for FirstOfRun {
    const LOOKS_BEHIND: bool = true;

    #[simt::device]
    fn keeps(&self, item: T, before: Option<T>, _: u8) -> bool {
        before.is_none_or(|before| before.to_bits_64() != item.to_bits_64())
    }
}

/// Whether a key is between two others, both of which count.
#[derive(Clone, Copy)]
pub(crate) struct Between<W> {
    pub(crate) low: W,
    pub(crate) high: W,
    pub(crate) order: u32,
}

impl<W: Word> Functor<W> for Between<W> {
    type Out = bool;

    #[simt::device]
    fn call(&self, key: W) -> bool {
        let word = key.encode(self.order);
        (self.low <= word) & (word <= self.high)
    }
}

/// Selects the items whose words in the order `order` (see [`rungs_common::keys`]) are `low` to `high`.
#[kernel(max_threads = BLOCK, instances(select_compact_u32: <u32>, select_compact_u64: <u64>))]
#[allow(clippy::too_many_arguments, reason = "views and bounds")]
pub fn select_compact<W: Word + Argument>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    workspace: Global<u64>,
    low: W,
    high: W,
    order: u32,
) {
    select(input, limit, output, count, workspace, If(Between { low, high, order }))
}

/// The same, with the other items.
#[kernel(max_threads = BLOCK, instances(partition_compact_u32: <u32>, partition_compact_u64: <u64>))]
#[allow(clippy::too_many_arguments, reason = "views and bounds")]
pub fn partition_compact<W: Word + Argument>(
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
    partition(input, limit, output, count, rest, rest_count, workspace, If(Between { low, high, order }))
}

/// Selects the first item of each run of items with the same bits.
// ptxas for compute capability 8.0 keeps to 40 registers, so that six blocks share an SM.
#[kernel(max_threads = BLOCK, max_spills = 8, instances(
    unique_compact_u8: <u8>, unique_compact_u16: <u16>, unique_compact_u32: <u32>, unique_compact_u64: <u64>,
))]
pub fn unique_compact<W: Scalar>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    workspace: Global<u64>,
) {
    select(input, limit, output, count, workspace, FirstOfRun)
}

/// The elements of a view that there are: all of them, or the first `limit[0]`.
#[simt::device]
pub(crate) fn within(len: u32, limit: Global<u32>) -> u32 {
    if limit.is_empty() { len } else { limit.get(0).min(len) }
}

/// Writes the items that are kept to `output`, and their number to `count`.
#[simt::device]
pub fn select<T: Scalar, K: Keep<T>>(
    input: Global<T>,
    limit: Global<u32>,
    output: Global<T>,
    count: Global<u32>,
    workspace: Global<u64>,
    keep: K,
) {
    compact::<T, K, false>(input, limit, (output, count), (output, count), workspace, keep);
}

/// The same, and writes the other items to `rest` and their number to `rest_count`.
#[simt::device]
#[allow(clippy::too_many_arguments, reason = "a kernel's views")]
pub fn partition<T: Scalar, K: Keep<T>>(
    input: Global<T>,
    limit: Global<u32>,
    output: Global<T>,
    count: Global<u32>,
    rest: Global<T>,
    rest_count: Global<u32>,
    workspace: Global<u64>,
    keep: K,
) {
    compact::<T, K, true>(input, limit, (output, count), (rest, rest_count), workspace, keep);
}

#[simt::device]
fn compact<T: Scalar, K: Keep<T>, const PARTITION: bool>(
    input: Global<T>,
    limit: Global<u32>,
    (output, count): (Global<T>, Global<u32>),
    (rest, rest_count): (Global<T>, Global<u32>),
    workspace: Global<u64>,
    keep: K,
) {
    let (t, lane, words) = (thread::thread_idx_x(), warp::lane_id(), Shared::<u32>::dynamic(0, WORDS));
    let stage = Shared::<T>::dynamic(4 * WORDS, TILE);
    if t == 0 {
        words.set(NUMBER, next_tile(workspace));
    }
    thread::sync_threads(); // the number is written before all threads read it
    let (number, n) = (words.get(NUMBER), within(input.len(), limit));
    if number >= tiles(n) {
        // The whole block: there are fewer items than the host knows of.
        if t == 0 && number == 0 {
            count.set(0, 0);
            if PARTITION {
                rest_count.set(0, 0);
            }
        }
        return;
    }
    let start = number * TILE;
    let tile = input.slice(start, (n - start).min(TILE));

    let first = t / WARP * WARP * ITEMS as u32 + lane;
    let at = |i: usize| first + i as u32 * WARP;
    let (mut items, mut flags) = ([T::default(); ITEMS], [0; ITEMS]);
    if tile.len() == TILE {
        // Nothing is asked, so all loads are in flight together.
        simt::unroll::<ITEMS>(|i| items[i] = tile.get(at(i)));
        simt::unroll::<ITEMS>(|i| flags[i] = keep.flag(start + at(i)));
    } else {
        simt::unroll::<ITEMS>(|i| {
            if at(i) < tile.len() {
                items[i] = tile.get(at(i));
                flags[i] = keep.flag(start + at(i));
            }
        });
    }
    // Of each row, the lanes whose items are kept.
    let (mut masks, mut in_warp) = ([0; ITEMS], 0);
    simt::unroll::<ITEMS>(|i| {
        let mut before = None;
        if K::LOOKS_BEHIND {
            let left = warp::shuffle_up(FULL, items[i], 1);
            let above = if i > 0 { warp::shuffle(FULL, items[i - 1], WARP - 1) } else { left };
            before = Some(if lane > 0 { left } else { above });
            if i == 0 && lane == 0 {
                // The item belongs to another warp, or another tile.
                let index = start + first;
                before = if index > 0 && first < tile.len() { Some(input.get(index - 1)) } else { None };
            }
        }
        masks[i] = warp::ballot(FULL, at(i) < tile.len() && keep.keeps(items[i], before, flags[i]));
        in_warp += masks[i].count_ones();
    });
    if lane == 0 {
        words.set(t / WARP, in_warp);
    }
    thread::sync_threads(); // the numbers of all warps are written before they are added
    let (mut place, mut total) = (0, 0);
    simt::unroll::<WARPS>(|w| {
        let kept = words.get(w as u32);
        place += if (w as u32) < t / WARP { kept } else { 0 };
        total += kept;
    });
    if t < WARP {
        let before = look_back::<u32>(workspace, number, total);
        if t == 0 {
            words.set(BEFORE, before);
        }
    }
    simt::unroll::<ITEMS>(|i| {
        let rank = place + (masks[i] & ((1 << lane) - 1)).count_ones();
        let is_kept = masks[i] >> lane & 1 != 0;
        // The others are behind those that are kept, by the number of others before. One store, without a branch.
        let to = if is_kept { rank } else { total + at(i) - rank };
        if is_kept | (PARTITION & (at(i) < tile.len())) {
            stage.set(to, items[i]);
        }
        place += masks[i].count_ones();
    });
    thread::sync_threads(); // the staged items and the number before the tile are written before they are read
    let before = words.get(BEFORE);
    let mut i = t;
    while i < total {
        output.set(before + i, stage.get(i));
        i += BLOCK;
    }
    if PARTITION {
        while i < tile.len() {
            rest.set(start - before + i - total, stage.get(i));
            i += BLOCK;
        }
    }
    if t == 0 && number == tiles(n) - 1 {
        count.set(0, before + total);
        if PARTITION {
            rest_count.set(0, n - before - total);
        }
    }
}
