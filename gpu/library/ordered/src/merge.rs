//! # A stable merge of two sorted views
//!
//! Merge path: the merged keys are cut into tiles of [`TILE`]. A first launch finds, for every cut, how many of the
//! keys before it come from `a`: one thread per cut searches along a diagonal. A second launch merges one tile per
//! block. Its threads load the tile's keys into shared memory side by side, search the diagonals of their own [`ITEMS`]
//! keys there, and merge them one by one. Of equal keys those of `a` come first.
//!
//! For pairs, each thread notes which slot of the tile a key came from. The values are gathered afterwards: neighbours
//! in the result are mostly neighbours in `a` or in `b`, so their loads share sectors, and values of any size cost no
//! shared memory.
//!
//! Views that are not sorted give some of their keys, perhaps some of them twice. Nothing outside is read or written.
//!
//! **Bottleneck.** Memory, for large inputs: each key is read and written once. The searches of the first launch add
//! log₂ n dependent loads per [`TILE`] keys.
//!
//! **Source.** O. Green, R. McColl, D. Bader, "GPU Merge Path" (2012).

use crate::BLOCK;
use rungs_common::keys::Word;
use simt::{Global, Scalar, Shared, kernel, thread, unroll};

/// Keys per thread. The number is odd, so the threads of a warp begin in different banks.
pub const ITEMS: usize = 9;

