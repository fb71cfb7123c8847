//! What a partition does with one tile: every key to its bucket.

use super::{Key, Mapping, ONE_PASS_BITS, Window, warp_scan};
use crate::radix::steps::lanes_below;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Scalar, Shared, opaque, thread, unroll, warp};

/// 16-byte loads of a thread, which are its share of a tile.
pub(super) const PACKS: u32 = 4;

/// Buckets that a tile is parted into, at most.
pub(super) const MAX_BUCKETS: u32 = 1 << ONE_PASS_BITS;

/// From so many lanes with one bucket on, a warp's keys are counted together.
const CROWD: u32 = 12;

/// How the bucket of a key is found.
pub(super) trait Digit<W>: Copy {
    /// Four times the bucket: a byte offset into a table of words.
    fn offset(self, key: W) -> u32;
}

impl<W: Key> Digit<W> for Window {
    #[inline(always)]
    fn offset(self, key: W) -> u32 {
        key.digit_at(self.shift, self.bits) * 4
    }
}

/// Keys `begin` to `end`, counted from `origin`, the multiple of a pack below `begin` or `begin` itself less whole packs.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub begin: u32,
    pub end: u32,
    pub origin: u32,
}

#[inline(always)]
fn counters<const THREADS: u32>() -> Shared<u32> {
    Shared::dynamic(PACKS * 16 * THREADS, MAX_BUCKETS)
}

/// Zeroes the counters of [`move_tile`].
#[inline(always)]
pub(super) fn clear_counters<const THREADS: u32>(buckets: u32) {
    if thread::thread_idx_x() < buckets {
        counters::<THREADS>().set(thread::thread_idx_x(), 0);
    }
}

/// Moves a tile's keys, by all threads of the block. The counters have been cleared, by any of them. `cursor`: the
/// number of a bucket's cursor.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub(super) fn move_tile<W: Key, M: Mapping, const THREADS: u32>(
    input: Global<W>, output: Global<W>, order: u32, tile: Tile, buckets: u32, digit: impl Digit<W>,
    cursors: Global<u32>, cursor: impl Fn(u32) -> u32,
) {
    let in_tile = PACKS * W::PACK * THREADS;
    let sorted = Shared::<W>::dynamic(0, in_tile);
    let counters = counters::<THREADS>();
    let offsets = Shared::<u32>::dynamic(PACKS * 16 * THREADS + 4 * MAX_BUCKETS, MAX_BUCKETS);
    let t = thread::thread_idx_x();
    let Tile { begin, end, origin } = tile;
    let count = end - begin;
    // The word of `table` at a byte offset.
    let word = |table: Shared<u32>, offset: u32| table.cast::<u8>().slice(offset, 4).cast::<u32>();
    let mut keys = [W::Pack::default(); PACKS as usize];
    let full = count == in_tile;
    if full {
        let mine = input.slice(origin + t * W::PACK, in_tile - t * W::PACK);
        unroll::<{ PACKS as usize }>(|p| keys[p] = mine.get_pack_streaming(p as u32 * THREADS));
        each_key::<W>(|p, j| keys[p].as_mut()[j] = M::encode(keys[p].as_ref()[j], order));
    }
    let sample = digit.offset(keys[0].as_ref()[0]);
    let like_first = sample == warp::shuffle(warp::FULL, sample, 0);
    // Atomics of many lanes on one counter would wait for each other.
    let crowded = full && warp::ballot(warp::FULL, like_first).count_ones() >= CROWD;
    // The counters are zero before the first key is counted.
    let crowded = thread::sync_threads_or(crowded);
    // Nearly every tile: all keys in registers, and no test for any of them, which would double the instructions. The
    // others read their keys twice, a pack at a time.
    let fast = full && !crowded;
    if fast {
        each_key::<W>(|p, j| {
            word(counters, digit.offset(keys[p].as_ref()[j])).fetch_add(0, 1, Relaxed, Scope::Block);
        });
    } else {
        each_slowly::<W, M, THREADS>(input, order, tile, crowded, counters, digit, |_, _| ());
        keys = Default::default(); // so that they take no registers in here
    }
    thread::sync_threads(); // every key is counted before the counts are read
    let place = reserve::<THREADS>(buckets, cursors, cursor);
    if fast {
        unroll::<{ PACKS as usize }>(|p| {
            // All places of a pack are asked for before the first is used.
            let mut places = [0; 4];
            each::<W>(|j| {
                let counter = word(counters, digit.offset(keys[p].as_ref()[j]));
                places[j] = counter.fetch_add(0, 1, Relaxed, Scope::Block);
            });
            each::<W>(|j| sorted.set(places[j], keys[p].as_ref()[j]));
        });
    } else {
        each_slowly::<W, M, THREADS>(input, order, tile, crowded, counters, digit, |key, place| sorted.set(place, key));
    }
    if t < buckets {
        offsets.set(t, place.wrapping_sub(offsets.get(t)));
    }
    thread::sync_threads(); // the tile is in order and the offsets are complete before either is read
    let store = |place: u32, key: W| {
        output.set(word(offsets, digit.offset(key)).get(0).wrapping_add(place), key);
    };
    if full {
        let mine = sorted.slice(t, in_tile - t);
        unroll::<16>(|i| {
            let i = i as u32;
            if i < PACKS * W::PACK {
                store(i * THREADS + t, mine.get(i * THREADS));
            }
        });
    } else {
        let (mut place, step) = (t, opaque(THREADS)); // not a constant, so that the loop stays one
        while place < count {
            store(place, sorted.get(place));
            place += step;
        }
    }
}

