//! The tile of a block in a pass: which pairs it has, by which digit they go, and how they come in and go out.

use super::linear::Written;
use super::ranks::{Counters, HALF, Ranks};
use super::shape::{GROUP, MAX_ITEMS, Shape};
use super::{Buckets, Origin, Pass, TABLE_WORDS, TICKETS};
use crate::digits::DIGITS;
use crate::msd::{spread, static_shared};
use crate::steps::Digits;
use core::marker::PhantomData;
use rungs_common::keys::Word;
use rungs_common::operator::{Sum, warp_scan_inclusive};
use simt::atomic::{Order::Relaxed, Scope};
use simt::math::mul_hi;
use simt::{Global, Shared, opaque, shared, thread, unroll, warp};

/// Warps that have a digit per thread.
const WARPS: u32 = DIGITS / warp::WARP;

shared!(TAKEN: [u32; 1]);
shared!(SUMS: [u32; 2 * WARPS]);

/// Bytes of static shared memory.
pub const PASS_STATIC: u32 = static_shared(4 * (1 + 2 * WARPS));

/// By which digit a pass goes, and where its values start.
pub struct DigitOf {
    pub pass: Pass,
    pub counts: Global<u32>,
    pub buckets: Global<u32>,
}

impl DigitOf {
    /// For the digit of this thread, one of the first [`DIGITS`]: where it starts in the output, or, by digits, how
    /// often the input has it.
    #[simt::device]
    pub fn place<S: Shape>(&self, tile: &Tile<S>) -> u32 {
        let (t, Pass { number, table, .. }) = (thread::thread_idx_x(), self.pass);
        if t >= DIGITS || t > tile.mask {
            0
        } else if !S::BUCKETS {
            self.counts.get(table * TABLE_WORDS + number * DIGITS + t)
        } else if number == 0 {
            Buckets::new(self.buckets).first.get(spread(t))
        } else {
            // Anew, so that no address takes registers from the beginning on.
            Buckets::new(self.buckets).starts.get(opaque(tile.bucket) + t)
        }
    }
}

/// Pairs of one thread.
pub struct Pairs {
    pub keys: [u32; MAX_ITEMS],
    pub values: [u32; MAX_ITEMS],
}

/// The pairs of a block: `count` of the input, from pair `begin` on.
pub struct Tile<S> {
    /// Where it publishes its counts, in the order in which tiles are taken.
    pub slot: u32,
    begin: u32,
    pub count: u32,
    /// How many slots before have tiles whose pairs come before this tile's in the output, digit by digit.
    pub before: u32,
    /// The first bucket of the second partition.
    bucket: u32,
    /// The first bit of the digit in the key; by a linear map the least key of its span.
    pub shift: u32,
    pub mask: u32,
    /// By a linear map: the scale of the digit and what is before it in a bucket's number.
    scale: u32,
    /// A key with the largest digit.
    largest: u32,
    /// Where the first row of this thread's half warp has the thread's pair.
    first: u32,
    shape: PhantomData<S>,
}

impl<S: Shape> Tile<S> {
    /// Takes tiles in order, so that those which a block waits for have been taken by running blocks. None if there is
    /// no tile for the block.
    #[simt::device]
    #[track_caller]
    pub fn take(plan: &DigitOf, control: Global<u32>, n: u32) -> Option<Self> {
        let (t, number) = (thread::thread_idx_x(), plan.pass.number);
        if t == 0 {
            TAKEN::view().set(0, control.fetch_add(TICKETS + number, 1, Relaxed, Scope::Device));
        }
        thread::sync_threads(); // the tile is known, and all counters are zero
        let slot = TAKEN::view().get(0);
        let Pass { shift, bits, .. } = plan.pass;
        let mask = (1 << bits) - 1;
        let first = t / HALF * (S::ITEMS * HALF) + t % HALF;
        let tile = |begin, count, before, bucket| {
            let (mut shift, mut scale, mut largest) = (shift, 0, u32::LARGEST);
            if S::LINEAR {
                let map = Written::read(control);
                if count < S::TILE {
                    largest = map.first_of((bucket | mask) << shift);
                }
                (shift, scale) = (map.least(), map.scale() >> shift);
            }
            let shape = PhantomData;
            Some(Self { slot, begin, count, before, bucket, shift, mask, scale, largest, first, shape })
        };
        if S::BUCKETS && number == 1 {
            let Buckets { starts, tiles, .. } = Buckets::new(plan.buckets);
            let [begin, end, bucket, _] = tiles.get_pack(slot);
            if begin == end {
                return None;
            }
            // The slots of the tiles of value q of the first bits begin at its start / pairs per tile + q.
            let slots = starts.get(bucket) / S::TILE + (bucket >> bits);
            tile(begin, end - begin, slot - slots, bucket)
        } else {
            if slot >= n.div_ceil(S::TILE) {
                return None;
            }
            let begin = slot * S::TILE;
            tile(begin, (n - begin).min(S::TILE), slot, 0)
        }
    }

    /// The keys of this thread, mapped, and the values if they lie next to them. A pair past the end counts as one with
    /// the largest digit: it is the last of it, and is not stored.
    #[simt::device]
    pub fn load<O: Origin>(&self, keys: Global<u32>, pairs: Global<u64>, pass: Pass) -> Pairs {
        let mut mine = Pairs { keys: [self.largest; MAX_ITEMS], values: [0; MAX_ITEMS] };
        if O::APART {
            self.read(keys, |i, key| mine.keys[i] = key.encode(pass.encode));
        } else {
            // Opaque, so that the compiler keeps a value in one register, not in the upper half of two.
            self.read(pairs, |i, pair| (mine.keys[i], mine.values[i]) = (pair as u32, opaque((pair >> 32) as u32)));
        }
        mine
    }

