//! Sums of cubes on the simulator, against a loop.

use rungs_common::ladder::Options;
use rungs_common::ladder::cubes::{Cubes, Values};
use rungs_common::ladder::{Entry, Launcher};
use rungs_cubes::LADDER;
use rungs_cubes::clocks::TIMES;
use rungs_testing::{Buffer, Random};
use simt::sim::Gpu;

/// Runs a rung on many inputs and compares the sum of what it leaves.
fn check(rung: &'static Entry<Cubes>, shapes: &[(Option<u32>, Option<u32>)]) {
    let (on, mut random) = (Gpu::default(), Random(1));
    for &(blocks, threads) in shapes {
        let plan = rung.run.plan(&Options { blocks, threads, ..Options::default() }, on.device());
        assert!(blocks.is_none_or(|blocks| blocks == plan.blocks) && threads.is_none_or(|t| t == plan.threads));
        let mut sequence = rung.adder(&on, plan).unwrap();
        for n in [0, 1, 2, 31, 32, 33, 255, 256, 257, 1021, 8191, 8192, 8193, 70_001] {
            for digits in [true, false] {
                let values: Vec<u32> =
                    (0..n).map(|_| if digits { random.next() as u32 % 10 } else { random.next() as u32 }).collect();
                let want = values.iter().fold(0u64, |sum, &v| sum.wrapping_add((v as u64).wrapping_pow(3)));
                let what = format!("{} on {n} values, {plan:?}", rung.rung.name);
                let mut values = Buffer::new(&values, 1);
                let mut sums = Buffer::<u64>::poisoned(plan.sums as usize, 1);
                let mut times = Buffer::<u64>::poisoned((plan.blocks * TIMES) as usize, 1);
                let args = Values { values: values.view(), sums: sums.view(), times: times.view() };
                sequence.run(&on, args).unwrap();
                let got = sums.slice().iter().fold(0u64, |sum, &part| sum.wrapping_add(part));
                assert_eq!(got, want, "{what}");
                let poison = Buffer::<u64>::poisoned(1, 0).slice()[0];
                for row in times.slice().chunks(TIMES as usize) {
                    assert!(row[0] <= row[1] && row[2] <= row[3] && row.iter().all(|&t| t < poison), "{what}: {row:?}");
                }
                sums.check_guards(&what);
                times.check_guards(&what);
            }
        }
    }
}

/// Threads of one block.
fn blocks_of(threads: &[u32]) -> Vec<(Option<u32>, Option<u32>)> {
    threads.iter().map(|&threads| (None, Some(threads))).collect()
}

#[test]
fn one_thread() {
    check(LADDER.get("one-thread").unwrap(), &[(None, None)]);
}

#[test]
fn one_block() {
    for name in ["one-block-strided", "one-block"] {
        check(LADDER.get(name).unwrap(), &blocks_of(&[1, 31, 256, 1024]));
    }
}

#[test]
fn many_blocks() {
    let shapes = [(1, 32), (3, 96), (32, 256), (7, 1024), (100, 1), (2, 33)].map(|(b, t)| (Some(b), Some(t)));
    for name in ["many-blocks", "block-sum", "block-tree", "warp-shuffle", "grid-atomic"] {
        check(LADDER.get(name).unwrap(), &[&shapes[..], &[(None, None)]].concat());
    }
}

#[test]
fn every_rung_is_tested_here() {
    let tested = "one-thread one-block-strided one-block many-blocks block-sum block-tree warp-shuffle grid-atomic";
    assert!(LADDER.rungs.iter().map(|rung| rung.rung.name).eq(tested.split(' ')));
}
