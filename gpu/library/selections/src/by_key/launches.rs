//! The rows of the ladders: lengths of runs, and sums of words by key.

use super::{TILE, lengths_by_key, reduce_by_key};
use crate::pass::Pass;
use crate::rows::{Lengths, Sums};
use rungs_common::ladder::sift::{Entry, Sift, rung};

/// The row of the lengths of runs.
pub static RUN_LENGTHS: Entry<&dyn Sift> =
    rung!("mod.rs", [lengths_by_key]).with_tiles(&[TILE as u64]).run_by(&Lengths(Pass::LookBack));

/// The row of sums by key.
pub static REDUCE_BY_KEY: Entry<&dyn Sift> =
    rung!("mod.rs", [reduce_by_key]).with_tiles(&[TILE as u64]).run_by(&Sums(Pass::LookBack));
