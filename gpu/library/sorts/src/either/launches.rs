//! What the host launches, and the memory that it needs beside the keys.

use super::crowded::crowded_shared;
use super::many::{
    radix_either_many_first, radix_either_many_histogram, radix_either_many_second, radix_either_many_starts,
    radix_either_rest,
};
use super::many_launches::Many;
use super::*;
use crate::buckets::MAX_KEYS;
use crate::digits::{HISTOGRAM_THREADS, LAST_EPOCH, histogram_blocks};
use crate::from_last::PASSES;
use crate::msd::{in_block_shared, tile_shared};
use crate::msd_skewed::launches::MsdSkewed;
use crate::pass::PASS_SHARED;
use rungs_common::keys::{self, UNSIGNED};
use rungs_common::ladder::sort::{Keys, Sort, Sorts, Width};
use rungs_common::ladder::*;
use rungs_radix::r7_onesweep::{HISTOGRAM_SHARED, radix_onesweep_histogram};

/// The rung. It launches the histogram of `onesweep`, for many keys kernels of `msd-skewed`, and for still more all
/// that `msd-skewed` launches.
pub static RUNG: Entry<Sort> = rung!(
    "mod.rs",
    [
        radix_either_starts,
        radix_either_first,
        radix_either_second,
        radix_either_third,
        radix_either_last,
        radix_either_one_block,
        radix_either_many_histogram,
        radix_either_many_starts,
        radix_either_many_first,
        radix_either_many_second,
        radix_either_rest,
    ]
)
.with_capacity(MAX_KEYS as u64)
.with_tiles(&[ONE_BLOCK as u64, TILE])
.run_by(Sort::both(&Either::FIRST));

/// Keys per tile.
const TILE: u64 = pass_tile::<u32>() as u64;

/// Bytes of dynamic shared memory of the sort in one block, whichever way it goes.
const fn one_block_shared<W>() -> u32 {
    let (spread, crowded) = (in_block_shared::<W>(THREADS), crowded_shared::<W>());
    if spread > crowded { spread } else { crowded }
}

/// Bytes of dynamic shared memory of a step.
const SHARED: u32 = {
    let (tile, bucket) = (tile_shared(THREADS), in_block_shared::<u32>(THREADS));
    let most = if tile > bucket { tile } else { bucket };
    if most > PASS_SHARED { most } else { PASS_SHARED }
};

/// The sort, whose first pass on fresh scratch memory has this epoch, from 1 to [`LAST_EPOCH`].
pub struct Either(pub u32);

impl Either {
    const FIRST: Self = Self(1);
}

/// The sort of keys that fit a block.
fn one_block<W: Width + Key>() -> Launches<Keys<W>>
where
    radix_either_one_block<W>: Kernel<Args = (Global<W>, u32)>,
{
    Box::new(|on, Keys { keys, order }| {
        expect_aligned("keys", keys)?;
        if keys.is_empty() {
            return Ok(());
        }
        let geometry = Geometry::linear(1, THREADS).shared(one_block_shared::<W>()).overlapping();
        on.launch(radix_either_one_block::<W>::default(), geometry, (keys, order))
    })
}

impl Sorts<u32> for Either {
    fn launches(&self, on: &dyn Launcher, n: u32, options: &Options) -> Result<Launches<Keys<u32>>> {
        if n <= ONE_BLOCK {
            return Ok(one_block());
        }
        if n > MANY {
            return Sorts::<u32>::launches(&MsdSkewed, on, n, options);
        }
        if n > MOST {
            return Many::new(n, on.device().shared_per_block, self.0).launches(on, n, options);
        }
        let mut sorter = Sorter::new(on, n, self.0)?;
        Ok(Box::new(move |on, keys| sorter.sort(on, keys)))
    }
}

/// There is no choice for keys of 64 bits: `onesweep` takes eight passes for them.
impl Sorts<u64> for Either {
    fn launches(&self, on: &dyn Launcher, n: u32, options: &Options) -> Result<Launches<Keys<u64>>> {
        if n <= ONE_BLOCK {
            return Ok(one_block());
        }
        Sorts::<u64>::launches(&MsdSkewed, on, n, options)
    }
}