/// Keys of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Tiles, and blocks of a merge, for `n` keys in all.
pub const fn tiles(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Bytes of dynamic shared memory: the keys of a tile, and with values the slots that they came from.
pub const fn shared_bytes<W>(pairs: bool) -> u32 {
    TILE * (size_of::<W>() as u32 + if pairs { 4 } else { 0 })
}

/// How many of the first `d` merged keys come from `a`, which has `in_a` keys.
#[simt::device]
fn split<W: Word>(d: u32, in_a: u32, in_b: u32, a: impl Fn(u32) -> W, b: impl Fn(u32) -> W) -> u32 {
    let (mut low, mut high) = (d.saturating_sub(in_b), d.min(in_a));
    while low < high {
        let middle = low + (high - low) / 2;
        if b(d - 1 - middle) < a(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Writes to place i of `splits`, which has one place more than there are tiles, how many of the keys before tile i
/// come from `a`.
#[kernel(max_threads = BLOCK, instances(merge_split_u32: <u32>, merge_split_u64: <u64>))]
pub fn merge_split<W: Word>(a: Global<W>, b: Global<W>, order: u32, splits: Global<u32>) {
    let i = thread::index_1d();
    if i < splits.len() {
        // 64 bits: the last tile may end behind 2³² - 1.
        let d = (i as u64 * TILE as u64).min(a.len() as u64 + b.len() as u64) as u32;
        let key = |of: Global<W>, i: u32| of.get(i).encode(order);
        splits.set(i, split(d, a.len(), b.len(), |i| key(a, i), |i| key(b, i)));
    }
}

/// Merges the sorted keys of `a` and `b` into `output`, which has room for all of them.
#[kernel(max_threads = BLOCK, instances(merge_keys_u32: <u32>, merge_keys_u64: <u64>))]
pub fn merge_keys<W: Word>(a: Global<W>, b: Global<W>, order: u32, splits: Global<u32>, output: Global<W>) {
    merge_tile::<W, false>(a, b, order, splits, output);
}

/// The same with values: those of the keys of `a` are at the same places of `a_values`, and so on.
#[kernel(max_threads = BLOCK, instances(
    merge_pairs_u32_u8: <u32, u8>, merge_pairs_u32_u16: <u32, u16>,
    merge_pairs_u32_u32: <u32, u32>, merge_pairs_u32_u64: <u32, u64>,
    merge_pairs_u64_u8: <u64, u8>, merge_pairs_u64_u16: <u64, u16>,
    merge_pairs_u64_u32: <u64, u32>, merge_pairs_u64_u64: <u64, u64>,
))]
#[allow(clippy::too_many_arguments, reason = "views")]
pub fn merge_pairs<W: Word, V: Scalar>(
    a: Global<W>,
    b: Global<W>,
    order: u32,
    splits: Global<u32>,
    output: Global<W>,
    a_values: Global<V>,
    b_values: Global<V>,
    values: Global<V>,
) {
    let part = merge_tile::<W, true>(a, b, order, splits, output);
    let slots = slots::<W>();
    let mut i = thread::thread_idx_x();
    while i < part.len {
        let slot = slots.get(i);
        let (in_a, from_a) = (slot < part.of_a, part.first_a + slot);
        values.set(part.first + i, if in_a { a_values.get(from_a) } else { b_values.get(part.in_b(slot)) });
        i += BLOCK;
    }
}

/// The slots that the keys of a merged tile came from, behind the keys in shared memory.
#[simt::device]
fn slots<W: Scalar>() -> Shared<u32> {
    Shared::dynamic(TILE * size_of::<W>() as u32, TILE)
}

/// What a block merges.
struct Part {
    /// The place of the first merged key.
    first: u32,
    len: u32,
    first_a: u32,
    /// How many keys come from `a`.
    of_a: u32,
}

impl Part {
    /// The place in `b` of a slot of the tile that is not one of `a`'s.
    #[simt::device]
    fn in_b(&self, slot: u32) -> u32 {
        self.first - self.first_a + (slot - self.of_a)
    }
}

/// Merges the block's tile. With `SLOTS`, the slots that the keys came from are in shared memory then, and all threads
/// see them.
#[simt::device]
fn merge_tile<W: Word, const SLOTS: bool>(
    a: Global<W>,
    b: Global<W>,
    order: u32,
    splits: Global<u32>,
    output: Global<W>,
) -> Part {
    let (t, tile) = (thread::thread_idx_x(), thread::block_idx_x());
    let (first, first_a) = (tile * TILE, splits.get(tile));
    let len = (output.len() - first).min(TILE);
    // In bounds whatever the views hold: splits of views that are not sorted may descend.
    let of_a = splits.get(tile + 1).saturating_sub(first_a).min(len);
    let part = Part { first, len, first_a, of_a };
    let stage = Shared::<W>::dynamic(0, TILE);

    // All loads before the first store.
    let mut keys = [W::default(); ITEMS];
    unroll::<ITEMS>(|i| {
        let slot = i as u32 * BLOCK + t;
        if slot < len {
            keys[i] = if slot < of_a { a.get(first_a + slot) } else { b.get(part.in_b(slot)) };
        }
    });
    unroll::<ITEMS>(|i| stage.set(i as u32 * BLOCK + t, keys[i].encode(order)));
    thread::sync_threads(); // all keys of the tile are there before they are searched

    let d = (t * ITEMS as u32).min(len);
    let (key_a, key_b) = (|i: u32| stage.get(i), |i: u32| stage.get(of_a + i));
    let mut next_a = split(d, of_a, len - of_a, key_a, key_b);
    let mut next_b = of_a + (d - next_a);
    let mut from = [0; ITEMS];
    unroll::<ITEMS>(|i| {
        if d + (i as u32) < len {
            let is_a = next_b >= len || next_a < of_a && stage.get(next_b) >= stage.get(next_a);
            from[i] = if is_a { next_a } else { next_b };
            keys[i] = stage.get(from[i]);
            // Without a branch: LLVM would choose between the addresses of both, which then are in local memory.
            next_a += is_a as u32;
            next_b += !is_a as u32;
        }
    });
    thread::sync_threads(); // all threads have read the keys before the merged ones take their places
    unroll::<ITEMS>(|i| {
        let place = d + i as u32;
        if place < len {
            stage.set(place, keys[i]);
            if SLOTS {
                slots::<W>().set(place, from[i]);
            }
        }
    });
    thread::sync_threads(); // the merged keys, and the slots, are there before others read them
    let mut i = t;
    while i < len {
        output.set(first + i, stage.get(i).decode(order));
        i += BLOCK;
    }
    part
}
