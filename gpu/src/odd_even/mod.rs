//! # Odd-even sort over sorted blocks
//!
//! The bubble sort of whole blocks. Each block is sorted by itself. Then neighbouring halves of blocks are merged, in
//! turn across the seams and inside the blocks, until every key has had time to reach its place.

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
