//! Blocks begin as far apart as with one pair per thread.
//!
//! **Finding.** global-race

use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

/// Pairs per thread.
pub const ITEMS: u32 = 4;

/// A function of a pair.
pub trait Functor: Copy {
    /// The function.
    fn call(self, x: u32, y: u32) -> u32;
}

/// a·x + y
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Saxpy {
    /// The factor.
    pub a: u32,
}

impl Functor for Saxpy {
    fn call(self, x: u32, y: u32) -> u32 {
        self.a * x + y
    }
}

/// The larger one, plus a number.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Larger {
    /// The number.
    pub plus: u32,
}

impl Functor for Larger {
    fn call(self, x: u32, y: u32) -> u32 {
        if x > y { x + self.plus } else { y + self.plus }
    }
}

/// Writes the functor of each pair to `y`.
fn transform(x: Global<u32>, y: Global<u32>, functor: impl Functor) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x());
    for item in 0..ITEMS {
        let i = block * BLOCK + item * BLOCK + t;
        if i < y.len() {
            y.set(i, functor.call(x.get(i), y.get(i)));
        }
    }
}

/// y = a·x + y, in as many blocks as n takes with `ITEMS` pairs per thread.
#[kernel]
pub fn saxpy(x: Global<u32>, y: Global<u32>, functor: Saxpy) {
    transform(x, y, functor)
}

/// y = the larger of x and y, plus a number; likewise.
#[kernel]
pub fn larger(x: Global<u32>, y: Global<u32>, functor: Larger) {
    transform(x, y, functor)
}
