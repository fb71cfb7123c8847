//! # Odd-even sort over sorted blocks
//!
//! The bubble sort of whole blocks: blocks are sorted each for itself, and then neighbours are merged, in turn those
//! at even and those at odd places, until everything has had the time to reach its end.

pub mod r1_bitonic_blocks;

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use crate::ladder::sort::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Sort> = Ladder {
        family: "odd-even",
        about: "bubble sort of blocks: sorted by a bitonic network, then merged with their neighbours",
        rungs: &[&r1_bitonic_blocks::launches::RUNG],
        default: &r1_bitonic_blocks::launches::RUNG,
    };
}
