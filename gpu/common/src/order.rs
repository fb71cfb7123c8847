//! Orders that comparison sorts take: a type with a function that runs on the device.
//!
//! A sort by an order compares keys by [`Order::before`] alone, so any strict weak order will do. The kernels of a sort
//! are generic over the order; each order needs instances of its own, which `sort_kernels!`
//! makes in the crate of the order.

use crate::transform::Functor;

/// A strict weak order of keys: no key is before itself; if a is before b and b before c, a is before c; and keys of
/// which neither is before the other, which are called equivalent, are so in groups (a to b and b to c, hence a to c).
///
/// A function that is no such order ([`f32`]'s `<` with NaN among the keys, say) does no harm: the sort ends, with some
/// permutation of the keys.
pub trait Order<K>: Copy {
    /// Whether equivalent keys always have the same bits, so that one may stand for the other. A sort is then faster.
    /// It is a promise: if it is false, or if the function is no order after all, keys may get lost.
    const TOTAL: bool = false;

    /// Whether `a` comes before `b`.
    fn before(&self, a: K, b: K) -> bool;
}

/// The smallest integer first.
#[simt::argument]
#[derive(Clone, Copy, Debug, Default)]
pub struct Less;

/// The largest integer first.
#[simt::argument]
#[derive(Clone, Copy, Debug, Default)]
pub struct Greater;

/// By the low 16 bits, the largest first: an order in which many different keys are equivalent.
#[simt::argument]
#[derive(Clone, Copy, Debug, Default)]
pub struct LowHalfDown;

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Order<$t> for Less {
            const TOTAL: bool = true;

            #[simt::device]
            fn before(&self, a: $t, b: $t) -> bool {
                a < b
            }
        }

        impl Order<$t> for Greater {
            const TOTAL: bool = true;

            #[simt::device]
            fn before(&self, a: $t, b: $t) -> bool {
                a > b
            }
        }
    )*};
}
integers!(u8 u16 u32 i32 u64 i64);

impl Order<u32> for LowHalfDown {
    #[simt::device]
    fn before(&self, a: u32, b: u32) -> bool {
        a & 0xffff > b & 0xffff
    }
}

/// By what a functor makes of a key, the smallest first.
#[simt::argument]
#[derive(Clone, Copy, Debug, Default)]
pub struct ByKey<F>(pub F);

impl<K, F: Functor<K, Out: PartialOrd> + Copy> Order<K> for ByKey<F> {
    #[simt::device]
    fn before(&self, a: K, b: K) -> bool {
        self.0.call(a) < self.0.call(b)
    }
}
