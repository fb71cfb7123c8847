//! # 5 · The walk, written once
//!
//! Saxpy, a difference, a maximum: the work on a pair of elements changes, but the loop over all pairs does not. So
//! the work is a *functor*: a type with a function. `Saxpy` below is one, with the factor as a field; the kernel takes
//! it as an argument. The function `transform` loops over the pairs, for any functor.
//!
//! Write two things: the body of `Saxpy`, a·x + y, and a loop in which each thread processes `ITEMS` pairs instead of
//! one, so that more reads are in flight at once. A block has `ITEMS * BLOCK` pairs in a row; a thread's pairs are
//! `BLOCK` apart, so that neighbours read neighbours. n is any number: any of the four may be missing.
//!
//! **Rung.** gpu/saxpy/src/r2_transform.rs

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
        x // Write this part.
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
    // And this: one pair per thread is not enough.
    let i = block * BLOCK + t;
    if i < y.len() {
        y.set(i, functor.call(x.get(i), y.get(i)));
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
