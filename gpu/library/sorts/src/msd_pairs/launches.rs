//! What the host launches, and the scratch memory in addition to the pairs.

use super::linear::second_bits;
use super::*;
use crate::buckets::{histogram_blocks, histogram_shared};
use crate::codes::CODES_WORDS;
use crate::digits::{BITS, DIGITS, LAST_EPOCH, histogram_blocks as count_blocks};
use crate::either::network::pair_network_shared;
use crate::from_last::{PASSES_WORDS, REST_BLOCKS};
use crate::learned::{
    ABOUT, COUNT_WORDS, LEARN_THREADS, MAP_WORDS, NUMBER_BITS, learn_blocks, learned_histogram_shared,
    radix_learned_map,
};
use crate::msd::{Mapped, Plain, is_float};
use crate::pass::{PASS_SHARED, PASS_THREADS, pass_tile};
use crate::ways::PASSES;
use rungs_common::keys::{self, UNSIGNED};
use rungs_common::ladder::sort::{Pairs as KeysWithValues, Sort};
use rungs_common::ladder::*;

/// The rung.
pub static RUNG: Entry<Sort> = rung!(
    "mod.rs",
    [
        radix_msd_pairs_histogram,
        radix_msd_pairs_histogram_learned,
        radix_msd_pairs_starts,
        radix_msd_pairs_count,
        radix_msd_pairs_pass,
        radix_msd_pairs_bucket_sort,
        radix_msd_pairs_oversized,
        radix_msd_pairs_rest,
        radix_msd_pairs_one_block,
    ]
)
.with_tiles(&[ONE_BLOCK_PAIRS as u64, Large::TILE as u64])
.refusing(|ask| {
    let (there, needed) = (ask.device.shared_per_block, SHARED);
    (there < needed).then(|| format!("msd-pairs needs {needed} bytes of shared memory per block, not {there}"))
})
.run_by(Sort::pairs(&Functions { scratch, run: sort }));

/// Bytes of shared memory per block of the kernel that needs most.
const SHARED: u32 = PerLane::SHARED;
// Two blocks, with 1 KiB each for the system, leave 60 KiB of L1 cache and not 28. It gathers writes.
const _: () = assert!(pass_shared::<Large>() + PASS_STATIC + 1024 <= 98 << 10 && pass_shared::<Small>() < SHARED);
const _: () = assert!(Partition::TILE == pass_tile::<u32>() && Partition::TILE == Large::TILE, "they share states");
const _: () = assert!(Learned::TILE == Partition::TILE, "they share tiles");

/// The scratch memory to sort `n` pairs; none if they fit a block.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch(on: &dyn Launcher, n: u32, _: &Options) -> Result<Option<Sorter>> {
    (n > ONE_BLOCK_PAIRS).then(|| Sorter::new(on, n)).transpose()
}

/// Sorts pairs in place.
///
/// # Errors
/// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
pub fn sort(on: &dyn Launcher, pairs: KeysWithValues, memory: &mut Option<Sorter>) -> Result {
    let KeysWithValues { keys, values, order } = pairs;
    expect_aligned("keys", keys)?;
    match memory {
        Some(sorter) => sorter.sort(on, pairs),
        None if keys.is_empty() => Ok(()),
        None => {
            let shared = bucket_sort_shared::<LearnedBuckets>().max(pair_network_shared());
            let geometry = Geometry::linear(1, LearnedBuckets::THREADS).shared(shared).overlapping();
            on.launch(radix_msd_pairs_one_block, geometry, (keys, values, order))
        }
    }
}

/// From this many large tiles per SM on pairs go by buckets. On an H200 that is from 3.2 million pairs on:
/// buckets took 117 µs for 2²¹ pairs and 151 µs for 2²², digits 84 and 162.
pub const TILES_BY_BUCKETS: u32 = 3;

/// Up to this many large tiles per SM passes have the small shape: on an H200 2¹⁶ pairs took 29 µs with it
/// and 37 µs with the large one, 2²⁰ pairs 57 and 64, 2²¹ pairs 92 and 84.
const TILES_SMALL: u32 = 1;

