//! Two launches that cut long segments into buckets: one decides where to cut, the other moves the keys.

use super::group::{Group, load, sort_group};
use super::items::{Items, Keys32, Keys64, Pairs32, Views};
use super::work::{BUCKETS, COUNT, FAILED, FIRST, TILES, Work, pair, parts};
use super::{BLOCK, MAX_SPILLS, MOST_EVEN, MOST_SPLIT, SPLIT_BLOCK, in_block, in_warp, mean, room, tile};
use rungs_common::block::block_scan_exclusive;
use rungs_common::keys::{Key, Word};
use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, WARP};
use simt::{Global, Scalar, Shared, grid, kernel, math, shared, thread, unroll};

shared!(
    /// The first bucket and the first tile of a segment.
    PLACES: [u32; 2]
);

/// Samples for each bucket. So many leave a bucket twice its expected size once in 10⁹ times.
const SAMPLES: u32 = 64;

/// The upper 32 bits.
#[simt::device]
fn upper<W: Word>(word: W) -> u32 {
    (word.to_bits_64() >> (8 * size_of::<W>() as u32 - 32)) as u32
}

/// A bijection of words without visible pattern: the last steps of MurmurHash3.
#[simt::device]
fn scramble(word: u32) -> u32 {
    let word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// Where sample `i` of a segment is.
#[simt::device]
pub fn sampled(i: u32, begin: u32, len: u32) -> u32 {
    begin + math::mul_hi(scramble(i ^ begin), len)
}

/// Decides into which buckets each long segment is cut, and lists its tiles. A block takes a segment, then the next but
/// as many as there are blocks.
#[kernel(max_threads = BLOCK, min_blocks = 2, max_spills = MAX_SPILLS, instances(
    segmented_sort_by_length_plan_u32: <Keys32, u32, u32>, segmented_sort_by_length_plan_u64: <Keys64, u64, u64>,
    segmented_sort_by_length_plan_pairs: <Pairs32, u32, u64>,
))]
#[allow(clippy::too_many_arguments, reason = "views and numbers")]
pub fn segmented_sort_by_length_plan<P: Items<Key = K, Word = W>, K: Scalar, W: Key + Word>(
    keys: Global<K>,
    order: u32,
    values: Global<u32>,
    moved: Global<u32>,
    control: Global<u32>,
    lists: Global<u64>,
    rooms: Global<W>,
) {
    let (views, work) = (Views::<P>::new(keys, order, values, moved), Work { n: keys.len(), control, lists, rooms });
    grid::let_next_start();
    grid::wait_for_previous(); // the list of long segments
    let mut number = thread::block_idx_x();
    while number < work.long_count() {
        plan(views, work, number);
        number += thread::grid_dim_x();
        thread::sync_threads(); // all have read the places of this segment before the next one's are written
    }
}

#[simt::device]
#[track_caller]
fn plan<P: Items>(views: Views<P>, work: Work<P::Word>, number: u32) {
    let (t, (begin, len)) = (thread::thread_idx_x(), parts(work.long().get(number)));
    let (count, tiles) = (len.div_ceil(mean::<P::Word>()), len.div_ceil(tile::<P::Word>()));
    if t == 0 {
        PLACES::view().set(0, work.control.fetch_add(BUCKETS, count, Relaxed, Scope::Device));
        PLACES::view().set(1, work.control.fetch_add(TILES, tiles, Relaxed, Scope::Device));
    }
    thread::sync_threads(); // the places are there before all read them
    let (first, first_tile) = (PLACES::view().get(0), PLACES::view().get(1));
    let fits = |first: u32, count: u32, of: u32| first <= of && count <= of - first;
    let all = fits(first, count, work.owners().len()) && fits(first_tile, tiles, work.tiles().len());
    if t == 0 {
        let state = work.state(number);
        state.set(FIRST, first);
        state.set(COUNT, count);
        state.set(FAILED, !all as u32);
    }
    if !all {
        return; // offsets descend
    }
    let mut i = t;
    while i < count {
        work.owners().set(first + i, number);
        work.sizes().set(first + i, 0);
        i += BLOCK;
    }
    let is_cut = count <= MOST_EVEN && is_cut(views, work, number, (begin, len), (first, count));
    let mut i = t;
    while i < tiles {
        // A segment that is sorted digit by digit has no tiles to move.
        let begin = begin + i * tile::<P::Word>();
        work.tiles().set(first_tile + i, if is_cut { pair(begin, number) } else { NO_TILE });
        i += BLOCK;
    }
    if t == 0 && !is_cut {
        work.give_up(number);
    }
}

/// In place of a tile: nothing to move.
const NO_TILE: u64 = u64::MAX;

