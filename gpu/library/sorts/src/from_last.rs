//! Passes by all digits from the last one, for keys that do not spread, with values or without.
//!
//! The device knows how many passes there are: a digit in which no two keys differ takes none. A pass moves keys from
//! one array to the other, so the number of passes has to be even. Keys alone take one more pass if it is not. Pairs
//! are copied to the other array first: on an H200 2²⁸ pairs of zipf keys take 6.9 ms with the copy, 7.2 ms with one
//! more pass. If the digits have few values, one or two passes by the bytes of [codes](super::codes) replace three or
//! four.
//!
//! One launch does all passes, or all but the first. Its blocks take the tiles of a pass by a ticket, and wait for the
//! end of a pass before the next. Keys alone are taken a tile ahead, so that they are on their way while those before
//! are written out. With values that does not pay: a tile that is taken and not begun keeps the tiles behind it
//! waiting, and moving values takes long (on an H100 2²⁸ pairs of 16 different keys took 9.2 ms in four passes with the
//! next tile taken ahead, 7.7 ms without).

use super::codes::{ByTables, Codes, prepare};
use super::digits::{BITS, DIGITS};
use super::msd::spread;
use super::pass::{Ahead, CODED, Coding, KeysOnly, NoCodes, Nothing, WithValues};
use super::pass::{Digit, ITEMS, PASS_THREADS, Payload, clear_pass, load_tile, pass_loaded};
use super::steps::{block_scan, uniform};
use super::wait::wait_for_items;
use super::ways::{PASSES, Ways};
use rungs_common::keys::UNSIGNED;
use simt::atomic::{self, Order, Order::Relaxed, Scope};
use simt::{Global, Shared, shared, thread, unroll, warp};

/// Blocks per SM of a launch that does all passes, and for how many the compiler makes room.
pub const REST_BLOCKS: u32 = 2;

/// Words of [`Passes`].
pub const PASSES_WORDS: u32 = COUNTED + 1;
/// Where the parts begin, in words: where each value of each digit starts, cursors of the first pass, in which digits
/// keys differ, how many blocks have counted, which is zero before and behind [`Passes::start`].
const STARTS: u32 = 0;
const CURSORS: u32 = STARTS + PASSES * DIGITS;
const DIFFER: u32 = CURSORS + spread(DIGITS);
const COUNTED: u32 = DIFFER + 1;

/// What the passes go by.
#[derive(Clone, Copy)]
pub struct Passes(pub Global<u32>);

impl Passes {
    /// Where each value of a digit starts.
    #[simt::device]
    pub fn starts(self, digit: u32) -> Global<u32> {
        self.0.slice(STARTS + digit * DIGITS, DIGITS)
    }

    /// The starts of the first pass, placed by [`spread`], for a pass that advances them.
    #[simt::device]
    pub fn cursors(self) -> Global<u32> {
        self.0.slice(CURSORS, spread(DIGITS))
    }

    /// In which digits keys differ, a bit each.
    #[simt::device]
    pub fn differ(self) -> u32 {
        self.0.get(DIFFER)
    }

    /// By which digits there are passes over keys alone from pass `number` on, a bit each.
    #[simt::device]
    pub fn from(self, number: u32) -> u32 {
        let (mut left, mut before) = (passes_by(self.differ()), number);
        while before > 0 {
            left &= left.wrapping_sub(1);
            before -= 1;
        }
        left
    }