/// Most pairs that a bucket of uniform input has on average, 7.5 standard deviations below what fits a block.
const BUCKET_MEAN: u32 = 4096;
/// The same for the small blocks, 9.7 standard deviations below.
const SMALL_MEAN: u32 = 2200;

/// Most pairs that a bucket by a map has on average: one that is 1.3 times as large fits a block.
const LEARNED_MEAN: u32 = 4700;

/// Fewest bits of a bucket's number by a map.
const LEAST_MAP_BITS: u32 = 8;

/// Most pairs of a bucket by a map among `n`: two pieces, and one more for each of this number of pairs. What is before
/// the range of a map or behind it grows with the number of pairs.
const PAIRS_PER_PIECE: u32 = 1 << 25;

/// What is to be launched for `n` pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Pairs.
    pub n: u32,
    /// Bits of a bucket's number; 0 if pairs go by digits whatever they are.
    pub bits: u32,
    /// The same by a learned map, at most as many; 0 if pairs of floats go as others do.
    pub map_bits: u32,
    /// Whether passes have the small shape.
    pub small: bool,
    /// SMs of the device.
    pub multiprocessors: u32,
}

impl Plan {
    /// For `n` pairs on a device.
    pub const fn new(n: u32, device: Device) -> Self {
        let Device { multiprocessors, shared_per_block, .. } = device;
        let (tiles, mut bits) = (n / Large::TILE, LEAST_TOP_BITS);
        while bits < 2 * MAX_BITS && n >> bits > BUCKET_MEAN {
            bits += 1;
        }
        let fits = HISTOGRAM_STATIC + histogram_shared(bits) <= shared_per_block;
        let suits = tiles >= TILES_BY_BUCKETS * multiprocessors && n >> bits <= BUCKET_MEAN;
        let mut map_bits = LEAST_MAP_BITS;
        while map_bits < NUMBER_BITS && n > (ABOUT >> (NUMBER_BITS - map_bits)) * LEARNED_MEAN {
            map_bits += 1;
        }
        let map_fits = HISTOGRAM_STATIC + learned_histogram_shared(map_bits) <= shared_per_block;
        Self {
            n,
            bits: if fits && suits { bits } else { 0 },
            map_bits: if fits && suits && map_fits { map_bits } else { 0 },
            small: tiles <= TILES_SMALL * multiprocessors,
            multiprocessors,
        }
    }

    /// Bits of a bucket's number.
    const fn bits(&self, by_map: bool) -> u32 {
        if by_map { self.map_bits } else { self.bits }
    }

    /// Bits of the two partitions.
    const fn parts(&self, by_map: bool) -> (u32, u32) {
        let second = second_bits(self.bits(by_map));
        (self.bits(by_map) - second, second)
    }

    /// Slots of the second partition, empty ones included, or of the tiles of every pass.
    const fn slots(&self, by_map: bool) -> u32 {
        let tile = if self.small { Small::TILE } else { Large::TILE };
        if self.bits == 0 { self.n.div_ceil(tile) } else { self.n / tile + (1 << self.parts(by_map).0) }
    }

    /// Most pairs of a bucket.
    const fn most(&self, by_map: bool) -> u32 {
        if by_map {
            (2 + self.n / PAIRS_PER_PIECE) * PIECE
        } else if self.small_buckets() {
            SmallBuckets::MOST
        } else {
            PIECE
        }
    }

    /// Whether buckets are sorted by small blocks.
    const fn small_buckets(&self) -> bool {
        self.n >> self.bits <= SMALL_MEAN
    }
}

