//! What the host launches, and the memory that it needs beside the keys.

use super::*;
use rungs_common::ladder::sort::{Keys, Pairs as KeysWithValues, Sort, Sorts, SortsPairs, Width};
use rungs_common::ladder::*;

/// The rung.
pub static RUNG: Entry<Sort> = rung!("mod.rs", [radix_onesweep_histogram, radix_onesweep_starts, radix_onesweep_pass])
    .with_tiles(&[TILE])
    .run_by(Sort::both(&Onesweep::FIRST).with_pairs(&Onesweep::FIRST));

/// The arguments of a pass.
type PassArgs<W> = (Global<W>, Global<W>, Global<u32>, Global<u32>, Digit, Global<u32>, Global<u32>, Global<u64>);

/// The sort, whose first pass on fresh scratch memory has this epoch, from 1 to [`LAST_EPOCH`].
pub struct Onesweep(pub u32);

impl Onesweep {
    const FIRST: Self = Self(1);
}

/// Keys of a tile.
const TILE: u64 = pass_tile::<u32>() as u64;

impl<W: Width + Digits> Sorts<W> for Onesweep
where
    radix_onesweep_histogram<W>: Kernel<Args = (Global<W>, u32, Global<u32>)>,
    radix_onesweep_pass<W, KeysOnly>: Kernel<Args = PassArgs<W>>,
{
    fn launches(&self, on: &dyn Launcher, n: u32, _: &Options) -> Result<Launches<Keys<W>>> {
        let mut sorter = Sorter::new(on, n, 0, self.0)?;
        Ok(Box::new(move |on, Keys { keys, order }| {
            let none = sorter.values.view();
            sorter.sort(on, radix_onesweep_pass::<W, KeysOnly>::default(), keys, none, order)
        }))
    }
}

impl SortsPairs for Onesweep {
    fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<KeysWithValues>> {
        let mut sorter = Sorter::new(on, n, n, self.0)?;
        Ok(Box::new(move |on, KeysWithValues { keys, values, order }| {
            sorter.sort(on, radix_onesweep_pass::<u32, Pairs>::default(), keys, values, order)
        }))
    }
}

/// The scratch memory of one sort after the other. Two sorts at once need two.
struct Sorter<W> {
    plan: Plan,
    /// See [`Plan::workspace_words`].
    workspace: Scratch<u32>,
    /// As many words as keys.
    keys: Scratch<W>,
    /// As many words as values.
    values: Scratch<u32>,
    /// The next number that the workspace has not seen.
    epoch: u32,
}

impl<W: Width + Digits> Sorter<W>
where
    radix_onesweep_histogram<W>: Kernel<Args = (Global<W>, u32, Global<u32>)>,
{
    /// For `n` keys, and as many values or none.
    fn new(on: &dyn Launcher, n: u32, values: u32, epoch: u32) -> Result<Self> {
        let plan = Plan::new::<W>(n, on.device().multiprocessors);
        let workspace = on.zeros(plan.workspace_words())?;
        Ok(Self { plan, workspace, keys: on.scratch(n)?, values: on.scratch(values)?, epoch })
    }

    /// Sorts keys in place by way of the scratch memory, and values with them if there are any.
    fn sort<K>(&mut self, on: &dyn Launcher, pass: K, keys: Global<W>, values: Global<u32>, order: u32) -> Result
    where
        K: Kernel<Args = PassArgs<W>>,
    {
        let plan = self.plan;
        expect_aligned("keys", keys)?;
        if plan.n == 0 {
            return Ok(());
        }
        if self.epoch > LAST_EPOCH + 1 - plan.passes {
            on.clear(self.workspace.view())?;
            self.epoch = 1;
        }
        let Parts { histogram, starts, tickets, states } = plan.parts(self.workspace.view());
        let geometry = Geometry::linear(plan.histogram_blocks, HISTOGRAM_THREADS).shared(HISTOGRAM_SHARED);
        let kernel = radix_onesweep_histogram::<W>::default();
        on.launch(kernel, geometry.overlapping(), (keys, order, histogram))?;
        let geometry = Geometry::linear(plan.passes, DIGITS).overlapping();
        on.launch(radix_onesweep_starts, geometry, (histogram, starts, tickets))?;

        let geometry = Geometry::linear(plan.tiles, PASS_THREADS).shared(PASS_SHARED).overlapping();
        let (mut from, mut to) = (keys, self.keys.view());
        let (mut values_in, mut values_out) = (values, self.values.view());
        for number in 0..plan.passes {
            let digit = Digit {
                shift: number * BITS,
                encode: if number == 0 { order } else { UNSIGNED },
                decode: if number == plan.passes - 1 { order } else { UNSIGNED },
                epoch: self.epoch + number,
            };
            let (starts, ticket) = (starts.slice(number * DIGITS, DIGITS), tickets.slice(number, 1));
            on.launch(pass, geometry, (from, to, values_in, values_out, digit, starts, ticket, states))?;
            // An even number of passes ends where it began.
            (from, to, values_in, values_out) = (to, from, values_out, values_in);
        }
        self.epoch += plan.passes;
        Ok(())
    }
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
    /// For `n` keys of type `W` on a device with so many multiprocessors.
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
