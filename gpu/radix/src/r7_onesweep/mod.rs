//! # Radix sort, one pass over memory per digit
//!
//! **Idea.** A block that has counted its digits publishes the counts and asks the blocks before it for theirs
//! (decoupled look-back): it adds up their counts, going back until it meets a block that already knows the sum of
//! all before. So it can place its keys at once, and the keys are read and written once per digit. Where each digit
//! starts in the whole input does not depend on the order of the keys: all digits are counted in one read at the
//! beginning.
//!
//! **Changed from the rung before.** `lsd-ballot` reads the keys twice per pass and launches three kernels; here a pass
//! reads them once and is one launch. Lanes with the same digit are matched by an atomic `or` in shared memory, which
//! takes fewer instructions than eight ballots as long as digits differ. Atomics of lanes with equal digits wait for
//! each other, so a warp looks at its first row. If that has few different digits, the warp takes one vote per row for
//! the most frequent digit and atomics for the others; ballots alone, if several digits are frequent; one vote for all
//! rows, if there is a single digit.
//!
//! **Bottleneck.** Ranking the keys inside a block, which has to keep their order: by ncu on an H200, 2²⁸ keys, a pass
//! has shared memory at 73 % of its peak and memory at 32 (with values 70 and 48), the histogram has shared memory at
//! 98. Keys without values can be sorted without keeping the order of equal ones; the next rung does that.
//!
//! **Cost.** 4 bytes per key to count, then 8 bytes per key and digit: 36 bytes for keys of 32 bits, in 6 launches.
//!
//! **Threads.** 512 per block, with a tile of 64 bytes of keys per thread. Each warp has a piece of the tile in a row
//! and reads it as rows of 32. Threads 0 to 255 look back, each for one digit.
//!
//! **Limits.** Any n; sorts keys of 32 and 64 bits, and keys with a value of 32 bits each, and is stable. Keys begin
//! on a multiple of 16 bytes.
//!
//! **Source.** A. Adinets and D. Merrill, "Onesweep" (2022), and D. Merrill and M. Garland, "Single-pass parallel
//! prefix scan with decoupled look-back" (2016).
//!
//! | launch | where | what it does |
//! | --- | --- | --- |
//! | 1, 2 | `histogram.rs` | counts all digits of all keys, and finds where each value of each digit starts |
//! | 3 to 6 | here, `ranks.rs`, `look_back.rs` | a pass per digit |

mod histogram;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod look_back;
pub mod ranks;

pub use super::{BITS, DIGITS};
use super::{Digits, block_scan, count_of_digit, place_digit};
use crate::UNSIGNED;
pub use histogram::*;
pub use look_back::*;
use ranks::rank_rows;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Scalar, Shared, grid, kernel, opaque, shared, thread, unroll, warp};

/// Passes over keys of so many bytes.
pub const fn passes(key_bytes: u32) -> u32 {
    key_bytes * 8 / BITS
}

/// Threads per block of a pass.
pub const PASS_THREADS: u32 = 512;

const WARPS: u32 = PASS_THREADS / warp::WARP;

/// Keys of 4 bytes per thread; half as many of 8.
const ITEMS: usize = 16;

/// Keys per thread.
const fn items<W>() -> u32 {
    (ITEMS * 4 / size_of::<W>()) as u32
}

/// Keys per tile.
pub const fn pass_tile<W: Scalar>() -> u32 {
    PASS_THREADS * items::<W>()
}

/// Bytes of dynamic shared memory: the tile in order. Before that, the same bytes hold a counter and a set of lanes for
/// each warp and digit.
pub const PASS_SHARED: u32 = PASS_THREADS * ITEMS as u32 * 4;
const _: () = assert!(2 * WARPS * DIGITS * 4 <= PASS_SHARED);

shared!(TILE: [u32; 1]);
shared!(OFFSETS: [u32; DIGITS]);
shared!(SUMS: [u32; WARPS]);

/// Keys alone, or with values.
pub trait Payload: 'static {
    /// True if keys have values.
    const VALUES: bool;
}