/// Sorts samples of a segment and writes its splitters, or sees that they are spread so evenly that buckets can be
/// ranges of the same size. Returns false if there are too many buckets for splitters, and keys are not even.
#[simt::device]
#[track_caller]
fn is_cut<P: Items>(
    views: Views<P>,
    work: Work<P::Word>,
    number: u32,
    (begin, len): (u32, u32),
    (first, count): (u32, u32),
) -> bool {
    let t = thread::thread_idx_x();
    let samples = (count * SAMPLES).next_power_of_two().clamp(in_warp::<P::Word>(), in_block::<P::Word>());
    // The rooms of the first two buckets are still empty.
    let sorted = work.rooms.slice(first * room::<P::Word>(), samples);
    let warps = samples / in_warp::<P::Word>();
    if t < warps * WARP {
        let group = Group { warps, len: samples };
        if size_of::<P::Word>() == 4 {
            sort_samples::<P, 32>(views, (begin, len), sorted, group);
        } else {
            sort_samples::<P, 16>(views, (begin, len), sorted, group);
        }
    }
    thread::sync_threads(); // all samples are written before they are read
    if count > MOST_SPLIT {
        let (mut even, mut i) = (true, t);
        while i < samples {
            // Within a thirty-second of all values: by chance once in 10⁷ times, if keys are uniform.
            let expected = i << (samples.leading_zeros() + 1);
            even &= upper(sorted.get(i)).abs_diff(expected) < 1 << 27;
            i += BLOCK;
        }
        return thread::sync_threads_and(even);
    }
    if t + 1 < count {
        let rank = (t + 1) * samples / count;
        let splitter = sorted.get(rank);
        let (before, equal) = equals(sorted, splitter);
        work.splitters(number).set(t, splitter);
        // Of the keys that are equal to it, those with a lower tie belong before it: as many as samples do.
        work.ties(number).set(t, (((rank - before) as u64) << 32).checked_div(equal as u64).unwrap_or(0) as u32);
    }
    thread::sync_threads(); // all have read the samples before other blocks' keys replace them
    true
}

/// Writes samples of a segment to `sorted`, in order.
#[simt::device]
#[track_caller]
fn sort_samples<P: Items, const K: usize>(
    views: Views<P>,
    (begin, len): (u32, u32),
    sorted: Global<P::Word>,
    group: Group,
) {
    let (mut keys, (first, rest)) = ([P::Word::LAST; K], group.share(K));
    load(&mut keys, rest, |i| P::load(views, sampled(first + i, begin, len)));
    sort_group(keys, group, |i, word| sorted.set(first + i, word));
}

/// How many words are less than `word`, and how many equal to it.
#[simt::device]
#[track_caller]
fn equals<W: Key>(sorted: Global<W>, word: W) -> (u32, u32) {
    let first = |is_before: &dyn Fn(W) -> bool| {
        let (mut low, mut high) = (0, sorted.len());
        while low < high {
            let middle = (low + high) / 2;
            (low, high) = if is_before(sorted.get(middle)) { (middle + 1, high) } else { (low, middle) };
        }
        low
    };
    let before = first(&|other| other < word);
    (before, first(&|other| other <= word) - before)
}

/// Words of shared memory for counters of buckets.
const COUNTERS: u32 = 2 * SPLIT_BLOCK;
const _: () = assert!(MOST_EVEN <= COUNTERS && MOST_SPLIT <= SPLIT_BLOCK);

shared!(
    /// How often each bucket occurs, by copies; then where each one begins.
    COUNTED: [u32; COUNTERS]
);
shared!(
    /// Where the first key of each bucket would go if the tile began with it.
    TARGETS: [u32; MOST_EVEN]
);
shared!(
    /// The splitters.
    SPLITTERS: [u64; MOST_SPLIT]
);
shared!(
    /// Their ties.
    TIES: [u32; MOST_SPLIT]
);
shared!(
    /// Sums of warps.
    SUMS: [u32; SPLIT_BLOCK / WARP]
);

/// Bytes of dynamic shared memory of [`segmented_sort_by_length_cut`]: the tile in order, and the bucket of each key.
pub const fn cut_shared<W>() -> u32 {
    tile::<W>() * (size_of::<W>() as u32 + 2)
}

/// Moves the keys of long segments to the rooms of their buckets, tile by tile.
#[kernel(max_threads = SPLIT_BLOCK, min_blocks = 2, instances(
    segmented_sort_by_length_cut_u32: <Keys32, u32, u32>, segmented_sort_by_length_cut_u64: <Keys64, u64, u64>,
    segmented_sort_by_length_cut_pairs: <Pairs32, u32, u64>,
))]
#[allow(clippy::too_many_arguments, reason = "views and numbers")]
pub fn segmented_sort_by_length_cut<P: Items<Key = K, Word = W>, K: Scalar, W: Key + Word>(
    keys: Global<K>,
    order: u32,
    values: Global<u32>,
    moved: Global<u32>,
    control: Global<u32>,
    lists: Global<u64>,
    rooms: Global<W>,
) {
    let (views, work) = (Views::<P>::new(keys, order, values, moved), Work { n: keys.len(), control, lists, rooms });
    grid::let_next_start();
    grid::wait_for_previous(); // tiles and splitters
    let (mut i, tiles) = (thread::block_idx_x(), control.get(TILES).min(work.tiles().len()));
    while i < tiles {
        let tile = work.tiles().get(i);
        if tile != NO_TILE {
            let (begin, number) = parts(tile);
            if number < work.long_count() {
                if size_of::<P::Word>() == 4 {
                    cut::<P, 16>(views, work, begin, number);
                } else {
                    cut::<P, 8>(views, work, begin, number);
                }
            }
        }
        i += thread::grid_dim_x();
    }
}

