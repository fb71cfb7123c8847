//! For skewed input: buckets that are too large for a block, split by their next bits, again and again.
//!
//! One launch, whatever the input: nothing to do is its most frequent case. A level has three phases: count the digits
//! of every segment, tile by tile; turn each segment's counts into starts; move the keys, tile by tile. In a phase a
//! block takes items by a ticket. It waits for a phase's end only after it has found no ticket left, so it waits for
//! items that running blocks have taken, and never for a block that has yet to start.

use super::segment::{MOVE, Segment, VALUES, WRITE, Work, arrange};
use super::tile::{Digit, PACKS, Tile, clear_counters, each_key, is_crowd, move_tile, take_places};
use super::*;
use simt::atomic::{self, Order, Order::Relaxed, Scope};
use simt::{Global, clock, grid, kernel, shared, thread, unroll, warp};

/// Threads a block; a tile is [`partition_tile`].
pub const SPLIT_THREADS: u32 = PARTITION_THREADS;

/// Blocks that a multiprocessor holds, at least: before Hopper, 40 registers are not enough for three, see
/// [`PARTITION_BLOCKS`].
pub const SPLIT_BLOCKS: u32 = if cfg!(sm_90) { 3 } else { 2 };

/// Blocks: as many as are at work at once, or as there are tiles; none if no bucket can be too large.
pub const fn split_blocks(n: u32, tile: u32, multiprocessors: u32) -> u32 {
    let (most, enough) = (3 * multiprocessors, if max_segments(n) == 0 { 0 } else { n.div_ceil(tile) });
    if enough < most { enough } else { most }
}

// What the block is at: an item, how many of the phase it has done, segments and tiles of the level. In shared memory,
// because registers are few.
shared!(ITEM: [u32; 1]);
shared!(MINE: [u32; 1]);
shared!(EXTENT: [u32; 2]);
shared!(DIFFER: [u32; 2]);
shared!(STARTS: [u32; VALUES]);

/// Splits the segments on the `lists`, which are in `output` or `scratch`, until what is left of each is sorted in
/// `output`, or on the lists as groups. `order`: to map keys to as they are written for good.
#[kernel(max_threads = SPLIT_THREADS, min_blocks = SPLIT_BLOCKS, instances(
    radix_msd_buckets_split: <u32>,
    radix_msd_buckets_split_u64: <u64>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_split<W: Key>(
    scratch: Global<W>, output: Global<W>, order: u32, lists: Global<u32>, segments: u32,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // keys and lists
    let mut work = Work { scratch, output, order, lists: Lists::new(lists, segments), level: 0 };
    while work.level < LEVELS {
        let (segments, tiles) = work.lists.level(work.level);
        if segments == 0 {
            break;
        }
        if thread::thread_idx_x() == 0 {
            EXTENT::view().set(0, segments);
            EXTENT::view().set(1, tiles);
        }
        thread::sync_threads(); // the extent of the level is known
        phase(&work, 0, 1, |work, i| count(work, find_segment(work, i), i));
        phase(&work, 1, 0, |work, i| arrange(work, Segment::read(work.lists.segment(work.level, i))));
        phase(&work, 2, 1, |work, i| carry_out(work, find_segment(work, i), i));
        work.level += 1;
    }
}

/// Does items of a phase until none is left, then waits until those of other blocks are done too. `extent`: which
/// extent of the level says how many there are.
#[inline(always)]
#[track_caller]
fn phase<W: Key>(work: &Work<W>, number: u32, extent: u32, item: impl Fn(&Work<W>, u32)) {
    let (ticket, done) = work.lists.phase(work.level, number);
    let t = thread::thread_idx_x();
    if t == 0 {
        MINE::view().set(0, 0);
    }
    loop {
        thread::sync_threads(); // all have read the item before, and are done with what it had in shared memory
        if t == 0 {
            ITEM::view().set(0, ticket.fetch_add(0, 1, Relaxed, Scope::Device));
        }
        thread::sync_threads(); // the item is known
        let i = uniform(ITEM::view().get(0));
        if i >= EXTENT::view().get(extent) {
            break;
        }
        item(work, i);
        if t == 0 {
            MINE::view().set(0, MINE::view().get(0) + 1);
        }
    }
    if t == 0 {
        // What this block wrote comes before its word that it is done; the barriers above have collected it.
        atomic::fence(Order::AcqRel, Scope::Device);
        done.fetch_add(0, MINE::view().get(0), Relaxed, Scope::Device);
        while done.load(0, Relaxed, Scope::Device) != EXTENT::view().get(extent) {
            clock::nanosleep(20);
        }
        // What others wrote comes after their word.
        atomic::fence(Order::AcqRel, Scope::Device);
    }
    thread::sync_threads(); // all wait for thread 0, and see what it has seen
}