/// Keys alone.
pub struct KeysOnly;
/// A 32-bit value with each key.
pub struct Pairs;

impl Payload for KeysOnly {
    const VALUES: bool = false;
}
impl Payload for Pairs {
    const VALUES: bool = true;
}

/// The digit of a pass.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Digit {
    /// Its first bit.
    pub shift: u32,
    /// The order (see [`rungs_common::keys`]) that keys are mapped from as they are read.
    pub encode: u32,
    /// The order that they are mapped to as they are written.
    pub decode: u32,
    /// A number from 1 to [`LAST_EPOCH`] that `states` has not seen.
    pub epoch: u32,
}

/// Moves each key of `input` to its place in `output` by a digit, and its value with it.
///
/// `starts`: where each value of this digit starts. `ticket`: zero. `states`: 256 words per tile.
#[kernel(max_threads = PASS_THREADS, min_blocks = 2, instances(
    radix_onesweep_pass: <u32, KeysOnly>,
    radix_onesweep_pass_u64: <u64, KeysOnly>,
    radix_onesweep_pass_pairs: <u32, Pairs>,
))]
#[rustfmt::skip]
pub fn radix_onesweep_pass<W: Digits, P: Payload>(
    input: Global<W>, output: Global<W>, values_in: Global<u32>, values_out: Global<u32>, digit: Digit,
    starts: Global<u32>, ticket: Global<u32>, states: Global<u64>,
) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    let counters = Shared::<u32>::dynamic(0, WARPS * DIGITS);
    let own = Shared::<u32>::dynamic(w * DIGITS * 4, DIGITS);
    let lanes = Shared::<u32>::dynamic((WARPS + w) * DIGITS * 4, DIGITS);
    grid::let_next_start();
    unroll::<{ (DIGITS / warp::WARP) as usize }>(|i| {
        own.set(i as u32 * warp::WARP + lane, 0);
        lanes.set(i as u32 * warp::WARP + lane, 0);
    });
    grid::wait_for_previous(); // keys, starts and the ticket

    // Tiles are taken in order, so that those which a block waits for have been taken by running blocks.
    if t == 0 {
        TILE::view().set(0, ticket.fetch_add(0, 1, Relaxed, Scope::Device));
    }
    thread::sync_threads(); // the tile is known, and the warp's counters are zero
    let tile = TILE::view().get(0);
    let begin = tile * pass_tile::<W>();
    let count = (input.len() - begin).min(pass_tile::<W>());
    // Where the first row of this warp has the thread's key; each row is a warp long.
    let first = w * (items::<W>() * warp::WARP) + lane;
    let keys = load(input.slice(begin, count), first, digit.encode);

    let mut ranks = rank_rows(&keys, items::<W>(), digit.shift, own, lanes);
    thread::sync_threads(); // every warp has counted its keys before the counts are added up

    // Thread t is digit t: it adds up the keys of the digit, and tells the tiles behind this one as early as it can.
    let mut in_tile = 0;
    if t < DIGITS {
        in_tile = count_of_digit::<{ WARPS as usize }>(counters, t);
        let kind = if tile == 0 { ALL_SO_FAR } else { OWN };
        states.store(tile * DIGITS + t, state(digit.epoch, kind, in_tile), Relaxed, Scope::Device);
    }
    // Counts become places in the tile: digit by digit, and within a digit warp by warp.
    let (start, _) = block_scan::<WARPS>(in_tile, SUMS::view());
    if t < DIGITS {
        place_digit::<{ WARPS as usize }>(counters, t, start);
    }
    thread::sync_threads(); // every warp and digit knows its place in the tile
    rows::<W>(|i| ranks[i] += own.get(keys[i].digit(digit.shift, BITS)));
    thread::sync_threads(); // all have read the counters before keys overwrite them
    let sorted = Shared::<W>::dynamic(0, pass_tile::<W>());
    rows::<W>(|i| sorted.set(ranks[i], keys[i]));

    if t < DIGITS {
        let start_in_all = starts.get(t); // on its way while the block looks back
        let before = look_back(states, tile, digit.epoch);
        if tile > 0 {
            let state = state(digit.epoch, ALL_SO_FAR, before + in_tile);
            states.store(tile * DIGITS + t, state, Relaxed, Scope::Device);
        }
        // The difference between the places in the output and in the tile; it may be below zero, and wraps.
        OFFSETS::view().set(t, (start_in_all + before).wrapping_sub(start));
    }
    thread::sync_threads(); // the tile is in order, and the offsets are known, before keys are written

    let digits = store(sorted, count, output, digit);
    if P::VALUES {
        move_values::<W>(values_in.slice(begin, count), first, &ranks, sorted.cast(), digits, values_out);
    }
}

