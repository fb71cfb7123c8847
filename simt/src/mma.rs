//! Products of small matrices by a warp, on the tensor cores (compute capability 8.0).
//!
//! [`multiply_add`] computes D = A·B + C for an A of 16 × 8, a B of 8 × 8 and a C of 16 × 8 elements. No lane has a
//! whole matrix: each has a fragment, a few elements of it, in registers. With g = lane / 4 and t = lane % 4:
//!
//! | fragment | elements of a lane, as (row, column) |
//! | --- | --- |
//! | [`FragmentA`] | (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4) |
//! | [`FragmentB`] | (t, g), (t + 4, g) |
//! | [`FragmentC`], and D | (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1) |
//!
//! A sum does not depend on the order of its terms, so a kernel may give the columns of A, and with them the rows of B,
//! any order that suits its loads; likewise the columns of B and C.
//!
//! The operands are [`Tf32`]. Their products are exact; how the sum of eight of them and an element of C is rounded,
//! NVIDIA does not say. On the simulator it is computed in double precision and rounded towards zero once.
//!
//! [`multiply_add_f64`] is the same for `f64`: an A of 16 × 16, a B of 16 × 8 and a C of 16 × 8 elements.
//!
//! | fragment | elements of a lane, as (row, column) |
//! | --- | --- |
//! | [`FragmentA64`] | (g, t), (g + 8, t), and the same for columns t + 4, t + 8 and t + 12 |
//! | [`FragmentB64`] | (t, g), (t + 4, g), (t + 8, g), (t + 12, g) |
//! | [`FragmentC64`], and D | (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1) |
//!
//! Its products are fused with their sum and rounded to nearest, as by `fma`. The order is not published; the simulator
//! adds them by ascending column of A.

use crate::machine::Machine;
use crate::{Backend, four};

/// An `f32` of which the tensor cores see the sign, the exponent and the 10 upper bits of the fraction. The 13 others
/// may be anything.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tf32(u32);

/// The bits that the tensor cores see.
pub(crate) const SEEN: u32 = !0x1FFF;
/// Half a unit of the last of them.
pub(crate) const HALF: u32 = 0x1000;

impl Tf32 {
    /// The nearest to `x`; of two, the larger in magnitude.
    #[inline(always)]
    pub fn nearest(x: f32) -> Self {
        Self(Backend::round_tf32(x))
    }

    /// The nearest to `x` towards zero. That costs no instruction.
    #[inline(always)]
    pub fn truncated(x: f32) -> Self {
        Self(x.to_bits())
    }

    /// Two numbers whose sum is `x` but for one unit of its last place: [`Tf32::nearest`], and the rest of at most
    /// 2⁻¹¹·|x|, truncated. If `x` is infinite, NaN, or nearer to 2¹²⁸ than to the largest [`Tf32`], the rest is
    /// infinite or NaN.
    #[inline(always)]
    pub fn split(x: f32) -> (Self, Self) {
        // What `nearest` does in one slow instruction. It differs for a NaN whose fraction is all ones, which becomes
        // zero; the rest is NaN then.
        let large = Self(x.to_bits().wrapping_add(HALF));
        (large, Self::truncated(x - large.value()))
    }

    /// Its bits, with those that the tensor cores do not see.
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// The number.
    #[inline(always)]
    pub fn value(self) -> f32 {
        f32::from_bits(self.0 & SEEN)
    }
}

/// A lane's elements of A, 16 × 8, in the order of the table above.
pub type FragmentA = [Tf32; 4];
/// A lane's elements of B, 8 × 8.
pub type FragmentB = [Tf32; 2];
/// A lane's elements of C or D, 16 × 8.
pub type FragmentC = [f32; 4];

/// A·B + C, by all lanes of the warp: all make the call together (`mma.sync.aligned.m16n8k8`).
#[inline(always)]
#[track_caller]
pub fn multiply_add(a: FragmentA, b: FragmentB, c: FragmentC) -> FragmentC {
    Backend::mma_tf32(four(|i| a[i].0), [b[0].0, b[1].0], c)
}

/// A lane's elements of A, 16 × 16, of `f64`.
pub type FragmentA64 = [f64; 8];
/// A lane's elements of B, 16 × 8, of `f64`.
pub type FragmentB64 = [f64; 4];
/// A lane's elements of C or D, 16 × 8, of `f64`.
pub type FragmentC64 = [f64; 4];

/// A·B + C in `f64`, by all lanes of the warp: all make the call together. One `mma.sync.aligned.m16n8k16` in PTX for
/// Hopper and later GPUs. PTX for older ones has eight `m8n8k4`, the only shape that these have; Hopper runs that at
/// half the rate.
#[inline(always)]
#[track_caller]
pub fn multiply_add_f64(a: FragmentA64, b: FragmentB64, c: FragmentC64) -> FragmentC64 {
    Backend::mma_f64(a, b, c)
}
