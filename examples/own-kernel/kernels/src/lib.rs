//! Two kernels, one from nothing and one that is a functor for a function of `rungs-kernels`; an order, with the
//! kernels that sort by it; and an operator, with the kernels that reduce and scan by it.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(abi_ptx, asm_experimental_arch))]

use rungs_kernels::operator::Operator;
use rungs_kernels::order::Order;
use rungs_kernels::transform::{self, Functor};
use rungs_kernels::{operator_kernels, sort_kernels};
use simt::{Global, kernel, shared, thread};

/// Threads per block of [`smooth`], and elements that a block writes.
pub const BLOCK: u32 = 256;

shared! {
    /// A block's elements, with one more on either side.
    TILE: [f32; BLOCK as usize + 2]
}

/// Writes the mean of each element of `input` and its two neighbours to `output`, which is as long and not the same.
/// The first and the last element count as their own missing neighbours.
#[kernel(max_threads = BLOCK)]
pub fn smooth(input: Global<f32>, output: Global<f32>) {
    let (i, n, tile) = (thread::index_1d(), input.len(), TILE::view());
    let in_tile = thread::thread_idx_x() + 1;
    let last = n - 1; // no block is launched for n = 0
    tile.set(in_tile, input.get(i.min(last)));
    if thread::thread_idx_x() == 0 {
        tile.set(0, input.get(i.saturating_sub(1)));
    }
    if in_tile == BLOCK {
        tile.set(BLOCK + 1, input.get((i + 1).min(last)));
    }
    // Every thread, also one without an element, comes here: its neighbours read what it wrote.
    thread::sync_threads();
    if i < n {
        output.set(i, (tile.get(in_tile - 1) + tile.get(in_tile) + tile.get(in_tile + 1)) / 3.0);
    }
}

/// Multiplies by a factor.
#[simt::argument]
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The factor.
    pub factor: f32,
}

impl Functor<f32> for Scale {
    type Out = f32;

    #[inline(always)]
    fn call(&self, x: f32) -> f32 {
        self.factor * x
    }
}

/// Writes each element of `input` times the factor to `output`, which may be the same.
#[kernel(max_threads = transform::BLOCK)]
pub fn scale(input: Global<f32>, output: Global<f32>, functor: Scale) {
    transform::transform(input, output, functor)
}

/// The elements nearest to a point first.
#[simt::argument]
#[derive(Clone, Copy, Debug)]
pub struct Nearest {
    /// The point.
    pub to: f32,
}

impl Order<f32> for Nearest {
    #[inline(always)]
    fn before(&self, a: f32, b: f32) -> bool {
        (a - self.to).abs() < (b - self.to).abs()
    }
}

// The order computes two distances per comparison, which takes registers: 256 bytes of spilled ones are accepted.
sort_kernels!(pub mod nearest: <f32, Nearest>, max_spills = 256);

/// The last element that is not 0: a scan by it fills gaps with the element before them.
#[derive(Clone, Copy, Debug)]
pub struct LastSet;

impl Operator<u32> for LastSet {
    const IDENTITY: u32 = 0;

    #[inline(always)]
    fn combine(a: u32, b: u32) -> u32 {
        if b != 0 { b } else { a }
    }
}

operator_kernels!(pub mod last_set: <u32, LastSet>);