    /// Turns the counts of `n` keys into starts, and zeroes them, in the last of `blocks` blocks of `WARPS` warps that
    /// are done with counting, and with their shared memory. `counts[p · 256 + d]`: how often digit p has value d.
    /// Also finds the `codes` of keys that may have some.
    #[simt::device]
    #[track_caller]
    pub fn start<const WARPS: u32>(self, counts: Global<u32>, n: u32, blocks: u32, codes: Option<Codes>) {
        let t = thread::thread_idx_x();
        thread::sync_threads(); // all threads have added their counts before the block counts as done
        let mut is_last = false;
        if t == 0 {
            // What this block has counted becomes visible before the block counts as done,
            atomic::fence(Order::AcqRel, Scope::Device);
            is_last = self.0.fetch_add(COUNTED, 1, Relaxed, Scope::Device) == blocks - 1;
            // and what the others have counted is read after that.
            atomic::fence(Order::AcqRel, Scope::Device);
        }
        if !thread::sync_threads_or(is_last) {
            return;
        }
        // All asked for at once.
        let mut mine = [0; PASSES as usize];
        if t < DIGITS {
            unroll::<{ PASSES as usize }>(|p| mine[p] = counts.load(p as u32 * DIGITS + t, Relaxed, Scope::Device));
        }
        if let Some(codes) = codes {
            codes.find::<WARPS>(mine);
        }
        let (mut differ, sums) = (0u32, Shared::<u32>::dynamic(0, warp::WARP));
        unroll::<{ PASSES as usize }>(|p| {
            let (count, p) = (mine[p], p as u32);
            let (start, _) = block_scan::<WARPS>(count, sums);
            if t < DIGITS {
                self.starts(p).set(t, start);
                counts.set(p * DIGITS + t, 0);
            }
            // Also: all have read the sums before those of the next digit are written.
            if !thread::sync_threads_or(count == n) {
                differ |= 1 << p;
            }
        });
        if t < DIGITS && differ != 0 {
            let first = passes_by(differ).trailing_zeros();
            self.cursors().set(spread(t), self.starts(first).get(t));
        }
        if t == 0 {
            self.0.set(DIFFER, differ);
            self.0.set(COUNTED, 0);
        }
    }
}

/// By which digits there are passes over keys alone, a bit each, if keys differ in those of `differ`: as many as end
/// where they began. One by a digit in which keys do not differ is a copy.
#[simt::device]
fn passes_by(differ: u32) -> u32 {
    let same = !differ & ((1 << PASSES) - 1);
    if differ.count_ones().is_multiple_of(2) { differ } else { differ | (same & same.wrapping_neg()) }
}

/// The digit of pass `number`, if there are passes by `left` from this one on. `order`: of the keys. `epoch`: of the
/// pass.
#[simt::device]
fn digit_of(left: u32, number: u32, order: u32, epoch: u32) -> Digit {
    Digit {
        shift: left.trailing_zeros() * BITS,
        encode: if number == 0 { order } else { UNSIGNED },
        decode: if left.is_power_of_two() { order } else { UNSIGNED },
        epoch,
    }
}

// The next tile of the block, and how many tiles of the pass it has done. Each is an array of its own: neighbouring
// words are loaded together, and these are written while others read the words of the step.
shared!(NEXT: [u32; 1]);
shared!(DONE: [u32; 1]);

/// The next tile of a pass: `ticket` is drawn from, and `load` gets its number.
struct Next<T, L> {
    ticket: T,
    load: L,
}

impl<T: Fn() -> Global<u32>, L: Fn(u32) -> [u32; ITEMS]> Ahead<u32> for Next<T, L> {
    #[simt::device]
    fn draw(&self) -> u32 {
        // By a thread that has no digit to look back for.
        if thread::thread_idx_x() == PASS_THREADS - 1 {
            (self.ticket)().fetch_add(0, 1, Relaxed, Scope::Device)
        } else {
            0
        }
    }

    #[simt::device]
    fn tell(&self, number: u32) {
        if thread::thread_idx_x() == PASS_THREADS - 1 {
            NEXT::view().set(0, number);
        }
    }

    #[simt::device]
    fn load(&self) -> [u32; ITEMS] {
        (self.load)(uniform(NEXT::view().get(0)))
    }
}

// The digits that are left, a bit each, with that of the pass, and the number of the pass.
shared!(STEP: [u32; 2]);
const LEFT: u32 = 0;
const NUMBER: u32 = 1;

/// All passes over keys alone from pass `first` on, in a launch of at most as many blocks as tiles. `phase`: the ticket
/// of a pass, and how many of its tiles are done, both zero.
///
/// `epoch`: as many as passes, from this one on, are numbers that `states` have not seen, 256 words per tile.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn all_passes(
    ways: Ways, order: u32, passes: Passes, first: u32, phase: impl Fn(u32) -> (Global<u32>, Global<u32>),
    states: Global<u64>, epoch: u32,
) {
    let left = passes.from(first);
    if left != 0 {
        passes_by_digits::<KeysOnly, _>(ways, order, passes, left, first, phase, states, epoch, NoCodes);
    }
}

