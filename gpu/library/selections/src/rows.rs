//! What the rows of selections launch: a pass, by a pivot or by runs.

use crate::pass::{Bounds, Pass, Selection, Selects as SelectsWords, Views};
use crate::runs::{self, CombinesBy, CountsRuns, Grouping};
use rungs_common::keys::{FLOAT, SIGNED, UNSIGNED, Word as _};
use rungs_common::ladder::select::{self, Select};
use rungs_common::ladder::sift::*;
use rungs_common::operator::Sum;

/// Keeps the items below a pivot, by a pass.
pub struct Below(pub Pass);

/// Keeps the first item of each run, by a pass.
pub struct Firsts(pub Pass);

/// Counts the items of each run, by a pass.
pub struct Lengths(pub Pass);

/// Adds up the words of the items of each run, by a pass.
pub struct Sums(pub Pass);

/// An item that is kept if it is less than another, as the word that stores it.
pub trait Pivot: Scalar {
    /// The word.
    type Word: SelectsWords + CountsRuns + CombinesBy<u32, Sum>;

    /// The bounds of the items less than this one.
    fn bounds(self) -> Bounds<Self::Word>;
}

/// The bounds of the words from `low` to `high`, if there are any: no word is between 1 and 0.
fn range<W: Ord + From<bool>>(low: W, high: Option<W>, order: u32) -> Bounds<W> {
    match high.filter(|high| *high >= low) {
        Some(high) => Bounds { low, high, order },
        None => Bounds { low: W::from(true), high: W::from(false), order },
    }
}

macro_rules! integers {
    ($($T:ty as $W:ty, $order:expr);*) => {$(
        impl Pivot for $T {
            type Word = $W;

            fn bounds(self) -> Bounds<$W> {
                range(0, (self as $W).encode($order).checked_sub(1), $order)
            }
        }
    )*};
}
integers!(u32 as u32, UNSIGNED; i32 as u32, SIGNED; u64 as u64, UNSIGNED; i64 as u64, SIGNED);

macro_rules! floats {
    ($($T:ty as $W:ty),*) => {$(
        impl Pivot for $T {
            type Word = $W;

            fn bounds(self) -> Bounds<$W> {
                let word = |x: $T| x.to_bits().encode(FLOAT);
                // In the total order -0 is below 0, which `<` does not tell apart, and negative NaN below -∞.
                let end = if self.is_nan() { 0 } else { word(if self == 0.0 { -0.0 } else { self }) };
                range(word(<$T>::NEG_INFINITY), end.checked_sub(1), FLOAT)
            }
        }
    )*};
}
floats!(f32 as u32, f64 as u64);

impl Select for Below {
    fn is_stable(&self) -> bool {
        true
    }
}

impl<T: Pivot> Serves<select::Items<T>> for Below {
    type Memory = Selection<T::Word>;

    fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Self::Memory> {
        scratch(on, n, self.0)
    }

    fn run(on: &dyn Launcher, items: select::Items<T>, memory: &mut Self::Memory) -> Result {
        let views = views(items.input, items.output, items.count);
        T::Word::between(on, memory, views, items.pivot.bounds())
    }
}

impl Sift for Below {
    fn task(&self) -> Task {
        Task::Partition
    }
}

impl<T: Pivot> Serves<Items<T>> for Below {
    type Memory = Selection<T::Word>;

    fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Self::Memory> {
        scratch(on, n, self.0)
    }

    fn run(on: &dyn Launcher, items: Items<T>, memory: &mut Self::Memory) -> Result {
        let views = views(items.input, items.output, items.count);
        T::Word::parted(on, memory, views, (items.rest.cast(), items.rest_count), items.pivot.bounds())
    }
}

impl Sift for Firsts {
    fn task(&self) -> Task {
        Task::Unique
    }
}

impl<T: Pivot> Serves<Items<T>> for Firsts {
    type Memory = Selection<T::Word>;

    fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Self::Memory> {
        scratch(on, n, self.0)
    }

    fn run(on: &dyn Launcher, items: Items<T>, memory: &mut Self::Memory) -> Result {
        T::Word::firsts(on, memory, views(items.input, items.output, items.count))
    }
}

impl Sift for Lengths {
    fn task(&self) -> Task {
        Task::RunLengths
    }
}

impl<T: Pivot> Serves<Items<T>> for Lengths {
    type Memory = Grouping<T::Word, u32>;

    fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Self::Memory> {
        Grouping::by(on, n, suitable(on, self.0))
    }

    fn run(on: &dyn Launcher, items: Items<T>, memory: &mut Self::Memory) -> Result {
        T::Word::run_lengths(on, memory, views_of_runs(items))
    }
}

impl Sift for Sums {
    fn task(&self) -> Task {
        Task::ReduceByKey
    }
}

impl<T: Pivot> Serves<Items<T>> for Sums {
    type Memory = Grouping<T::Word, u32>;

    fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Self::Memory> {
        Grouping::by(on, n, suitable(on, self.0))
    }

    fn run(on: &dyn Launcher, items: Items<T>, memory: &mut Self::Memory) -> Result {
        T::Word::reduce(on, memory, views_of_runs(items))
    }
}

/// The scratch memory of a row, which runs its pass whatever the number of items, if the device can: so reports show
/// from which number on the look-ahead is worth it.
fn scratch<W: SelectsWords>(on: &dyn Launcher, n: u32, pass: Pass) -> Result<Selection<W>> {
    Selection::by(on, n, suitable(on, pass))
}

/// The pass if the device can run it.
fn suitable(on: &dyn Launcher, pass: Pass) -> Pass {
    if pass.suits(on.device()) { pass } else { Pass::LookBack }
}

/// All items as words.
fn views<T: Pivot>(input: Global<T>, output: Global<T>, count: Global<u32>) -> Views<T::Word> {
    Views { input: input.cast(), limit: count.slice(0, 0), output: output.cast(), count }
}

/// All items as keys, with their words.
fn views_of_runs<T: Pivot>(items: Items<T>) -> runs::Views<T::Word, u32> {
    let Items { input, words, output, count, results, .. } = items;
    let (keys, unique, limit) = (input.cast(), output.cast(), count.slice(0, 0));
    runs::Views { keys, values: words, limit, unique, results, count }
}
