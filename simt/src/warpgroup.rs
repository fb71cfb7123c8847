//! Warpgroups: four consecutive warps, the first at a multiple of 4, that multiply on the tensor cores (`wgmma`) and
//! move registers (`setmaxnreg`). Compute capability 9.0 only, in PTX for `sm_90a`.
//!
//! # Registers
//!
//! ptxas gives every thread of a kernel the same number of registers. If some warps need few, they can release theirs,
//! and other warps acquire them. The kernel must be declared with `max_threads` and `min_blocks`, or ptxas ignores the
//! calls.
//!
//! # Products
//!
//! A warpgroup also multiplies [`Tile`]s in shared memory on the tensor cores: [`multiply_add`], [`multiply_add_split`]
//! and others compute A·Bᵀ for an A of 64 rows and a B of 64, 128 or 256, which are columns of the product. Both are
//! K-major: a row has 128 bytes of K ([`Tile::DEPTH`] elements). Each thread has the sums of one in 128 elements of the
//! product. With g = lane / 4, t = lane % 4 and w the number of the warp in its group, sum 4·j + 2·h + e is that of
//!
//! | row | column |
//! | --- | --- |
//! | 16·w + 8·h + g | 8·j + 2·t + e |
//!
//! Elements are [`bf16`], [`f16`](crate::f16) or `f32`, of which the tensor cores see what is in a
//! [`Tf32`]. They truncate sums instead of rounding them; the simulator does as [`crate::mma`] says,
//! for sixteen products at once if elements have 16 bits.
//!
//! Elements may also have 8 bits, [`F8E4M3`](crate::F8E4M3) or [`F8E5M2`](crate::F8E5M2), the two factors each its own
//! ([`Sums::add_eight`], [`multiply_add_scaled`]). Products are then exact, but sums keep only about 14 bits: what
//! is added to a large sum is cut off more and more. So sum at most 128 k on the tensor cores, and these sums in `f32`,
//! unless a product is short or need not be precise. How a sum is cut off, NVIDIA does not say. The simulator aligns 32
//! products and the sum to the largest exponent among them, cuts all off 13 bits behind the binary point, adds what is
//! left exactly, and cuts the result off to 14 significant bits. The errors that we measured on an H100 agree with that
//! for k from 128 to 8192; single bits may differ.
//!
//! The tensor cores read shared memory through the async proxy, as bulk copies do. So call [`crate::bulk::fence`]
//! between the threads' writes and a product. The instruction, `wgmma`, is asynchronous; here a call returns when the
//! products are done, and two warpgroups hide each other's latency.

use crate::machine::{Machine, Sum};
use crate::mma::{FragmentA, Tf32};
use crate::scalar::{Eight, Operand};
use crate::{Backend, Shared, bf16, four, warp};

pub use crate::scalar::{KMajor, Lies, MnMajor};

/// Bytes of a row of a tile.
pub const ROW: u32 = 128;
/// What the address of a tile is a multiple of, in bytes: its elements are in another order in each of eight rows.
const ALIGNMENT: u32 = 1024;
/// Bytes by which the first multiple of 1024 may be behind the start of the dynamic shared memory.
pub const MORE: u32 = ALIGNMENT;

/// Rows of [`Tile::DEPTH`] elements in shared memory, a multiple of eight of them, 128 bytes per row.
///
/// Each row is eight packs of 16 bytes. Pack i of row r is in place i ^ r % 8 of the row ([`Tile::place`]), so that the
/// packs of one number from eight rows are in different banks.
pub struct Tile<T>(Shared<T>);

impl<T> Clone for Tile<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Tile<T> {}

impl<T: Operand> Tile<T> {
    /// Depth in K of a tile.
    pub const DEPTH: u32 = ROW / size_of::<T>() as u32;

    /// Where in a tile element `k` of a row is.
    #[inline(always)]
    pub const fn place(row: u32, k: u32) -> u32 {
        row * Self::DEPTH + ((k / T::PACK) ^ (row % 8)) * T::PACK + k % T::PACK
    }

