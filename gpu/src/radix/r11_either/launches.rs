//! What the host launches, and the memory that it needs beside the keys.

use super::*;
use crate::keys::{self, UNSIGNED};
use crate::ladder::sort::{Keys as Input, Sort, Sorts};
use crate::ladder::*;
use crate::radix::digits::{BITS, HISTOGRAM_THREADS, LAST_EPOCH, histogram_blocks};
use crate::radix::msd::{Mapped, Plain, bucket_max, bucket_sort_shared, bucket_sort_threads};
use crate::radix::r7_onesweep::{HISTOGRAM_SHARED, PASS_SHARED, pass_tile, radix_onesweep_histogram};
use crate::radix::r8_msd_buckets::launches::launch;
use crate::radix::r8_msd_buckets::{MAX_KEYS, partition_shared, partition_threads, radix_msd_buckets_partition};
use crate::radix::r9_msd_skewed::launches::{MsdSkewed, list_words};
use crate::radix::r9_msd_skewed::{
    GROUPS_THREADS, Limits, Numbers, groups_blocks, groups_shared, radix_msd_skewed_bucket_sort,
    radix_msd_skewed_groups, tally_bits,
};

/// The rung. It launches kernels of `onesweep`, `msd-buckets` and `msd-skewed` too.
pub static RUNG: Entry<Sort> = rung!("mod.rs", [radix_either_starts, radix_either_pass])
    .with_capacity(MAX_KEYS as u64)
    .with_tiles(&[TILE])
    .run_by(Sort::both(&Either::FIRST));

/// Keys per tile.
const TILE: u64 = partition_tile::<u32>(false) as u64;

/// The sort, whose first pass on fresh scratch memory has this epoch, from 1 to [`LAST_EPOCH`].
pub struct Either(pub u32);

impl Either {
    const FIRST: Self = Self(1);
}

impl Sorts<u32> for Either {
    fn launches(&self, on: &dyn Launcher, n: u32, options: &Options) -> Result<Launches<Input<u32>>> {
        if n > MOST {
            return Sorts::<u32>::launches(&MsdSkewed, on, n, options);
        }
        let mut sorter = Sorter::new(on, n, self.0)?;
        Ok(Box::new(move |on, input| sorter.sort(on, input)))
    }
}

/// There is no choice for keys of 64 bits: `onesweep` takes eight passes for them.
impl Sorts<u64> for Either {
    fn launches(&self, on: &dyn Launcher, n: u32, options: &Options) -> Result<Launches<Input<u64>>> {
        Sorts::<u64>::launches(&MsdSkewed, on, n, options)
    }
}

/// Passes by all digits.
const PASSES: u32 = TOP + 1;

/// The scratch memory of one sort after the other. Two sorts at once need two.
struct Sorter {
    n: u32,
    limits: Limits,
    /// As many words as keys.
    keys: Scratch<u32>,
    /// Counts of all digits, zero before and after a sort.
    histogram: Scratch<u32>,
    /// See [`radix_either_starts`].
    starts: Scratch<u32>,
    control: Scratch<u32>,
    buckets: Scratch<u32>,
    cursors: Scratch<u32>,
    tiles: Scratch<u32>,
    lists: Scratch<u32>,
    /// A word for each tile and value of a digit.
    states: Scratch<u64>,
    /// The next number that the states have not seen.
    epoch: u32,
}

impl Sorter {
    fn new(on: &dyn Launcher, n: u32, epoch: u32) -> Result<Self> {
        let limits = Limits::new(u32::BITS, BITS, tally_bits(on.device().shared_per_block));
        Ok(Self {
            n,
            limits,
            keys: on.scratch(n)?,
            histogram: on.zeros(PASSES * DIGITS)?,
            starts: on.scratch(PASSES * DIGITS)?,
            control: on.scratch(CONTROLS)?,
            buckets: on.scratch(DIGITS + 1)?,
            cursors: on.scratch(DIGITS)?,
            tiles: on.scratch(4 * n.div_ceil(partition_tile::<u32>(false)))?,
            lists: on.scratch(list_words::<u32>(n, DIGITS, BITS, limits))?,
            states: on.zeros(n.div_ceil(pass_tile::<u32>()) * DIGITS)?,
            epoch,
        })
    }