#[simt::device]
#[track_caller]
fn cut<P: Items, const K: usize>(views: Views<P>, work: Work<P::Word>, begin: u32, number: u32) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (start, whole) = parts(work.long().get(number));
    let len = (whole - (begin - start).min(whole)).min(tile::<P::Word>());
    let (first, count) = (work.state(number).get(FIRST), work.state(number).get(COUNT));
    // Few buckets have several counters each, so that lanes seldom meet in one.
    let mut copies = 0;
    while copies < 5 && count << (copies + 1) <= COUNTERS {
        copies += 1;
    }
    let counter = |bucket: u32| (bucket << copies) + (lane & ((1 << copies) - 1));
    let (counted, targets): (Shared<u32>, Shared<u32>) = (COUNTED::view(), TARGETS::view());
    let (splitters, ties) = (SPLITTERS::view().cast::<P::Word>(), TIES::view());
    unroll::<2>(|i| counted.set(t + i as u32 * SPLIT_BLOCK, 0));
    let is_split = count <= MOST_SPLIT;
    if is_split && t + 1 < count {
        splitters.set(t, work.splitters(number).get(t));
        ties.set(t, work.ties(number).get(t));
    }
    let (mut own, mut at) = ([P::Word::default(); K], [0; K]);
    unroll::<K>(|i| {
        let place = i as u32 * SPLIT_BLOCK + t;
        if place < len {
            own[i] = P::load(views, begin + place);
        }
    });
    thread::sync_threads(); // counters are zero and splitters are there before the first key is counted

    unroll::<K>(|i| {
        let place = i as u32 * SPLIT_BLOCK + t;
        if place < len {
            let bucket = if is_split {
                split(splitters, ties, count - 1, own[i], scramble(begin + place))
            } else {
                math::mul_hi(upper(own[i]), count)
            };
            at[i] = bucket << 16 | counted.fetch_add(counter(bucket), 1, Relaxed, Scope::Block);
        }
    });
    thread::sync_threads(); // all keys are counted before counts are added up
    let of_two = [counted.get(2 * t), counted.get(2 * t + 1)];
    let before = block_scan_exclusive(of_two[0] + of_two[1], SUMS::view());
    counted.set(2 * t, before);
    counted.set(2 * t + 1, before + of_two[0]);
    thread::sync_threads(); // all starts are there before they are read
    let room = room::<P::Word>();
    let mut bucket = t;
    while bucket < count {
        let from = counted.get(bucket << copies);
        let to = if bucket + 1 < count { counted.get((bucket + 1) << copies) } else { len };
        if to > from {
            let there = work.sizes().fetch_add(first + bucket, to - from, Relaxed, Scope::Device);
            if there > room || to - from > room - there {
                work.give_up(number);
            }
            targets.set(bucket, there.min(room).wrapping_sub(from));
        }
        bucket += SPLIT_BLOCK;
    }
    let sorted = Shared::<P::Word>::dynamic(0, tile::<P::Word>());
    let buckets = Shared::<u16>::dynamic(tile::<P::Word>() * size_of::<P::Word>() as u32, tile::<P::Word>());
    unroll::<K>(|i| {
        if i as u32 * SPLIT_BLOCK + t < len {
            let place = counted.get(counter(at[i] >> 16)) + (at[i] & 0xffff);
            sorted.set(place, own[i]);
            buckets.set(place, (at[i] >> 16) as u16);
        }
    });
    thread::sync_threads(); // the tile is in order, and all buckets have targets, before they are read
    unroll::<K>(|i| {
        let place = i as u32 * SPLIT_BLOCK + t;
        if place < len {
            let bucket = buckets.get(place) as u32;
            let to = targets.get(bucket).wrapping_add(place);
            // A bucket that is too large is not sorted; it must not reach the next one's room.
            if to < room {
                work.rooms.set((first + bucket) * room + to, sorted.get(place));
            }
        }
    });
    thread::sync_threads(); // all have read the tile before the next one replaces it
}

/// The bucket of a word: how many of the splitters belong before it.
#[simt::device]
#[track_caller]
fn split<W: Key>(splitters: Shared<W>, ties: Shared<u32>, count: u32, word: W, tie: u32) -> u32 {
    let (mut bucket, mut step) = (0, MOST_SPLIT / 2);
    while step > 0 {
        let at = bucket + step - 1;
        if at < count {
            let splitter = splitters.get(at);
            if splitter < word || splitter == word && ties.get(at) <= tie {
                bucket += step;
            }
        }
        step /= 2;
    }
    bucket
}