/// The segment that has tile `i`: the last one whose first tile is not after it. All threads look at once, at every so
/// many segments, then between two of those.
#[inline(always)]
#[track_caller]
fn find_segment<W: Key>(work: &Work<W>, i: u32) -> Segment {
    let (t, segments) = (thread::thread_idx_x(), EXTENT::view().get(0));
    let (mut low, mut span) = (0, segments);
    while span > 1 {
        let stride = span.div_ceil(SPLIT_THREADS);
        let at = t * stride;
        let not_after = at < span && work.lists.segment(work.level, low + at).get(3) <= i;
        low += (thread::sync_threads_count(not_after) - 1) * stride;
        span = stride.min(segments - low);
    }
    Segment::read(work.lists.segment(work.level, uniform(low)))
}

/// `value`, which is the same in all lanes, in a form that shows it: such values have registers of their own, one a warp.
#[inline(always)]
#[track_caller]
fn uniform(value: u32) -> u32 {
    warp::reduce_or(warp::FULL, value)
}

/// First phase: the digits of tile `i`, and the bits in which its keys differ from the segment's first.
#[inline(always)]
#[track_caller]
fn count<W: Key>(work: &Work<W>, segment: Segment, i: u32) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let values = segment.window.values();
    let counters = STARTS::view();
    if t < values {
        counters.set(t, 0);
    }
    if t < 2 {
        DIFFER::view().set(t, 0);
    }
    let keys = work.array(segment.array);
    let Tile { begin, end, origin } = segment.tile::<W>(i);
    let first = keys.get(segment.start);
    let mut packs = [W::Pack::default(); PACKS as usize];
    // Places of the tile without a key count as the first key, and are taken off again.
    each_key::<W>(|p, j| {
        let at = origin + (p as u32 * SPLIT_THREADS + t) * W::PACK + j as u32;
        packs[p].as_mut()[j] = if at >= begin && at < end { keys.get_streaming(at) } else { first };
    });
    thread::sync_threads(); // the counters are zero before the first key is counted
    let crowded = is_crowd(segment.window.offset(packs[0].as_ref()[0]));
    let mut differ = 0;
    each_key::<W>(|p, j| {
        let key = packs[p].as_ref()[j];
        differ |= key.bits() ^ first.bits();
        take_places(counters, segment.window.offset(key), true, crowded);
    });
    if t == 0 {
        let absent = partition_tile::<W>(false) - (end - begin);
        counters.fetch_add(segment.window.offset(first) / 4, absent.wrapping_neg(), Relaxed, Scope::Block);
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
    if t < values && counters.get(t) != 0 {
        // Tiles of one segment add to the same counters.
        work.counters(&segment).fetch_add(t, counters.get(t), Relaxed, Scope::Device);
    }
    if t < W::HALVES {
        // Nearly always another tile has said it already.
        let (half, known) = (DIFFER::view().get(t), segment.words.get(6 + t));
        if half & !known != 0 {
            segment.words.fetch_or(6 + t, half, Relaxed, Scope::Device);
        }
    }
}

/// Third phase: moves tile `i`, or writes it anew.
#[inline(always)]
#[track_caller]
fn carry_out<W: Key>(work: &Work<W>, segment: Segment, i: u32) {
    let t = thread::thread_idx_x();
    let tile = segment.tile::<W>(i);
    let (window, counters) = (segment.window, work.counters(&segment));
    if segment.action == MOVE {
        clear_counters::<SPLIT_THREADS>(window.values());
        let (from, to) = (work.array(segment.array), work.array(1 - segment.array));
        move_tile::<W, Plain, SPLIT_THREADS>(from, to, 0, tile, window.values(), window, counters, |bucket| bucket);
    }
    if segment.action == WRITE {
        let starts = STARTS::view();
        if t < window.values() {
            starts.set(t, counters.get(t));
        }
        thread::sync_threads(); // all starts are there before they are searched
        let first = segment.words.get(8) as u64 | (segment.words.get(9) as u64) << 32;
        let rest = first & !(((window.values() - 1) as u64) << window.shift);
        let key = |digit: u32| W::from_bits(rest | (digit as u64) << window.shift).decode(work.order);
        // The digit at a place: the last one that starts there or before.
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
            work.output.set(place, key(if low == high { low } else { digit_at(place) }));
            place += SPLIT_THREADS;
        }
    }
}
