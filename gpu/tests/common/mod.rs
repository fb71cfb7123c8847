//! Every ladder, and what the tests of the families share.
#![allow(dead_code, reason = "each test file uses a part")]

use rungs_kernels::ladder::sort::Sort;
use rungs_kernels::ladder::{Ladder, Rung};
use rungs_kernels::{bitonic, bubble, cubes, histogram, ladders, odd_even, reduce, saxpy, scan, select, top_k};
pub use rungs_testing::*;

/// The ladders of sorts.
pub const SORTS: [&Ladder<Sort>; 5] =
    [&bitonic::LADDER, &bubble::LADDER, &odd_even::LADDER, &ladders::MERGE, &ladders::RADIX];

/// Every ladder.
pub fn families() -> Vec<(&'static str, Vec<&'static Rung>)> {
    let others = [
        rungs_of(&reduce::LADDER),
        rungs_of(&scan::LADDER),
        rungs_of(&select::LADDER),
        rungs_of(&top_k::LADDER),
        rungs_of(&rungs_kernels::segments::LADDER),
        rungs_of(&histogram::LADDER),
        rungs_of(&cubes::LADDER),
        rungs_of(&*ladders::MATMUL),
        rungs_of(&saxpy::LADDER),
    ];
    SORTS.map(rungs_of).into_iter().chain(others).collect()
}
