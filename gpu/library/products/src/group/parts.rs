//! The parts of an element: what the tensor cores take of it, and how products are made from that.

use super::packed::Packed;
use super::ring::Ring;
use simt::math::to_bf16;
use simt::mma::{FragmentA, Tf32};
use simt::warpgroup::{self, Tile};
use simt::{Operand, Scalar, bf16, four, opaque, thread, warp};

/// The part of a stage that one call multiplies: rows of A, and columns of B.
#[derive(Clone, Copy)]
pub struct Operands {
    pub(super) ring: Ring,
    pub(super) stage: u32,
    /// The first row of A, and how many there are.
    pub(super) rows: (u32, u32),
    /// The columns of B.
    pub(super) columns: (u32, u32),
}

impl Operands {
    /// A part of A.
    #[simt::device]
    fn a<T: Operand>(self, part: u32) -> Tile<T> {
        self.ring.a(self.stage, part).rows(self.rows.0, self.rows.1)
    }

    /// A part of B.
    #[simt::device]
    fn b<T: Operand>(self, part: u32) -> Tile<T> {
        self.ring.b(self.stage, part).rows(self.columns.0, self.columns.1)
    }
}

/// The parts of an element of `T`. Each is a tile in a stage.
pub trait Parts<T: Packed> {
    /// The number of parts.
    const COUNT: u32;
    /// Tiles of A in a stage: less if the threads make the parts.
    const OF_A: u32 = Self::COUNT;

    /// The second part of four words of A, or of B, of which the first is `large`; none if there is but one.
    fn second(four: [T::Word; 4], large: T::Pack, of_b: bool) -> Option<T::Pack>;

    /// The elements of A in a stage that a thread holds in registers.
    type Held: Copy;

    /// Loads the elements of A that the thread holds, from its warpgroup's rows.
    fn hold(a: Tile<f32>) -> Self::Held;

    /// Adds the products of a stage to the thread's sums.
    fn multiply_add<const SUMS: usize>(held: Self::Held, operands: Operands, sums: [f32; SUMS]) -> [f32; SUMS];
}

/// The element itself, of `f32` as the tensor cores see it.
pub struct Whole;

impl<T: Packed> Parts<T> for Whole {
    const COUNT: u32 = 1;
    type Held = ();

    #[simt::device]
    fn hold(_: Tile<f32>) {}

    #[simt::device]
    fn second(_: [T::Word; 4], _: T::Pack, _: bool) -> Option<T::Pack> {
        None
    }

    #[simt::device]
    fn multiply_add<const SUMS: usize>(_: (), operands: Operands, sums: [f32; SUMS]) -> [f32; SUMS] {
        warpgroup::multiply_add(operands.a::<T>(0), operands.b(0), sums)
    }
}

/// A large part and a rest, both of them TF32.
pub struct Split;

impl Parts<f32> for Split {
    const COUNT: u32 = 2;
    type Held = ();

    #[simt::device]
    fn hold(_: Tile<f32>) {}

    #[simt::device]
    fn second(four: [f32; 4], large: [f32; 4], _: bool) -> Option<[f32; 4]> {
        Some(rests(four, large).map(|rest| Tf32::nearest(rest).value()))
    }

    #[simt::device]
    fn multiply_add<const SUMS: usize>(_: (), operands: Operands, sums: [f32; SUMS]) -> [f32; SUMS] {
        let (a, b) = ([0, 1].map(|part| operands.a::<f32>(part)), [0, 1].map(|part| operands.b::<f32>(part)));
        warpgroup::multiply_add_split(a, b, sums)
    }
}

/// [`Split`], where A is as it is, along K: the threads split what they hold of it.
pub struct HeldSplit;

impl Parts<f32> for HeldSplit {
    const COUNT: u32 = 2;
    const OF_A: u32 = 1;
    /// Four fragments of eight k: large parts, and rests.
    type Held = [[FragmentA; 4]; 2];

    #[simt::device]
    fn hold(a: Tile<f32>) -> Self::Held {
        let (warp, lane) = (thread::thread_idx_x() / 32 % 4, warp::lane_id());
        // Packs are permuted by the bits of the row, which rows g and g + 8 have in common. That of a number is found
        // again in each stage: the registers are needed for sums.
        let first = opaque(Tile::<f32>::place(warp * 16 + lane / 4, lane % 4));
        let split = |down: u32, pack: u32| {
            let place = (first ^ (pack * f32::PACK)) + down * 8 * Tile::<f32>::DEPTH;
            Tf32::split(a.elements().get(place))
        };
        let of = four(|i| four(|j| split(j as u32 % 2, 2 * i as u32 + j as u32 / 2)));
        [four(|i| four(|j| of[i][j].0)), four(|i| four(|j| of[i][j].1))]
    }

    #[simt::device]
    fn second(four: [f32; 4], large: [f32; 4], of_b: bool) -> Option<[f32; 4]> {
        Split::second(four, large, of_b)
    }

    #[simt::device]
    fn multiply_add<const SUMS: usize>(held: Self::Held, operands: Operands, sums: [f32; SUMS]) -> [f32; SUMS] {
        warpgroup::multiply_add_split_held(held, [0, 1].map(|part| operands.b(part)), sums)
    }
}

/// A large part in TF32, and what the two small products take: the element and its rest in `bf16`.
///
/// The second tile has both of them along K, so that one product of tiles is the sum of the two small ones: for four
/// elements, A has the elements and then the rests, and B the rests and then the elements.
pub struct Mixed;

impl Parts<f32> for Mixed {
    const COUNT: u32 = 2;
    type Held = ();

    #[simt::device]
    fn hold(_: Tile<f32>) {}

    #[simt::device]
    fn second(four: [f32; 4], large: [f32; 4], of_b: bool) -> Option<[f32; 4]> {
        let (elements, rests) = (halves(four), halves(rests(four, large)));
        let ([w, x], [y, z]) = if of_b { (rests, elements) } else { (elements, rests) };
        Some([w, x, y, z])
    }

    #[simt::device]
    fn multiply_add<const SUMS: usize>(_: (), operands: Operands, sums: [f32; SUMS]) -> [f32; SUMS] {
        let small = [operands.a::<bf16>(1), operands.b(1)];
        warpgroup::multiply_add_mixed(small, [operands.a(0), operands.b(0)], sums)
    }
}

/// The residuals of the elements after their large parts: exact.
#[simt::device]
fn rests(four: [f32; 4], large: [f32; 4]) -> [f32; 4] {
    [0, 1, 2, 3].map(|i| four[i] - large[i])
}

/// The nearest numbers of 16 bits, two in a word.
#[simt::device]
fn halves(four: [f32; 4]) -> [f32; 2] {
    let [w, x, y, z] = four.map(|x| u32::from(to_bf16(x).to_bits()));
    [w | x << 16, y | z << 16].map(f32::from_bits)
}