    /// `rows` rows in the launch's dynamic shared memory, `offset` bytes from its first multiple of 1024. A launch asks
    /// for [`MORE`] bytes more than its tiles have.
    #[inline(always)]
    #[track_caller]
    pub fn dynamic(offset: u32, rows: u32) -> Self {
        let start = Backend::dynamic_shared_address();
        Self(Shared::dynamic(start.next_multiple_of(ALIGNMENT) - start + offset, rows * Self::DEPTH))
    }

    /// The tile at the address that lane 0 has, as all lanes do: for tiles that are sliced in a loop. An address of
    /// dynamic memory is computed again at each use, in six instructions if there are clusters; one that another lane
    /// has sent is kept. All lanes of the warp make the call.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn kept(self) -> Self {
        let of_lane_0 = |value: u32| warp::shuffle(warp::FULL, value, 0);
        let len = if crate::global::checked() { of_lane_0(self.0.len()) } else { self.0.len() };
        // SAFETY: lane 0 has a tile of this many elements there.
        Self(unsafe { Shared::at_address(of_lane_0(self.0.address()), len) })
    }

    /// The tile as one of other elements of the same size.
    #[inline(always)]
    #[track_caller]
    pub fn cast<U: Operand>(self) -> Tile<U> {
        const { assert!(size_of::<T>() == size_of::<U>(), "elements of one size") };
        Tile(self.0.cast())
    }

    /// Its elements.
    #[inline(always)]
    pub fn elements(self) -> Shared<T> {
        self.0
    }

    /// `rows` rows from row `first` on, both multiples of 8.
    #[inline(always)]
    #[track_caller]
    pub fn rows(self, first: u32, rows: u32) -> Self {
        Self(self.0.slice(first * Self::DEPTH, rows * Self::DEPTH))
    }

    /// The address, once it is known that there are this many rows.
    #[inline(always)]
    #[track_caller]
    fn of(self, rows: u32) -> u32 {
        if crate::global::checked() {
            let address = self.0.address();
            if !address.is_multiple_of(ALIGNMENT) {
                Backend::misaligned("tile of a product", address.into(), ALIGNMENT);
            }
            if self.0.len() != rows * Self::DEPTH {
                Backend::out_of_bounds("tile of a product", (rows * Self::DEPTH).into(), self.0.len().into());
            }
        }
        self.0.address()
    }
}

/// Adds the products of two tiles to the thread's sums: `a` has 64 rows, `b` two for each sum, of which there are 32,
/// 64 or 128. All threads of the four warps make the call.
#[inline(always)]
#[track_caller]
pub fn multiply_add<T: Operand, const SUMS: usize>(a: Tile<T>, b: Tile<T>, sums: [f32; SUMS]) -> [f32; SUMS] {
    const { assert!(size_of::<T>() > 1, "elements of 16 or 32 bits") };
    const { assert!(SUMS == 32 || SUMS == 64 || SUMS == 128, "32, 64 or 128 sums") };
    // SAFETY: `of` knows tiles of that size, in the block's shared memory.
    unsafe { Backend::wgmma_add::<T, SUMS>(a.of(64), b.of(2 * SUMS as u32), sums) }
}

/// [`multiply_add`] for numbers that are each in two tiles, a large part and a rest (as by [`Tf32::split`]): the
/// products rest·large, large·rest and large·large, in this order, are summed by themselves, and these sums, rounded as
/// `f32` is, are added to the thread's. So the error does not grow with every addition by the tensor cores.
///
/// [`Tf32::split`]: crate::mma::Tf32::split
#[inline(always)]
#[track_caller]
pub fn multiply_add_split<T: Operand, const SUMS: usize>(
    a: [Tile<T>; 2],
    b: [Tile<T>; 2],
    sums: [f32; SUMS],
) -> [f32; SUMS] {
    const { assert!(size_of::<T>() > 1, "elements of 16 or 32 bits") };
    const { assert!(SUMS == 32 || SUMS == 64 || SUMS == 128, "32, 64 or 128 sums") };
    let columns = 2 * SUMS as u32;
    // SAFETY: as for `multiply_add`.
    unsafe { Backend::wgmma_add_split::<T, SUMS>(a.map(|tile| tile.of(64)), b.map(|tile| tile.of(columns)), sums) }
}

