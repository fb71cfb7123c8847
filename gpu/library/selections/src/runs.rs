//! What the host launches for runs of equal keys: the pass that suits the device, the number of keys and where they
//! lie.

use crate::BLOCK;
use crate::by_key::{self, lengths_by_key, reduce_by_key, scan_by_key};
use crate::look_ahead::runs::*;
use crate::pass::{Either, Pass, place_of};
use rungs_common::operator::{Max, Min, Operation, Operator, Sum};
use simt::launcher::{Launcher, Result};
use simt::{Geometry, Global, Instances, Kernel, Scalar};
use std::marker::PhantomData;

/// The kernels of runs that no row has, for the list of kernels that belong to no rung.
pub const KERNELS: &[&[&str]] = &[<scan_by_key as Instances>::NAMES, <scan_by_key_look_ahead as Instances>::NAMES];

/// Keys in runs, and where what is made of them goes. The outputs have room for all keys, and share nothing with the
/// inputs.
#[derive(Clone, Copy)]
pub struct Views<K, V> {
    /// The keys.
    pub keys: Global<K>,
    /// The value of each. Lengths of runs need none.
    pub values: Global<V>,
    /// How many keys there are, one word, or an empty view: all.
    pub limit: Global<u32>,
    /// Room for the key of each run.
    pub unique: Global<K>,
    /// Room for its values, combined.
    pub results: Global<V>,
    /// The number of runs, one word.
    pub count: Global<u32>,
}

/// The arguments of a kernel that combines: keys, values, limit, output of both, count, workspace.
pub type ReduceArgs<K, V> = (Global<K>, Global<V>, Global<u32>, Global<K>, Global<V>, Global<u32>, Global<u64>);

/// The arguments of a scan: keys, values, output, workspace, whether it is exclusive.
pub type ScanArgs<K, V> = (Global<K>, Global<V>, Global<V>, Global<u64>, u32);

/// The arguments of lengths: keys, limit, output of keys and of lengths, count, workspace.
type LengthArgs<K> = (Global<K>, Global<u32>, Global<K>, Global<u32>, Global<u32>, Global<u64>);

/// The scratch memory for runs among `n` keys with values. It can be used again and again, for one run at a time.
pub struct Grouping<K, V> {
    either: Either,
    types: PhantomData<fn(K, V)>,
}

impl<K: Scalar, V: Scalar> Grouping<K, V> {
    /// Takes the scratch memory.
    ///
    /// # Errors
    /// [`Failed::Machine`](simt::launcher::Failed::Machine) if there is no memory.
    pub fn new(on: &dyn Launcher, n: u32) -> Result<Self> {
        Self::by(on, n, Pass::of_runs(on.device(), n))
    }

    /// The same, with the pass that runs where all views begin on multiples of 16 bytes, on a device that it suits.
    ///
    /// # Errors
    /// As for [`Grouping::new`].
    pub fn by(on: &dyn Launcher, n: u32, pass: Pass) -> Result<Self> {
        let pass = if ahead::<K, V>() { pass } else { Pass::LookBack };
        let look_back = Geometry::linear(by_key::grid(n), BLOCK).shared(by_key::shared_bytes::<K, V>());
        let either = Either::new(on, n, pass, (look_back, by_key::workspace::<V>(n)), shape::<K, V>())?;
        Ok(Self { either, types: PhantomData })
    }

    /// Launches one of two kernels that combine values by key; the one that looks ahead takes them as words of their
    /// size.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn reduce<W, B, A>(&self, on: &dyn Launcher, (look_back, look_ahead): (B, A), v: Views<K, V>) -> Result
    where
        W: Scalar,
        B: Kernel<Args = ReduceArgs<K, V>>,
        A: Kernel<Args = ReduceArgs<K, W>>,
    {
        let places = [place_of(v.keys), place_of(v.values), place_of(v.unique), place_of(v.results)];
        let (pass, geometry, states) = self.either.ready(on, &places)?;
        match pass {
            Pass::LookBack => on.launch(look_back, geometry, v.args(states)),
            Pass::LookAhead => on.launch(look_ahead, geometry, v.words::<W>().args(states)),
        }
    }