/// The scratch memory of one sort after the other. Two sorts at once need two.
pub struct Sorter {
    plan: Plan,
    /// Two arrays of as many pairs as there are; the second is empty where the device chooses.
    pairs: [Scratch<u64>; 2],
    states: Scratch<u64>,
    control: Scratch<u32>,
    /// Two tables of counts of digits, zero between sorts where the next sort counts.
    counts: Scratch<u32>,
    /// See [`Passes`](crate::from_last::Passes), and behind it [`Codes`](crate::codes::Codes); empty where the host
    /// chose the digits.
    passes: Scratch<u32>,
    /// Keys per bucket, zero before and after a sort; empty where pairs go by digits whatever they are.
    histogram: Scratch<u32>,
    /// See [`Buckets`].
    buckets: Scratch<u32>,
    /// What a map is learned with, zero before and after a sort, and behind it the map; empty if there is none.
    learn: Scratch<u32>,
    /// The next number that the states have not seen.
    epoch: u32,
    /// The table of counts of the next sort.
    table: u32,
}

impl Sorter {
    fn new(on: &dyn Launcher, n: u32) -> Result<Self> {
        let plan = Plan::new(n, on.device());
        let by_buckets = plan.bits != 0;
        Ok(Self {
            plan,
            pairs: [on.scratch(n)?, on.scratch(if by_buckets { 0 } else { n })?],
            states: on.zeros(plan.slots(false) * DIGITS)?,
            control: on.zeros(CONTROL_WORDS)?,
            counts: on.zeros(2 * TABLE_WORDS)?,
            passes: on.zeros(if by_buckets { PASSES_WORDS + CODES_WORDS } else { 0 })?,
            histogram: on.zeros(if by_buckets { 1 << plan.bits } else { 0 })?,
            // Behind other zeroes, so that one fill zeroes all.
            learn: on.zeros(if plan.map_bits != 0 { COUNT_WORDS + MAP_WORDS } else { 0 })?,
            buckets: on.scratch(if by_buckets { buckets_words(plan.slots(false)) } else { 0 })?,
            epoch: 1,
            table: 0,
        })
    }

    /// Sorts in place by way of the scratch memory.
    fn sort(&mut self, on: &dyn Launcher, pairs: KeysWithValues) -> Result {
        let plan = self.plan;
        if self.epoch > LAST_EPOCH + 1 - PASSES {
            on.clear(self.states.view())?;
            on.clear(self.control.view())?;
            self.epoch = 1;
        }
        if plan.bits == 0 {
            self.count_digits::<PerTwoLanes>(on, pairs, count_blocks(plan.n, plan.multiprocessors))?;
            for number in 0..PASSES {
                if plan.small { self.pass::<Small>(on, pairs, number)? } else { self.pass::<Large>(on, pairs, number)? }
            }
            self.table ^= 1;
        } else {
            let by_map = is_float(pairs.order) && plan.map_bits != 0;
            if by_map {
                self.learn(on, pairs)?
            } else {
                self.count_buckets(on, pairs)?
            }
            self.start_buckets(on, by_map)?;
            self.count_digits::<PerLane>(on, pairs, histogram_blocks(plan.n, plan.multiprocessors))?;
            for number in 0..2 {
                if by_map {
                    self.pass::<Learned>(on, pairs, number)?;
                } else {
                    self.pass::<Partition>(on, pairs, number)?;
                }
            }
            if by_map {
                self.sort_buckets_of::<LearnedBuckets>(on, pairs)?;
            } else if plan.small_buckets() {
                self.sort_buckets_of::<SmallBuckets>(on, pairs)?;
            } else {
                self.sort_buckets_of::<LargeBuckets>(on, pairs)?;
            }
            self.sort_rest(on, pairs)?;
        }
        self.epoch += PASSES;
        Ok(())
    }

    /// What learns a map, and the map.
    fn map(&self) -> (Global<u32>, Global<u32>) {
        let words = self.learn.view();
        let counts = COUNT_WORDS.min(words.len());
        (words.slice(0, counts), words.slice(counts, words.len() - counts))
    }

