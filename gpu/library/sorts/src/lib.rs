//! # Sorts
//!
//! What vectors sort by where no rung of the course is enough: keys that are skewed ([`msd_skewed`]), floats and
//! integers in a range ([`learned`]), keys with values ([`msd_pairs`]), a choice between the sorts by the keys, on the
//! device ([`either`]), keys on several devices (`pieces`), and keys by any comparator ([`by_order`], [`stable`]).
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod buckets;
pub mod by_order;
pub mod codes;
pub mod digits;
pub mod either;
pub mod from_last;
#[macro_use]
mod kernels;
pub mod learned;
pub mod linear;
mod msd;
pub mod msd_pairs;
pub mod msd_skewed;
mod pass;
#[cfg(not(target_os = "cuda"))]
pub mod pieces;
pub mod stable;
pub mod steps;
mod wait;
pub mod ways;

pub use kernels::MAX_SPILLS;
// For the macros, which name it from the crate of an order.
#[doc(hidden)]
pub use rungs_common::order;

#[cfg(not(target_os = "cuda"))]
mod rows {
    use super::*;
    use rungs_common::ladder::Entry;
    use rungs_common::ladder::sort::Sort;

    /// The sorts by digits, for the end of their ladder.
    pub const BY_DIGITS: &[&Entry<Sort>] =
        &[&msd_skewed::launches::RUNG, &msd_pairs::launches::RUNG, &learned::launches::RUNG, &either::launches::RUNG];

    /// The sorts that compare, for the end of theirs.
    pub const BY_COMPARISONS: &[&Entry<Sort>] = &[&stable::launches::RUNG];
}

#[cfg(not(target_os = "cuda"))]
pub use rows::{BY_COMPARISONS, BY_DIGITS};
