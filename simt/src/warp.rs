//! Collective operations of the 32 lanes of a warp, without memory.
//!
//! `mask` names the lanes that take part, one bit each; all of them must make the call, and the caller must be one of
//! them. A 64-bit value travels as two halves.

use crate::Backend;
pub use crate::machine::WARP;
use crate::machine::{Machine, Reduction, Shuffle};
use crate::scalar::{Scalar, from_bits, to_bits};

/// The mask of all lanes.
pub const FULL: u32 = u32::MAX;

/// The thread's lane, 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    Backend::register(crate::machine::Register::Lane)
}

/// The lanes that execute this instruction together with the caller: a hint from the hardware, never a guarantee.
#[inline(always)]
pub fn active_mask() -> u32 {
    Backend::active_mask()
}

/// Waits for the lanes of `mask`. After it, they see the writes that any of them made before it.
#[inline(always)]
#[track_caller]
pub fn sync_warp(mask: u32) {
    Backend::sync_warp(mask)
}

/// A shuffle of a value of 4 or 8 bytes (smaller ones travel as 4).
#[inline(always)]
#[track_caller]
fn shuffle_any<T: Scalar>(kind: Shuffle, mask: u32, value: T, argument: u32) -> T {
    let bits = to_bits(value);
    let low = Backend::shuffle(kind, mask, bits as u32, argument) as u64;
    if size_of::<T>() == 8 {
        let high = Backend::shuffle(kind, mask, (bits >> 32) as u32, argument) as u64;
        return from_bits(high << 32 | low);
    }
    from_bits(low)
}

/// The value of lane `lane` (taken modulo 32).
#[inline(always)]
#[track_caller]
pub fn shuffle<T: Scalar>(mask: u32, value: T, lane: u32) -> T {
    shuffle_any(Shuffle::Index, mask, value, lane)
}

/// The value of the lane `delta` below; the caller's own where there is none.
#[inline(always)]
#[track_caller]
pub fn shuffle_up<T: Scalar>(mask: u32, value: T, delta: u32) -> T {
    shuffle_any(Shuffle::Up, mask, value, delta)
}

/// The value of the lane `delta` above; the caller's own where there is none.
#[inline(always)]
#[track_caller]
pub fn shuffle_down<T: Scalar>(mask: u32, value: T, delta: u32) -> T {
    shuffle_any(Shuffle::Down, mask, value, delta)
}

/// The value of the lane whose number differs in the bits of `lanes`.
#[inline(always)]
#[track_caller]
pub fn shuffle_xor<T: Scalar>(mask: u32, value: T, lanes: u32) -> T {
    shuffle_any(Shuffle::Xor, mask, value, lanes)
}

/// One bit per lane: set if the lane is in `mask` and its `predicate` is true.
#[inline(always)]
#[track_caller]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    Backend::ballot(mask, predicate)
}

/// Whether `predicate` is true for all lanes of `mask`.
#[inline(always)]
#[track_caller]
pub fn all(mask: u32, predicate: bool) -> bool {
    Backend::ballot(mask, predicate) == mask
}

/// Whether `predicate` is true for any lane of `mask`.
#[inline(always)]
#[track_caller]
pub fn any(mask: u32, predicate: bool) -> bool {
    Backend::ballot(mask, predicate) != 0
}

/// The lanes of `mask` whose value has the same bits as the caller's.
#[inline(always)]
#[track_caller]
pub fn match_any<T: Scalar>(mask: u32, value: T) -> u32 {
    let bits = to_bits(value);
    let low = Backend::match_any(mask, bits as u32);
    if size_of::<T>() == 8 { low & Backend::match_any(mask, (bits >> 32) as u32) } else { low }
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $t:ty = $reduction:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[track_caller]
        pub fn $name(mask: u32, value: $t) -> $t {
            Backend::warp_reduce(Reduction::$reduction, mask, value as u32) as $t
        }
    )*};
}

reductions! {
    /// The sum over the lanes of `mask`, modulo 2³².
    reduce_add: u32 = Add;
    /// The same of signed values: two's complement adds as unsigned numbers do.
    reduce_add_i32: i32 = Add;
    /// The smallest value over the lanes of `mask`.
    reduce_min: u32 = MinUnsigned;
    /// The largest value over the lanes of `mask`.
    reduce_max: u32 = MaxUnsigned;
    /// The smallest signed value over the lanes of `mask`.
    reduce_min_i32: i32 = MinSigned;
    /// The largest signed value over the lanes of `mask`.
    reduce_max_i32: i32 = MaxSigned;
    /// The bitwise and over the lanes of `mask`.
    reduce_and: u32 = And;
    /// The bitwise or over the lanes of `mask`.
    reduce_or: u32 = Or;
    /// The exclusive or over the lanes of `mask`.
    reduce_xor: u32 = Xor;
}
