//! Selections and partitions by look-ahead.

use super::ring::{Part, Staged, start_load, store};
use super::{Hands, Items, Job, Known, Shape, each, place, run};
use crate::compact::{Between, FirstOfRun, If, Keep};
use crate::look_back::Carry;
use rungs_common::keys::Word;
use simt::mbarrier::Mbarrier;
use simt::{Argument, Global, Scalar, kernel};

/// Packs of 16 bytes per thread and tile.
const VECTORS: usize = 11;

/// Bytes behind the tile: a partition has two shifts, and rounds up between them.
const BEHIND: u32 = 32;

/// How selections from items of type `T` divide items and memory.
pub const fn shape<T>() -> Shape {
    Shape::new::<T>(VECTORS, BEHIND, <u32 as Carry>::WORDS, u32::STATE_WORDS)
}

/// [`select_compact`](crate::compact::select_compact) for words that begin on a multiple of 16 bytes. `count` is always
/// written.
#[kernel(sm_90, max_threads = super::BLOCK, min_blocks = 1, instances(
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
    run(input, limit, workspace, Sift::<_, _, false> { keep, kept: (output, count), rest: (output, count) })
}

/// [`partition_compact`](crate::compact::partition_compact), likewise.
#[kernel(sm_90, max_threads = super::BLOCK, min_blocks = 1, instances(
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
    run(input, limit, workspace, Sift::<_, _, true> { keep, kept: (output, count), rest: (rest, rest_count) })
}

/// [`unique_compact`](crate::compact::unique_compact), likewise.
#[kernel(sm_90, max_threads = super::BLOCK, min_blocks = 1, instances(
    unique_look_ahead_u32: <u32>, unique_look_ahead_u64: <u64>,
))]
pub fn unique_look_ahead<W: Scalar>(
    input: Global<W>,
    limit: Global<u32>,
    output: Global<W>,
    count: Global<u32>,
    workspace: Global<u64>,
) {
    let (keep, kept) = (FirstOfRun, (output, count));
    run(input, limit, workspace, Sift::<_, _, false> { keep, kept, rest: kept })
}

/// Keeps items; with `PARTITION` the others are written too.
#[derive(Clone, Copy)]
struct Sift<T, K, const PARTITION: bool> {
    keep: K,
    kept: (Global<T>, Global<u32>),
    rest: (Global<T>, Global<u32>),
}

/// The kept items of a tile and the others, once they are compacted: `here` of them, with `before` in the tiles before.
#[simt::device]
fn parts<T: Scalar>(tile: Staged<T>, before: u32, here: u32) -> (Part, Part) {
    let first = before % T::PACK;
    let (to, behind) = (tile.start() - before, (first + here).next_multiple_of(T::PACK));
    (Part { first, to: before, len: here }, Part { first: behind + to % T::PACK, to, len: tile.len - here })
}

impl<T: Scalar, K: Keep<T>, const PARTITION: bool> Job<T, VECTORS> for Sift<T, K, PARTITION> {
    type Keep = K;
    type Hands = u32;
    type Beside = ();
    const BEHIND: u32 = BEHIND;

    #[simt::device]
    fn keep(self) -> K {
        self.keep
    }

    #[simt::device]
    fn beside(self, _: Staged<T>, _: u32) {}

    #[simt::device]
    fn own(self, _: Staged<T>, kept: [u32; 2], _: &(), _: u32) -> u32 {
        kept[0].count_ones() + kept[1].count_ones()
    }

    #[simt::device]
    fn put(self, tile: Staged<T>, items: Items<'_, T, (), VECTORS>, known: Known<u32>, t: u32) {
        let (kept, others) = parts(tile, known.before, known.here);
        let mut next = kept.first + known.own;
        let mut next_other = others.first + place::<T, VECTORS>(t, 0, 0).wrapping_sub(known.own);
        each::<T, VECTORS>(|v, j| {
            // A store for both parts; two, of which one is made, would have both numbers in memory.
            let is_kept = items.is_kept(v, j);
            if is_kept || PARTITION && place::<T, VECTORS>(t, v, j) < tile.len {
                tile.room.set(if is_kept { next } else { next_other }, items.get(v, j));
            }
            next += u32::from(is_kept);
            next_other += u32::from(!is_kept);
        });
    }

    #[simt::device]
    fn load(self, tile: Staged<T>, input: Global<T>, front: u32, full: Mbarrier) {
        let packs = tile.copied(input, front);
        full.arrive_expecting(packs.0.len() * size_of::<T>() as u32);
        start_load(packs, full);
    }

    #[simt::device]
    fn store(self, tile: Staged<T>, before: u32, here: u32) {
        let (kept, others) = parts(tile, before, here);
        store(tile.room, kept, self.kept.0);
        if PARTITION {
            store(tile.room, others, self.rest.0);
        }
    }

    #[simt::device]
    fn finish(self, all: u32, n: u32) {
        self.kept.1.set(0, all);
        if PARTITION {
            self.rest.1.set(0, n - all);
        }
    }
}
