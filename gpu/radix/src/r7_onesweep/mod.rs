//! # Radix sort, one pass over memory per digit
//!
//! **Idea.** A key's place is the start of its digit, plus the number of equal digits in earlier tiles, plus that of
//! those before it in its own tile. The starts do not depend on the order of the keys, so one read at the beginning
//! counts the digits of all passes. A block counts the digits of its tile. For the earlier tiles it uses decoupled
//! look-back, as `scan/look-back` does: it publishes its counts, and adds up those of earlier tiles until it reaches a
//! tile that knows the sum of all before it. So a pass reads and writes each key once.
//!
//! **Changed from the rung before.** `lsd-ballot` reads the keys twice per pass and launches three kernels; here a pass
//! reads them once and is one launch. A warp now finds lanes with equal digits by an atomic `or` in shared memory. That
//! takes fewer instructions than eight ballots, but atomics of equal digits take turns. So a warp chooses one of four
//! ways by the digits of its first row: atomics for many different digits, a ballot and atomics for one frequent digit,
//! ballots for several frequent digits, and none of them for a single digit.
//!
//! **Bottleneck.** Ranking the keys inside a block, because equal digits keep their order. By ncu on an H200, 2²⁸ keys,
//! a pass uses 73 % of the peak of shared memory and 32 % of that of global memory (with values 70 % and 48 %), the
//! histogram 98 % of the peak of shared memory. Keys without values need not keep their order, which the next rung
//! uses.
//!
//! **Cost.** 4 bytes per key to count, then 8 bytes per key and digit: 36 bytes for keys of 32 bits, in 6 launches.
//!
//! **Threads.** 512 per block, with a tile of 64 bytes of keys per thread. Each warp has a contiguous piece of the tile
//! and reads it as rows of 32 keys. Threads 0 to 255 look back, each for one digit. The launches overlap by
//! programmatic dependent launch (PDL): a kernel starts while the previous one ends, and waits for it where it needs
//! its results.
//!
//! **Limits.** Any n; keys of 32 and 64 bits, and keys with a value of 32 bits each. The sort is stable. Keys begin on
//! a multiple of 16 bytes.
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

/// Passes over keys of `key_bytes` bytes.
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
pub struct WithValues;

impl Payload for KeysOnly {
    const VALUES: bool = false;
}
impl Payload for WithValues {
    const VALUES: bool = true;
}

/// Which digit a pass sorts by, and how it maps keys. An argument of the kernel.
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
/// `starts`: where each value of this digit starts in the output. `ticket`: a counter, zero before the launch.
/// `states`: 256 words per tile, see [`state`].
#[kernel(max_threads = PASS_THREADS, min_blocks = 2, instances(
    radix_onesweep_pass: <u32, KeysOnly>,
    radix_onesweep_pass_u64: <u64, KeysOnly>,
    radix_onesweep_pass_pairs: <u32, WithValues>,
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
    grid::let_next_start(); // PDL: the next pass may start now; it waits for this one before it reads the keys
    unroll::<{ (DIGITS / warp::WARP) as usize }>(|i| {
        own.set(i as u32 * warp::WARP + lane, 0);
        lanes.set(i as u32 * warp::WARP + lane, 0);
    });
    grid::wait_for_previous(); // PDL: the launch before wrote the keys, the starts and the ticket

    // Blocks take tiles in the order in which they start, so a block waits only for tiles of blocks that have started.
    // The ticket orders no other access: relaxed.
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
        let kind = if tile == 0 { PREFIX } else { AGGREGATE };
        // Relaxed, here and below: who sees the word has all that it says.
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
            let state = state(digit.epoch, PREFIX, before + in_tile);
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
#[simt::device]
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
#[simt::device]
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
#[simt::device]
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
#[simt::device]
fn rows<W>(mut f: impl FnMut(usize)) {
    unroll::<ITEMS>(|i| {
        if (i as u32) < items::<W>() {
            f(i);
        }
    });
}
