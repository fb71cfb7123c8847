//! Products by four warps together, from tiles in shared memory.
//!
//! Each warp has sixteen rows of the 64, so the lanes of a warp meet here and not those of the group; a check compares
//! the calls of its warps. As in [`super::mma`], the products of one instruction and a sum are added in double
//! precision and rounded towards zero once: eight products, or sixteen of elements of 16 bits. Sums of products of 8
//! bits have fewer bits: see [`super::decoded`].

use super::access::watch_pack;
use super::block::here;
use super::check::{BlockState, Session, Touch, Use};
use super::decoded::ROWS;
use super::mma::{Held, seen};
use super::observe::{AccessKind, Space};
use super::{collective, watchdog};
use crate::scalar::{KMajor, Lies, Operand, Seen, from_bits};
use crate::warpgroup::ROW;
use crate::{F8E4M3, F8E5M2, bf16, f16};
use std::marker::PhantomData;
use std::panic::Location;

/// Bytes of K that one instruction takes, which are as many elements of 8 bits.
const STEP: u32 = 32;
/// Elements of K in half a tile of `f32`.
const HALF: usize = ROW as usize / 4 / 2;

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

/// The running thread's product has read its tiles, if it is to be waited for at once.
fn end(made: Made) {
    if made == Made::AtOnce {
        here().judge(|session, state, thread| session.product_made(state, thread));
    }
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
    let (columns, packs) = (2 * SUMS as u32, ROW / 16);
    // No lane is at its next call before all have come to this one: all of them have to come.
    collective::multiply(|fragments| {
        let depth = ROW as usize / size_of::<T>();
        let rows = if A::ACROSS { 64 } else { first + ROWS };
        let (a, b) = (Packed::<S, A>::new(tiles.a, rows), Packed::<T, B>::new(tiles.b, columns));
        let of_a = |row, k| a.element(first as usize + row, k);
        fragments.decoded.borrow_mut().decode(depth, columns as usize, of_a, |column, k| b.element(column, k));
    });
    collective::group_calls();
    begin(made);
    // Every byte is read by one lane of a warp, for those who watch; the values follow from memory as it is.
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
    end(made);
    collective::with_fragments(|fragments, lane| {
        fragments.decoded.borrow().add(lane, STEP as usize / size_of::<T>(), sums)
    });
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
    let (lane, columns) = (here().current() as u32 % 32, 2 * SUMS as u32);
    collective::hold(fragments, |fragments| {
        let b = Packed::<f32, KMajor>::new(tile, columns);
        // Element k of a row is what one of the lanes holds.
        let of_a = |row: usize, k: usize| {
            let of = fragments.brought[row % 8 * 4 + k % 4].get()[k / 8];
            seen(of[row / 8 + k % 8 / 4 * 2])
        };
        let of_b = |column, k| b.element(column, half as usize * HALF + k);
        fragments.decoded.borrow_mut().decode(HALF, columns as usize, of_a, of_b);
    });
    collective::group_calls();
    begin(made);
    if watchdog::looks() {
        // Half of the packs of each row, in the places that they have there.
        for i in (lane..columns * 4).step_by(32) {
            let (row, pack) = (i / 4, half * 4 + i % 4);
            watch(tile + row * ROW + (pack ^ (row % 8)) * 16, made);
        }
    }
    end(made);
    collective::with_fragments(|fragments, lane| fragments.decoded.borrow().add(lane, STEP as usize / 4, sums));
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

/// An operand in a tile.
struct Packed<T, L> {
    first: *const T,
    lies: PhantomData<L>,
}

impl<T: Operand, L: Lies> Packed<T, L> {
    /// So many rows of the operand in the tile at an address.
    fn new(tile: u32, rows: u32) -> Self {
        let lines = if L::ACROSS { rows.next_multiple_of(64) } else { rows };
        Self { first: here().shared(tile, lines * ROW).cast_const().cast(), lies: PhantomData }
    }

    /// An element as the tensor cores see it.
    #[inline]
    fn element(&self, row: usize, k: usize) -> f64 {
        let (depth, pack) = (ROW as usize / size_of::<T>(), T::PACK as usize);
        // The line of the tile, and where in it the element would be if packs were in their order.
        let (line, at) = if L::ACROSS { (row / 64 * 64 + k, row % 64) } else { (row, k) };
        let place = line * depth + ((at / pack) ^ (line % 8)) * pack + at % pack;
        // SAFETY: `new` had a pointer to all bytes of the rows, which is aligned to 16; the callers ask for no others.
        let bits = unsafe { self.first.add(place).read() }.to_bits_64();
        match T::SEEN {
            Seen::Tf32 => seen(bits as u32),
            Seen::Bf16 => from_bits::<bf16>(bits).into(),
            Seen::F16 => from_bits::<f16>(bits).into(),
            Seen::E4m3 => from_bits::<F8E4M3>(bits).to_f64(),
            Seen::E5m2 => from_bits::<F8E5M2>(bits).to_f64(),
        }
    }
}
