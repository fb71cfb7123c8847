//! Products by four warps together, from tiles in shared memory.
//!
//! Each warp has sixteen rows of the 64, so the lanes of a warp meet here and not those of the group; a check compares
//! the calls of its warps. As in
//! [`super::mma`], the products of one instruction and a sum are added in double precision and rounded towards zero
//! once: eight products, or sixteen of elements of 16 bits. Of elements of 8 bits, whose sums have fewer bits, see
//! [`add_aligned`].

use super::access::watch_pack;
use super::block::here;
use super::check::{BlockState, Session, Touch, Use};
use super::mma::{Held, seen, towards_zero};
use super::observe::{AccessKind, Space};
use super::{collective, watchdog};
use crate::scalar::{Along, Lies, Operand, Seen, from_bits};
use crate::warpgroup::ROW;
use crate::{F8E4M3, F8E5M2, bf16, f16};
use std::panic::Location;

/// Bytes along k that one instruction takes, and the elements of a row if an element has 8 bits.
const STEP: u32 = 32;
const MOST: usize = ROW as usize;
/// Rows of A per warp.
const ROWS: u32 = 16;

/// The tiles of the call: of A, and of B with `columns` rows, by their addresses.
#[derive(Clone, Copy)]
pub(super) struct Tiles {
    pub(super) a: u32,
    pub(super) b: u32,
}

/// When products have been made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// When the call returns, and with them all that the warp began before.
    AtOnce,
    /// When the warp waits for them: at its next call at the earliest.
    Later,
}

/// Waits for all products of the warp.
#[track_caller]
pub(super) fn finish() {
    collective::together();
    here().judge(|session, state, thread| session.products_made(state, thread));
}

/// The running thread begins a product.
#[track_caller]
fn begin(made: Made) {
    let place = Location::caller();
    here().judge(|session, state, thread| match made {
        Made::AtOnce => session.products_made(state, thread),
        Made::Later => session.products_begin(state, thread, place),
    });
}

/// Adds the products of the tiles to the lane's sums. They are made at once, whatever `made` says: a kernel that needs
/// them to take time would be wrong on the GPU too. A check judges the reads of tiles as `made` says.
///
/// # Safety
/// The addresses are those of tiles in the block's shared memory, multiples of 16.
#[track_caller]
pub(super) unsafe fn multiply_add<S: Operand, T: Operand, A: Lies, B: Lies, const SUMS: usize>(
    tiles: Tiles,
    sums: &mut [f32; SUMS],
    made: Made,
) {
    let thread = here().current() as u32;
    let (lane, first) = (thread % 32, thread / 32 % 4 * ROWS);
    // No lane is at its next call before all have come to this one: all of them have to come.
    collective::together();
    collective::group_calls();
    begin(made);
    // Every byte is read by one lane of a warp, for those who watch; the values follow from memory as it is.
    let (columns, packs) = (2 * SUMS as u32, ROW / 16);
    if watchdog::looks() {
        if A::ACROSS {
            // Two packs of each of the 64 rows, in the places that these packs have there.
            for i in (lane..4 * ROWS * 2).step_by(32) {
                let (row, pack) = (i / 2, first / 8 + i % 2);
                watch(tiles.a + row * ROW + (pack ^ (row % 8)) * 16, made);
            }
        } else {
            for i in (lane..ROWS * packs).step_by(32) {
                watch(tiles.a + first * ROW + i * 16, made);
            }
        }
        for i in (lane..columns * packs).step_by(32) {
            watch(tiles.b + i * 16, made);
        }
    }
    let (depth, step) = ((ROW / size_of::<T>() as u32) as usize, STEP as usize / size_of::<T>());
    let a = [0, 8].map(|down| row::<S, A>(tiles.a, first + lane / 4 + down));
    for (pair, sums) in sums.chunks_exact_mut(4).enumerate() {
        for along in 0..2 {
            let b = row::<T, B>(tiles.b, pair as u32 * 8 + lane % 4 * 2 + along);
            for down in 0..2 {
                let sum = &mut sums[down * 2 + along as usize];
                for (a, b) in a[down][..depth].chunks_exact(step).zip(b[..depth].chunks_exact(step)) {
                    *sum = if size_of::<T>() == 1 { add_aligned(*sum, a, b) } else { add(*sum, a, b) };
                }
            }
        }
    }
}