    /// Launches one of two kernels that scan values inside runs of keys, likewise; `output` may be `values`.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn scan<W, B, A>(
        &self,
        on: &dyn Launcher,
        (look_back, look_ahead): (B, A),
        (keys, values, output): (Global<K>, Global<V>, Global<V>),
        is_exclusive: bool,
    ) -> Result
    where
        W: Scalar,
        B: Kernel<Args = ScanArgs<K, V>>,
        A: Kernel<Args = ScanArgs<K, W>>,
    {
        let places = [place_of(keys), place_of(values), place_of(output)];
        let ((pass, geometry, states), exclusive) = (self.either.ready(on, &places)?, is_exclusive as u32);
        match pass {
            Pass::LookBack => on.launch(look_back, geometry, (keys, values, output, states, exclusive)),
            Pass::LookAhead => on.launch(look_ahead, geometry, (keys, values.cast(), output.cast(), states, exclusive)),
        }
    }

    /// Launches a kernel that looks back.
    fn look_back<B: Kernel>(&self, on: &dyn Launcher, kernel: B, args: impl FnOnce(Global<u64>) -> B::Args) -> Result {
        let (geometry, workspace) = self.either.for_look_back(on)?;
        on.launch(kernel, geometry, args(workspace))
    }
}

impl<K: Scalar, V: Scalar> Views<K, V> {
    /// The arguments of a kernel that combines.
    fn args(self, workspace: Global<u64>) -> ReduceArgs<K, V> {
        (self.keys, self.values, self.limit, self.unique, self.results, self.count, workspace)
    }

    /// The values as words of their size.
    fn words<W: Scalar>(self) -> Views<K, W> {
        let Self { keys, values, limit, unique, results, count } = self;
        Views { keys, values: values.cast(), limit, unique, results: results.cast(), count }
    }
}

/// A word of keys whose runs are counted.
pub trait CountsRuns: Scalar {
    /// Writes the key and the length of each run; there are no values.
    ///
    /// # Errors
    /// Those of the launch.
    fn run_lengths(on: &dyn Launcher, scratch: &Grouping<Self, u32>, views: Views<Self, u32>) -> Result;
}

impl<K: Scalar> CountsRuns for K
where
    lengths_by_key<K>: Kernel<Args = LengthArgs<K>> + Default,
    lengths_by_key_look_ahead<K>: Kernel<Args = LengthArgs<K>> + Default,
{
    fn run_lengths(on: &dyn Launcher, scratch: &Grouping<K, u32>, v: Views<K, u32>) -> Result {
        let places = [place_of(v.keys), place_of(v.unique), place_of(v.results)];
        let (pass, geometry, workspace) = scratch.either.ready(on, &places)?;
        let args = (v.keys, v.limit, v.unique, v.results, v.count, workspace);
        match pass {
            Pass::LookBack => on.launch(lengths_by_key::<K>::default(), geometry, args),
            Pass::LookAhead => on.launch(lengths_by_key_look_ahead::<K>::default(), geometry, args),
        }
    }
}

/// A word of keys by which values of type `V` are combined by `O`.
pub trait CombinesBy<V, O>: Scalar {
    /// Writes the key of each run, and its values, combined.
    ///
    /// # Errors
    /// Those of the launch.
    fn reduce(on: &dyn Launcher, scratch: &Grouping<Self, V>, views: Views<Self, V>) -> Result;

    /// Scans values inside runs of keys: keys, values, output.
    ///
    /// # Errors
    /// Those of the launch.
    fn scan(
        on: &dyn Launcher,
        scratch: &Grouping<Self, V>,
        views: (Global<Self>, Global<V>, Global<V>),
        is_exclusive: bool,
    ) -> Result;
}

/// Values that are added up as others of their size, whose sums have the same bits: integers as unsigned ones.
pub trait SumsAs: Scalar {
    /// The others.
    type As: Scalar;
}

macro_rules! sums {
    ($($V:ty as $W:ty),*) => {$(
        impl SumsAs for $V {
            type As = $W;
        }
    )*};
}
sums!(u32 as u32, i32 as u32, f32 as f32, u64 as u64, i64 as u64, f64 as f64);

