//! Bitonic and odd-even sorts on the simulator, against the standard library.

mod common;

use common::{Random, check_sort, inputs, narrow, run, view};
use rungs_kernels::bitonic::r3_register_step::Pass;
use rungs_kernels::bitonic::{r1_global_step as r1, r2_shared_step as r2, r3_register_step as r3};
use rungs_kernels::keys::Key;
use rungs_kernels::odd_even::r1_bitonic_blocks as blocks;
use simt::{Global, Kernel};

fn shared_step<T: Key, K, S>(kernel: K, step: S, keys: &mut [T])
where
    K: Kernel<Args = (Global<T>, u32, u32)>,
    S: Kernel<Args = (Global<T>, u32, u32)>,
{
    let n = keys.len() as u32;
    for launch in r2::launches(n) {
        match launch {
            r2::Launch::Tile(first, last) => {
                let shared = r2::shared_bytes(size_of::<T>() as u32);
                run(kernel, r2::grid(n), r2::BLOCK, shared, (view(keys), first, last));
            }
            r2::Launch::Step(j, flip) => run(step, r1::grid(n), r1::BLOCK, 0, (view(keys), j, flip as u32)),
        }
    }
}

fn register_step<T: Key, A, B, C>(sort: A, strides: B, merge: C, keys: &mut [T])
where
    A: Kernel<Args = (Global<T>,)>,
    B: Kernel<Args = (Global<T>, u32, u32, u32)>,
    C: Kernel<Args = (Global<T>,)>,
{
    let (n, shared) = (keys.len() as u32, r3::shared_bytes(size_of::<T>() as u32));
    for pass in r3::passes(n) {
        let grid = r3::grid(n, pass);
        match pass {
            Pass::Sort => run(sort, grid, r3::THREADS, shared, (view(keys),)),
            Pass::Strides { low, strides: count, mirrored } => {
                run(strides, grid, r3::THREADS, shared, (view(keys), low, count, mirrored as u32));
            }
            Pass::Merge => run(merge, grid, r3::THREADS, shared, (view(keys),)),
        }
    }
}

fn bitonic_blocks<T: Key, A, B>(sort: A, merge: B, keys: &mut [T])
where
    A: Kernel<Args = (Global<T>,)>,
    B: Kernel<Args = (Global<T>, u32)>,
{
    let (n, shared) = (keys.len() as u32, blocks::shared_bytes(size_of::<T>() as u32));
    run(sort, blocks::grid(n, 0), blocks::THREADS, shared, (view(keys),));
    for offset in blocks::merges(n) {
        run(merge, blocks::grid(n, offset), blocks::THREADS, shared, (view(keys), offset));
    }
}

fn u32s_shared_step(keys: &mut [u32]) {
    shared_step(r2::bitonic_shared_step::<u32>::default(), r1::bitonic_global_step::<u32>::default(), keys);
}

fn u64s_shared_step(keys: &mut [u64]) {
    shared_step(r2::bitonic_shared_step::<u64>::default(), r1::bitonic_global_step::<u64>::default(), keys);
}

fn u32s_register_step(keys: &mut [u32]) {
    register_step(
        r3::bitonic_register_step_sort::<u32>::default(),
        r3::bitonic_register_step_strides::<u32>::default(),
        r3::bitonic_register_step_merge::<u32>::default(),
        keys,
    );
}

fn u64s_register_step(keys: &mut [u64]) {
    register_step(
        r3::bitonic_register_step_sort::<u64>::default(),
        r3::bitonic_register_step_strides::<u64>::default(),
        r3::bitonic_register_step_merge::<u64>::default(),
        keys,
    );
}

fn u32s_blocks(keys: &mut [u32]) {
    let sort = blocks::odd_even_bitonic_blocks_sort::<u32>::default();
    bitonic_blocks(sort, blocks::odd_even_bitonic_blocks_merge::<u32>::default(), keys);
}

fn u64s_blocks(keys: &mut [u64]) {
    let sort = blocks::odd_even_bitonic_blocks_sort::<u64>::default();
    bitonic_blocks(sort, blocks::odd_even_bitonic_blocks_merge::<u64>::default(), keys);
}

/// Every input of every size up to a tile and over, one of the largest.
fn sizes(tile: usize) -> Vec<usize> {
    vec![0, 1, 2, 3, 31, 32, 33, 1023, 1025, tile / 2 + 1, tile - 1, tile, tile + 1, 2 * tile + 17, 4 * tile, 40_009]
}

#[test]
fn shared_step_sorts_any_n() {
    for n in sizes(r2::TILE as usize) {
        for (name, keys) in inputs(n) {
            check_sort(name, &narrow(&keys), u32s_shared_step);
            check_sort(name, &keys, u64s_shared_step);
        }
    }
}

#[test]
fn register_step_sorts_any_n() {
    for n in sizes(rungs_kernels::bitonic::tile::TILE as usize) {
        for (name, keys) in inputs(n) {
            check_sort(name, &narrow(&keys), u32s_register_step);
            check_sort(name, &keys, u64s_register_step);
        }
    }
}

#[test]
fn bitonic_blocks_sorts_any_n() {
    for n in sizes(blocks::KEYS as usize) {
        for (name, keys) in inputs(n) {
            check_sort(name, &narrow(&keys), u32s_blocks);
            check_sort(name, &keys, u64s_blocks);
        }
    }
}

/// Rows of every length: up to nine long steps, so one pass of eight and stages of two passes.
#[test]
fn register_step_sorts_millions() {
    let mut random = Random(7);
    let n = (1 << 22) + 12_345;
    let keys: Vec<u32> = (0..n).map(|_| random.next() as u32).collect();
    assert!(r3::passes(n).any(|p| matches!(p, Pass::Strides { strides: 8, .. })));
    assert!(r3::passes(n).any(|p| matches!(p, Pass::Strides { mirrored: false, .. })));
    check_sort("random", &keys, u32s_register_step);
}

/// The passes of r3 do the steps of the network: each bit of each stage once, in falling order.
#[test]
fn passes_cover_every_step() {
    use rungs_kernels::bitonic::tile::{TILE_BITS, WINDOW};
    for n in [0, 1, 2, 8192, 8193, 1 << 20, (1 << 20) + 1, 1 << 31, u32::MAX] {
        let stages = u32::BITS - n.saturating_sub(1).leading_zeros();
        let mut want = vec![];
        if n > 1 {
            want.push((TILE_BITS, TILE_BITS));
        }
        for stage in TILE_BITS..stages {
            want.extend((TILE_BITS..=stage).rev().map(|bit| (stage, bit)));
            want.push((stage, TILE_BITS));
        }
        let (mut got, mut stage) = (vec![], TILE_BITS);
        for pass in r3::passes(n) {
            match pass {
                Pass::Sort => got.push((TILE_BITS, TILE_BITS)),
                Pass::Strides { low, strides, mirrored } => {
                    assert!((WINDOW..=r3::MAX_STRIDES).contains(&strides) && (low >= TILE_BITS || strides == WINDOW));
                    assert_eq!(mirrored, low + strides == stage + 1);
                    assert!(r3::grid(n, pass) as u64 * rungs_kernels::bitonic::tile::TILE as u64 >= n as u64);
                    got.extend((low.max(TILE_BITS)..low + strides).rev().map(|bit| (stage, bit)));
                }
                Pass::Merge => {
                    got.push((stage, TILE_BITS));
                    stage += 1;
                }
            }
        }
        assert_eq!(got, want, "n = {n}");
    }
}
