//! What the host launches, and the scratch memory in addition to the pairs.

use super::*;
use crate::buckets::{histogram_blocks, histogram_shared};
use crate::digits::{BITS, DIGITS, LAST_EPOCH, histogram_blocks as count_blocks};
use crate::from_last::{PASSES, PASSES_WORDS, REST_BLOCKS};
use crate::msd::{Mapped, Plain};
use crate::pass::{PASS_SHARED, PASS_THREADS, pass_tile};
use rungs_common::keys::{self, UNSIGNED};
use rungs_common::ladder::sort::{Pairs as KeysWithValues, Sort};
use rungs_common::ladder::*;

/// The rung.
pub static RUNG: Entry<Sort> = rung!(
    "mod.rs",
    [
        radix_msd_pairs_histogram,
        radix_msd_pairs_starts,
        radix_msd_pairs_count,
        radix_msd_pairs_pass,
        radix_msd_pairs_bucket_sort,
        radix_msd_pairs_rest,
    ]
)
.with_tiles(&[Large::TILE as u64])
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

/// The scratch memory to sort `n` pairs.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch(on: &dyn Launcher, n: u32, _: &Options) -> Result<Sorter> {
    Sorter::new(on, n)
}

/// Sorts pairs in place.
///
/// # Errors
/// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
pub fn sort(on: &dyn Launcher, pairs: KeysWithValues, sorter: &mut Sorter) -> Result {
    sorter.sort(on, pairs)
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

/// What is to be launched for `n` pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Pairs.
    pub n: u32,
    /// Top bits that buckets are told apart by; 0 if pairs go by digits whatever they are.
    pub top_bits: u32,
    /// Whether passes have the small shape.
    pub small: bool,
    /// SMs of the device.
    pub multiprocessors: u32,
}

impl Plan {
    /// For `n` pairs on a device.
    pub const fn new(n: u32, device: Device) -> Self {
        let Device { multiprocessors, shared_per_block, .. } = device;
        let (tiles, mut top_bits) = (n / Large::TILE, LEAST_TOP_BITS);
        while top_bits < 2 * MAX_BITS && n >> top_bits > BUCKET_MEAN {
            top_bits += 1;
        }
        let fits = HISTOGRAM_STATIC + histogram_shared(top_bits) <= shared_per_block;
        let suits = tiles >= TILES_BY_BUCKETS * multiprocessors && n >> top_bits <= BUCKET_MEAN;
        Self {
            n,
            top_bits: if fits && suits { top_bits } else { 0 },
            small: tiles <= TILES_SMALL * multiprocessors,
            multiprocessors,
        }
    }

    /// Bits of the two partitions.
    const fn bits(&self) -> (u32, u32) {
        let first = self.top_bits.div_ceil(2);
        (first, self.top_bits - first)
    }

    /// Slots of the second partition, empty ones included, or of the tiles of every pass.
    const fn slots(&self) -> u32 {
        let tile = if self.small { Small::TILE } else { Large::TILE };
        if self.top_bits == 0 { self.n.div_ceil(tile) } else { self.n / tile + (1 << self.bits().0) }
    }

    /// Whether buckets are sorted by small blocks.
    const fn small_buckets(&self) -> bool {
        self.n >> self.top_bits <= SMALL_MEAN
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
    /// See [`Passes`](crate::from_last::Passes); empty where the host chose the digits.
    passes: Scratch<u32>,
    /// Keys per bucket, zero before and after a sort; empty where pairs go by digits whatever they are.
    histogram: Scratch<u32>,
    /// See [`Buckets`].
    buckets: Scratch<u32>,
    /// The next number that the states have not seen.
    epoch: u32,
    /// The table of counts of the next sort.
    table: u32,
}

impl Sorter {
    fn new(on: &dyn Launcher, n: u32) -> Result<Self> {
        let plan = Plan::new(n, on.device());
        let by_buckets = plan.top_bits != 0;
        Ok(Self {
            plan,
            pairs: [on.scratch(n)?, on.scratch(if by_buckets { 0 } else { n })?],
            states: on.zeros(plan.slots() * DIGITS)?,
            control: on.zeros(CONTROL_WORDS)?,
            counts: on.zeros(2 * TABLE_WORDS)?,
            passes: on.zeros(if by_buckets { PASSES_WORDS } else { 0 })?,
            histogram: on.zeros(if by_buckets { 1 << plan.top_bits } else { 0 })?,
            buckets: on.scratch(if by_buckets { buckets_words(plan.slots()) } else { 0 })?,
            epoch: 1,
            table: 0,
        })
    }

    /// Sorts in place by way of the scratch memory.
    fn sort(&mut self, on: &dyn Launcher, pairs: KeysWithValues) -> Result {
        let plan = self.plan;
        expect_aligned("keys", pairs.keys)?;
        if plan.n == 0 {
            return Ok(());
        }
        if self.epoch > LAST_EPOCH + 1 - PASSES {
            on.clear(self.states.view())?;
            on.clear(self.control.view())?;
            self.epoch = 1;
        }
        if plan.top_bits == 0 {
            self.count_digits::<PerTwoLanes>(on, pairs, count_blocks(plan.n, plan.multiprocessors))?;
            for number in 0..PASSES {
                if plan.small { self.pass::<Small>(on, pairs, number)? } else { self.pass::<Large>(on, pairs, number)? }
            }
            self.table ^= 1;
        } else {
            self.find_buckets(on, pairs)?;
            self.count_digits::<PerLane>(on, pairs, histogram_blocks(plan.n, plan.multiprocessors))?;
            self.pass::<Partition>(on, pairs, 0)?;
            self.pass::<Partition>(on, pairs, 1)?;
            self.sort_buckets(on, pairs)?;
            self.sort_rest(on, pairs)?;
        }
        self.epoch += PASSES;
        Ok(())
    }