/// Sums are what most calls ask for: they look ahead where the device can.
impl<K: Scalar, V: SumsAs> CombinesBy<V, Sum> for K
where
    Sum: Operator<V> + Operator<V::As>,
    reduce_by_key<K, V, Sum>: Kernel<Args = ReduceArgs<K, V>> + Default,
    reduce_by_key_look_ahead<K, V::As, Sum>: Kernel<Args = ReduceArgs<K, V::As>> + Default,
    scan_by_key<K, V, Sum>: Kernel<Args = ScanArgs<K, V>> + Default,
    scan_by_key_look_ahead<K, V::As, Sum>: Kernel<Args = ScanArgs<K, V::As>> + Default,
{
    fn reduce(on: &dyn Launcher, scratch: &Grouping<K, V>, views: Views<K, V>) -> Result {
        let kernels = (reduce_by_key::<K, V, Sum>::default(), reduce_by_key_look_ahead::<K, V::As, Sum>::default());
        scratch.reduce(on, kernels, views)
    }

    fn scan(
        on: &dyn Launcher,
        scratch: &Grouping<K, V>,
        views: (Global<K>, Global<V>, Global<V>),
        is_exclusive: bool,
    ) -> Result {
        let kernels = (scan_by_key::<K, V, Sum>::default(), scan_by_key_look_ahead::<K, V::As, Sum>::default());
        scratch.scan(on, kernels, views, is_exclusive)
    }
}

/// An operator whose kernels look back on every device.
pub trait LooksBack {}

impl LooksBack for Min {}
impl LooksBack for Max {}

impl<K: Scalar, V: Scalar, O: LooksBack + Operator<V>> CombinesBy<V, O> for K
where
    reduce_by_key<K, V, O>: Kernel<Args = ReduceArgs<K, V>> + Default,
    scan_by_key<K, V, O>: Kernel<Args = ScanArgs<K, V>> + Default,
{
    fn reduce(on: &dyn Launcher, scratch: &Grouping<K, V>, views: Views<K, V>) -> Result {
        scratch.look_back(on, reduce_by_key::<K, V, O>::default(), |workspace| views.args(workspace))
    }

    fn scan(
        on: &dyn Launcher,
        scratch: &Grouping<K, V>,
        (keys, values, output): (Global<K>, Global<V>, Global<V>),
        is_exclusive: bool,
    ) -> Result {
        scratch.look_back(on, scan_by_key::<K, V, O>::default(), |workspace| {
            (keys, values, output, workspace, is_exclusive as u32)
        })
    }
}

/// A word of keys by which values of type `V` are combined.
#[diagnostic::on_unimplemented(
    message = "values of type `{V}` are not combined by keys that are stored in `{Self}`",
    note = "keys and values are u32, i32, f32, u64, i64 and f64"
)]
pub trait Combines<V>: CombinesBy<V, Sum> + CombinesBy<V, Min> + CombinesBy<V, Max> {
    /// [`CombinesBy::reduce`] by an operation.
    ///
    /// # Errors
    /// Those of the launch.
    fn reduce_by_key(on: &dyn Launcher, scratch: &Grouping<Self, V>, by: Operation, views: Views<Self, V>) -> Result {
        match by {
            Operation::Sum => <Self as CombinesBy<V, Sum>>::reduce(on, scratch, views),
            Operation::Min => <Self as CombinesBy<V, Min>>::reduce(on, scratch, views),
            Operation::Max => <Self as CombinesBy<V, Max>>::reduce(on, scratch, views),
        }
    }

    /// [`CombinesBy::scan`] by an operation.
    ///
    /// # Errors
    /// Those of the launch.
    fn scan_by_key(
        on: &dyn Launcher,
        scratch: &Grouping<Self, V>,
        by: Operation,
        views: (Global<Self>, Global<V>, Global<V>),
        is_exclusive: bool,
    ) -> Result {
        match by {
            Operation::Sum => <Self as CombinesBy<V, Sum>>::scan(on, scratch, views, is_exclusive),
            Operation::Min => <Self as CombinesBy<V, Min>>::scan(on, scratch, views, is_exclusive),
            Operation::Max => <Self as CombinesBy<V, Max>>::scan(on, scratch, views, is_exclusive),
        }
    }
}

impl<K, V> Combines<V> for K where K: CombinesBy<V, Sum> + CombinesBy<V, Min> + CombinesBy<V, Max> {}