/// Adds the products of the fragments that the lanes hold, of sixteen k, and that half of a tile of `f32` to the lane's
/// sums, as [`multiply_add`] does.
///
/// # Safety
/// The address is that of a tile in the block's shared memory, a multiple of 16.
#[track_caller]
pub(super) unsafe fn multiply_add_held<const SUMS: usize>(
    fragments: Held,
    (tile, half): (u32, u32),
    sums: &mut [f32; SUMS],
    made: Made,
) {
    let thread = here().current() as u32;
    let lane = thread % 32;
    let held = collective::hold(fragments);
    collective::group_calls();
    begin(made);
    if watchdog::looks() {
        // Half of the packs of each row, in the places that they have there.
        for i in (lane..2 * SUMS as u32 * 4).step_by(32) {
            let (row, pack) = (i / 4, half * 4 + i % 4);
            watch(tile + row * ROW + (pack ^ (row % 8)) * 16, made);
        }
    }
    // Element k of row lane / 4 + 8·down.
    let a = |down: usize, k: usize| {
        let of = &held[(lane / 4 * 4) as usize + k % 4][k / 8];
        seen(of[down + k % 8 / 4 * 2])
    };
    let a = [0, 1].map(|down| -> [f64; 16] { std::array::from_fn(|k| a(down, k)) });
    for (pair, sums) in sums.chunks_exact_mut(4).enumerate() {
        for along in 0..2 {
            let b = row::<f32, Along>(tile, pair as u32 * 8 + lane % 4 * 2 + along);
            let b = &b[half as usize * 16..][..16];
            for down in 0..2 {
                let sum = &mut sums[down * 2 + along as usize];
                for (a, b) in a[down].chunks_exact(8).zip(b.chunks_exact(8)) {
                    *sum = add(*sum, a, b);
                }
            }
        }
    }
}

/// A sum and the products of two rows.
fn add(sum: f32, a: &[f64], b: &[f64]) -> f32 {
    let products = a.iter().zip(b).map(|(a, b)| a * b);
    towards_zero(f64::from(sum) + products.sum::<f64>())
}

/// Bits behind the binary point that terms keep next to the largest.
const KEPT: i32 = 13;

/// [`add`] for elements of 8 bits. The products and the sum are shifted to the largest exponent among them, and cut off
/// [`KEPT`] bits behind the point; the result has as many. NVIDIA does not say so: the model gives the errors that we
/// measured on an H100 for k from 128 to 8192, of normal numbers and of numbers in [0, 1), with 13 bits and not with 12
/// or 14. How many products the hardware aligns at once (32 here) does not show in these errors.
fn add_aligned(sum: f32, a: &[f64], b: &[f64]) -> f32 {
    let terms = || a.iter().zip(b);
    let total = f64::from(sum) + terms().map(|(a, b)| a * b).sum::<f64>();
    if !total.is_finite() {
        return total as f32;
    }
    // That of zero is no number's.
    let exponent = |x: f64| if x == 0.0 { i32::MIN / 2 } else { (x.to_bits() >> 52 & 0x7FF) as i32 - 1023 };
    let largest = terms().map(|(&a, &b)| exponent(a) + exponent(b)).fold(exponent(sum.into()), i32::max);
    if largest < exponent(f64::MIN_POSITIVE) {
        return sum; // all are zero
    }
    let power = |exponent: i32| f64::from_bits(((exponent + 1023) as u64) << 52);
    let cut = |term: f64| (term * power(KEPT - largest)).trunc();
    let units = cut(sum.into()) + terms().map(|(a, b)| cut(a * b)).sum::<f64>();
    let cut_off = f32::MANTISSA_DIGITS - 1 - KEPT as u32;
    f32::from_bits(towards_zero(units * power(largest - KEPT)).to_bits() >> cut_off << cut_off)
}

/// Tells those who watch of a read of 16 bytes.
#[track_caller]
fn watch(address: u32, made: Made) {
    let p = here().shared(address, 16).cast_const();
    let judge = |session: &mut Session, state: &mut BlockState, thread, touch: &Touch| {
        match made {
            Made::AtOnce => session.plain(state, thread, touch, Use::of(AccessKind::Read)),
            Made::Later => session.product_reads(state, thread, touch),
        }
        session.multiplied(state, thread, address, touch.site);
    };
    // SAFETY: `shared` gives a pointer to 16 bytes; tiles begin at multiples of 16.
    unsafe { watch_pack(Space::Shared, AccessKind::Read, address.into(), p, || (), judge) }
}

/// Row `row` of the operand in the tile at an address, as the tensor cores see it; of wider elements there are fewer.
fn row<T: Operand, L: Lies>(tile: u32, row: u32) -> [f64; MOST] {
    let (depth, pack) = (ROW as usize / size_of::<T>(), T::PACK as usize);
    // Where in 64 rows of the tile element k is.
    let place = |k: usize| {
        let (line, at) = if L::ACROSS { (k, row as usize % depth) } else { (row as usize % 64, k) };
        line * depth + ((at / pack) ^ (line % 8)) * pack + at % pack
    };
    let p = here().shared(tile + row / 64 * 64 * ROW, if L::ACROSS { 64 * ROW } else { (row % 64 + 1) * ROW });
    std::array::from_fn(|k| {
        if k >= depth {
            return 0.0;
        }
        // SAFETY: `shared` gives a pointer to all bytes of these rows, which is aligned to 16.
        let bits = unsafe { p.cast::<T>().add(place(k)).read() }.to_bits_64();
        match T::SEEN {
            Seen::Tf32 => seen(bits as u32),
            Seen::Bf16 => from_bits::<bf16>(bits).into(),
            Seen::F16 => from_bits::<f16>(bits).into(),
            Seen::E4m3 => from_bits::<F8E4M3>(bits).to_f64(),
            Seen::E5m2 => from_bits::<F8E5M2>(bits).to_f64(),
        }
    })
}
