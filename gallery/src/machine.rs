//! What cases run on: a machine that launches kernels, with words that go in and come out.

use crate::case::Ended;
use simt::launcher::{Launcher, Memory, Result};
use simt::{Geometry, Global, Kernel};
use std::boxed::Box;
use std::vec;
use std::vec::Vec;

/// A machine that cases run on.
///
/// # Safety
/// The memory that [`Machine::upload`] returns has room for the words that it was given.
pub unsafe trait Machine: Launcher {
    /// Memory with these words in it.
    ///
    /// # Errors
    /// `Failed::Machine` if the machine has less memory left.
    fn upload(&self, words: &[u32]) -> Result<Box<dyn Memory>>;

    /// Copies words out of the machine, after all launches before.
    ///
    /// # Errors
    /// `Failed::Machine` if the machine refuses, or a kernel failed.
    ///
    /// # Safety
    /// The words at `address` are live memory of this machine.
    unsafe fn download(&self, address: *const u8, words: &mut [u32]) -> Result;

    /// Says that the launches so far should have written all of these words.
    fn expect_written(&self, _words: Global<u32>) {}
}

/// A run of one version on a machine.
pub struct Trial<'a> {
    on: &'a dyn Machine,
    /// Whether the clean twin runs.
    pub fixed: bool,
}

/// Words in a machine's memory.
pub struct Words {
    memory: Box<dyn Memory>,
    len: u32,
    /// Whether the kernels have to write every word.
    output: bool,
}

impl Words {
    /// All words, as a kernel's argument.
    pub fn view(&self) -> Global<u32> {
        // SAFETY: the memory is that of `len` words and lives as long as self, which outlives the launches.
        unsafe { Global::from_raw(self.memory.address().cast(), self.len) }
    }
}

impl<'a> Trial<'a> {
    /// A run on `on`.
    pub fn new(on: &'a dyn Machine, fixed: bool) -> Self {
        Self { on, fixed }
    }

    /// A grid of small blocks of which two fit on an SM, by their shared memory, and which has a few more
    /// than fit on the whole device.
    pub fn more_than_fit(&self, threads: u32) -> Geometry {
        Geometry::linear(2 * self.on.device().multiprocessors + 4, threads).shared(112 << 10)
    }

    /// Memory with these words in it.
    ///
    /// # Errors
    /// As for [`Machine::upload`].
    pub fn input(&self, words: impl IntoIterator<Item = u32>) -> Result<Words> {
        let words: Vec<u32> = words.into_iter().collect();
        Ok(Words { memory: self.on.upload(&words)?, len: words.len() as u32, output: false })
    }

    /// Memory that nobody has written.
    ///
    /// # Errors
    /// As for [`Launcher::allocate`].
    pub fn scratch(&self, len: u32) -> Result<Words> {
        Ok(Words { memory: self.on.allocate(4 * len as usize)?, len, output: false })
    }

    /// Memory that nobody has written, and of which the kernels have to write every word.
    ///
    /// # Errors
    /// As for [`Launcher::allocate`].
    pub fn output(&self, len: u32) -> Result<Words> {
        Ok(Words { output: true, ..self.scratch(len)? })
    }

    /// Sets the words to zero, after all launches before.
    ///
    /// # Errors
    /// As for [`Launcher::clear_bytes`].
    pub fn clear(&self, words: &Words) -> Result {
        let on: &dyn Launcher = self.on;
        on.clear(words.view())
    }

    /// Launches `kernel` after all launches before it.
    ///
    /// # Errors
    /// As for [`Launcher::enqueue`].
    pub fn launch<K: Kernel>(&self, kernel: K, geometry: Geometry, args: K::Args) -> Result {
        let on: &dyn Launcher = self.on;
        on.launch(kernel, geometry, args)
    }

    /// The output as the kernels left it, next to what it should be.
    ///
    /// # Errors
    /// As for [`Machine::download`].
    pub fn ended(&self, output: &Words, want: impl IntoIterator<Item = u32>) -> Result<Ended> {
        if output.output {
            self.on.expect_written(output.view());
        }
        let mut got = vec![0; output.len as usize];
        // SAFETY: the words live.
        unsafe { self.on.download(output.memory.address(), &mut got)? };
        let want: Vec<u32> = want.into_iter().collect();
        assert_eq!(got.len(), want.len(), "a case expects as many words as it puts out");
        Ok(Ended { got, want })
    }
}

/// Launches the version of a kernel that the trial asks for.
macro_rules! launch {
    ($on:ident, $kernel:ident, $geometry:expr, $($argument:expr),* $(,)?) => {
        if $on.fixed {
            $on.launch($kernel::<Fixed>::default(), $geometry, ($($argument,)*))
        } else {
            $on.launch($kernel::<Planted>::default(), $geometry, ($($argument,)*))
        }
    };
}
pub(crate) use launch;
