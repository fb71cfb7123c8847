//! Launch 6: splits segments by their next bits, level by level.
//!
//! One launch, whatever the keys, because it mostly has nothing to do. At the end it zeroes the counters of the tally,
//! which lie where keys have been until then.

use super::leftover::{Arrays, Numbers};
use super::lists::{LEVEL_PHASES, LEVELS, Lists, TALLY_ZERO, max_segments};
use super::phases::{PHASES_STATIC, each_item};
use super::segment::{MOVE, SEGMENT_STATIC, Segment, VALUES, WRITE, Work, arrange};
use crate::buckets::PARTITION_THREADS;
use crate::msd::{Key, PACKS, Plain, Tables, each_key, each_slowly, load, move_tile, static_shared, tile_shared};
use crate::steps::find_last;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, grid, kernel, shared, thread, unroll, warp};

/// Threads per block; tiles are those of the partitions.
pub const SPLIT_THREADS: u32 = PARTITION_THREADS;

/// Blocks per SM that the compiler makes room for: 40 registers are too few for three.
pub const SPLIT_BLOCKS: u32 = 2;

/// Bytes of dynamic shared memory.
pub const SPLIT_SHARED: u32 = tile_shared(SPLIT_THREADS);

/// Bytes of static shared memory.
pub const SPLIT_STATIC: u32 = static_shared(2 * 16 + 4 * VALUES + SEGMENT_STATIC + PHASES_STATIC);

/// Blocks: as many as run at once, or as there are tiles; none if no bucket can be too large.
pub const fn split_blocks(n: u32, tile: u32, multiprocessors: u32) -> u32 {
    let (most, enough) = (SPLIT_BLOCKS * multiprocessors, if max_segments(n) == 0 { 0 } else { n.div_ceil(tile) });
    if enough < most { enough } else { most }
}

// Segments and tiles of the level, and the number of keys. In shared memory, because registers are few.
shared!(EXTENT: [u32; 3]);
shared!(DIFFER: [u32; 2]);
shared!(STARTS: [u32; VALUES]);

/// Splits the segments on the `lists`, which are in `output` or `scratch`, until each key is in its place in `output`,
/// in a group, or in a segment to tally; and zeroes the counters for the latter.
#[kernel(max_threads = SPLIT_THREADS, min_blocks = SPLIT_BLOCKS, instances(
    radix_msd_skewed_split: <u32>,
    radix_msd_skewed_split_u64: <u64>,
))]
pub fn radix_msd_skewed_split<W: Key>(scratch: Global<W>, output: Global<W>, lists: Global<u32>, numbers: Numbers) {
    grid::let_next_start();
    grid::wait_for_previous(); // keys and lists
    split::<W, 0>(scratch, output, lists, numbers);
}

/// The work of a block of [`radix_msd_skewed_split`], once keys and lists are there. Any number of blocks may do it.
///
/// `KERNEL`: another number in each kernel, so that each has closures of its own, which are inlined.
#[simt::device]
#[track_caller]
pub(crate) fn split<W: Key, const KERNEL: u32>(
    scratch: Global<W>,
    output: Global<W>,
    lists: Global<u32>,
    numbers: Numbers,
) {
    if thread::thread_idx_x() == 0 {
        EXTENT::view().set(2, output.len());
    }
    thread::sync_threads(); // the number of keys is known
    // Made again wherever it is used: what follows from the number of keys would take registers throughout.
    let lists = || Lists::new(lists, EXTENT::view().get(2), numbers.limits);
    let arrays = Arrays { scratch, output };
    let mut work = Work { arrays, order: numbers.order, lists, level: 0 };
    while work.level < LEVELS {
        let (segments, tiles) = (work.lists)().level(work.level);
        if segments == 0 {
            break;
        }
        if thread::thread_idx_x() == 0 {
            EXTENT::view().set(0, segments);
            EXTENT::view().set(1, tiles);
        }
        thread::sync_threads(); // the extent of the level is known
        let (segments, tiles) = (|| EXTENT::view().get(0), || EXTENT::view().get(1));
        let phase = work.level * LEVEL_PHASES;
        each_item(|| lists().phase(phase), tiles, true, |i| count(&work, find_segment(&work, i), i));
        each_item(
            || lists().phase(phase + 1),
            segments,
            true,
            |i| arrange(&work, Segment::read(lists().segment(work.level, i))),
        );
        each_item(|| lists().phase(phase + 2), tiles, true, |i| carry_out(&work, find_segment(&work, i), i));
        work.level += 1;
    }
    // The counters of the tally lie where keys have been until now.
    each_item(
        || lists().phase(TALLY_ZERO),
        || lists().large().0,
        false,
        |i| {
            let counts = lists().large_segment(i).counts(arrays);
            let mut value = thread::thread_idx_x();
            while value < counts.len() {
                counts.set(value, 0);
                value += SPLIT_THREADS;
            }
        },
    );
}

