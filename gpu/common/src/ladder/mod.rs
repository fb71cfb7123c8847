//! Rungs (file, kernels, launches) and the ladders that they form.
//!
//! A rung's launches are below its kernels, as an implementation of the trait of its kind:
//!
//! | kind | task of a rung |
//! | --- | --- |
//! | [`sort`] | sorts keys, or keys with values |
//! | [`reduce`] | combines all elements |
//! | [`scan`] | combines each element with those before it |
//! | [`histogram`] | counts values |
//! | [`select`] | moves the items below a pivot to the front |
//! | [`top_k`] | finds the k largest keys |
//! | [`matmul`] | multiplies matrices |
//! | [`cubes`] | adds up cubes |
//! | [`saxpy`] | computes y = a·x + y |
//!
//! A trait has one method that allocates the rung's scratch memory and returns [`Launches`], which can be run any
//! number of times (rungs of [`cubes`] and [`saxpy`] need no memory and launch directly). Tests, the program and the
//! library run them through [`Sequence`].

pub mod cubes;
pub mod histogram;
pub mod reduce;
mod rung;
pub mod saxpy;
pub mod scan;
pub mod select;
pub mod sort;
pub mod top_k;

pub use crate::rung;
pub use rung::{Head, Rung, dashed, stem_len};
pub use simt::launcher::{Device, Failed, Launcher, MAX_SHARED, Result, Scratch};
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

/// The launches of a rung, with the scratch memory that they need. They run on the machine that they were made on.
pub type Launches<A> = Box<dyn FnMut(&dyn Launcher, A) -> Result>;

/// Arguments of [`Launches`] made for a number of elements.
pub trait Lengths {
    /// Refuses views of other lengths.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`], with both lengths.
    fn check(&self, n: u32) -> Result;
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

/// Refuses a view of `what` that does not begin on a multiple of 16 bytes, where a rung loads so many at once.
///
/// # Errors
/// [`Failed::Unsuitable`].
pub fn expect_aligned<T: Scalar>(what: &str, view: Global<T>) -> Result {
    if view.is_empty() || (view.as_ptr() as usize).is_multiple_of(16) {
        return Ok(());
    }
    Err(Failed::Unsuitable(format!("{what} begin on a multiple of 16 bytes for this rung; copy them, or take another")))
}

/// A rung's launches, ready to be run again and again on one machine.
///
/// Many rungs leave their scratch memory ready for the next run. A run that fails may not, so its scratch memory is
/// freed and the next run allocates fresh memory.
pub struct Sequence<A> {
    n: u32,
    launches: Option<Launches<A>>,
    make: Make<A>,
}

/// Allocates the scratch memory of a sequence, and allocates it anew after a run that failed.
type Make<A> = Box<dyn Fn(&dyn Launcher) -> Result<Launches<A>>>;

impl<A: Lengths> Sequence<A> {
    /// A sequence for arguments of `n` elements. `make` allocates the scratch memory.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn new(
        on: &dyn Launcher,
        n: u32,
        make: impl Fn(&dyn Launcher) -> Result<Launches<A>> + 'static,
    ) -> Result<Self> {
        Ok(Self { n, launches: Some(make(on)?), make: Box::new(make) })
    }

    /// Enqueues all launches, on the machine that the sequence was made on.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] for views of other lengths; [`Failed::Machine`] if a launch fails or, after a
    /// run that failed, an allocation.
    pub fn run(&mut self, on: &dyn Launcher, args: A) -> Result {
        args.check(self.n)?;
        let mut launches = match self.launches.take() {
            Some(launches) => launches,
            None => (self.make)(on)?,
        };
        launches(on, args)?;
        self.launches = Some(launches);
        Ok(())
    }
}