    /// Notes the digits of this thread's pairs, which `digit` finds: to find them again takes longer than a byte each.
    /// A pair past the end has the largest digit, as in [`Tile::load`].
    #[simt::device]
    pub fn note(&self, mine: &Pairs, ranks: &mut Ranks, digit: impl Fn(u32) -> u32) {
        S::each(|i| {
            let is_there = self.first + i as u32 * HALF < self.count;
            ranks.note(i, if is_there { digit(mine.keys[i]) } else { self.mask });
        });
    }

    /// The digit of pair `i` of this thread. `shift`: that of the tile.
    #[simt::device]
    pub fn digit(&self, mine: &Pairs, ranks: &Ranks, i: usize, shift: u32) -> u32 {
        if S::MAPPED { ranks.noted(i) } else { self.digit_of(mine.keys[i], shift) }
    }

    /// The digit of a key where no learned map says it.
    #[simt::device]
    pub fn digit_of(&self, key: u32, shift: u32) -> u32 {
        let number = if S::LINEAR { mul_hi(key.wrapping_sub(shift), self.scale) } else { key >> shift };
        number & self.mask
    }

    /// Calls `f` with the index and the content of each element that the tile has for this thread.
    #[simt::device]
    pub fn read<T: simt::Scalar>(&self, input: Global<T>, mut f: impl FnMut(usize, T)) {
        let mine = input.slice(self.begin, self.count);
        if self.count == S::TILE {
            let mine = mine.slice(self.first, self.count - self.first);
            S::each(|i| f(i, mine.get_streaming(i as u32 * HALF)));
        } else {
            // Made again for keys and for values: the tests take no registers in between.
            let first = opaque(self.first);
            S::each(|i| {
                if first + i as u32 * HALF < self.count {
                    f(i, mine.get_streaming(first + i as u32 * HALF));
                }
            });
        }
    }

    /// Puts the pairs of this thread where they belong in the tile.
    #[simt::device]
    pub fn scatter(&self, mine: &Pairs, ranks: &Ranks, counters: Counters<S>, sorted: Shared<u64>) {
        // The digits are found again, rather than kept in registers since the ranks.
        let shift = opaque(self.shift);
        S::each_group(|first| {
            let mut places = [0; GROUP];
            unroll::<GROUP>(|j| {
                let i = first + j;
                places[j] = counters.place(self.digit(mine, ranks, i, shift)) + ranks.get::<S>(i);
            });
            unroll::<GROUP>(|j| {
                let i = first + j;
                sorted.set(places[j], mine.keys[i] as u64 | (mine.values[i] as u64) << 32);
            });
        });
    }

    /// For the digit of this thread the numbers of pairs in the tile and in the input that come before it. Only the
    /// threads of a digit get them. `place`: see [`DigitOf::place`].
    #[simt::device]
    #[track_caller]
    pub fn scan(&self, total: u32, place: u32) -> (u32, u32) {
        let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
        let (w, sums) = (t / warp::WARP, SUMS::view());
        let count = if S::BUCKETS { 0 } else { place };
        let (mut in_tile, mut in_all) = (0, 0);
        if t < DIGITS {
            (in_tile, in_all) = (warp_scan_inclusive::<Sum, u32>(total), warp_scan_inclusive::<Sum, u32>(count));
            if lane == warp::WARP - 1 {
                sums.set(w, in_tile);
                sums.set(WARPS + w, in_all);
            }
        }
        thread::sync_threads(); // every warp's sums are there before they are added up
        if t < DIGITS {
            let below = |first: u32| warp::reduce_add(warp::FULL, if lane < w { sums.get(first + lane) } else { 0 });
            (in_tile, in_all) = (below(0) + in_tile - total, below(WARPS) + in_all - count);
        }
        (in_tile, if S::BUCKETS { place } else { in_all })
    }

    /// Calls `put` with the place in the output and each of the sorted pairs. `digit`: that of a key.
    #[simt::device]
    #[rustfmt::skip]
    pub fn store(
        &self, sorted: Shared<u64>, counters: Counters<S>, digit: impl Fn(u32) -> u32, put: impl Fn(u32, u64),
    ) {
        let to = |place: u32, pair: u64| counters.offset(digit(pair as u32)).get(0).wrapping_add(place);
        let t = opaque(thread::thread_idx_x());
        if self.count == S::TILE {
            S::each_group(|first| {
                let (mut found, mut places) = ([0; GROUP], [0; GROUP]);
                let place = |j: usize| (first + j) as u32 * S::THREADS + t;
                unroll::<GROUP>(|j| found[j] = sorted.get(place(j)));
                unroll::<GROUP>(|j| places[j] = to(place(j), found[j]));
                unroll::<GROUP>(|j| put(places[j], found[j]));
            });
        } else {
            let (mut place, step) = (t, opaque(S::THREADS)); // not a constant, so that the loop stays one
            while place < self.count {
                let pair = sorted.get(place);
                put(to(place, pair), pair);
                place += step;
            }
        }
    }
}