/// [`multiply_add_split`] of `f32`, for a first operand that the threads hold as [`Sums::add_held`] has it: four
/// fragments, of eight k each, of large parts and of rests.
#[inline(always)]
#[track_caller]
pub fn multiply_add_split_held<const SUMS: usize>(
    a: [[FragmentA; 4]; 2],
    b: [Tile<f32>; 2],
    sums: [f32; SUMS],
) -> [f32; SUMS] {
    const { assert!(SUMS == 32 || SUMS == 64 || SUMS == 128, "32, 64 or 128 sums") };
    let bits = |part: [FragmentA; 4]| four(|i| four(|j| part[i][j].bits()));
    let a = [bits(a[0]), bits(a[1])];
    // SAFETY: as for `multiply_add`.
    unsafe { Backend::wgmma_add_split_held(a, b.map(|tile| tile.of(2 * SUMS as u32)), sums) }
}

/// [`multiply_add_split`] for numbers whose small products are made of less precise factors: the products of the two
/// tiles of `small`, which have twice as many k, and then those of the two of `large`, are summed by themselves, and
/// these sums, rounded as `f32` is, are added to the thread's. Of [`bf16`] the tensor cores make twice as many products
/// in the same time.
#[inline(always)]
#[track_caller]
pub fn multiply_add_mixed<const SUMS: usize>(
    small: [Tile<bf16>; 2],
    large: [Tile<f32>; 2],
    sums: [f32; SUMS],
) -> [f32; SUMS] {
    const { assert!(SUMS == 32 || SUMS == 64 || SUMS == 128, "32, 64 or 128 sums") };
    let columns = 2 * SUMS as u32;
    let ([small_a, small_b], [a, b]) = (small, large);
    // SAFETY: as for `multiply_add`.
    unsafe { Backend::wgmma_add_mixed([small_a.of(64), small_b.of(columns)], [a.of(64), b.of(columns)], sums) }
}

/// Products of two tiles of elements of 8 bits whose sums are not left to the tensor cores: they sum those of 128 k by
/// themselves, and each of these sums, times a factor, is added to the thread's by [`fma`](crate::math::fma). `a` and
/// `b` are as for [`multiply_add`]. The first 128 columns have the factors `factors[0]`, the last `factors[1]`:
/// that of row g and that of row g + 8. All threads of the four warps make the call.
#[inline(always)]
#[track_caller]
pub fn multiply_add_scaled<S: Eight, T: Eight, const SUMS: usize>(
    a: Tile<S>,
    b: Tile<T>,
    factors: [[f32; 2]; 2],
    sums: [f32; SUMS],
) -> [f32; SUMS] {
    const { assert!(SUMS == 32 || SUMS == 64 || SUMS == 128, "32, 64 or 128 sums") };
    // SAFETY: as for `multiply_add`.
    unsafe { Backend::wgmma_add_scaled::<S, T, SUMS>(a.of(64), b.of(2 * SUMS as u32), factors, sums) }
}

/// Sums that products are being added to while the threads go on. What they are is known after [`Sums::finish`].
pub struct Sums<const SUMS: usize>([Sum; SUMS]);

impl<const SUMS: usize> Sums<SUMS> {
    /// All zero.
    pub const ZERO: Self = const {
        assert!(SUMS == 32 || SUMS == 64 || SUMS == 128, "32, 64 or 128 sums");
        Self([0 as Sum; SUMS])
    };

