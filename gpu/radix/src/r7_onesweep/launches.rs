//! The launches (histogram, starts, a pass per digit) and their scratch memory.

use super::*;
use rungs_common::ladder::sort::{Keys, Pairs, Sort, Width};
use rungs_common::ladder::*;

/// The rung's row in the ladder: the file with its head, its kernels, and the functions for keys and for pairs.
pub static RUNG: Entry<Sort> = rung!("mod.rs", [radix_onesweep_histogram, radix_onesweep_starts, radix_onesweep_pass])
    .with_tiles(&[TILE])
    .run_by(Sort {
        pairs: Some(&Functions { scratch: scratch_of_pairs, run: sort_pairs }),
        ..Sort::both(
            &Functions { scratch: scratch::<u32>, run: sort },
            &Functions { scratch: scratch::<u64>, run: sort },
        )
    });

/// Keys of a tile.
const TILE: u64 = pass_tile::<u32>() as u64;

/// The scratch memory of one sort after the other. Two sorts at once need two.
pub struct Memory<W> {
    plan: Plan,
    /// See [`Plan::workspace_words`].
    workspace: Scratch<u32>,
    /// As many words as keys.
    keys: Scratch<W>,
    /// As many words as values.
    values: Scratch<u32>,
    /// The next number that the workspace has not seen, from 1 to [`LAST_EPOCH`].
    pub epoch: u32,
}

impl<W: Digits> Memory<W> {
    /// For `n` keys, and as many values or none.
    fn new(on: &dyn Launcher, n: u32, values: u32) -> Result<Self> {
        let plan = Plan::new::<W>(n, on.device().multiprocessors);
        let workspace = on.zeros(plan.workspace_words())?;
        Ok(Self { plan, workspace, keys: on.scratch(n)?, values: on.scratch(values)?, epoch: 1 })
    }
}

/// The scratch memory to sort `n` keys.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch<W: Digits>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory<W>> {
    Memory::new(on, n, 0)
}

/// The scratch memory to sort `n` keys with values.
///
/// # Errors
/// [`Failed::Machine`] if there is no memory.
pub fn scratch_of_pairs(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory<u32>> {
    Memory::new(on, n, n)
}

/// Sorts keys in place.
///
/// # Errors
/// Those of a launch; [`Failed::Unsuitable`] for keys that do not begin on a multiple of 16 bytes.
pub fn sort<W: Width + Digits>(on: &dyn Launcher, Keys { keys, order }: Keys<W>, memory: &mut Memory<W>) -> Result
where
    radix_onesweep_histogram<W>: Kernel<Args = (Global<W>, u32, Global<u32>)>,
    radix_onesweep_pass<W, KeysOnly>: Kernel<Args = PassArgs<W>>,
{
    let none = memory.values.view();
    sort_by(radix_onesweep_pass::<W, KeysOnly>::default(), on, keys, none, order, memory)
}

/// Sorts keys in place, and moves the value of each with it.
///
/// # Errors
/// As for [`sort()`].
pub fn sort_pairs(on: &dyn Launcher, pairs: Pairs, memory: &mut Memory<u32>) -> Result {
    let Pairs { keys, values, order } = pairs;
    sort_by(radix_onesweep_pass::<u32, WithValues>::default(), on, keys, values, order, memory)
}

/// The arguments of a pass.
type PassArgs<W> = (Global<W>, Global<W>, Global<u32>, Global<u32>, Digit, Global<u32>, Global<u32>, Global<u64>);

/// Sorts keys in place by way of the scratch memory, and values with them if there are any, by passes of one kernel.
fn sort_by<W: Width + Digits, K: Kernel<Args = PassArgs<W>>>(
    pass: K,
    on: &dyn Launcher,
    keys: Global<W>,
    values: Global<u32>,
    order: u32,
    memory: &mut Memory<W>,
) -> Result
where
    radix_onesweep_histogram<W>: Kernel<Args = (Global<W>, u32, Global<u32>)>,
{
    let plan = memory.plan;
    expect_aligned("keys", keys)?;
    if plan.n == 0 {
        return Ok(());
    }
    // States of earlier sorts stay, and their epoch says that they are old. Before epochs repeat, all are cleared.
    if memory.epoch > LAST_EPOCH + 1 - plan.passes {
        on.clear(memory.workspace.view())?;
        memory.epoch = 1;
    }
    let Parts { histogram, starts, tickets, states } = plan.parts(memory.workspace.view());
    let geometry = Geometry::linear(plan.histogram_blocks, HISTOGRAM_THREADS).shared(HISTOGRAM_SHARED);
    on.launch(radix_onesweep_histogram::<W>::default(), geometry.overlapping(), (keys, order, histogram))?;
    let geometry = Geometry::linear(plan.passes, DIGITS).overlapping();
    on.launch(radix_onesweep_starts, geometry, (histogram, starts, tickets))?;

    let geometry = Geometry::linear(plan.tiles, PASS_THREADS).shared(PASS_SHARED).overlapping();
    let (mut from, mut to) = (keys, memory.keys.view());
    let (mut values_in, mut values_out) = (values, memory.values.view());
    for number in 0..plan.passes {
        let digit = Digit {
            shift: number * BITS,
            encode: if number == 0 { order } else { UNSIGNED },
            decode: if number == plan.passes - 1 { order } else { UNSIGNED },
            epoch: memory.epoch + number,
        };
        let (starts, ticket) = (starts.slice(number * DIGITS, DIGITS), tickets.slice(number, 1));
        on.launch(pass, geometry, (from, to, values_in, values_out, digit, starts, ticket, states))?;
        // An even number of passes ends where it began.
        (from, to, values_in, values_out) = (to, from, values_out, values_in);
    }
    memory.epoch += plan.passes;
    Ok(())
}

/// What is to be launched for `n` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Keys.
    pub n: u32,
    /// Passes: the digits of a key.
    pub passes: u32,
    /// Blocks of the histogram.
    pub histogram_blocks: u32,
    /// Tiles of a pass.
    pub tiles: u32,
}

/// The arrays of the workspace.
struct Parts {
    histogram: Global<u32>,
    starts: Global<u32>,
    tickets: Global<u32>,
    states: Global<u64>,
}

impl Plan {
    /// For `n` keys of type `W` on a device with `multiprocessors` SMs.
    pub const fn new<W: Digits>(n: u32, multiprocessors: u32) -> Self {
        Self {
            n,
            passes: passes(size_of::<W>() as u32),
            histogram_blocks: histogram_blocks(n, multiprocessors),
            tiles: n.div_ceil(pass_tile::<W>()),
        }
    }

    /// 32-bit words of the workspace. They are zero before the first sort: each sort leaves the histogram zero, and
    /// what tiles publish carries an epoch.
    pub const fn workspace_words(&self) -> u32 {
        self.first_state() + self.tiles * DIGITS * 2
    }

    /// Histogram, starts and tickets; the states of the tiles begin behind them, on a multiple of 128 bytes.
    const fn first_state(&self) -> u32 {
        (2 * self.passes * DIGITS + self.passes).next_multiple_of(32)
    }

    fn parts(&self, workspace: Global<u32>) -> Parts {
        let digits = self.passes * DIGITS;
        Parts {
            histogram: workspace.slice(0, digits),
            starts: workspace.slice(digits, digits),
            tickets: workspace.slice(2 * digits, self.passes),
            states: workspace.slice(self.first_state(), self.tiles * DIGITS * 2).cast(),
        }
    }
}
