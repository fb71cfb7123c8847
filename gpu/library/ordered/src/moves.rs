//! # Elements written by rule
//!
//! One thread per element; all of this is bound by memory. Elements of all types are moved as words of their size.

use crate::BLOCK;
use simt::{Geometry, Global, Scalar, kernel, thread};

/// One thread per element of `n`.
pub const fn geometry(n: u32) -> Geometry {
    Geometry::linear(n.div_ceil(BLOCK), BLOCK)
}

/// Writes element i of `input` to place `places[i]` of `output`, if there is such a place. If several elements
/// have one place, one of them is there at the end.
#[kernel(max_threads = BLOCK, instances(
    moves_scatter_u8: <u8>, moves_scatter_u16: <u16>, moves_scatter_u32: <u32>, moves_scatter_u64: <u64>,
))]
pub fn moves_scatter<W: Scalar>(input: Global<W>, places: Global<u32>, output: Global<W>) {
    let i = thread::index_1d();
    if i < input.len() {
        let place = places.get(i);
        if place < output.len() {
            output.set(place, input.get(i));
        }
    }
}

/// Exchanges the first element with the last, and so on; one thread for each of the first half.
#[kernel(max_threads = BLOCK, instances(
    moves_reverse_u8: <u8>, moves_reverse_u16: <u16>, moves_reverse_u32: <u32>, moves_reverse_u64: <u64>,
))]
pub fn moves_reverse<W: Scalar>(items: Global<W>) {
    let i = thread::index_1d();
    if i < items.len() / 2 {
        let other = items.len() - 1 - i;
        let (low, high) = (items.get(i), items.get(other));
        items.set(i, high);
        items.set(other, low);
    }
}

/// Writes the value of these bits to all places.
#[kernel(max_threads = BLOCK, instances(
    moves_fill_u8: <u8>, moves_fill_u16: <u16>, moves_fill_u32: <u32>, moves_fill_u64: <u64>,
))]
pub fn moves_fill<W: Scalar>(items: Global<W>, bits: u64) {
    let i = thread::index_1d();
    if i < items.len() {
        items.set(i, W::from_bits_64(bits));
    }
}

/// A type that counts: unsigned words stand for signed ones too, since all wraps around.
pub trait Counts: Scalar {
    /// `self + step * i`, the product and the sum each rounded.
    fn plus(self, step: Self, i: u32) -> Self;
    /// `self - other`.
    fn minus(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Counts for $t {
            #[simt::device]
            fn plus(self, step: Self, i: u32) -> Self {
                self.wrapping_add(step.wrapping_mul(i as $t))
            }

            #[simt::device]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )*};
}
integers!(u32 u64);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Counts for $t {
            #[simt::device]
            fn plus(self, step: Self, i: u32) -> Self {
                self + step * i as $t
            }

            #[simt::device]
            fn minus(self, other: Self) -> Self {
                self - other
            }
        }
    )*};
}
floats!(f32 f64);

/// Writes `first` plus i times `step` to place i. The arguments are bits, so that one kernel has one form.
#[kernel(max_threads = BLOCK, instances(
    moves_iota_u32: <u32>, moves_iota_u64: <u64>, moves_iota_f32: <f32>, moves_iota_f64: <f64>,
))]
pub fn moves_iota<T: Counts>(items: Global<T>, first: u64, step: u64) {
    let i = thread::index_1d();
    if i < items.len() {
        items.set(i, T::from_bits_64(first).plus(T::from_bits_64(step), i));
    }
}

/// Writes to each place of `output` the element of `input` there less the one before; the first stays as it is.
#[kernel(max_threads = BLOCK, instances(
    moves_difference_u32: <u32>, moves_difference_u64: <u64>,
    moves_difference_f32: <f32>, moves_difference_f64: <f64>,
))]
pub fn moves_difference<T: Counts>(input: Global<T>, output: Global<T>) {
    let i = thread::index_1d();
    if i < output.len() {
        let x = input.get(i);
        output.set(i, if i == 0 { x } else { x.minus(input.get(i - 1)) });
    }
}
