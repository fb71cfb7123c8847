//! The rows of the ladders: selections and partitions by a pivot, and the first of each run.

use super::*;
use crate::pass::Pass;
use crate::rows::{Below, Firsts};
use rungs_common::ladder::select::Select;
use rungs_common::ladder::sift::*;

/// The row of the ladder of selections.
pub static SELECT: Entry<&dyn Select> =
    rung!("mod.rs", [select_compact]).with_tiles(&[TILE as u64]).run_by(&Below(Pass::LookBack));

/// The row of partitions.
pub static PARTITION: Entry<&dyn Sift> =
    rung!("mod.rs", [partition_compact]).with_tiles(&[TILE as u64]).run_by(&Below(Pass::LookBack));

/// The row of the first items of runs.
pub static UNIQUE: Entry<&dyn Sift> =
    rung!("mod.rs", [unique_compact]).with_tiles(&[TILE as u64]).run_by(&Firsts(Pass::LookBack));