    /// Begins to add the products of two tiles of elements of 16 bits, as [`multiply_add`] does. When the call returns,
    /// the tiles of the call before have been read, and those of this call are still being read. All threads of the
    /// four warps make the call.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn add<T: Operand, A: Lies, B: Lies>(self, a: Tile<T>, b: Tile<T>) -> Self {
        const { assert!(size_of::<T>() == 2, "elements of 16 bits") };
        let columns = 2 * SUMS as u32;
        // SAFETY: as for `multiply_add`. The sums are handed out by `finish` alone.
        Self(unsafe { Backend::wgmma_begin::<T, A, B, SUMS>(a.of(64), b.of(columns), self.0) })
    }

    /// [`Sums::add`] for tiles of elements of 8 bits, both K-major.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn add_eight<S: Eight, T: Eight>(self, a: Tile<S>, b: Tile<T>) -> Self {
        // SAFETY: as for `add`.
        Self(unsafe { Backend::wgmma_begin_eight::<S, T, SUMS>(a.of(64), b.of(2 * SUMS as u32), self.0) })
    }

    /// Begins to add the products of sixteen k: of a first operand of `f32` that the threads hold, and of half of a
    /// tile of the second, the first half of its k or the second (`half` is 0 or 1). The warp with number w in its
    /// group holds rows 16·w and following, each lane two fragments of eight k as [`crate::mma`] has them. When the
    /// call returns, the products of the call before have been made, and the tile of this call is still being read. All
    /// threads of the four warps make the call.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn add_held(self, a: [FragmentA; 2], b: Tile<f32>, half: u32) -> Self {
        if crate::global::checked() && half > 1 {
            Backend::out_of_bounds("half of a tile", half.into(), 2);
        }
        // SAFETY: as for `add`.
        Self(unsafe { Backend::wgmma_begin_held(a.map(|of| of.map(Tf32::bits)), b.of(2 * SUMS as u32), half, self.0) })
    }

    /// Waits until all products have been added: all tiles have been read. All threads of the four warps make the call.
    #[inline(always)]
    #[track_caller]
    pub fn finish(self) -> [f32; SUMS] {
        Backend::wgmma_finish(self.0)
    }
}

/// Stores 16 rows of 16 elements of 16 bits, each lane those that it has of sixteen columns of a product: fragment i
/// has two neighbours in a row, as bits, the first in the low ones; of rows g and g + 8 for i = 0 and 1, of columns 8
/// further on for 2 and 3. Lane l names where row l % 16 of the first 8 columns (l < 16) or of the last goes: 8
/// elements. All lanes of the warp make the call (`stmatrix`).
#[inline(always)]
#[track_caller]
pub fn store_fragments<T: Operand>(row: Shared<T>, fragments: [u32; 4]) {
    const { assert!(size_of::<T>() == 2, "elements of 16 bits") };
    if crate::global::checked() {
        if row.len() != T::PACK {
            Backend::out_of_bounds("row of a fragment", T::PACK.into(), row.len().into());
        }
        if !row.address().is_multiple_of(16) {
            Backend::misaligned("row of a fragment", row.address().into(), 16);
        }
    }
    // SAFETY: the view is of 16 bytes, and begins on a multiple of 16.
    unsafe { Backend::store_fragments(row.address(), fragments) }
}

/// Keeps `N` registers per thread, a multiple of 8 from 24 to 240, and gives the others back to the block. All threads
/// of the four warps make the call, before they do anything that needs many.
#[inline(always)]
#[track_caller]
pub fn release_registers<const N: u32>() {
    const { assert!(N >= 24 && N <= 240 && N.is_multiple_of(8), "24 to 240 registers, a multiple of 8") };
    Backend::release_registers::<N>()
}

/// Takes registers until there are `N` per thread, a multiple of 8 from 24 to 240; waits until the block's other warps
/// have given back enough. All threads of the four warps make the call.
#[inline(always)]
#[track_caller]
pub fn claim_registers<const N: u32>() {
    const { assert!(N >= 24 && N <= 240 && N.is_multiple_of(8), "24 to 240 registers, a multiple of 8") };
    Backend::claim_registers::<N>()
}
