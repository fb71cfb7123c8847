//! What the host launches, and the memory that it needs in addition to the keys.

use super::many::{
    radix_either_many_bucket_sort, radix_either_many_first, radix_either_many_histogram, radix_either_many_second,
    radix_either_many_starts, radix_either_rest,
};
use super::many_launches::{self, MANY, Many};
use super::one_block::one_block;
use super::*;
use crate::buckets::MAX_KEYS;
use crate::digits::{HISTOGRAM_THREADS, LAST_EPOCH, histogram_blocks};
use crate::learned::launches as learned;
use crate::msd::{in_block_shared, is_float, tile_shared};
use crate::msd_skewed::launches as msd_skewed;
use crate::pass::PASS_SHARED;
use crate::ways::PASSES;
use rungs_common::keys::{self, UNSIGNED};
use rungs_common::ladder::sort::{Keys, Sort};
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
        radix_either_many_bucket_sort,
        radix_either_rest,
    ]
)
.with_capacity(MAX_KEYS as u64)
.with_tiles(&[ONE_BLOCK as u64, TILE])
.run_by(Sort::both(&Functions { scratch, run: sort }, &Functions { scratch: scratch_wide, run: sort_wide }));

/// Keys per tile.
const TILE: u64 = pass_tile::<u32>() as u64;

/// Bytes of dynamic shared memory of a step.
const SHARED: u32 = {
    let (tile, bucket) = (tile_shared(THREADS), in_block_shared::<u32>(THREADS));
    let most = if tile > bucket { tile } else { bucket };
    if most > PASS_SHARED { most } else { PASS_SHARED }
};

/// From this number of floats on, the sort uses a learned map: their top bits do not spread them.
const FLOATS: u32 = 1 << 20;

/// From more keys than this on, the device may choose a learned map: there are two partitions.
const BY_MAP: u32 = 1 << 21;

/// What a learned map takes to sort `n` keys, if floats go by it. They do so without a choice: the device's own takes
/// a quarter longer for them.
fn for_floats<W: Key>(on: &dyn Launcher, n: u32) -> Result<Option<learned::Workspace>> {
    let plan = if n < FLOATS { None } else { learned::Plan::new::<W>(n, on.device().shared_per_block) };
    plan.map(|plan| learned::Workspace::new(on, plan)).transpose()
}

/// The scratch memory of a sort of keys of 32 bits.
pub struct Memory {
    /// For keys that are not floats, and for few.
    pub way: Way,
    learned: Option<learned::Workspace>,
}

/// Where keys of 32 bits go by their bits.
pub enum Way {
    /// The keys fit a block.
    OneBlock,
    /// The device chooses the first digit or the last.
    Few(Sorter),
    /// The device chooses buckets by bits or by a map, or the last digit.
    Many(many_launches::Sorter<u32>),
    /// Still more keys.
    Skewed(msd_skewed::Scratched<u32>),
}

/// The scratch memory to sort `n` keys of 32 bits.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch(on: &dyn Launcher, n: u32, options: &Options) -> Result<Memory> {
    let way = if n <= ONE_BLOCK {
        Way::OneBlock
    } else if n <= MOST {
        Way::Few(Sorter::new(on, n)?)
    } else if n <= MANY {
        let many = Many::new::<u32>(n, on.device().shared_per_block);
        Way::Many(many_launches::Sorter::new(on, &many)?)
    } else {
        Way::Skewed(msd_skewed::scratch(on, n, options)?)
    };
    Ok(Memory { way, learned: for_floats::<u32>(on, n)? })
}

impl Way {
    /// The memory for as many words as keys, if there is any.
    fn keys(&self) -> Option<Global<u32>> {
        match self {
            Self::OneBlock => None,
            Self::Few(sorter) => Some(sorter.keys.view()),
            Self::Many(sorter) => Some(sorter.keys.view()),
            Self::Skewed(memory) => Some(memory.keys.view()),
        }
    }
}

/// Sorts keys of 32 bits in place.
///
/// # Errors
/// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
pub fn sort(on: &dyn Launcher, keys: Keys<u32>, memory: &mut Memory) -> Result {
    let Memory { way, learned } = memory;
    if let (true, Some(learned), Some(scratch)) = (is_float(keys.order), learned, way.keys()) {
        return learned.sort(on, keys, scratch);
    }
    match way {
        Way::OneBlock => one_block(on, keys),
        Way::Few(sorter) => sorter.sort(on, keys),
        Way::Many(sorter) => sorter.sort(on, keys),
        Way::Skewed(memory) => msd_skewed::sort(on, keys, memory),
    }
}

/// The scratch memory of a sort of keys of 64 bits.
pub enum Wide {
    /// The keys fit a block.
    OneBlock,
    /// The device chooses buckets by bits or by a map; floats go by a map, if there is one.
    Many(many_launches::Sorter<u64>, Option<learned::Workspace>),
    /// Fewer keys, or still more: floats by a map, if there is one, others by their bits.
    Skewed(msd_skewed::Scratched<u64>, Option<learned::Workspace>),
}

/// The scratch memory to sort `n` keys of 64 bits.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch_wide(on: &dyn Launcher, n: u32, options: &Options) -> Result<Wide> {
    Ok(if n <= ONE_BLOCK {
        Wide::OneBlock
    } else if (BY_MAP + 1..=MANY).contains(&n) {
        let many = Many::new::<u64>(n, on.device().shared_per_block);
        Wide::Many(many_launches::Sorter::new(on, &many)?, for_floats::<u64>(on, n)?)
    } else {
        Wide::Skewed(msd_skewed::scratch(on, n, options)?, for_floats::<u64>(on, n)?)
    })
}

/// Sorts keys of 64 bits in place. None go from the last digit: that takes eight passes.
///
/// # Errors
/// As for [`sort()`].
pub fn sort_wide(on: &dyn Launcher, keys: Keys<u64>, memory: &mut Wide) -> Result {
    match memory {
        Wide::OneBlock => one_block(on, keys),
        Wide::Many(sorter, Some(learned)) if is_float(keys.order) => learned.sort(on, keys, sorter.keys.view()),
        Wide::Many(sorter, _) => sorter.sort(on, keys),
        Wide::Skewed(memory, Some(learned)) if is_float(keys.order) => learned.sort(on, keys, memory.keys.view()),
        Wide::Skewed(memory, _) => msd_skewed::sort(on, keys, memory),
    }
}

/// Counts of all digits.
const COUNTS: u32 = PASSES * DIGITS;

/// The scratch memory of one sort after the other. Two sorts at once need two.
pub struct Sorter {
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
    /// The next number that the states have not seen, from 1 to [`LAST_EPOCH`].
    pub epoch: u32,
}

impl Sorter {
    fn new(on: &dyn Launcher, n: u32) -> Result<Self> {
        Ok(Self {
            n,
            keys: on.scratch(n)?,
            workspace: on.zeros(COUNTS + 2 * n.div_ceil(pass_tile::<u32>()) * DIGITS)?,
            starts: on.scratch(COUNTS + 1)?,
            cursors: on.scratch(DIGITS)?,
            control: on.scratch(CONTROLS)?,
            epoch: 1,
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
