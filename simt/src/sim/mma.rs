//! The product of small matrices that a warp computes.
//!
//! A tensor core adds its products in an order and with a precision that are not published. Here the sum is made in
//! double precision, which holds every product exactly, and rounded towards zero once.

use super::decoded::{Decoded, towards_zero};
use crate::mma::{HALF, SEEN};
use std::cell::{Cell, RefCell};

/// A lane's operands: its elements of A, B and C.
type Operands = ([u32; 4], [u32; 2], [f32; 4]);

/// The same in `f64`.
type Operands64 = ([f64; 8], [f64; 4], [f64; 4]);

/// What the lanes of a warp contribute, and what each gets.
#[derive(Default)]
pub(super) struct Fragments {
    pub(super) operands: [Cell<Operands>; 32],
    pub(super) products: [Cell<[f32; 4]>; 32],
    pub(super) operands64: [Cell<Operands64>; 32],
    pub(super) products64: [Cell<[f64; 4]>; 32],
    /// Of a product by four warps: what the lanes bring, and the operands of the last one.
    pub(super) brought: [Cell<Held>; 32],
    pub(super) decoded: RefCell<Decoded>,
}

/// A lane's two fragments of an operand of 64 rows.
pub(super) type Held = [[u32; 4]; 2];

impl Fragments {
    /// The element of A at (`row`, `k`), of B at (`k`, `column`), of C at (`row`, `column`).
    fn a(&self, row: usize, k: usize) -> f64 {
        let (a, _, _) = self.operands[row % 8 * 4 + k % 4].get();
        seen(a[row / 8 + k / 4 * 2])
    }

    fn b(&self, k: usize, column: usize) -> f64 {
        let (_, b, _) = self.operands[column * 4 + k % 4].get();
        seen(b[k / 4])
    }

    /// Computes the products of all lanes.
    pub(super) fn multiply(&self) {
        let a: [[f64; 8]; 16] = std::array::from_fn(|row| std::array::from_fn(|k| self.a(row, k)));
        let b: [[f64; 8]; 8] = std::array::from_fn(|column| std::array::from_fn(|k| self.b(k, column)));
        for (lane, product) in self.products.iter().enumerate() {
            let (_, _, c) = self.operands[lane].get();
            product.set(std::array::from_fn(|i| {
                let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
                let products = a[row].iter().zip(&b[column]).map(|(a, b)| a * b);
                towards_zero(f64::from(c[i]) + products.sum::<f64>())
            }));
        }
    }

    /// Computes the products of all lanes in `f64`: each is fused with the sum so far, by ascending column of A.
    pub(super) fn multiply_f64(&self) {
        let lanes: [Operands64; 32] = std::array::from_fn(|lane| self.operands64[lane].get());
        for (lane, product) in self.products64.iter().enumerate() {
            product.set(std::array::from_fn(|i| {
                let (row, column) = (lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2);
                (0..16).fold(lanes[lane].2[i], |sum, k| {
                    let (a, b) = (lanes[row % 8 * 4 + k % 4].0, lanes[column * 4 + k % 4].1);
                    a[row / 8 + k / 4 * 2].mul_add(b[k / 4], sum)
                })
            }));
        }
    }
}

/// The value of an operand as the tensor cores see it.
pub(super) fn seen(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits & SEEN))
}

/// The nearest operand, of two the larger in magnitude (`cvt.rna.tf32.f32`).
pub(super) fn round(x: f32) -> u32 {
    match x {
        _ if x.is_nan() => 0x7FFF_FFFF, // the NaN that the hardware gives
        _ if x.is_infinite() => x.to_bits(),
        _ => (x.to_bits() + HALF) & SEEN,
    }
}