    /// Launches 1 and 2.
    fn find_buckets(&self, on: &dyn Launcher, KeysWithValues { keys, order, .. }: KeysWithValues) -> Result {
        let Plan { n, top_bits, multiprocessors, .. } = self.plan;
        let (histogram, control) = (self.histogram.view(), self.control.view());
        let geometry = Geometry::linear(histogram_blocks(n, multiprocessors), HISTOGRAM_THREADS);
        let geometry = geometry.shared(histogram_shared(top_bits));
        let (geometry, args) = (geometry.overlapping(), (keys, order, top_bits, histogram, control, self.epoch));
        if order == keys::UNSIGNED {
            on.launch(radix_msd_pairs_histogram::<Plain>::default(), geometry, args)?;
        } else {
            on.launch(radix_msd_pairs_histogram::<Mapped>::default(), geometry, args)?;
        }
        let (first, second) = self.plan.bits();
        let geometry = Geometry::linear(1 << first, STARTS_THREADS).overlapping();
        let most = if self.plan.small_buckets() { SmallBuckets::MOST } else { LargeBuckets::MOST };
        let args = (histogram, n, first, second, most, control, self.epoch, self.buckets.view());
        on.launch(radix_msd_pairs_starts, geometry, args)
    }

    /// Launch 3, or the first one.
    fn count_digits<C: Copies>(&self, on: &dyn Launcher, pairs: KeysWithValues, blocks: u32) -> Result
    where
        radix_msd_pairs_count<C>: Kernel<Args = CountArgs>,
    {
        let (control, buckets, passes) = (self.control.view(), self.buckets.view(), self.passes.view());
        let geometry = Geometry::linear(blocks, COUNT_THREADS).shared(C::SHARED).overlapping();
        let args = (pairs.keys, pairs.order, self.counts.view(), self.table, control, buckets, passes, self.epoch);
        on.launch(radix_msd_pairs_count::<C>::default(), geometry, args)
    }

    /// Launches 4 and 5, or a pass where the host chose the digits.
    fn pass<S: Shape>(&self, on: &dyn Launcher, pairs: KeysWithValues, number: u32) -> Result
    where
        radix_msd_pairs_pass<S, Apart>: Kernel<Args = PassArgs>,
        radix_msd_pairs_pass<S, Joined>: Kernel<Args = PassArgs>,
    {
        let ((first, second), KeysWithValues { keys, values, order }) = (self.plan.bits(), pairs);
        let (shift, bits) = match (S::BUCKETS, number) {
            (false, _) => (number * BITS, BITS),
            (true, 0) => (u32::BITS - first, first),
            (true, _) => (u32::BITS - first - second, second),
        };
        let encode = if number == 0 { order } else { UNSIGNED };
        // After partitions the bucket sort maps keys back.
        let decode = if !S::BUCKETS && number == PASSES - 1 { order } else { UNSIGNED };
        let pass = Pass { shift, bits, number, encode, decode, epoch: self.epoch + number, table: self.table };
        // The first partition has no empty slots.
        let blocks = if number == 0 { self.plan.n.div_ceil(S::TILE) } else { self.plan.slots() };
        let geometry = Geometry::linear(blocks, S::THREADS).shared(pass_shared::<S>()).overlapping();
        // The first pass writes to the first array, the second reads it, and so on.
        let [first, second] = [&self.pairs[0], &self.pairs[1]].map(|pairs| pairs.view());
        let (from, to) = if number.is_multiple_of(2) { (second, first) } else { (first, second) };
        let (control, counts, buckets) = (self.control.view(), self.counts.view(), self.buckets.view());
        let args = (keys, values, from, to, pass, control, counts, buckets, self.states.view());
        if number == 0 {
            on.launch(radix_msd_pairs_pass::<S, Apart>::default(), geometry, args)
        } else {
            on.launch(radix_msd_pairs_pass::<S, Joined>::default(), geometry, args)
        }
    }

    /// Launch 6.
    fn sort_buckets(&self, on: &dyn Launcher, pairs: KeysWithValues) -> Result {
        if self.plan.small_buckets() {
            self.sort_buckets_of::<SmallBuckets>(on, pairs)
        } else {
            self.sort_buckets_of::<LargeBuckets>(on, pairs)
        }
    }

    fn sort_buckets_of<B: Block>(&self, on: &dyn Launcher, pairs: KeysWithValues) -> Result
    where
        radix_msd_pairs_bucket_sort<B>: Kernel<Args = BucketSortArgs>,
    {
        let (KeysWithValues { keys, values, order }, top_bits) = (pairs, self.plan.top_bits);
        let geometry = Geometry::linear(1 << top_bits, B::THREADS).shared(bucket_sort_shared::<B>()).overlapping();
        let (control, buckets, histogram) = (self.control.view(), self.buckets.view(), self.histogram.view());
        let args = (keys, values, order, top_bits, control, buckets, self.epoch, histogram);
        on.launch(radix_msd_pairs_bucket_sort::<B>::default(), geometry, args)
    }

    /// Launch 7.
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