/// All passes over pairs: by the bytes of the `codes`, if there are some, otherwise by the digits in which keys differ.
/// As [`all_passes`], but `phase` has one more, [`PASSES`], which comes first.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn all_passes_of_pairs(
    ways: Ways, order: u32, passes: Passes, codes: Codes, phase: impl Fn(u32) -> (Global<u32>, Global<u32>),
    states: Global<u64>, epoch: u32,
) {
    let coded = codes.length() != 0;
    // Read again behind the copy, so that it takes no register until then.
    let left = || match codes.length() {
        0 => passes.differ(),
        length => (1 << length) - 1,
    };
    if left() == 0 {
        return;
    }
    // Passes end where pairs began: an odd number of them starts from a copy.
    let first = || left().count_ones() % 2;
    if coded || first() != 0 {
        prepare(ways, if coded { order | CODED } else { order }, first() != 0, codes, || phase(PASSES));
    }
    // Two copies of the code: with one, which tested for codes in each tile, passes by digits took 2 to 4 % longer.
    if codes.length() != 0 {
        let order = order | CODED;
        passes_by_digits::<WithValues, _>(ways, order, passes, left(), first(), phase, states, epoch, ByTables);
    } else {
        passes_by_digits::<WithValues, _>(ways, order, passes, left(), first(), phase, states, epoch, NoCodes);
    }
}

/// The passes by the digits `left`, a bit each, or by the bytes of a code. The first one has number `first`.
#[simt::device]
#[track_caller]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
fn passes_by_digits<P: Payload, C: Coding<u32>>(
    ways: Ways, order: u32, passes: Passes, left: u32, first: u32, phase: impl Fn(u32) -> (Global<u32>, Global<u32>),
    states: Global<u64>, epoch: u32, coding: C,
) {
    // Which pass it is lies in shared memory, because registers are few.
    let (t, step) = (thread::thread_idx_x(), STEP::view());
    let (left_now, number) = (|| step.get(LEFT), || step.get(NUMBER));
    let (keys, values) = (|| ways.keys(number()), || ways.values(number()));
    let digit = || digit_of(left_now(), number(), order, epoch + number());
    let tiles = || ways.tiles();
    let load = |tile| if tile < tiles() { load_tile(tile, keys()[0], digit().encode, coding) } else { [0; ITEMS] };
    let ticket = || phase(number()).0;
    if t == 0 {
        step.set(LEFT, left);
        step.set(NUMBER, first);
    }
    thread::sync_threads(); // the first pass is known
    loop {
        if t == 0 {
            // Tickets count up, so that the tiles which a block waits for have been taken by running blocks; those that
            // a block has taken ahead it moves next, and waits for none in between.
            NEXT::view().set(0, ticket().fetch_add(0, 1, Relaxed, Scope::Device));
            DONE::view().set(0, 0);
        }
        thread::sync_threads(); // the tile is known
        let mut tile = uniform(NEXT::view().get(0));
        let mut mine = load(tile);
        while tile < tiles() {
            clear_pass();
            warp::sync_warp(warp::FULL); // the counters are zero before the warp counts its first key
            let start = || {
                let digit = left_now().trailing_zeros();
                if C::CODES { coding.start(digit) } else { passes.starts(digit).get(thread::thread_idx_x()) }
            };
            if P::VALUES {
                pass_loaded::<u32, P>(tile, mine, keys, values, digit, start, states, Nothing, coding);
                if t == 0 {
                    NEXT::view().set(0, ticket().fetch_add(0, 1, Relaxed, Scope::Device));
                }
            } else {
                let ahead = Next { ticket, load };
                mine = pass_loaded::<u32, P>(tile, mine, keys, values, digit, start, states, ahead, coding);
                tile = uniform(NEXT::view().get(0));
            }
            if t == 0 {
                DONE::view().set(0, DONE::view().get(0) + 1);
            }
            thread::sync_threads(); // all are done with the tile's shared memory, and know the next tile
            if P::VALUES {
                tile = uniform(NEXT::view().get(0));
                mine = load(tile);
            }
        }
        if left_now().is_power_of_two() {
            return;
        }
        wait_for_items(|| phase(number()), tiles, || DONE::view().get(0));
        if t == 0 {
            step.set(LEFT, left_now() & (left_now() - 1));
            step.set(NUMBER, number() + 1);
        }
        thread::sync_threads(); // the next pass is known
    }
}
