//! Rungs (file, kernels, launches) and the ladders that they form.
//!
//! A rung's launches are below its kernels, as functions ([`sort`]) or as an implementation of the trait of its kind:
//!
//! | kind | task of a rung |
//! | --- | --- |
//! | [`sort`] | sorts keys, or keys with values |
//! | [`reduce`] | combines all elements |
//! | [`scan`] | combines each element with those before it |
//! | [`histogram`] | counts values |
//! | [`select`] | moves the items below a pivot to the front |
//! | [`sift`] | parts items, or finds runs of equal ones |
//! | [`segmented_sort`] | sorts each segment of a vector |
//! | [`top_k`] | finds the k largest keys |
//! | `matmul` | multiplies matrices |
//! | [`cubes`] | adds up cubes |
//! | [`saxpy`] | computes y = a·x + y |
//!
//! A rung has a function that enqueues its launches, and one that takes the scratch memory for them (rungs of [`cubes`]
//! and [`saxpy`] need none). A rung that sorts names both in a row of data ([`Functions`], [`sort::Words`]); a rung of
//! another kind is a type that has both, for each type of elements and each operator. Tests, the program and the
//! library run all of them through [`Sequence`].

pub mod cubes;
pub mod histogram;
pub mod reduce;
mod rung;
pub mod saxpy;
pub mod scan;
pub mod segmented_sort;
pub mod select;
pub mod sift;
pub mod sort;
pub mod top_k;

pub use crate::rung;
pub use rung::{Head, Rung, dashed, stem_len};
pub use simt::launcher::{Device, Failed, Launcher, Lengths, MAX_SHARED, Ready, Result, Scratch, Sequence, ready};
pub use simt::{Geometry, Global, Instances, Kernel, Scalar};
pub use std::boxed::Box;
pub use std::format;
pub use std::string::String;

/// The ladder of a family, whose rungs are of one kind.
pub struct Ladder<K: 'static> {
    /// The family's name on the command line.
    pub family: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// The rungs, from the textbook up.
    pub rungs: &'static [&'static Entry<K>],
    /// The rung that runs if the user names none.
    pub default: &'static Entry<K>,
}

/// A rung with its launches.
pub struct Entry<K> {
    /// The rung's description.
    pub rung: Rung,
    /// Its launches.
    pub run: K,
}

impl<K> Ladder<K> {
    /// The rung with this name.
    pub fn get(&self, name: &str) -> Option<&'static Entry<K>> {
        self.rungs.iter().copied().find(|entry| entry.rung.name == name)
    }
}

/// Wishes about the geometry of launches, for rungs that leave it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Columns (threads) of the column-wise radix sorts.
    pub columns: Option<u32>,
    /// Threads per block.
    pub threads: Option<u32>,
    /// Blocks of the grid.
    pub blocks: Option<u32>,
}

/// A request to a rung, for [`Rung::refuses`].
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Elements; for a matrix product those of C.
    pub n: u64,
    /// Bytes per element.
    pub element_bytes: u32,
    /// Wishes about the geometry.
    pub options: Options,
    /// The device.
    pub device: Device,
}

impl Ask {
    /// `n` elements of type `T` on this machine, with no other wishes.
    pub fn of<T>(on: &dyn Launcher, n: u32) -> Self {
        let (element_bytes, options) = (size_of::<T>() as u32, Options::default());
        Self { n: n.into(), element_bytes, options, device: on.device() }
    }
}

/// Launches of the library, with the scratch memory that they need. They run on the machine that they were made on.
pub type Launches<A> = Box<dyn FnMut(&dyn Launcher, A) -> Result>;

/// The functions of a rung, as a row of data: what it enqueues for arguments of type `A`, and its scratch memory `M`.
pub struct Functions<A, M> {
    /// Takes the scratch memory for a number of elements.
    pub scratch: fn(&dyn Launcher, u32, &Options) -> Result<M>,
    /// Enqueues the launches. It allocates nothing.
    pub run: fn(&dyn Launcher, A, &mut M) -> Result,
}

/// The scratch memory of a rung that needs none.
///
/// # Errors
/// None.
pub fn no_scratch(_: &dyn Launcher, _: u32, _: &Options) -> Result {
    Ok(())
}

/// The functions of a rung that has them for several types of arguments `A`, and operators `O`.
pub trait Serves<A, O = ()>: Sync {
    /// Its scratch memory.
    type Memory: 'static;

    /// Takes the scratch memory for `n` elements; of a histogram, for `n` bins.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Self::Memory>;

    /// Enqueues the launches. It allocates nothing on the machine.
    ///
    /// # Errors
    /// Those of a launch.
    fn run(on: &dyn Launcher, args: A, memory: &mut Self::Memory) -> Result;
}

/// The rung ready for arguments of `n` elements.
fn serve<A: Lengths + 'static, O, R: Serves<A, O>>(rung: &'static R, on: &dyn Launcher, n: u32) -> Result<Sequence<A>> {
    ready(on, n, move |on| rung.scratch(on, n), R::run)
}

/// The functions of a rung, whatever its scratch memory.
pub trait Runs<A>: Sync {
    /// Takes the scratch memory for `n` elements.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] beyond a limit of the rung; [`Failed::Machine`] if there is no memory.
    fn prepare(&self, on: &dyn Launcher, n: u32, options: Options) -> Result<Sequence<A>>;
}

impl<A: Lengths + 'static, M: 'static> Runs<A> for Functions<A, M> {
    fn prepare(&self, on: &dyn Launcher, n: u32, options: Options) -> Result<Sequence<A>> {
        let scratch = self.scratch;
        ready(on, n, move |on| scratch(on, n, &options), self.run)
    }
}

/// A sequence for arguments of `n` elements. `make` allocates the scratch memory.
///
/// # Errors
/// Those of `make`.
pub fn sequence<A: Lengths + 'static>(
    on: &dyn Launcher,
    n: u32,
    make: impl Fn(&dyn Launcher) -> Result<Launches<A>> + 'static,
) -> Result<Sequence<A>> {
    ready(on, n, make, |on, args, launches| launches(on, args))
}

/// Refuses a view of `what` that does not have `n` elements.
///
/// # Errors
/// [`Failed::Unsuitable`], with both lengths.
pub fn expect_len<T: Scalar>(what: &str, view: Global<T>, n: u32) -> Result {
    if view.len() == n {
        return Ok(());
    }
    Err(Failed::Unsuitable(format!("{} {what} for launches that were prepared for {n}", view.len())))
}

/// Refuses a view of `what` that does not begin on a multiple of 16 bytes, where a rung loads this many at once.
///
/// # Errors
/// [`Failed::Unsuitable`].
pub fn expect_aligned<T: Scalar>(what: &str, view: Global<T>) -> Result {
    if view.is_empty() || (view.as_ptr() as usize).is_multiple_of(16) {
        return Ok(());
    }
    Err(Failed::Unsuitable(format!("{what} begin on a multiple of 16 bytes for this rung; copy them, or take another")))
}
