//! Moves the keys of one tile to their buckets.
//!
//! Keys are counted by bucket, and counts are turned into starts. Then each key is counted once more, and the value of
//! the counter before is its place in the tile, where the keys of a bucket lie in a row and go to memory together.

use super::tables::{Digit, PACKS, Tables};
use super::{Key, Mapping, each_in_pack};
use rungs_common::operator::{Sum, warp_scan_inclusive};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Scalar, Shared, opaque, thread, unroll, warp};

/// Keys `begin` to `end`. `origin`: where the tile starts, on a multiple of a pack.
#[derive(Clone, Copy)]
pub struct Tile {
    pub begin: u32,
    pub end: u32,
    pub origin: u32,
}

impl Tile {
    /// Whether the tile has a key for every place of a block of `THREADS` threads.
    #[simt::device]
    pub fn is_full<W: Scalar, const THREADS: u32>(self) -> bool {
        self.end - self.begin == PACKS * W::PACK * THREADS
    }
}

/// The keys of this thread in a full tile.
#[simt::device]
pub fn load<W: Scalar, const THREADS: u32>(input: Global<W>, tile: Tile) -> [W::Pack; PACKS as usize] {
    let mut keys = [W::Pack::default(); PACKS as usize];
    let (mine, in_tile) = (thread::thread_idx_x() * W::PACK, PACKS * W::PACK * THREADS);
    let mine = input.slice(tile.origin + mine, in_tile - mine);
    unroll::<{ PACKS as usize }>(|p| keys[p] = mine.get_pack_streaming(p as u32 * THREADS));
    keys
}

/// Moves the keys of a tile. All threads of the block call it, after they have cleared the counters. `cursor`: the
/// index of the cursor of a bucket.
#[simt::device]
#[track_caller]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub fn move_tile<W: Key, M: Mapping, const THREADS: u32>(
    input: Global<W>, output: Global<W>, order: u32, tile: Tile, digit: impl Digit<W>, cursors: Global<u32>,
    cursor: impl Fn(u32) -> u32,
) {
    let in_tile = PACKS * W::PACK * THREADS;
    let sorted = Shared::<W>::dynamic(0, in_tile);
    let tables = Tables::new(THREADS, digit.bits());
    let t = thread::thread_idx_x();
    let mut keys = [W::Pack::default(); PACKS as usize];
    let full = tile.is_full::<W, THREADS>();
    if full {
        keys = load::<W, THREADS>(input, tile);
        each_key::<W>(|p, j| keys[p].as_mut()[j] = M::encode(keys[p].as_ref()[j], order));
    }
    thread::sync_threads(); // the counters are zero before the first key is counted
    // A full tile has all keys in registers and needs no bounds check, which would double the instructions. Other tiles
    // read their keys twice, one pack at a time.
    let mut notes = [0; PACKS as usize]; // the buckets of a pack's keys, a byte each
    if full {
        each_key::<W>(|p, j| {
            let key = keys[p].as_ref()[j];
            let counter = if digit.is_noted() {
                let bucket = digit.scaled(key, 0);
                notes[p] |= bucket << (8 * j);
                tables.counter_of(bucket)
            } else {
                tables.counter(key, digit)
            };
            counter.fetch_add(0, 1, Relaxed, Scope::Block);
        });
    } else {
        each_slowly::<W, M, THREADS>(input, order, tile, |key| {
            tables.counter(key, digit).fetch_add(0, 1, Relaxed, Scope::Block);
        });
        keys = Default::default(); // so that the keys take no registers here
    }
    thread::sync_threads(); // every key is counted before the counts are read
    let place = reserve(tables, cursors, cursor);
    if full {
        unroll::<{ PACKS as usize }>(|p| {
            // All places of a pack are requested before the first is used.
            let mut places = [0; 4];
            each_in_pack::<W>(|j| {
                let counter = if digit.is_noted() {
                    tables.counter_of(notes[p] >> (8 * j) & 0xff)
                } else {
                    tables.counter(keys[p].as_ref()[j], digit)
                };
                places[j] = counter.fetch_add(0, 1, Relaxed, Scope::Block);
            });
            each_in_pack::<W>(|j| sorted.set(places[j], keys[p].as_ref()[j]));
        });
    } else {
        each_slowly::<W, M, THREADS>(input, order, tile, |key| {
            sorted.set(tables.counter(key, digit).fetch_add(0, 1, Relaxed, Scope::Block), key);
        });
    }
    if let Some(bucket) = tables.bucket() {
        let start = tables.offsets.get(bucket);
        tables.offsets.set(bucket, place.wrapping_sub(start));
    }
    thread::sync_threads(); // the tile is in order and the offsets are complete before either is read
    let store = |place: u32, key: W| output.set(tables.offset(key, digit).wrapping_add(place), key);
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
        while place < tile.end - tile.begin {
            store(place, sorted.get(place));
            place += step;
        }
    }
}

/// Turns the counts of the tile into starts, in counters and offsets, and takes room for its keys behind the cursors.
/// Returns where the keys of a bucket go, in the first thread of the bucket.
#[simt::device]
#[track_caller]
fn reserve(tables: Tables, cursors: Global<u32>, cursor: impl Fn(u32) -> u32) -> u32 {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    let (mut place, mut before) = (0, 0);
    if tables.in_use() {
        let (mine, found) = tables.found();
        if let Some(bucket) = tables.bucket()
            && found != 0
        {
            // Requested before the scan, which hides the latency.
            place = cursors.fetch_add(cursor(bucket), found, Relaxed, Scope::Device);
        }
        let inclusive = warp_scan_inclusive::<Sum, u32>(mine);
        if lane == warp::WARP - 1 {
            tables.sums.set(w, inclusive);
        }
        before = inclusive - mine;
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    if tables.in_use() {
        let below = if lane < w { tables.sums.get(lane) } else { 0 };
        let start = warp::reduce_add(warp::FULL, below) + before;
        let [a, b, c, _] = tables.four(); // read again rather than kept in registers
        if t < tables.threads() {
            tables.counters.set_pack(t, [start, start + a, start + a + b, start + a + b + c]);
        }
        if let Some(bucket) = tables.bucket() {
            tables.offsets.set(bucket, start);
        }
    }
    thread::sync_threads(); // counters hold where each bucket starts in the tile before keys are placed
    place
}

/// Calls `f` with each key of any tile.
#[simt::device]
#[rustfmt::skip]
pub fn each_slowly<W: Key, M: Mapping, const THREADS: u32>(
    input: Global<W>, order: u32, tile: Tile, mut f: impl FnMut(W),
) {
    let Tile { begin, end, origin } = tile;
    let mut at = origin + thread::thread_idx_x() * W::PACK;
    let last = at + opaque(PACKS) * THREADS * W::PACK; // not a constant, so that the loop stays one
    while at != last {
        let mut keys = W::Pack::default();
        let is_key = |j: usize| at + (j as u32) >= begin && at + (j as u32) < end;
        each_in_pack::<W>(|j| if is_key(j) { keys.as_mut()[j] = input.get(at + j as u32) });
        each_in_pack::<W>(|j| if is_key(j) { f(M::encode(keys.as_ref()[j], order)) });
        at += THREADS * W::PACK;
    }
}

/// Calls `f` with the pack, and the index in the pack, of each key of a thread.
#[simt::device]
pub fn each_key<W: Scalar>(mut f: impl FnMut(usize, usize)) {
    unroll::<{ PACKS as usize }>(|p| each_in_pack::<W>(|j| f(p, j)));
}
