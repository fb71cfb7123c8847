//! # Odd-even sort over sorted blocks
//!
//! The bubble sort of whole blocks: blocks are sorted each for itself, and then neighbours are merged, in turn those
//! at even and those at odd places, until everything has had the time to reach its end.

pub mod r1_bitonic_blocks;
