//! The odd-even sorts that merge long runs, on the simulator, against the standard library.

use rungs_common::keys::{DESCENDING, FLOAT, SIGNED, UNSIGNED};
use rungs_common::ladder::sort::Sort;
use rungs_common::ladder::{Entry, Geometry, Launcher};
use rungs_odd_even::split::launches::run_bits;
use rungs_odd_even::split::{self, MOST, Round};
use rungs_odd_even::{r1_bitonic_blocks as r1, r2_merge_split as r2, r3_persistent as r3, r4_levels as r4};
use rungs_testing::{Random, Sorting, inputs, narrow, view, with_multiprocessors};
use simt::launcher::MAX_SHARED;
use simt::sim::{Check, Gpu, check};

const RUNGS: [&Entry<Sort>; 3] = [&r2::launches::RUNG, &r3::launches::RUNG, &r4::launches::RUNG];

/// A device with little shared memory, whose runs are half as long, and one with much.
fn devices() -> [Gpu; 2] {
    let (mut small, large) = (with_multiprocessors(2), with_multiprocessors(5));
    small.device.shared_per_block = 99 << 10;
    [small, large]
}

/// Every input of few runs and of sizes around a chunk and a run.
fn check_sizes(rung: &'static Entry<Sort>) {
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
    check_sizes(RUNGS[0]);
}

#[test]
fn persistent_sorts_any_n() {
    check_sizes(RUNGS[1]);
}

#[test]
fn levels_sorts_any_n() {
    check_sizes(RUNGS[2]);
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
        let rounds: Vec<Round> = r4::launches::rounds(runs << 15, 1 << 15).collect();
        for bits in 0..1u32 << runs {
            let mut keys: Vec<u32> = (0..runs).map(|i| bits >> i & 1).collect();
            for round in &rounds {
                let size = (round.run >> 15) as usize;
                let runs = keys.len().div_ceil(size);
                for run in (0..runs).filter(|run| (run % round.group as usize) & 1 == round.parity as usize) {
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

/// Short runs with many chunks and a last run of few keys, under hostile schedules: a block that reads a run too early,
/// or overwrites what a neighbour still reads, races.
#[test]
fn persistent_waits_for_what_it_reads() {
    let round = Round { run: 256, chunk: 32, chunks: 8, group: u32::MAX, parity: 0 };
    for n in [2 * 256 + 3, 3 * 256] {
        let rounds = Round::rounds(round.runs(n));
        let mut random = Random(n.into());
        let keys: Vec<u32> = (0..n).map(|_| random.next() as u32).collect();
        let mut want = keys.clone();
        want.sort_unstable();
        let checked = check(Check { schedules: 8, ..Check::default() }, || {
            let gpu = with_multiprocessors(2);
            let on: &dyn Launcher = &gpu;
            let mut arrays = [keys.clone(), keys.clone(), keys.clone()];
            arrays[0].chunks_mut(256).for_each(<[u32]>::sort_unstable);
            let counters = on.zeros::<u64>(r3::counters(round.runs(n))).unwrap();
            let [a, b, c] = &mut arrays;
            let (first, second, third) = (view(a), view(b), view(c));
            for launch in 0..2 {
                let args = (first, second, third, counters.view(), launch, round, rounds, UNSIGNED);
                on.launch(r3::odd_even_persistent::<u32>::default(), Geometry::linear(7, split::BLOCK), args).unwrap();
            }
            arrays
        });
        for finding in &checked.report.findings {
            println!("{finding}\n");
        }
        assert!(checked.report.findings.is_empty(), "n = {n}");
        // Three rounds end in the first array, and so do the next three.
        assert_eq!(rounds, 3);
        assert!(checked.results.iter().all(|arrays| arrays[0] == want), "n = {n}");
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

#[test]
fn bitonic_blocks_sorts_any_n() {
    let tile = r1::KEYS as usize;
    let around_tile = [tile / 2 + 1, tile - 1, tile, tile + 1, 2 * tile + 17, 4 * tile];
    for n in [0, 1, 2, 3, 31, 32, 33, 1023, 1025].into_iter().chain(around_tile).chain([40_009]) {
        for (name, keys) in inputs(n) {
            Sorting::by(&r1::launches::RUNG).check_both(name, &narrow(&keys), &keys);
        }
    }
}