/// Counts of all digits.
const COUNTS: u32 = PASSES * DIGITS;

/// The scratch memory of one sort after the other. Two sorts at once need two.
struct Sorter {
    n: u32,
    /// As many words as keys.
    keys: Scratch<u32>,
    /// Counts of all digits, zero before and after a sort, and behind them the states: a word of 64 bits for each tile
    /// and value of a digit.
    workspace: Scratch<u32>,
    /// See [`radix_either_starts`].
    starts: Scratch<u32>,
    cursors: Scratch<u32>,
    control: Scratch<u32>,
    /// The next number that the states have not seen.
    epoch: u32,
}

impl Sorter {
    fn new(on: &dyn Launcher, n: u32, epoch: u32) -> Result<Self> {
        Ok(Self {
            n,
            keys: on.scratch(n)?,
            workspace: on.zeros(COUNTS + 2 * n.div_ceil(pass_tile::<u32>()) * DIGITS)?,
            starts: on.scratch(COUNTS + 1)?,
            cursors: on.scratch(DIGITS)?,
            control: on.scratch(CONTROLS)?,
            epoch,
        })
    }

    /// Sorts in place by way of the scratch memory.
    fn sort(&mut self, on: &dyn Launcher, Keys { keys, order }: Keys<u32>) -> Result {
        expect_aligned("keys", keys)?;
        if self.epoch > LAST_EPOCH + 1 - PASSES {
            on.clear(self.workspace.view())?;
            self.epoch = 1;
        }
        let (n, workspace) = (self.n, self.workspace.view());
        let histogram = workspace.slice(0, COUNTS);
        let states = workspace.slice(COUNTS, workspace.len() - COUNTS).cast::<u64>();
        let (starts, cursors, control) = (self.starts.view(), self.cursors.view(), self.control.view());
        let blocks = histogram_blocks(n, on.device().multiprocessors);
        let geometry = Geometry::linear(blocks, HISTOGRAM_THREADS).shared(HISTOGRAM_SHARED).overlapping();
        on.launch(radix_onesweep_histogram::<u32>::default(), geometry, (keys, order, histogram))?;
        let geometry = Geometry::linear(PASSES, DIGITS).overlapping();
        on.launch(radix_either_starts, geometry, (histogram, n, starts, cursors, control))?;

        let (tiles, scratch) = (n.div_ceil(pass_tile::<u32>()), self.keys.view());
        let geometry = |blocks| Geometry::linear(blocks, THREADS).shared(SHARED).overlapping();
        let step = |number: u32| {
            let encode = if number == 0 { order } else { UNSIGNED };
            let decode = if number == PASSES - 1 { order } else { UNSIGNED };
            let digit = Digit { shift: number * BITS, encode, decode, epoch: self.epoch + number };
            Step { digit, number, order, n }
        };
        // From the first digit, keys go to the scratch memory and back; from the last, twice.
        let args = (keys, scratch, step(0), starts, cursors, control, states);
        if order == keys::UNSIGNED {
            on.launch(radix_either_first::<Plain>::default(), geometry(tiles), args)?;
        } else {
            on.launch(radix_either_first::<Mapped>::default(), geometry(tiles), args)?;
        }
        let args = (scratch, keys, step(1), starts, control, states);
        if order == keys::UNSIGNED {
            on.launch(radix_either_second::<Plain>::default(), geometry(tiles.max(DIGITS)), args)?;
        } else {
            on.launch(radix_either_second::<Mapped>::default(), geometry(tiles.max(DIGITS)), args)?;
        }
        let args = (keys, scratch, step(2), starts, control, states);
        on.launch(radix_either_third, geometry(tiles.max(DIGITS)), args)?;
        let args = (scratch, keys, step(3), starts, control, states);
        on.launch(radix_either_last, geometry(tiles), args)?;
        self.epoch += PASSES;
        Ok(())
    }
}
