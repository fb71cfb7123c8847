//! The operators of reductions and scans (sum, minimum, maximum), and how a warp combines values with them.
//!
//! An operator is a type of size zero, so that a kernel which is generic over it is compiled once for each operator. A
//! new operator is a type with `impl Operator<T>`; the kernels need no change.
//!
//! | operator | integers | floats |
//! | --- | --- | --- |
//! | [`Sum`] | modulo 2³² or 2⁶⁴ | rounded at each step, so the order of the additions shows; starts from +0 |
//! | [`Min`], [`Max`] | the smaller, the larger | IEEE 754-2019 minimum, maximum: NaN if either is; -0 < +0 |

use simt::{Scalar, math, warp};

/// An associative operation with an identity. The rungs of the course combine elements in any order, so there it is
/// commutative, too; an operator of your own need not be, see `rungs_selections::operators`.
///
/// Addition of floats is not associative in the last bits; kernels state the order in which they add.
pub trait Operator<T>: Copy + 'static {
    /// `combine(IDENTITY, x)` is `x` (for a sum of floats: +0 where `x` is -0).
    const IDENTITY: T;

    /// Combines both; `a` comes before `b`.
    fn combine(a: T, b: T) -> T;

    /// Combines all values of the calling warp; every lane gets the result. All 32 lanes call it. A butterfly, so that
    /// all lanes round alike; lane 0 combines the values in the order of the lanes.
    #[simt::device]
    #[track_caller]
    fn combine_warp(value: T) -> T
    where
        T: Scalar,
    {
        let mut all = value;
        simt::unroll::<5>(|step| all = Self::combine(all, warp::shuffle_xor(warp::FULL, all, 1 << step)));
        all
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::Operation;

/// Addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum;

/// The smallest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Min;

/// The largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Max;

macro_rules! operators {
    ($($operator:ident, $t:ty: $identity:expr, $combine:expr $(, $reduce:path)?;)*) => {$(
        impl Operator<$t> for $operator {
            const IDENTITY: $t = $identity;

            #[simt::device]
            fn combine(a: $t, b: $t) -> $t {
                $combine(a, b)
            }
            $(
                #[simt::device]
                #[track_caller]
                fn combine_warp(value: $t) -> $t {
                    $reduce(warp::FULL, value)
                }
            )?
        }
    )*};
}

// 32-bit integers have an instruction that combines a whole warp.
operators! {
    Sum, u32: 0, u32::wrapping_add, warp::reduce_add;
    Sum, i32: 0, i32::wrapping_add, warp::reduce_add_i32;
    Sum, u64: 0, u64::wrapping_add;
    Sum, i64: 0, i64::wrapping_add;
    Sum, f32: 0.0, core::ops::Add::add;
    Sum, f64: 0.0, core::ops::Add::add;
    Min, u32: u32::MAX, Ord::min, warp::reduce_min;
    Min, i32: i32::MAX, Ord::min, warp::reduce_min_i32;
    Min, u64: u64::MAX, Ord::min;
    Min, i64: i64::MAX, Ord::min;
    Min, f32: f32::INFINITY, math::minimum;
    Min, f64: f64::INFINITY, math::minimum_f64;
    Max, u32: u32::MIN, Ord::max, warp::reduce_max;
    Max, i32: i32::MIN, Ord::max, warp::reduce_max_i32;
    Max, u64: u64::MIN, Ord::max;
    Max, i64: i64::MIN, Ord::max;
    Max, f32: f32::NEG_INFINITY, math::maximum;
    Max, f64: f64::NEG_INFINITY, math::maximum_f64;
}

/// Combines the values of the calling lane and of the lanes below it. All 32 lanes call it.
#[simt::device]
#[track_caller]
pub fn warp_scan_inclusive<O: Operator<T>, T: Scalar>(value: T) -> T {
    let (lane, mut sum) = (warp::lane_id(), value);
    simt::unroll::<5>(|step| {
        let below = warp::shuffle_up(warp::FULL, sum, 1 << step);
        // Lanes without a partner got their own value back.
        if lane >= 1 << step {
            sum = O::combine(below, sum);
        }
    });
    sum
}

/// Combines the values of the lanes below the calling lane; lane 0 gets the identity. `inclusive` is the result of
/// [`warp_scan_inclusive`]. All 32 lanes call it.
#[simt::device]
#[track_caller]
pub fn warp_exclusive_of<O: Operator<T>, T: Scalar>(inclusive: T) -> T {
    let below = warp::shuffle_up(warp::FULL, inclusive, 1);
    if warp::lane_id() == 0 { O::IDENTITY } else { below }
}

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;

    /// An operator that is chosen when the program runs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Operation {
        /// [`Sum`].
        #[default]
        Sum,
        /// [`Min`].
        Min,
        /// [`Max`].
        Max,
    }

    impl Operation {
        /// All operations.
        pub const ALL: [Self; 3] = [Self::Sum, Self::Min, Self::Max];

        /// Its name on the command line.
        pub const fn name(self) -> &'static str {
            match self {
                Self::Sum => "sum",
                Self::Min => "min",
                Self::Max => "max",
            }
        }

        /// The operation's identity for a type.
        pub fn identity<T>(self) -> T
        where
            Sum: Operator<T>,
            Min: Operator<T>,
            Max: Operator<T>,
        {
            match self {
                Self::Sum => Sum::IDENTITY,
                Self::Min => Min::IDENTITY,
                Self::Max => Max::IDENTITY,
            }
        }
    }
}
