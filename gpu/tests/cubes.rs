//! Sums of cubes on the simulator, against a loop.

mod common;

use common::{Random, run, view};
use rungs_kernels::cubes::{
    TIMES, r1_one_thread as r1, r2_one_block_strided as r2, r3_one_block as r3, r4_many_blocks as r4,
    r5_block_sum as r5, r6_block_tree as r6, r7_warp_shuffle as r7, r8_grid_atomic as r8,
};
use simt::{Global, Kernel};

type Args = (Global<u32>, Global<u64>, Global<u64>);

/// Runs `kernel` on many inputs and compares the sum of its `sums(blocks, threads)` parts.
fn check<K: Kernel<Args = Args>>(
    kernel: K,
    shapes: &[(u32, u32)],
    sums: impl Fn(u32, u32) -> u32,
    shared: fn(u32) -> u32,
) {
    let mut random = Random(1);
    for &(blocks, threads) in shapes {
        for n in [0, 1, 2, 31, 32, 33, 255, 256, 257, 1021, 8191, 8192, 8193, 70_001] {
            for digits in [true, false] {
                let mut values: Vec<u32> =
                    (0..n).map(|_| if digits { random.next() as u32 % 10 } else { random.next() as u32 }).collect();
                let want = values.iter().fold(0u64, |sum, &v| sum.wrapping_add((v as u64).wrapping_pow(3)));
                // Poison; only the rung that adds to its one word gets it cleared.
                let before = if K::NAME == "cubes_grid_atomic" { 0 } else { 0xBAD };
                let mut parts = vec![before; sums(blocks, threads) as usize];
                let mut times = vec![u64::MAX; (blocks * TIMES) as usize];
                let args = (view(&mut values), view(&mut parts), view(&mut times));
                run(kernel, blocks, threads, shared(threads), args);
                let got = parts.iter().fold(0u64, |sum, &part| sum.wrapping_add(part));
                assert_eq!(got, want, "{} on {n} values, {blocks} blocks of {threads}", K::NAME);
                for row in times.chunks(TIMES as usize) {
                    assert!(row[0] <= row[1] && row[2] <= row[3] && row[3] < u64::MAX, "{row:?}");
                }
            }
        }
    }
}

const BLOCK_SHAPES: [(u32, u32); 4] = [(1, 1), (1, 31), (1, 256), (1, 1024)];
const GRID_SHAPES: [(u32, u32); 6] = [(1, 32), (3, 96), (32, 256), (7, 1024), (100, 1), (2, 33)];

#[test]
fn one_thread() {
    check(r1::cubes_one_thread, &[(1, r1::THREADS)], |_, _| r1::sums(), |_| 0);
}

#[test]
fn one_block_strided() {
    check(r2::cubes_one_block_strided, &BLOCK_SHAPES, |_, threads| r2::sums(threads), |_| 0);
}

#[test]
fn one_block() {
    check(r3::cubes_one_block, &BLOCK_SHAPES, |_, threads| r3::sums(threads), |_| 0);
}

#[test]
fn many_blocks() {
    check(r4::cubes_many_blocks, &GRID_SHAPES, r4::sums, |_| 0);
}

#[test]
fn block_sum() {
    check(r5::cubes_block_sum, &GRID_SHAPES, |blocks, _| r5::sums(blocks), r5::shared_bytes);
}

#[test]
fn block_tree() {
    check(r6::cubes_block_tree, &GRID_SHAPES, |blocks, _| r6::sums(blocks), r6::shared_bytes);
}

#[test]
fn warp_shuffle() {
    check(r7::cubes_warp_shuffle, &GRID_SHAPES, |blocks, _| r7::sums(blocks), |_| 0);
}

#[test]
fn grid_atomic() {
    check(r8::cubes_grid_atomic, &GRID_SHAPES, |_, _| r8::sums(), |_| 0);
}