/// The segment that has tile `i`: the last one whose first tile is not after it.
#[simt::device]
#[track_caller]
fn find_segment<W: Key, L: Fn() -> Lists>(work: &Work<W, L>, i: u32) -> Segment {
    let segment = |s: u32| (work.lists)().segment(work.level, s);
    Segment::read(segment(find_last(SPLIT_THREADS, EXTENT::view().get(0), |s| segment(s).get(3) <= i)))
}

/// First phase: counts the digits of tile `i`, and notes the bits in which its keys differ from the segment's first.
#[simt::device]
#[track_caller]
fn count<W: Key, L: Fn() -> Lists>(work: &Work<W, L>, segment: Segment, i: u32) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let digit = segment.window;
    let tables = Tables::new(SPLIT_THREADS, digit.bits);
    tables.clear();
    if t < 2 {
        DIFFER::view().set(t, 0);
    }
    let keys = work.arrays.of(segment.array);
    let tile = segment.tile::<W>(i);
    let first = keys.get(segment.start);
    let full = tile.is_full::<W, SPLIT_THREADS>();
    let mut packs = [W::Pack::default(); PACKS as usize];
    if full {
        packs = load::<W, SPLIT_THREADS>(keys, tile);
    }
    thread::sync_threads(); // the counters are zero before the first key is counted
    let mut differ = 0;
    let mut see = |key: W| {
        differ |= key.bits() ^ first.bits();
        tables.counter(key, digit).fetch_add(0, 1, Relaxed, Scope::Block);
    };
    if full {
        each_key::<W>(|p, j| see(packs[p].as_ref()[j]));
    } else {
        each_slowly::<W, Plain, SPLIT_THREADS>(keys, 0, tile, see);
    }
    let halves = [differ as u32, (differ >> 32) as u32];
    unroll::<2>(|h| {
        if (h as u32) < W::HALVES {
            let half = warp::reduce_or(warp::FULL, halves[h]);
            if lane == 0 && half != 0 {
                DIFFER::view().fetch_or(h as u32, half, Relaxed, Scope::Block);
            }
        }
    });
    thread::sync_threads(); // every key is counted and compared before the results are read
    tables.each_bucket(|bucket, found| {
        // Tiles of a segment add to the same counters.
        work.counters(&segment).fetch_add(bucket, found, Relaxed, Scope::Device);
    });
    if t < W::HALVES {
        // Nearly always another tile has noted the bits already. Others may write the word meanwhile.
        let (half, known) = (DIFFER::view().get(t), segment.words.load(6 + t, Relaxed, Scope::Device));
        if half & !known != 0 {
            segment.words.fetch_or(6 + t, half, Relaxed, Scope::Device);
        }
    }
}

/// Third phase: moves tile `i`, or writes it again.
#[simt::device]
#[track_caller]
fn carry_out<W: Key, L: Fn() -> Lists>(work: &Work<W, L>, segment: Segment, i: u32) {
    let t = thread::thread_idx_x();
    let tile = segment.tile::<W>(i);
    let (window, counters) = (segment.window, work.counters(&segment));
    if segment.action == MOVE {
        Tables::new(SPLIT_THREADS, window.bits).clear();
        let (from, to) = (work.arrays.of(segment.array), work.arrays.of(1 - segment.array));
        move_tile::<W, Plain, SPLIT_THREADS>(from, to, 0, tile, window, counters, |bucket| bucket);
    }
    if segment.action == WRITE {
        let starts = STARTS::view();
        if t < window.values() {
            starts.set(t, counters.get(t));
        }
        thread::sync_threads(); // all starts are there before they are searched
        let first = segment.words.cast::<u64>().get(4);
        let rest = first & !(((window.values() - 1) as u64) << window.shift);
        let key = |digit: u32| W::from_bits(rest | (digit as u64) << window.shift).decode(work.order);
        // The digit of the key at a place: the last digit that starts there or before.
        let digit_at = |place: u32| {
            let mut digit = 0;
            let mut half = window.values() / 2;
            while half > 0 {
                if starts.get(digit + half) <= place {
                    digit += half;
                }
                half /= 2;
            }
            digit
        };
        let (low, high) = (digit_at(tile.begin), digit_at(tile.end - 1));
        let mut place = tile.begin + t;
        while place < tile.end {
            work.arrays.output.set(place, key(if low == high { low } else { digit_at(place) }));
            place += SPLIT_THREADS;
        }
    }
}
