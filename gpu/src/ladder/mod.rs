//! What a rung is: its file, its kernels, its launches; and a ladder of them.
//!
//! A rung's launches stand below its kernels, as an implementation of the trait of its kind:
//!
//! | kind | what a rung of it does |
//! | --- | --- |
//! | [`sort`] | sorts keys, or keys with values |
//! | [`reduce`] | combines all elements |
//! | [`scan`] | combines each element with those before it |
//! | [`histogram`] | counts values |
//! | [`matmul`] | multiplies matrices |
//! | [`cubes`] | adds up cubes |
//! | [`saxpy`] | computes y = a·x + y |
//!
//! Each trait has one method that takes the rung's scratch memory and gives [`Launches`], which can be run again and
//! again. Tests, the program and the library run them through [`Sequence`].

pub mod cubes;
pub mod histogram;
pub mod matmul;
pub mod reduce;
mod rung;
pub mod saxpy;
pub mod scan;
pub mod sort;

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
    /// The rung that a user gets who names none.
    pub default: &'static Entry<K>,
}

/// A rung, and how to run it.
pub struct Entry<K> {
    /// What it is.
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

/// What launches can be asked for besides their problem, where a rung leaves it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Columns (threads) of the column-wise radix sorts.
    pub columns: Option<u32>,
    /// Threads per block.
    pub threads: Option<u32>,
    /// Blocks of the grid.
    pub blocks: Option<u32>,
}

/// What somebody wants a rung to do, for [`Rung::refuses`].
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Elements; of a matrix product those of C.
    pub n: u64,
    /// Bytes per element.
    pub element_bytes: u32,
    /// What else is asked for.
    pub options: Options,
    /// The device.
    pub device: Device,
}

impl Ask {
    /// `n` elements of type `T` on this machine, and nothing else.
    pub fn of<T>(on: &dyn Launcher, n: u32) -> Self {
        let (element_bytes, options) = (size_of::<T>() as u32, Options::default());
        Self { n: n.into(), element_bytes, options, device: on.device() }
    }
}

/// The launches of a rung, with the scratch memory that they need. They run on the machine that they were made on.
pub type Launches<A> = Box<dyn FnMut(&dyn Launcher, A) -> Result>;

/// Arguments of [`Launches`] that were made for a number of elements.
pub trait Lengths {
    /// Refuses views of other lengths.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`], with both lengths.
    fn check(&self, n: u32) -> Result;
}

/// Refuses a view of `what` that has not `n` elements.
///
/// # Errors
/// [`Failed::Unsuitable`], with both lengths.
pub fn expect_len<T: Scalar>(what: &str, view: Global<T>, n: u32) -> Result {
    if view.len() == n {
        return Ok(());
    }
    Err(Failed::Unsuitable(format!("{} {what} for launches that were prepared for {n}", view.len())))
}

/// A rung's launches, ready to be run again and again on one machine.
///
/// Many rungs leave their scratch memory ready for the next run. A run that failed may not have, so its scratch memory is
/// given up, and the next run takes fresh memory.
pub struct Sequence<A> {
    n: u32,
    launches: Option<Launches<A>>,
    make: Make<A>,
}

/// What takes the scratch memory of a sequence, and takes it anew after a run that failed.
type Make<A> = Box<dyn Fn(&dyn Launcher) -> Result<Launches<A>>>;

impl<A: Lengths> Sequence<A> {
    /// For arguments of `n` elements. `make` takes the scratch memory.
    ///
    /// # Errors
    /// What `make` fails with.
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
    /// [`Failed::Unsuitable`] for views of other lengths; [`Failed::Machine`] as a launch or, after a run that failed,
    /// an allocation has it.
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