/// The keys of this thread. One past the end counts as the largest: it is the last of its digit, and is not stored.
#[inline(always)]
#[rustfmt::skip]
fn load<W: Digits>(tile: Global<W>, first: u32, order: u32) -> [W; ITEMS] {
    let mut keys = [W::LARGEST; ITEMS];
    let is_key = |i: usize| first + i as u32 * warp::WARP < tile.len();
    if tile.len() == pass_tile::<W>() {
        let mine = tile.slice(first, tile.len() - first);
        rows::<W>(|i| keys[i] = mine.get_streaming(i as u32 * warp::WARP));
    } else {
        rows::<W>(|i| if is_key(i) { keys[i] = tile.get_streaming(first + i as u32 * warp::WARP) });
    }
    if order != UNSIGNED {
        rows::<W>(|i| if is_key(i) { keys[i] = keys[i].encode(order) });
    }
    keys
}

/// Writes the first `count` of the `sorted` keys. Returns the digits that this thread wrote, four per word: they say
/// where values belong.
#[inline(always)]
fn store<W: Digits>(sorted: Shared<W>, count: u32, output: Global<W>, digit: Digit) -> [u32; ITEMS / 4] {
    let mut digits = [0; ITEMS / 4];
    rows::<W>(|i| {
        let place = i as u32 * PASS_THREADS + thread::thread_idx_x();
        let key = sorted.get(place);
        let value = key.digit(digit.shift, BITS);
        digits[i / 4] |= value << (i % 4 * 8);
        if place < count {
            let to = OFFSETS::view().get(value).wrapping_add(place);
            output.set(to, if digit.decode == UNSIGNED { key } else { key.decode(digit.decode) });
        }
    });
    digits
}

/// Moves the values of the tile as the keys were moved: by the same `ranks` in the tile, and then by their `digits`.
#[inline(always)]
#[track_caller]
#[rustfmt::skip]
fn move_values<W>(
    tile: Global<u32>, first: u32, ranks: &[u32; ITEMS], sorted: Shared<u32>, digits: [u32; ITEMS / 4],
    output: Global<u32>,
) {
    // Opaque, so that the compiler makes the bounds checks again and keeps none in registers.
    let (mut values, first, t) = ([0; ITEMS], opaque(first), opaque(thread::thread_idx_x()));
    rows::<W>(|i| if first + i as u32 * warp::WARP < tile.len() {
        values[i] = tile.get_streaming(first + i as u32 * warp::WARP);
    });
    thread::sync_threads(); // the keys have been read before values overwrite them
    rows::<W>(|i| sorted.set(ranks[i], values[i]));
    thread::sync_threads(); // the values are in order before they are written
    rows::<W>(|i| {
        let place = i as u32 * PASS_THREADS + t;
        if place < tile.len() {
            let digit = digits[i / 4] >> (i % 4 * 8) & (DIGITS - 1);
            output.set(OFFSETS::view().get(digit).wrapping_add(place), sorted.get(place));
        }
    });
}

/// Calls `f` with the index of each row.
#[inline(always)]
fn rows<W>(mut f: impl FnMut(usize)) {
    unroll::<ITEMS>(|i| {
        if (i as u32) < items::<W>() {
            f(i);
        }
    });
}
