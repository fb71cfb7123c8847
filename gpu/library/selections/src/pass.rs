//! What the host launches to select: the pass that suits the device, the number of items and where they lie.

use crate::BLOCK;
use crate::compact::{self, partition_compact, select_compact, unique_compact};
use crate::look_ahead::{self, Shape, partition_look_ahead, select_look_ahead, unique_look_ahead};
use rungs_common::keys::Word;
use simt::launcher::{Device, Launcher, Result, Scratch};
use simt::{Argument, Geometry, Global, Kernel, Scalar};
use std::cell::Cell;
use std::vec::Vec;

/// Items from which on [`Pass::LookAhead`] is taken on a GPU. On an H100 it took, of the other's time for 2²⁰ items,
/// 0.84 to 0.90 for `unique`, 0.96 to 1.02 for `partition`, and 0.99 to 1.14 for a selection by bounds; for 2²⁴ items
/// and more 0.50 to 0.88 for all three.
pub const LEAST: u32 = 1 << 16;

/// The same for runs of keys.
pub const LEAST_IN_RUNS: u32 = 1 << 18;

/// How a selection runs: in one launch either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// A block per tile, which looks back: [`crate::compact`].
    LookBack,
    /// Blocks that stay, with roles for warps: [`crate::look_ahead`].
    LookAhead,
}

impl Pass {
    /// The pass for `n` items, if they lie where it wants them.
    pub fn of(device: Device, n: u32) -> Self {
        if n >= LEAST && Self::LookAhead.suits(device) { Self::LookAhead } else { Self::LookBack }
    }

    /// Whether the device can run the pass.
    pub fn suits(self, device: Device) -> bool {
        let has_all = device.compute_capability >= (9, 0) && device.shared_per_block >= look_ahead::NEEDED;
        self == Self::LookBack || has_all
    }

    /// The pass for `n` keys in runs, likewise.
    pub fn of_runs(device: Device, n: u32) -> Self {
        if n >= LEAST_IN_RUNS { Self::of(device, n) } else { Self::LookBack }
    }
}

/// The scratch memory for one of two kernels, whichever pass suits where the views lie. It can be used again and again,
/// for one launch at a time.
pub(crate) struct Either {
    pass: Pass,
    /// For looking back and ahead.
    geometries: [Geometry; 2],
    workspace: Scratch<u64>,
    /// Whether the last launch left the workspace ready for the next.
    is_ready: Cell<bool>,
}

impl Either {
    /// Takes it for `n` items: `pass` where it can run, with the geometry and the words of the workspace for looking
    /// back, and the shape of looking ahead.
    pub(crate) fn new(
        on: &dyn Launcher,
        n: u32,
        pass: Pass,
        (look_back, words): (Geometry, u32),
        shape: Shape,
    ) -> Result<Self> {
        let look_ahead = Geometry::linear(shape.grid(n, on.device().multiprocessors), look_ahead::BLOCK);
        let workspace = on.scratch(words.max(shape.workspace(n)))?;
        let geometries = [look_back, look_ahead.shared(shape.shared_bytes())];
        Ok(Self { pass, geometries, workspace, is_ready: Cell::new(false) })
    }

    /// The pass for views at these places, its geometry, and the workspace, ready for it.
    pub(crate) fn ready(&self, on: &dyn Launcher, places: &[usize]) -> Result<(Pass, Geometry, Global<u64>)> {
        let are_aligned = places.iter().all(|place| place.is_multiple_of(16));
        let pass = if are_aligned { self.pass } else { Pass::LookBack };
        // The look-ahead leaves it ready for itself. A launch that fails leaves it as it may.
        if pass == Pass::LookBack || !self.is_ready.get() {
            on.clear(self.workspace.view())?;
        }
        self.is_ready.set(pass == Pass::LookAhead);
        Ok((pass, self.geometries[pass as usize], self.workspace.view()))
    }

    /// The geometry and the workspace, ready for looking back.
    pub(crate) fn for_look_back(&self, on: &dyn Launcher) -> Result<(Geometry, Global<u64>)> {
        // A place where nothing can look ahead.
        self.ready(on, &[1]).map(|(_, geometry, workspace)| (geometry, workspace))
    }
}

/// Where a view begins, for [`Either::ready`].
pub(crate) fn place_of<T: Scalar>(view: Global<T>) -> usize {
    view.as_ptr() as usize
}

/// What a selection reads, and where it writes what it keeps. The outputs have room for all items, and share nothing
/// with the input.
#[derive(Clone, Copy)]
pub struct Views<T> {
    /// The items.
    pub input: Global<T>,
    /// How many of them there are, one word, or an empty view: all.
    pub limit: Global<u32>,
    /// Room for the items that are kept.
    pub output: Global<T>,
    /// Their number, one word.
    pub count: Global<u32>,
}

/// Where a partition writes the items that are not kept: they and their number.
pub type Rest<T> = (Global<T>, Global<u32>);

/// The smallest and the largest word of a selection, and the order of the words, see [`rungs_common::keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds<W> {
    /// The smallest word.
    pub low: W,
    /// The largest word; below [`Bounds::low`] nothing is kept.
    pub high: W,
    /// The order.
    pub order: u32,
}

/// The scratch memory of selections from `n` items of type `T`. They can be run again and again, one run at a time.
pub struct Selection<T> {
    either: Either,
    item: std::marker::PhantomData<T>,
}

