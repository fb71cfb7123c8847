//! The rows of the ladders: selections and partitions by a pivot, and the first of each run, its length, or its sum.

use super::runs::{lengths_by_key_look_ahead, reduce_by_key_look_ahead};
use super::*;
use crate::pass::Pass;
use crate::rows::{Below, Firsts, Lengths, Sums};
use rungs_common::ladder::select::Select;
use rungs_common::ladder::sift::*;

/// Items of a tile of words.
const TILE: u64 = shape::<u32>().tile as u64;

/// Keys of a tile of words with values.
const OF_RUNS: u64 = runs::shape::<u32, u32>().tile as u64;

/// The row of the ladder of selections.
pub static SELECT: Entry<&dyn Select> =
    rung!("mod.rs", [select_look_ahead]).with_tiles(&[TILE]).run_by(&Below(Pass::LookAhead));

/// The row of partitions.
pub static PARTITION: Entry<&dyn Sift> =
    rung!("mod.rs", [partition_look_ahead]).with_tiles(&[TILE]).run_by(&Below(Pass::LookAhead));

/// The row of the first items of runs.
pub static UNIQUE: Entry<&dyn Sift> =
    rung!("mod.rs", [unique_look_ahead]).with_tiles(&[TILE]).run_by(&Firsts(Pass::LookAhead));

/// The row of the lengths of runs.
pub static RUN_LENGTHS: Entry<&dyn Sift> =
    rung!("mod.rs", [lengths_by_key_look_ahead]).with_tiles(&[OF_RUNS]).run_by(&Lengths(Pass::LookAhead));

/// The row of sums by key.
pub static REDUCE_BY_KEY: Entry<&dyn Sift> =
    rung!("mod.rs", [reduce_by_key_look_ahead]).with_tiles(&[OF_RUNS]).run_by(&Sums(Pass::LookAhead));
