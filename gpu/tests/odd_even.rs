//! The odd-even sorts that merge long runs, on the simulator, against the standard library.

mod common;

use common::{Random, Sorting, inputs, narrow, with_multiprocessors};
use rungs_kernels::keys::{DESCENDING, FLOAT, SIGNED};
use rungs_kernels::ladder::Entry;
use rungs_kernels::ladder::sort::Sort;
use rungs_kernels::odd_even::split::{MOST, Round, run_bits};
use rungs_kernels::odd_even::{r2_merge_split as r2, r3_persistent as r3, r4_levels as r4};
use simt::launcher::MAX_SHARED;
use simt::sim::Gpu;

const RUNGS: [&Entry<Sort>; 3] = [&r2::launches::RUNG, &r3::launches::RUNG, &r4::launches::RUNG];

/// A device with little shared memory, whose runs are half as long, and one with much.
fn devices() -> [Gpu; 2] {
    let (mut small, large) = (with_multiprocessors(2), with_multiprocessors(5));
    small.device.shared_per_block = 99 << 10;
    [small, large]
}

/// Every input of few runs and of sizes around a chunk and a run.
fn check(rung: &'static Entry<Sort>) {
    for on in devices() {
        let sort = Sorting { on, ..Sorting::by(rung) };
        let run = 1usize << run_bits(4, on.device.shared_per_block);
        let chunk = Round::first(run as u32).chunk as usize;
        for n in [0, 1, 2, 31, 32, 33, chunk - 1, chunk, chunk + 1, run - 1, run, run + 1, 2 * run + 17, 3 * run - 1] {
            let mut inputs = inputs(n);
            inputs.truncate(if n > run { 7 } else { 2 });
            for (name, keys) in inputs {
                sort.check_both(name, &narrow(&keys), &keys);
            }
        }
    }
}

#[test]
fn merge_split_sorts_any_n() {
    check(RUNGS[0]);
}

#[test]
fn persistent_sorts_any_n() {
    check(RUNGS[1]);
}

#[test]
fn levels_sorts_any_n() {
    check(RUNGS[2]);
}

/// The first launch maps the keys and the last maps them back, which may be the same; several sorts by one sequence.
#[test]
fn runs_sort_in_any_order() {
    for rung in RUNGS {
        for order in [SIGNED, FLOAT, DESCENDING, FLOAT | DESCENDING] {
            for n in [1, 1000, 70_001, 140_003] {
                let mut random = Random(n as u64);
                let keys: Vec<u64> = (0..n).map(|_| random.next()).collect();
                Sorting { order, runs: 2, ..Sorting::by(rung) }.check_both("random", &narrow(&keys), &keys);
            }
        }
    }
}

/// More runs than two levels hold, and so many that a key crosses most of them.
#[test]
fn many_runs() {
    let mut random = Random(3);
    for rung in [RUNGS[1], RUNGS[2]] {
        let mut on = with_multiprocessors(3);
        on.device.shared_per_block = 99 << 10;
        let n: usize = if rung.rung.name == "levels" { (70 << 14) + 77 } else { (12 << 14) + 77 };
        let keys: Vec<u32> = (0..n).map(|_| random.next() as u32).collect();
        let falling: Vec<u32> = (0..n as u32).rev().collect();
        let sort = Sorting { on, ..Sorting::by(rung) };
        sort.check("random", &keys);
        sort.check("falling", &falling);
    }
}

/// Runs without keys cannot be told from keys: a model of the rounds, with one key for each run, sorts every order of
/// zeros and ones, and so every order.
#[test]
fn levels_sort_runs() {
    for runs in 1..=14u32 {
        let rounds: Vec<Round> = r4::rounds(runs << 15, 1 << 15).collect();
        for bits in 0..1u32 << runs {
            let mut keys: Vec<u32> = (0..runs).map(|i| bits >> i & 1).collect();
            for round in &rounds {
                let size = (round.run >> 15) as usize;
                let runs = keys.len().div_ceil(size);
                for run in (0..runs).filter(|run| run % round.group as usize & 1 == round.parity as usize) {
                    if (run + 1) % (round.group as usize) != 0 && run + 1 < runs {
                        let end = ((run + 2) * size).min(keys.len());
                        keys[run * size..end].sort_unstable();
                    }
                }
            }
            assert!(keys.is_sorted(), "{runs} runs, {bits:b}: {keys:?}");
        }
    }
}

#[test]
fn runs_are_as_long_as_a_multiprocessor_sorts() {
    assert_eq!([4, 8].map(|bytes| run_bits(bytes, MAX_SHARED)), [15, 14]);
    assert_eq!([4, 8].map(|bytes| run_bits(bytes, 99 << 10)), [14, 13]);
    for bits in 13..=15 {
        let round = Round::first(1 << bits);
        assert!(round.chunk <= MOST && round.chunk * round.chunks >= round.run, "{round:?}");
        assert!(round.chunk * (round.chunks - 1) < round.run, "{round:?}");
    }
}
