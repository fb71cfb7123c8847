//! The rows of the ladders: selections and partitions by a pivot, and the first of each run.

use super::*;
use crate::pass::Pass;
use crate::rows::{Below, Firsts};
use rungs_common::ladder::select::Select;
use rungs_common::ladder::sift::*;

/// Items of a tile of words.
const TILE: u64 = tile::<u32>() as u64;

/// The row of the ladder of selections.
pub static SELECT: Entry<&dyn Select> =
    rung!("mod.rs", [select_look_ahead]).with_tiles(&[TILE]).run_by(&Below(Pass::LookAhead));

/// The row of partitions.
pub static PARTITION: Entry<&dyn Sift> =
    rung!("mod.rs", [partition_look_ahead]).with_tiles(&[TILE]).run_by(&Below(Pass::LookAhead));

/// The row of the first items of runs.
pub static UNIQUE: Entry<&dyn Sift> =
    rung!("mod.rs", [unique_look_ahead]).with_tiles(&[TILE]).run_by(&Firsts(Pass::LookAhead));
