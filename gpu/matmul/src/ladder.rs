//! The rungs that multiply matrices, and the call that runs them.

pub use rungs_common::ladder::*;
use simt::bf16;

/// Two row-major matrices without gaps between rows, and the memory for their product.
#[derive(Clone, Copy)]
pub struct Product<T> {
    /// A, m × k.
    pub a: Global<T>,
    /// B, k × n.
    pub b: Global<T>,
    /// C, m × n; overwritten.
    pub c: Global<T>,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
}

/// A rung's launches, by the type of its elements.
#[derive(Clone, Copy)]
pub enum Multiply {
    /// Elements, products and sums of `f32`.
    F32(fn(&dyn Launcher, Product<f32>) -> Result),
    /// Elements and sums of `f32`; the tensor cores round the factors of each product to TF32 (10 mantissa bits).
    Tf32(fn(&dyn Launcher, Product<f32>) -> Result),
    /// Elements of `bf16`, sums of `f32`.
    Bf16(fn(&dyn Launcher, Product<bf16>) -> Result),
    /// Elements, products and sums of `f64`.
    F64(fn(&dyn Launcher, Product<f64>) -> Result),
}
