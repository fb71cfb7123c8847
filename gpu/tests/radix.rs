//! Radix sort on the simulator, against the standard library.

mod common;

use common::{check_sort, inputs, narrow, run, view};
use rungs_kernels::radix::columns;
use rungs_kernels::radix::r1_columns_one_thread::radix_columns_one_thread;
use rungs_kernels::radix::r2_columns_atomic_min::radix_columns_atomic_min;
use rungs_kernels::radix::r3_columns_tree::radix_columns_tree;
use rungs_kernels::radix::r4_columns_groups::radix_columns_groups;
use simt::{Global, Kernel};

fn sort<K: Kernel<Args = (Global<u32>,)>>(kernel: K, columns: u32, keys: &mut [u32]) {
    let n = keys.len() as u32;
    run(kernel, columns::grid(n), columns, columns::shared_bytes(n, columns), (view(keys),));
}

fn check<K: Kernel<Args = (Global<u32>,)>>(kernel: K) {
    for columns in [8, 16, 32, 128, 1024] {
        for n in [0, 1, 2, 7, 8, 9, 31, 32, 33, 127, 128, 129, 257, 1023, 1024, 1025, 2053] {
            for (name, keys) in inputs(n) {
                // Every kind of input where the ends are; one is enough where only the size is of interest.
                if n > 300 && name != "few distinct" {
                    continue;
                }
                check_sort(&format!("{name}, {columns} columns"), &narrow(&keys), |k| sort(kernel, columns, k));
            }
        }
    }
    // All that fits.
    let full = columns::capacity(64, simt::sim::MAX_SHARED);
    let keys = &inputs(full as usize)[0].1;
    check_sort("random, full block", &narrow(keys), |k| sort(kernel, 64, k));
}

#[test]
fn capacity_is_what_fits() {
    for columns in (3..=10).map(|b| 1 << b) {
        let n = columns::capacity(columns, simt::sim::MAX_SHARED);
        assert!(n >= 27_000, "{n}");
        let room = simt::sim::MAX_SHARED - columns::MERGE_BYTES;
        assert!(columns::shared_bytes(n, columns) <= room && columns::shared_bytes(n + 1, columns) > room);
    }
}

#[test]
fn columns_one_thread() {
    check(radix_columns_one_thread);
}

#[test]
fn columns_atomic_min() {
    check(radix_columns_atomic_min);
}

#[test]
fn columns_tree() {
    check(radix_columns_tree);
}

#[test]
fn columns_groups() {
    check(radix_columns_groups);
}