    /// Sorts in place by way of the scratch memory.
    fn sort(&mut self, on: &dyn Launcher, Input { keys, order }: Input<u32>) -> Result {
        expect_aligned("keys", keys)?;
        if self.n == 0 {
            return Ok(());
        }
        if self.epoch > LAST_EPOCH + 1 - PASSES {
            on.clear(self.states.view())?;
            self.epoch = 1;
        }
        self.find_starts(on, keys, order)?;
        self.by_buckets(on, keys, order)?;
        self.by_digits(on, keys, order)?;
        self.epoch += PASSES;
        Ok(())
    }

    /// Launches 1 and 2.
    fn find_starts(&self, on: &dyn Launcher, keys: Global<u32>, order: u32) -> Result {
        let (n, histogram) = (self.n, self.histogram.view());
        let blocks = histogram_blocks(n, on.device().multiprocessors);
        let geometry = Geometry::linear(blocks, HISTOGRAM_THREADS).shared(HISTOGRAM_SHARED).overlapping();
        on.launch(radix_onesweep_histogram::<u32>::default(), geometry, (keys, order, histogram))?;
        let (starts, control, buckets) = (self.starts.view(), self.control.view(), self.buckets.view());
        let (cursors, tiles, lists) = (self.cursors.view(), self.tiles.view(), self.lists.view());
        let keys = Keys { n, tile: partition_tile::<u32>(false) };
        let args = (histogram, keys, starts, control, buckets, cursors, tiles, lists);
        on.launch(radix_either_starts, Geometry::linear(PASSES, DIGITS).overlapping(), args)
    }

    /// Launches 3 to 5.
    fn by_buckets(&self, on: &dyn Launcher, keys: Global<u32>, order: u32) -> Result {
        let (scratch, tiles, lists) = (self.keys.view(), self.tiles.view(), self.lists.view());
        let geometry = Geometry::linear(tiles.len() / 4, partition_threads(false)).shared(partition_shared(false));
        let args = (keys, scratch, order, u32::BITS - BITS, BITS, self.cursors.view(), 0, tiles);
        launch!(on, radix_msd_buckets_partition<u32>, order, geometry, args);

        let (first_bits, second_bits, bucket_max) = (BITS, 0, bucket_max(false));
        let numbers = Numbers { order, first_bits, second_bits, bucket_max, limits: self.limits };
        let geometry = Geometry::linear(DIGITS, bucket_sort_threads(false)).shared(bucket_sort_shared::<u32>(false));
        // The bucket sort zeroes a word per bucket: the histogram's are zero already.
        let args = (scratch, keys, self.buckets.view(), self.histogram.view(), lists, numbers);
        launch!(on, radix_msd_skewed_bucket_sort<u32>, order, geometry, args);

        let geometry = Geometry::linear(groups_blocks(self.n, on.device().multiprocessors), GROUPS_THREADS);
        let geometry = geometry.shared(groups_shared::<u32>()).overlapping();
        on.launch(radix_msd_skewed_groups::<u32>::default(), geometry, (scratch, keys, lists, numbers))
    }

    /// Launches 6 to 9.
    fn by_digits(&self, on: &dyn Launcher, keys: Global<u32>, order: u32) -> Result {
        let tiles = self.n.div_ceil(pass_tile::<u32>());
        let geometry = Geometry::linear(tiles, PASS_THREADS).shared(PASS_SHARED).overlapping();
        let (starts, control, states) = (self.starts.view(), self.control.view(), self.states.view());
        let (mut from, mut to) = (keys, self.keys.view());
        for number in 0..PASSES {
            let digit = Digit {
                shift: number * BITS,
                encode: if number == 0 { order } else { UNSIGNED },
                decode: if number == PASSES - 1 { order } else { UNSIGNED },
                epoch: self.epoch + number,
            };
            on.launch(radix_either_pass, geometry, (from, to, digit, number, starts, control, states))?;
            // An even number of passes ends where it began.
            (from, to) = (to, from);
        }
        Ok(())
    }
}
