//! A pass: every key, and value, to its place by one digit.

use super::{BITS, DIGITS};
use crate::radix::steps::{Digits, block_scan, rank_row};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Scalar, Shared, grid, kernel, opaque, shared, thread, unroll, warp};

/// Threads a block.
pub const PASS_THREADS: u32 = 512;

const WARPS: u32 = PASS_THREADS / warp::WARP;

/// Keys of 4 bytes that a thread has; half as many of 8.
const ITEMS: usize = 16;

/// Keys a thread.
const fn items<W>() -> u32 {
    (ITEMS * 4 / size_of::<W>()) as u32
}

/// Keys of a tile.
pub const fn pass_tile<W: Scalar>() -> u32 {
    PASS_THREADS * items::<W>()
}

/// Bytes of dynamic shared memory: the tile in order. Before that, the same bytes hold a counter and a set of lanes for
/// each warp and digit.
pub const PASS_SHARED: u32 = PASS_THREADS * ITEMS as u32 * 4;
const _: () = assert!(2 * WARPS * DIGITS * 4 <= PASS_SHARED);

/// What a tile publishes for a digit, in one word: an epoch (30 bits, so that what an earlier pass left is not
/// mistaken for news), how much the count includes (2 bits), the count (32 bits).
const OWN: u64 = 1 << 32;
const ALL_SO_FAR: u64 = 2 << 32;

/// Epochs that fit a published word; the host counts passes from 1 to this and clears `states` before it starts anew.
pub const LAST_EPOCH: u32 = (1 << 30) - 1;

shared!(TILE: [u32; 1]);
shared!(OFFSETS: [u32; DIGITS]);
shared!(SUMS: [u32; WARPS]);

/// Whether keys have values.
pub trait Payload: 'static {
    /// Whether they do.
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
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Digit {
    /// Its first bit.
    pub shift: u32,
    /// The order (see [`crate::keys`]) that keys are mapped from as they come in.
    pub encode: u32,
    /// The order that they are mapped to as they go out.
    pub decode: u32,
    /// A number from 1 to [`LAST_EPOCH`] that `states` has not seen.
    pub epoch: u32,
}
simt::argument!(Digit);

