//! Ranks of the pairs of a tile among those of the same digit, in the order of the input.
//!
//! Each half warp has a word per digit: how many of its pairs had the digit in earlier rows, and below that the set of
//! lanes that have it in this row.

use super::shape::{Learned, MAX_ITEMS, Shape};
use crate::digits::{BITS, DIGITS};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Shared, opaque, thread, unroll, warp};

/// Lanes of a half warp.
pub const HALF: u32 = warp::WARP / 2;

/// The bits of a word below the number.
const LANES: u32 = (1 << HALF) - 1;

/// From this many lanes of a half warp with the same digit on, atomics on their word would wait for each other; among
/// 256 digits drawn at random one row of 10,000 has them.
const CROWD: u32 = 4;

const _: () = assert!(Learned::ITEMS * HALF <= DIGITS && BITS == 8, "a rank by a map has eight bits");

/// Sets whose words a thread reads before it writes the first.
const GROUP: usize = 8;

/// A rank for each pair of a thread, two per word: with its pairs, it takes the registers that there are. By a map, the
/// upper half of a rank's 16 bits has the digit of the pair; a half warp has too few pairs for a rank to need it.
#[derive(Clone, Copy, Default)]
pub struct Ranks([u32; MAX_ITEMS / 2]);

impl Ranks {
    #[simt::device]
    fn set(&mut self, i: usize, rank: u32) {
        self.0[i / 2] |= rank << (i % 2 * 16);
    }

    /// The same, and adds zero to `shift`, which the compiler does not know: so it finds the digit of the next row
    /// behind this row, and not those of all rows at once, for which there are no registers.
    #[simt::device]
    fn set_and_go_on(&mut self, i: usize, rank: u32, shift: &mut u32) {
        self.set(i, rank);
        *shift += rank >> HALF;
    }

    /// Rank `i`.
    #[simt::device]
    pub fn get<S: Shape>(&self, i: usize) -> u32 {
        self.0[i / 2] >> (i % 2 * 16) & if S::MAPPED { DIGITS - 1 } else { 0xffff }
    }

    /// Notes the digit of pair `i`, before it has a rank.
    #[simt::device]
    pub fn note(&mut self, i: usize, digit: u32) {
        self.set(i, digit << BITS);
    }

    /// The noted digit of pair `i`.
    #[simt::device]
    pub fn noted(&self, i: usize) -> u32 {
        self.0[i / 2] >> (i % 2 * 16 + BITS as usize) & (DIGITS - 1)
    }
}

/// The words of all half warps of a block.
#[derive(Clone, Copy)]
pub struct Counters<S> {
    words: Shared<u32>,
    shape: core::marker::PhantomData<S>,
}

impl<S: Shape> Counters<S> {
    const SETS: u32 = S::THREADS / HALF;

    /// Bytes of shared memory.
    pub const BYTES: u32 = Self::SETS * DIGITS * 4;

    /// The words at byte `at` of dynamic shared memory.
    #[simt::device]
    pub fn at(at: u32) -> Self {
        Self { words: Shared::dynamic(at, Self::SETS * DIGITS), shape: core::marker::PhantomData }
    }

    /// Zeroes all words.
    #[simt::device]
    pub fn clear(self) {
        const PACKS: usize = (DIGITS / 4 / HALF) as usize;
        let t = opaque(thread::thread_idx_x()); // so that no address is kept until the counts are added up
        unroll::<PACKS>(|i| self.words.set_pack(i as u32 * S::THREADS + t, [0; 4]));
    }

    /// The words of this half warp.
    #[simt::device]
    fn own(self) -> Shared<u32> {
        self.words.slice(thread::thread_idx_x() / HALF * DIGITS, DIGITS)
    }

    /// The rank of each key of this thread among those of its half warp. `digit` finds the digit of a key by its index
    /// and the digit's first bit, `shift`, or in `ranks`, which has no ranks yet.
    #[simt::device]
    #[track_caller]
    pub fn rank(self, shift: u32, mut ranks: Ranks, digit: impl Fn(&Ranks, usize, u32) -> u32) -> Ranks {
        let own = self.own();
        let first_digit = digit(&ranks, 0, shift);
        let (rank, alike) = by_sets(first_digit, own);
        ranks.set(0, rank);
        if !warp::any(warp::FULL, alike >= CROWD) {
            let mut shift = shift;
            S::others(|i| {
                let (rank, _) = by_sets(digit(&ranks, i, shift), own);
                ranks.set_and_go_on(i, rank, &mut shift);
            });
            return ranks;
        }
        let shift = opaque(shift); // so that the digits of the other branch take no registers here
        let first = warp::shuffle(warp::FULL, digit(&ranks, 0, shift), 0);
        let mut differ = digit(&ranks, 0, shift) ^ first;
        S::others(|i| differ |= digit(&ranks, i, shift) ^ first);
        if warp::all(warp::FULL, differ == 0) {
            // The pairs of a single digit are ranked as they stand.
            let lane = warp::lane_id() % HALF;
            S::others(|i| ranks.set(i, i as u32 * HALF + lane));
            if lane == 0 {
                own.set(first, (S::ITEMS * HALF) << HALF);
            }
        } else {
            // The digit that most lanes of a half warp had in the first row.
            let hot = warp::reduce_max(warp::FULL, alike << BITS | digit(&ranks, 0, shift)) & (DIGITS - 1);
            let mut shift = opaque(shift); // nor do those that have been compared
            S::others(|i| {
                let rank = by_votes(digit(&ranks, i, shift), hot, own);
                ranks.set_and_go_on(i, rank, &mut shift);
            });
        }
        ranks
    }