/// Turns the tile's counts into starts, in counters and offsets, and takes room for them behind the cursors: returns
/// where thread t's keys of bucket t go.
#[inline(always)]
#[track_caller]
fn reserve<const THREADS: u32>(buckets: u32, cursors: Global<u32>, cursor: impl Fn(u32) -> u32) -> u32 {
    let counters = counters::<THREADS>();
    let offsets = Shared::<u32>::dynamic(PACKS * 16 * THREADS + 4 * MAX_BUCKETS, MAX_BUCKETS);
    let sums = Shared::<u32>::dynamic(PACKS * 16 * THREADS + 8 * MAX_BUCKETS, warp::WARP);
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    let (mut found, mut place) = (0, 0);
    if t < buckets {
        found = counters.get(t);
        if found != 0 {
            // It is asked for before the scan, which hides how long it takes.
            place = cursors.fetch_add(cursor(t), found, Relaxed, Scope::Device);
        }
    }
    let in_scan = w * warp::WARP < buckets;
    let mut inclusive = 0;
    if in_scan {
        inclusive = warp_scan(found);
        if lane == warp::WARP - 1 {
            sums.set(w, inclusive);
        }
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    if in_scan {
        let below = if lane < w { sums.get(lane) } else { 0 };
        let start = warp::reduce_add(warp::FULL, below) + inclusive - found;
        counters.set(t, start);
        offsets.set(t, start);
    }
    thread::sync_threads(); // counters hold where each bucket starts in the tile before keys are placed
    place
}

/// Takes a place for each key of a tile, any tile, and calls `f` with key and place.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
fn each_slowly<W: Key, M: Mapping, const THREADS: u32>(
    input: Global<W>, order: u32, tile: Tile, crowded: bool, counters: Shared<u32>, digit: impl Digit<W>,
    f: impl Fn(W, u32),
) {
    let Tile { begin, end, origin } = tile;
    let mut at = origin + thread::thread_idx_x() * W::PACK;
    let last = at + opaque(PACKS) * THREADS * W::PACK; // not a constant, so that the loop stays one
    while at != last {
        let mut keys = W::Pack::default();
        let is_key = |j: usize| at + (j as u32) >= begin && at + (j as u32) < end;
        each::<W>(|j| if is_key(j) { keys.as_mut()[j] = M::encode(input.get(at + j as u32), order) });
        each::<W>(|j| {
            let key = keys.as_ref()[j];
            let place = take_places(counters, digit.offset(key), is_key(j), crowded);
            if is_key(j) {
                f(key, place);
            }
        });
        at += THREADS * W::PACK;
    }
}

/// Whether many lanes have the first lane's counter: their atomics would wait for each other.
#[inline(always)]
pub(super) fn is_crowd(offset: u32) -> bool {
    let like_first = offset == warp::shuffle(warp::FULL, offset, 0);
    warp::ballot(warp::FULL, like_first).count_ones() >= CROWD
}

/// Adds one to the counter at byte `offset` for every lane with a key; returns what was there before, and for lanes
/// with the same counter one more for each. In a crowded warp the lanes of the two first counters add together.
#[inline(always)]
pub(super) fn take_places(counters: Shared<u32>, offset: u32, is_key: bool, crowded: bool) -> u32 {
    let lane = warp::lane_id();
    let word = |offset: u32| counters.cast::<u8>().slice(offset, 4).cast::<u32>();
    let (mut place, mut alone) = (0, is_key);
    if crowded {
        let mut left = warp::ballot(warp::FULL, is_key);
        unroll::<2>(|_| {
            if left != 0 {
                let leader = left.trailing_zeros();
                let with_leader = left & warp::ballot(warp::FULL, offset == warp::shuffle(warp::FULL, offset, leader));
                let mut before = 0;
                if lane == leader {
                    before = word(offset).fetch_add(0, with_leader.count_ones(), Relaxed, Scope::Block);
                }
                before = warp::shuffle(warp::FULL, before, leader);
                if with_leader >> lane & 1 == 1 {
                    // It wraps where thread 0 takes some off meanwhile; nobody uses the place then.
                    place = before.wrapping_add((with_leader & lanes_below()).count_ones());
                }
                left &= !with_leader;
            }
        });
        alone = left >> lane & 1 == 1;
    }
    if alone {
        place = word(offset).fetch_add(0, 1, Relaxed, Scope::Block);
    }
    place
}

/// Calls `f` with the number of each key in a pack.
#[inline(always)]
fn each<W: Scalar>(mut f: impl FnMut(usize)) {
    unroll::<4>(|j| {
        if j < W::PACK as usize {
            f(j)
        }
    });
}

/// Calls `f` with pack and place in the pack of each key of a thread.
#[inline(always)]
pub(super) fn each_key<W: Scalar>(mut f: impl FnMut(usize, usize)) {
    unroll::<{ PACKS as usize }>(|p| each::<W>(|j| f(p, j)));
}
