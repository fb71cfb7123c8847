//! # Radix sort
//!
//! Sorting by digits instead of comparisons. The first rungs sort columns inside one block, bit by bit, and merge
//! them in four ways; the cost is in the merge, which puts out one key at a time.

pub mod columns;
pub mod r1_columns_one_thread;
pub mod r2_columns_atomic_min;
pub mod r3_columns_tree;
pub mod r4_columns_groups;