impl<T: Scalar> Selection<T> {
    /// Takes the scratch memory.
    ///
    /// # Errors
    /// [`Failed::Machine`](simt::launcher::Failed::Machine) if there is no memory.
    pub fn new(on: &dyn Launcher, n: u32) -> Result<Self> {
        Self::by(on, n, Pass::of(on.device(), n))
    }

    /// The same, with the pass that runs where items and outputs begin on multiples of 16 bytes, on a device that it
    /// suits.
    ///
    /// # Errors
    /// As for [`Selection::new`].
    pub fn by(on: &dyn Launcher, n: u32, pass: Pass) -> Result<Self> {
        let look_back = Geometry::linear(compact::grid(n), BLOCK).shared(compact::shared_bytes::<T>());
        let either = Either::new(on, n, pass, (look_back, compact::workspace(n)), look_ahead::shape::<T>())?;
        Ok(Self { either, item: std::marker::PhantomData })
    }

    /// The pass for items and outputs at these places, its geometry, and the workspace, ready for it.
    fn ready(&self, on: &dyn Launcher, views: &[Global<T>]) -> Result<(Pass, Geometry, Global<u64>)> {
        let places: Vec<usize> = views.iter().copied().map(place_of).collect();
        self.either.ready(on, &places)
    }

    /// The scratch memory and the geometry for a kernel of the caller's, which calls [`compact::select`] or
    /// [`compact::partition`].
    ///
    /// # Errors
    /// [`Failed::Machine`](simt::launcher::Failed::Machine) if the memory cannot be cleared.
    pub fn for_look_back(&self, on: &dyn Launcher) -> Result<(Geometry, Global<u64>)> {
        self.either.for_look_back(on)
    }
}

/// A word that is selected by bounds, or as the first of a run of equal ones.
pub trait Selects: Word + Argument {
    /// Keeps the items between two bounds, both of which count.
    ///
    /// # Errors
    /// Those of the launch.
    fn between(on: &dyn Launcher, scratch: &Selection<Self>, views: Views<Self>, bounds: Bounds<Self>) -> Result;

    /// The same, and writes the others.
    ///
    /// # Errors
    /// Those of the launch.
    fn parted(
        on: &dyn Launcher,
        scratch: &Selection<Self>,
        views: Views<Self>,
        rest: Rest<Self>,
        bounds: Bounds<Self>,
    ) -> Result;

    /// Keeps the first item of each run of items with the same bits.
    ///
    /// # Errors
    /// Those of the launch.
    fn firsts(on: &dyn Launcher, scratch: &Selection<Self>, views: Views<Self>) -> Result;
}

/// What a selection takes.
type SelectArgs<W> = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, W, W, u32);

/// What a partition takes.
#[rustfmt::skip]
type PartitionArgs<W> = (
    Global<W>, Global<u32>, Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>, W, W, u32,
);

/// What the first items of runs take.
type UniqueArgs<W> = (Global<W>, Global<u32>, Global<W>, Global<u32>, Global<u64>);

impl<W: Word + Argument> Selects for W
where
    select_compact<W>: Kernel<Args = SelectArgs<W>>,
    select_look_ahead<W>: Kernel<Args = SelectArgs<W>>,
    partition_compact<W>: Kernel<Args = PartitionArgs<W>>,
    partition_look_ahead<W>: Kernel<Args = PartitionArgs<W>>,
    unique_compact<W>: Kernel<Args = UniqueArgs<W>>,
    unique_look_ahead<W>: Kernel<Args = UniqueArgs<W>>,
{
    fn between(on: &dyn Launcher, scratch: &Selection<Self>, v: Views<Self>, bounds: Bounds<Self>) -> Result {
        let (pass, geometry, workspace) = scratch.ready(on, &[v.input, v.output])?;
        let Bounds { low, high, order } = bounds;
        let args = (v.input, v.limit, v.output, v.count, workspace, low, high, order);
        match pass {
            Pass::LookBack => on.launch(select_compact::<W>::default(), geometry, args),
            Pass::LookAhead => on.launch(select_look_ahead::<W>::default(), geometry, args),
        }
    }

    fn parted(
        on: &dyn Launcher,
        scratch: &Selection<Self>,
        v: Views<Self>,
        (rest, others): Rest<Self>,
        Bounds { low, high, order }: Bounds<Self>,
    ) -> Result {
        let (pass, geometry, workspace) = scratch.ready(on, &[v.input, v.output, rest])?;
        let args = (v.input, v.limit, v.output, v.count, rest, others, workspace, low, high, order);
        match pass {
            Pass::LookBack => on.launch(partition_compact::<W>::default(), geometry, args),
            Pass::LookAhead => on.launch(partition_look_ahead::<W>::default(), geometry, args),
        }
    }

    fn firsts(on: &dyn Launcher, scratch: &Selection<Self>, v: Views<Self>) -> Result {
        let (pass, geometry, workspace) = scratch.ready(on, &[v.input, v.output])?;
        let args = (v.input, v.limit, v.output, v.count, workspace);
        match pass {
            Pass::LookBack => on.launch(unique_compact::<W>::default(), geometry, args),
            Pass::LookAhead => on.launch(unique_look_ahead::<W>::default(), geometry, args),
        }
    }
}
