//! The column-wise rungs of radix sort on the simulator, against the standard library.

use rungs_common::ladder::sort::Sort;
use rungs_common::ladder::{Entry, Options};
use rungs_radix::{columns, r1_columns_one_thread, r2_columns_atomic_min, r3_columns_tree, r4_columns_groups};
use rungs_testing::{Sorting, inputs, narrow};
use simt::sim::MAX_SHARED;

fn check(rung: &'static Entry<Sort>) {
    let in_columns =
        |columns| Sorting { options: Options { columns: Some(columns), ..Options::default() }, ..Sorting::by(rung) };
    for columns in [8, 16, 32, 128, 1024] {
        for n in [0, 1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 257, 1023, 1024, 1025, 2053] {
            for (name, keys) in inputs(n) {
                // Every kind of input where the ends are; one is enough where only the size is of interest.
                if n > 300 && name != "few distinct" {
                    continue;
                }
                in_columns(columns).check(&format!("{name}, {columns} columns"), &narrow(&keys));
            }
        }
    }
    // All that fits.
    let full = columns::capacity(64, MAX_SHARED);
    in_columns(64).check("random, full block", &narrow(&inputs(full as usize)[0].1));
}

#[test]
fn capacity_is_what_fits() {
    for columns in (3..=10).map(|b| 1 << b) {
        let n = columns::capacity(columns, MAX_SHARED);
        assert!(n >= 27_000, "{n}");
        let room = MAX_SHARED - columns::MERGE_BYTES;
        assert!(columns::shared_bytes(n, columns) <= room && columns::shared_bytes(n + 1, columns) > room);
    }
}

#[test]
fn columns_one_thread() {
    check(&r1_columns_one_thread::launches::RUNG);
}

#[test]
fn columns_atomic_min() {
    check(&r2_columns_atomic_min::launches::RUNG);
}

#[test]
fn columns_tree() {
    check(&r3_columns_tree::launches::RUNG);
}

#[test]
fn columns_groups() {
    check(&r4_columns_groups::launches::RUNG);
}
