//! Bubble sort on the simulator, against the standard library.

mod common;

use common::{check_sort, inputs, narrow, run, view};
use rungs_kernels::bubble::{Key, r1_one_block as r1, r2_shared_block as r2, r3_warp_registers as r3};
use simt::Kernel;

fn one_block<T: Key, K: Kernel<Args = (simt::Global<T>,)>>(kernel: K, keys: &mut [T]) {
    let n = keys.len() as u32;
    let shared = r1::shared_bytes(n, size_of::<T>() as u32);
    run(kernel, r1::grid(n), r1::threads(n), shared, (view(keys),));
}

fn shared_block<T: Key, K: Kernel<Args = (simt::Global<T>, u32)>>(kernel: K, threads: u32, keys: &mut [T]) {
    let (n, window) = (keys.len() as u32, 2 * threads);
    for offset in r2::passes(n, window) {
        run(kernel, r2::grid(n, window, offset), threads, 0, (view(keys), offset));
    }
}

fn warp_registers<T: Key, K: Kernel<Args = (simt::Global<T>, u32)>>(kernel: K, keys: &mut [T]) {
    let n = keys.len() as u32;
    for offset in r3::passes(n) {
        run(kernel, r3::grid(n, offset), r3::BLOCK, 0, (view(keys), offset));
    }
}

/// All inputs of a few keys, one of many keys: simulating n² comparisons takes a while.
fn some(mut inputs: Vec<(&'static str, Vec<u64>)>) -> Vec<(&'static str, Vec<u64>)> {
    let many = inputs[0].1.len() > 512;
    inputs.truncate(if many { 1 } else { inputs.len() });
    inputs
}

#[test]
fn one_block_sorts_any_n() {
    // 2049 keys: more pairs than threads.
    for n in [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 509, 2049] {
        for (name, keys) in some(inputs(n)) {
            check_sort(name, &narrow(&keys), |k| one_block(r1::bubble_one_block::<u32>::default(), k));
            check_sort(name, &keys, |k| one_block(r1::bubble_one_block::<u64>::default(), k));
        }
    }
}

#[test]
fn shared_block_sorts_any_n() {
    for n in [0, 1, 2, 3, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 1537, 2053] {
        for (name, keys) in some(inputs(n)) {
            let (u32s, u64s) = (r2::bubble_shared_block::<u32>::default(), r2::bubble_shared_block::<u64>::default());
            check_sort(name, &narrow(&keys), |k| shared_block(u32s, r2::BLOCK, k));
            check_sort(name, &keys, |k| shared_block(u64s, r2::BLOCK, k));
        }
    }
}

#[test]
fn warp_registers_sorts_any_n() {
    for n in [0, 1, 2, 3, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 1537, 4099] {
        for (name, keys) in some(inputs(n)) {
            let (u32s, u64s) =
                (r3::bubble_warp_registers::<u32>::default(), r3::bubble_warp_registers::<u64>::default());
            check_sort(name, &narrow(&keys), |k| warp_registers(u32s, k));
            check_sort(name, &keys, |k| warp_registers(u64s, k));
        }
    }
}

#[test]
fn shared_block_sorts_in_small_windows() {
    for n in 0..70 {
        for threads in [1, 2, 3, 8] {
            for (name, keys) in inputs(n) {
                let kernel = r2::bubble_shared_block::<u32>::default();
                check_sort(name, &narrow(&keys), |k| shared_block(kernel, threads, k));
            }
        }
    }
}

#[test]
fn worked_example_of_the_source() {
    let mut keys = [9, 5, 8, 4, 7, 6, 3, 2, 6, 8, 7, 4, 3, 2, 1, 0];
    let steps: Vec<Vec<u32>> = r2::passes(16, 4)
        .map(|offset| {
            run(r2::bubble_shared_block::<u32>::default(), r2::grid(16, 4, offset), 2, 0, (view(&mut keys), offset));
            keys.to_vec()
        })
        .collect();
    assert_eq!(steps.len(), 8);
    assert_eq!(steps[0], [4, 5, 8, 9, 2, 3, 6, 7, 4, 6, 7, 8, 0, 1, 2, 3]);
    assert_eq!(steps[1], [4, 5, 2, 3, 8, 9, 4, 6, 6, 7, 0, 1, 7, 8, 2, 3]);
    assert_eq!(steps[7], [0, 1, 2, 2, 3, 3, 4, 4, 5, 6, 6, 7, 7, 8, 8, 9]);
}
