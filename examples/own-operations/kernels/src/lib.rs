//! A functor, an order and an operator, with the kernels of the library's algorithms for each.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(abi_ptx, asm_experimental_arch))]

use rungs_kernels::operator::Operator;
use rungs_kernels::order::Order;
use rungs_kernels::transform::{self, Functor};
use rungs_kernels::{operator_kernels, sort_kernels};
use simt::{Global, kernel};

/// Multiplies by a factor.
#[simt::argument]
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The factor.
    pub factor: f32,
}

impl Functor<f32> for Scale {
    type Out = f32;

    #[simt::device]
    fn call(&self, x: f32) -> f32 {
        self.factor * x
    }
}

/// Writes each element of `input` times the factor to `output`, which may be the same.
#[kernel(max_threads = transform::BLOCK)]
pub fn scale(input: Global<f32>, output: Global<f32>, functor: Scale) {
    transform::transform(input, output, functor)
}

/// Sorts by distance from a point, the nearest elements first.
#[simt::argument]
#[derive(Clone, Copy, Debug)]
pub struct Nearest {
    /// The point.
    pub to: f32,
}

impl Order<f32> for Nearest {
    #[simt::device]
    fn before(&self, a: f32, b: f32) -> bool {
        (a - self.to).abs() < (b - self.to).abs()
    }
}

// The order computes two distances per comparison, which takes registers: up to 256 spilled bytes are accepted.
sort_kernels!(pub mod nearest: <f32, Nearest>, max_spills = 256);

/// The last element that is not 0: a scan by this operator fills each gap with the element before it.
#[derive(Clone, Copy, Debug)]
pub struct LastSet;

impl Operator<u32> for LastSet {
    const IDENTITY: u32 = 0;

    #[simt::device]
    fn combine(a: u32, b: u32) -> u32 {
        if b != 0 { b } else { a }
    }
}

operator_kernels!(pub mod last_set: <u32, LastSet>);
