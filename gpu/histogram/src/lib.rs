//! # Histogram
//!
//! How often each value occurs: `counts[b]` is the number of keys equal to `b`, for `b` from 0 to `counts.len()` - 1.
//! Keys outside that range are not counted. Keys are bytes or 32-bit words; there are at most [`MAX_BINS`] bins.
//!
//! The order of integer additions does not matter, so every rung gives the same counts in every run.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_global_atomics;
pub mod r2_shared_atomics;
pub mod r3_warp_tables;
pub mod r4_bank_private;

pub use rungs_common::bins::MAX_BINS;
use simt::Scalar;

/// A type whose values can be counted.
pub trait Key: Scalar {
    /// Keys in a 32-bit word.
    const IN_WORD: usize;

    /// The bin that the key belongs to.
    fn bin(self) -> u32;

    /// The bin of key `i` of a word.
    fn bin_in_word(word: u32, i: usize) -> u32;
}

impl Key for u8 {
    const IN_WORD: usize = 4;

    #[simt::device]
    fn bin(self) -> u32 {
        self as u32
    }

    #[simt::device]
    fn bin_in_word(word: u32, i: usize) -> u32 {
        word >> (8 * i) & 0xff
    }
}

impl Key for u32 {
    const IN_WORD: usize = 1;

    #[simt::device]
    fn bin(self) -> u32 {
        self
    }

    #[simt::device]
    fn bin_in_word(word: u32, _: usize) -> u32 {
        word
    }
}

/// Calls `f(i)` for `i` = `first`, `first + stride`, … below `n`.
///
/// The turns are counted first, because `i + stride` may pass 2³² if `n` is close to it.
#[simt::device]
fn strided(first: u32, n: u32, stride: u32, mut f: impl FnMut(u32)) {
    let mut turns = if first < n { (n - first - 1) / stride + 1 } else { 0 };
    let mut i = first;
    while turns > 0 {
        f(i);
        i = i.wrapping_add(stride);
        turns -= 1;
    }
}

/// Blocks for `n` keys: `per_block` keys each, but no more blocks than `blocks`.
const fn blocks_for(n: u32, per_block: u32, blocks: u32) -> u32 {
    let needed = n.div_ceil(per_block);
    if needed < blocks { needed } else { blocks }
}

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::histogram::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<&dyn Histogram> = Ladder {
        family: "histogram",
        about: "how often each value occurs",
        rungs: &[
            &r1_global_atomics::launches::RUNG,
            &r2_shared_atomics::launches::RUNG,
            &r3_warp_tables::launches::RUNG,
            &r4_bank_private::launches::RUNG,
        ],
        default: &r4_bank_private::launches::RUNG,
    };
}