    /// The two launches before the starts, by a map.
    fn learn(&self, on: &dyn Launcher, KeysWithValues { keys, order, .. }: KeysWithValues) -> Result {
        let plan @ Plan { n, map_bits, multiprocessors, .. } = self.plan;
        let ((counts, map), histogram, control) = (self.map(), self.histogram.view(), self.control.view());
        let geometry = Geometry::linear(learn_blocks(n), LEARN_THREADS).overlapping();
        on.launch(radix_learned_map::<u32, Mapped>::default(), geometry, (keys, order, counts, map))?;
        let geometry = Geometry::linear(histogram_blocks(n, multiprocessors), HISTOGRAM_THREADS);
        let geometry = geometry.shared(learned_histogram_shared(map_bits)).overlapping();
        // Twice the share of a sample that the largest bucket has.
        let share = 2 * u64::from(SAMPLE) * u64::from(plan.most(true)) / u64::from(n);
        let skewed = SKEWED.max(share as u32);
        let args = (keys, order, map_bits, skewed, map, histogram, control, self.epoch);
        on.launch(radix_msd_pairs_histogram_learned, geometry, args)
    }

    /// Launch 1, by the linear map.
    fn count_buckets(&self, on: &dyn Launcher, KeysWithValues { keys, order, .. }: KeysWithValues) -> Result {
        let Plan { n, bits, multiprocessors, .. } = self.plan;
        let (histogram, control) = (self.histogram.view(), self.control.view());
        let geometry = Geometry::linear(histogram_blocks(n, multiprocessors), HISTOGRAM_THREADS);
        let geometry = geometry.shared(histogram_shared(bits));
        let (geometry, args) = (geometry.overlapping(), (keys, order, bits, histogram, control, self.epoch));
        if order == keys::UNSIGNED {
            on.launch(radix_msd_pairs_histogram::<Plain>::default(), geometry, args)
        } else {
            on.launch(radix_msd_pairs_histogram::<Mapped>::default(), geometry, args)
        }
    }

    /// The launch that finds where buckets start.
    fn start_buckets(&self, on: &dyn Launcher, by_map: bool) -> Result {
        let (plan, (first, second)) = (self.plan, self.plan.parts(by_map));
        let geometry = Geometry::linear(1 << first, STARTS_THREADS).overlapping();
        let histogram = self.histogram.view().slice(0, 1 << plan.bits(by_map));
        let args =
            (histogram, plan.n, first, second, plan.most(by_map), self.control.view(), self.epoch, self.buckets.view());
        on.launch(radix_msd_pairs_starts, geometry, args)
    }

    /// The launch that counts digits.
    fn count_digits<C: Copies>(&self, on: &dyn Launcher, pairs: KeysWithValues, blocks: u32) -> Result
    where
        radix_msd_pairs_count<C>: Kernel<Args = CountArgs>,
    {
        let (control, buckets, passes) = (self.control.view(), self.buckets.view(), self.passes.view());
        let geometry = Geometry::linear(blocks, COUNT_THREADS).shared(C::SHARED).overlapping();
        let args = (pairs.keys, pairs.order, self.counts.view(), self.table, control, buckets, passes, self.epoch);
        on.launch(radix_msd_pairs_count::<C>::default(), geometry, args)
    }

