//! Bitonic and odd-even sorts on the simulator, against the standard library.

mod common;

use common::{Random, Sorting, inputs, narrow};
use rungs_kernels::bitonic::r3_register_step::Pass;
use rungs_kernels::bitonic::{r1_global_step as r1, r2_shared_step as r2, r3_register_step as r3};
use rungs_kernels::odd_even::r1_bitonic_blocks as blocks;

/// Every input of every size up to a tile and over, one of the largest; of both widths.
fn check(sort: Sorting, tile: usize) {
    let around_tile = [tile / 2 + 1, tile - 1, tile, tile + 1, 2 * tile + 17, 4 * tile];
    for n in [0, 1, 2, 3, 31, 32, 33, 1023, 1025].into_iter().chain(around_tile).chain([40_009]) {
        for (name, keys) in inputs(n) {
            sort.check_both(name, &narrow(&keys), &keys);
        }
    }
}

#[test]
fn global_step_sorts_any_n() {
    for n in [0, 1, 2, 3, 31, 32, 33, 511, 512, 513, 1023, 1025, 4099] {
        for (name, keys) in inputs(n) {
            Sorting::by(&r1::launches::RUNG).check_both(name, &narrow(&keys), &keys);
        }
    }
}

#[test]
fn shared_step_sorts_any_n() {
    check(Sorting::by(&r2::launches::RUNG), r2::TILE as usize);
}

#[test]
fn register_step_sorts_any_n() {
    check(Sorting::by(&r3::launches::RUNG), rungs_kernels::bitonic::tile::TILE as usize);
}

#[test]
fn bitonic_blocks_sorts_any_n() {
    check(Sorting::by(&blocks::launches::RUNG), blocks::KEYS as usize);
}

/// Rows of every length: up to nine long steps, so one pass of eight and stages of two passes.
#[test]
fn register_step_sorts_millions() {
    let mut random = Random(7);
    let n = (1 << 22) + 12_345;
    let keys: Vec<u32> = (0..n).map(|_| random.next() as u32).collect();
    assert!(r3::passes(n).any(|p| matches!(p, Pass::Strides { strides: 8, .. })));
    assert!(r3::passes(n).any(|p| matches!(p, Pass::Strides { mirrored: false, .. })));
    Sorting::by(&r3::launches::RUNG).check("random", &keys);
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
