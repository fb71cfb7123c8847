//! Bitonic and odd-even sorts on the simulator, against the standard library.

use rungs_bitonic::r3_register_step::Pass;
use rungs_bitonic::{r1_global_step as r1, r2_shared_step as r2, r3_register_step as r3};
use rungs_bitonic::{r4_transpose as r4, r5_strides as r5, r6_backwards as r6};
use rungs_common::keys::{DESCENDING, FLOAT, SIGNED};
use rungs_testing::{Random, Sorting, inputs, narrow};

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
    check(Sorting::by(&r3::launches::RUNG), rungs_bitonic::tile::TILE as usize);
}

/// On one SM all tiles of keys of 4 bytes are large, on many all are small.
#[test]
fn wide_tiles_sort_any_n() {
    for rung in [&r4::launches::RUNG, &r5::launches::RUNG, &r6::launches::RUNG] {
        for (multiprocessors, tile) in [(1, 1 << 14), (64, 1 << 13)] {
            let sort = Sorting { on: rungs_testing::with_multiprocessors(multiprocessors), ..Sorting::by(rung) };
            for n in [0, 1, 2, 3, 31, 32, 33, 1025, tile - 1, tile, tile + 1, 3 * tile + 17, 4 * tile, 5 * tile - 1] {
                for (name, keys) in inputs(n) {
                    sort.check_both(name, &narrow(&keys), &keys);
                }
            }
        }
    }
}

/// Keys are mapped by the first launch and back by the last, which may be the same.
#[test]
fn wide_tiles_sort_in_any_order() {
    for rung in [&r4::launches::RUNG, &r5::launches::RUNG, &r6::launches::RUNG] {
        for order in [SIGNED, FLOAT, DESCENDING, FLOAT | DESCENDING] {
            for n in [1, 2, 1000, 40_009] {
                let sort = Sorting { order, on: rungs_testing::with_multiprocessors(1), ..Sorting::by(rung) };
                let mut random = Random(n as u64);
                let keys: Vec<u64> = (0..n).map(|_| random.next()).collect();
                sort.check_both("random", &narrow(&keys), &keys);
            }
        }
    }
}

/// Every number of long steps, at once and in two passes.
#[test]
fn long_strides_sort_millions() {
    let mut random = Random(9);
    let n = (1 << 20) + 12_345;
    let keys: Vec<u32> = (0..n).map(|_| random.next() as u32).collect();
    for strides in 4..=6 {
        let found = |pass| matches!(pass, r5::launches::Pass::Long { strides: s, .. } if s == strides);
        assert!(r5::launches::passes(n, 13, 6).any(found), "{strides}");
    }
    for rung in [&r4::launches::RUNG, &r5::launches::RUNG, &r6::launches::RUNG] {
        Sorting { on: rungs_testing::with_multiprocessors(132), ..Sorting::by(rung) }.check("random", &keys);
    }
}

/// The passes of r5 do the steps of the network: each bit of each stage, in falling order.
#[test]
fn strides_cover_every_step() {
    use r5::launches::{Pass, passes};
    for n in [0, 1, 2, 8192, 8193, 16_385, 1 << 20, (1 << 24) + 1, 1 << 31, u32::MAX] {
        for (tile, most) in [(13, 5), (13, 6), (14, 6)] {
            let stages = u32::BITS - n.saturating_sub(1).leading_zeros();
            let mut steps = vec![];
            let mut next = None;
            for pass in passes(n, tile, most) {
                match pass {
                    Pass::Sort => assert!(steps.is_empty()),
                    Pass::Long { low, strides, stage } => {
                        assert!((4..=most).contains(&strides) && 1 << low >= r5::BLOCK);
                        let from = next.unwrap_or(stage);
                        // A pass begins where the one before ended, or repeats some of its bits.
                        assert!(low + strides >= from && low < from, "n = {n}: {pass:?}");
                        assert!(r5::long_grid(n, low, strides) as u64 * r5::BLOCK as u64 * (1 << strides) >= n as u64);
                        next = Some(low);
                    }
                    Pass::Merge { stage } => {
                        assert!(next.take().unwrap() <= tile, "n = {n}: stage {stage} has a gap");
                        steps.push(stage);
                    }
                }
            }
            assert_eq!(steps, (tile + 1..=stages).collect::<Vec<_>>(), "n = {n}");
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
    Sorting::by(&r3::launches::RUNG).check("random", &keys);
}

/// The passes of r3 do the steps of the network: each bit of each stage once, in falling order.
#[test]
fn passes_cover_every_step() {
    use rungs_bitonic::tile::{TILE_BITS, WINDOW};
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
                    assert!(r3::grid(n, pass) as u64 * rungs_bitonic::tile::TILE as u64 >= n as u64);
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