    /// A partition, or a pass where the host chose the digits.
    fn pass<S: Shape>(&self, on: &dyn Launcher, pairs: KeysWithValues, number: u32) -> Result
    where
        radix_msd_pairs_pass<S, Apart>: Kernel<Args = PassArgs>,
        radix_msd_pairs_pass<S, Joined>: Kernel<Args = PassArgs>,
    {
        let ((first, second), KeysWithValues { keys, values, order }) = (self.plan.parts(S::MAPPED), pairs);
        let all = if S::MAPPED { NUMBER_BITS } else { self.plan.bits };
        let (shift, bits) = match (S::BUCKETS, number) {
            (false, _) => (number * BITS, BITS),
            (true, 0) => (all - first, first),
            (true, _) => (all - first - second, second),
        };
        let encode = if number == 0 { order } else { UNSIGNED };
        // After partitions the bucket sort maps keys back.
        let decode = if !S::BUCKETS && number == PASSES - 1 { order } else { UNSIGNED };
        let pass = Pass { shift, bits, number, encode, decode, epoch: self.epoch + number, table: self.table };
        // The first partition has no empty slots.
        let blocks = if number == 0 { self.plan.n.div_ceil(S::TILE) } else { self.plan.slots(S::MAPPED) };
        let geometry = Geometry::linear(blocks, S::THREADS).shared(pass_shared::<S>()).overlapping();
        // The first pass writes to the first array, the second reads it, and so on.
        let [first, second] = [&self.pairs[0], &self.pairs[1]].map(|pairs| pairs.view());
        let (from, to) = if number.is_multiple_of(2) { (second, first) } else { (first, second) };
        let (control, buckets) = (self.control.view(), self.buckets.view());
        let counts = if S::MAPPED { self.map().1 } else { self.counts.view() };
        let args = (keys, values, from, to, pass, control, counts, buckets, self.states.view());
        if number == 0 {
            on.launch(radix_msd_pairs_pass::<S, Apart>::default(), geometry, args)
        } else {
            on.launch(radix_msd_pairs_pass::<S, Joined>::default(), geometry, args)
        }
    }

    /// The launches that sort the buckets.
    fn sort_buckets_of<B: Block>(&self, on: &dyn Launcher, pairs: KeysWithValues) -> Result
    where
        radix_msd_pairs_bucket_sort<B>: Kernel<Args = BucketSortArgs>,
    {
        let (KeysWithValues { keys, values, order }, bits) = (pairs, self.plan.bits(B::MAPPED));
        let geometry = Geometry::linear(1 << bits, B::THREADS).shared(bucket_sort_shared::<B>()).overlapping();
        let (control, buckets, histogram) = (self.control.view(), self.buckets.view(), self.histogram.view());
        let args = (keys, values, order, bits, control, buckets, self.epoch, histogram);
        on.launch(radix_msd_pairs_bucket_sort::<B>::default(), geometry, args)?;
        if self.plan.most(B::MAPPED) <= B::MOST {
            return Ok(());
        }
        // What does not fit a block; a thread for each bucket at least.
        let blocks = (OVERSIZED_BLOCKS * self.plan.multiprocessors).max((1u32 << bits).div_ceil(OVERSIZED_THREADS));
        let shared = bucket_sort_shared::<LearnedBuckets>();
        let geometry = Geometry::linear(blocks, OVERSIZED_THREADS).shared(shared).overlapping();
        let args = (keys, values, self.pairs[0].view(), order, bits, B::MOST, control, buckets, self.epoch);
        on.launch(radix_msd_pairs_oversized, geometry, args)
    }

    /// The last launch.
    fn sort_rest(&self, on: &dyn Launcher, KeysWithValues { keys, values, order }: KeysWithValues) -> Result {
        let Plan { n, multiprocessors, .. } = self.plan;
        let blocks = n.div_ceil(pass_tile::<u32>()).min(REST_BLOCKS * multiprocessors);
        let geometry = Geometry::linear(blocks, PASS_THREADS).shared(PASS_SHARED).overlapping();
        let (control, buckets, passes) = (self.control.view(), self.buckets.view(), self.passes.view());
        let (other, states) = (self.pairs[0].view(), self.states.view());
        let args = (keys, values, other, order, control, buckets, passes, states, self.epoch);
        on.launch(radix_msd_pairs_rest, geometry, args)
    }
}

/// The arguments of the count.
type CountArgs = (Global<u32>, u32, Global<u32>, u32, Global<u32>, Global<u32>, Global<u32>, u32);

/// The arguments of a pass.
type PassArgs =
    (Global<u32>, Global<u32>, Global<u64>, Global<u64>, Pass, Global<u32>, Global<u32>, Global<u32>, Global<u64>);

/// The arguments of the bucket sort.
type BucketSortArgs = (Global<u32>, Global<u32>, u32, u32, Global<u32>, Global<u32>, u32, Global<u32>);