    /// How many pairs of the tile have the digit.
    #[simt::device]
    pub fn total(self, digit: u32) -> u32 {
        let mut sum = 0;
        self.each_group(digit, |_, words| unroll::<GROUP>(|s| sum += words[s] >> HALF));
        sum
    }

    /// Makes the words of a digit places in the tile, from `start` on, set by set.
    #[simt::device]
    pub fn start(self, digit: u32, start: u32) {
        let mut next = start;
        self.each_group(digit, |first, words| {
            unroll::<GROUP>(|s| {
                self.words.set((first + s as u32) * DIGITS + digit, next);
                next += words[s] >> HALF;
            });
        });
    }

    /// Where the pairs of a digit begin that this half warp has, once [`Counters::start`] has run for all digits.
    #[simt::device]
    pub fn place(self, digit: u32) -> u32 {
        self.own().get(digit)
    }

    /// The word for a digit's offset, one of the half warp of the thread whose number the digit is, once it is free.
    #[simt::device]
    pub fn offset(self, digit: u32) -> Shared<u32> {
        self.words.slice(digit / HALF * DIGITS + digit, 1)
    }

    /// Calls `f` with the words of a digit, [`GROUP`] sets at a time, and the first of those sets.
    #[simt::device]
    fn each_group(self, digit: u32, mut f: impl FnMut(u32, [u32; GROUP])) {
        const { assert!(Self::SETS.is_multiple_of(GROUP as u32) && Self::SETS <= 8 * GROUP as u32) };
        unroll::<8>(|g| {
            let first = (g * GROUP) as u32;
            if first < Self::SETS {
                let mut words = [0; GROUP];
                unroll::<GROUP>(|s| words[s] = self.words.get((first + s as u32) * DIGITS + digit));
                f(first, words);
            }
        });
    }
}

/// The rank of this lane's digit in a row, and how many lanes of the half warp have the digit.
#[simt::device]
#[track_caller]
fn by_sets(digit: u32, own: Shared<u32>) -> (u32, u32) {
    let lane = warp::lane_id() % HALF;
    own.fetch_add(digit, 1 << lane, Relaxed, Scope::Block);
    warp::sync_warp(warp::FULL); // every lane is in its set before the sets are read
    let word = own.get(digit);
    let rank = (word >> HALF) + (word & ((1 << lane) - 1)).count_ones();
    warp::sync_warp(warp::FULL); // all lanes have read before the last of each digit writes
    if (word & LANES) >> lane == 1 {
        own.set(digit, (rank + 1) << HALF);
    }
    warp::sync_warp(warp::FULL); // numbers are up to date, and sets empty, before the next row
    (rank, (word & LANES).count_ones())
}

/// The same rank, where many lanes have the same digit: those with the digit that is `hot` find each other by a vote,
/// and then those with the digit of the first lane that is left, so that their atomics do not wait for each other.
#[simt::device]
#[track_caller]
fn by_votes(digit: u32, hot: u32, own: Shared<u32>) -> u32 {
    let (lane, begin) = (warp::lane_id() % HALF, warp::lane_id() & HALF);
    let lanes_with = |it: bool| warp::ballot(warp::FULL, it) >> begin & LANES;
    let is_hot = digit == hot;
    let hot_lanes = lanes_with(is_hot);
    // If all lanes are hot, any lane will do.
    let leader = (!hot_lanes).trailing_zeros() % HALF;
    let is_led = digit == warp::shuffle(warp::FULL, digit, begin + leader);
    let led_lanes = lanes_with(is_led);
    if !is_hot && !is_led {
        own.fetch_add(digit, 1 << lane, Relaxed, Scope::Block);
    }
    warp::sync_warp(warp::FULL); // every other lane is in its set before the sets are read
    let word = own.get(digit);
    let same = if is_hot {
        hot_lanes
    } else if is_led {
        led_lanes
    } else {
        word & LANES
    };
    let rank = (word >> HALF) + (same & ((1 << lane) - 1)).count_ones();
    warp::sync_warp(warp::FULL); // all lanes have read before the last of each digit writes
    if same >> lane == 1 {
        own.set(digit, (rank + 1) << HALF);
    }
    warp::sync_warp(warp::FULL); // numbers are up to date, and sets empty, before the next row
    rank
}