/// The arguments of a pass.
pub type PassArgs<W> = (Global<W>, Global<W>, Global<u32>, Global<u32>, Digit, Global<u32>, Global<u32>, Global<u64>);

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
    let Digit { shift, encode, decode, epoch } = digit;
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    let counters = Shared::<u32>::dynamic(0, WARPS * DIGITS);
    let own = counters.slice(w * DIGITS, DIGITS);
    let lanes = Shared::<u32>::dynamic((WARPS + w) * DIGITS * 4, DIGITS);
    grid::let_next_start();
    unroll::<{ (DIGITS / warp::WARP) as usize }>(|i| {
        own.set(i as u32 * warp::WARP + lane, 0);
        lanes.set(i as u32 * warp::WARP + lane, 0);
    });
    grid::wait_for_previous(); // keys, starts and the ticket
    if t == 0 {
        // Tiles are taken in order, so those that a block waits for have been taken by blocks that run.
        TILE::view().set(0, ticket.fetch_add(0, 1, Relaxed, Scope::Device));
    }
    thread::sync_threads(); // the tile is known, and the warp's counters are zero
    let tile = TILE::view().get(0);

    // A key past the end counts as the largest: it is last of its digit, and is not stored.
    let begin = tile * pass_tile::<W>();
    let count = (input.len() - begin).min(pass_tile::<W>());
    let first = w * (items::<W>() * warp::WARP) + lane;
    let mut keys = [W::LARGEST; ITEMS];
    let mine = input.slice(begin, count);
    if count == pass_tile::<W>() {
        let mine = mine.slice(first, count - first);
        rows::<W>(|i| keys[i] = mine.get_streaming(i as u32 * warp::WARP));
    } else {
        rows::<W>(|i| if first + i as u32 * warp::WARP < count {
            keys[i] = mine.get_streaming(first + i as u32 * warp::WARP);
        });
    }
    if encode != crate::keys::UNSIGNED {
        rows::<W>(|i| if first + i as u32 * warp::WARP < count {
            keys[i] = keys[i].encode(encode);
        });
    }

    let mut ranks = [0; ITEMS];
    let digit = |key: W| key.digit(shift, BITS);
    let first_digit = warp::shuffle(warp::FULL, digit(keys[0]), 0);
    let mut differ = 0;
    rows::<W>(|i| differ |= digit(keys[i]) ^ first_digit);
    let all_alike = warp::all(warp::FULL, differ == 0);
    if all_alike {
        // One digit: its keys are ranked as they stand.
        rows::<W>(|i| ranks[i] = i as u32 * warp::WARP + lane);
        if lane == 0 {
            own.set(digit(keys[0]), items::<W>() * warp::WARP);
        }
    } else {
        rows::<W>(|i| ranks[i] = rank_row(digit(keys[i]), own, lanes));
    }
    thread::sync_threads(); // every warp has counted its keys before the counts are added up

    // Thread t is digit t. It tells the tiles after this one as early as it can.
    let mut total = 0;
    let word = |kind: u64, sum: u32| (epoch as u64) << 34 | kind | sum as u64;
    if t < DIGITS {
        unroll::<{ WARPS as usize }>(|v| total += counters.get(v as u32 * DIGITS + t));
        let kind = if tile == 0 { ALL_SO_FAR } else { OWN };
        states.store(tile * DIGITS + t, word(kind, total), Relaxed, Scope::Device);
    }
    let (start, _) = block_scan::<WARPS>(total, SUMS::view());
    if t < DIGITS {
        let mut next = start;
        unroll::<{ WARPS as usize }>(|v| {
            let count = counters.get(v as u32 * DIGITS + t);
            counters.set(v as u32 * DIGITS + t, next);
            next += count;
        });
    }
    thread::sync_threads(); // every warp and digit knows its place in the tile
    rows::<W>(|i| ranks[i] += own.get(digit(keys[i])));
    thread::sync_threads(); // all have read the counters before keys overwrite them
    let sorted = Shared::<W>::dynamic(0, pass_tile::<W>());
    rows::<W>(|i| sorted.set(ranks[i], keys[i]));
    if t < DIGITS {
        let before = look_back(states, tile, epoch);
        if tile > 0 {
            states.store(tile * DIGITS + t, word(ALL_SO_FAR, before + total), Relaxed, Scope::Device);
        }
        // What to add to a place in the tile to get the place in the output; it may be below zero, and wraps.
        OFFSETS::view().set(t, (starts.get(t) + before).wrapping_sub(start));
    }
    thread::sync_threads(); // the tile is in order and the offsets are known before keys are written out
    // The digits that this thread wrote out, four in a word: they say where the values go.
    let mut digits = [0; ITEMS / 4];
    rows::<W>(|i| {
        let place = i as u32 * PASS_THREADS + t;
        let key = sorted.get(place);
        digits[i / 4] |= digit(key) << (i % 4 * 8);
        if place < count {
            let to = OFFSETS::view().get(digit(key)).wrapping_add(place);
            output.set(to, if decode == crate::keys::UNSIGNED { key } else { key.decode(decode) });
        }
    });
    if P::VALUES {
        let sorted = sorted.cast::<u32>();
        let mine = values_in.slice(begin, count);
        let (mut values, first, t) = ([0; ITEMS], opaque(first), opaque(t)); // tests made anew, not kept from above
        rows::<W>(|i| if first + i as u32 * warp::WARP < count {
            values[i] = mine.get_streaming(first + i as u32 * warp::WARP);
        });
        thread::sync_threads(); // the keys have been read before values overwrite them
        rows::<W>(|i| sorted.set(ranks[i], values[i]));
        thread::sync_threads(); // the values are in order before they are written out
        rows::<W>(|i| {
            let place = i as u32 * PASS_THREADS + t;
            if place < count {
                let digit = digits[i / 4] >> (i % 4 * 8) & (DIGITS - 1);
                values_out.set(OFFSETS::view().get(digit).wrapping_add(place), sorted.get(place));
            }
        });
    }
}

/// How many keys of this thread's digit the tiles before `tile` have.
#[inline(always)]
fn look_back(states: Global<u64>, mut tile: u32, epoch: u32) -> u32 {
    let mut sum = 0;
    while tile > 0 {
        // The count comes in the same word as the news that it is there, so nothing else has to be ordered.
        let state = states.load((tile - 1) * DIGITS + thread::thread_idx_x(), Relaxed, Scope::Device);
        if state >> 34 == epoch as u64 {
            sum += state as u32;
            if state & ALL_SO_FAR != 0 {
                break;
            }
            tile -= 1;
        }
    }
    sum
}

/// Calls `f` with the number of each row.
#[inline(always)]
fn rows<W>(mut f: impl FnMut(usize)) {
    unroll::<ITEMS>(|i| {
        if (i as u32) < items::<W>() {
            f(i);
        }
    });
}
