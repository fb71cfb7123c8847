//! Selections by look-ahead on the simulator, against the host's: whichever pass the launches choose.

use rungs_common::keys::{FLOAT, SIGNED, UNSIGNED};
use rungs_selections::look_ahead::{shape, turns};
use rungs_selections::pass::{Bounds, LEAST, Pass, Selection, Selects, Views};
use rungs_testing::{Buffer, random, same, view, with_multiprocessors};
use simt::launcher::{Device, Launcher, MAX_SHARED};
use simt::sim::{Check, check as check_races};
use std::fmt::Debug;

/// What a selection keeps.
#[derive(Clone, Copy, Debug)]
enum Task {
    Between,
    Parted,
    Firsts,
}

/// Where input, output and rest begin, in elements past a multiple of 128 bytes.
type Offsets = [usize; 3];

/// Packs of 16 bytes, as the look-ahead wants them.
const ALIGNED: Offsets = [4, 8, 12];

/// Runs a task three times, of which the last two find used scratch memory, and compares all that was written.
fn check<W: Selects + Ord + Debug>(
    on: &dyn Launcher,
    task: Task,
    input: &[W],
    limit: Option<u32>,
    bounds: Bounds<W>,
    [from, to, behind]: Offsets,
) {
    let n = input.len();
    let what = format!("{task:?} of {n} of {} bytes, limit {limit:?}, {bounds:?}, from {from}", size_of::<W>());
    let there = limit.map_or(n, |limit| n.min(limit as usize));
    let keeps = |i: usize| match task {
        Task::Firsts => i == 0 || !same(input[i], input[i - 1]),
        _ => (bounds.low..=bounds.high).contains(&input[i].encode(bounds.order)),
    };
    let (kept, others): (Vec<usize>, Vec<usize>) = (0..there).partition(|&i| keeps(i));
    let scratch = Selection::by(on, n as u32, Pass::LookAhead).unwrap();
    let (mut from, mut limit) = (Buffer::new(input, from), limit.map(|limit| Buffer::new(&[limit], 1)));
    let (mut output, mut rest) = (Buffer::<W>::poisoned(n, to), Buffer::<W>::poisoned(n, behind));
    let [mut count, mut rest_count] = [Buffer::<u32>::poisoned(1, 1), Buffer::poisoned(1, 2)];
    for _ in 0..3 {
        output.poison();
        rest.poison();
        count.poison();
        rest_count.poison();
        let views = Views {
            input: from.view(),
            limit: limit.as_mut().map_or_else(|| view(&mut []), Buffer::view),
            output: output.view(),
            count: count.view(),
        };
        match task {
            Task::Between => W::between(on, &scratch, views, bounds),
            Task::Parted => W::parted(on, &scratch, views, (rest.view(), rest_count.view()), bounds),
            Task::Firsts => W::firsts(on, &scratch, views),
        }
        .unwrap_or_else(|e| panic!("{what}: {e}"));
        let expect = |got: &mut Buffer<W>, count: &mut Buffer<u32>, places: &[usize], offset: usize| {
            got.check_guards(&what);
            count.check_guards(&what);
            assert_eq!(count.slice(), [places.len() as u32], "{what}");
            // Behind the items everything is as it was.
            let mut fresh = Buffer::<W>::poisoned(n, offset);
            let want = |i: usize| places.get(i).map(|&place| input[place]);
            let wrong = (0..n).find(|&i| !same(got.slice()[i], want(i).unwrap_or(fresh.slice()[i])));
            assert!(wrong.is_none(), "{what}: place {wrong:?}");
        };
        expect(&mut output, &mut count, &kept, to);
        if matches!(task, Task::Parted) {
            expect(&mut rest, &mut rest_count, &others, behind);
        }
        from.check_guards(&what);
        assert!(from.slice().iter().zip(input).all(|(&a, &b)| same(a, b)), "{what}: wrote to the input");
    }
}

/// Sizes around packs and tiles, and more tiles than the ring of a block has stages.
fn sizes<W>() -> Vec<usize> {
    let tile = shape::<W>().tile as usize;
    vec![0, 1, 2, 3, 31, 32, 33, 1009, tile - 1, tile, tile + 1, tile + 5, 2 * tile - 3, 11 * tile + 7]
}

/// Words of which a fraction is below a bound: none, about one in 16, half, most, all.
fn fractions<W: Selects + Debug>(make: fn(u64) -> W) -> Vec<(W, W)> {
    let [none, few, half, most, all] = [0, 1 << 60, 1 << 63, 15 << 60, u64::MAX].map(make);
    vec![(half, few), (none, few), (few, half), (none, most), (none, all)]
}

fn by_bounds<W: Selects + Ord + Debug>(make: fn(u64) -> W) {
    let on = with_multiprocessors(3);
    for n in sizes::<W>() {
        let input: Vec<W> = (0..n as u64).map(|i| make(random(i))).collect();
        for (low, high) in fractions(make) {
            for (task, order) in [(Task::Between, UNSIGNED), (Task::Parted, FLOAT), (Task::Parted, SIGNED)] {
                check(&on, task, &input, None, Bounds { low, high, order }, ALIGNED);
            }
        }
        let (low, high) = fractions(make)[2];
        for limit in [0, n / 2, n, n + 9] {
            check(&on, Task::Parted, &input, Some(limit as u32), Bounds { low, high, order: UNSIGNED }, ALIGNED);
        }
    }
}

#[test]
fn words_of_4_bytes() {
    by_bounds(|bits| (bits >> 32) as u32);
}

#[test]
fn words_of_8_bytes() {
    by_bounds(|bits| bits);
}

#[test]
fn the_first_of_each_run() {
    fn of<W: Selects + Ord + Debug>(make: fn(u64) -> W) {
        let (on, none) = (with_multiprocessors(3), Bounds { low: make(0), high: make(0), order: UNSIGNED });
        for n in sizes::<W>() {
            // Lengths of runs: 1, 2 on average, longer than a tile; and all alike.
            for mean in [1, 2, 3 * shape::<W>().tile as u64, u64::MAX] {
                let (mut input, mut bits) = (vec![], 0);
                for i in 0..n as u64 {
                    bits = if random(i + 3).is_multiple_of(mean) { random(i) } else { bits };
                    input.push(make(bits));
                }
                check(&on, Task::Firsts, &input, None, none, ALIGNED);
                check(&on, Task::Firsts, &input, Some(n as u32 / 3), none, ALIGNED);
            }
        }
    }
    of(|bits| (bits >> 32) as u32);
    of(|bits| bits);
}

/// Without bulk copies, by the other pass, which does not find the workspace as its own launches leave it.
#[test]
fn memory_that_does_not_begin_at_packs() {
    let on = with_multiprocessors(2);
    let input: Vec<u32> = (0..10_007).map(|i| random(i) as u32).collect();
    let bounds = Bounds { low: 1 << 30, high: 3 << 30, order: UNSIGNED };
    for offsets in [[1, 4, 4], [4, 3, 4], [4, 4, 2]] {
        check(&on, Task::Parted, &input, None, bounds, offsets);
    }
    check(&on, Task::Firsts, &input, None, bounds, [5, 4, 4]);
    // From one pass to the other and back, with one workspace.
    let (scratch, n) = (Selection::<u32>::by(&on, 10_007, Pass::LookAhead).unwrap(), 10_007);
    let mut count = Buffer::<u32>::poisoned(1, 0);
    let kept = input.iter().filter(|x| (bounds.low..=bounds.high).contains(x)).count() as u32;
    for offset in [4, 1, 4, 4, 2, 3, 4] {
        let (mut from, mut output) = (Buffer::new(&input, offset), Buffer::<u32>::poisoned(n, 0));
        count.poison();
        let views = Views { input: from.view(), limit: view(&mut []), output: output.view(), count: count.view() };
        u32::between(&on, &scratch, views, bounds).unwrap();
        assert_eq!(count.slice(), [kept], "from {offset}");
    }
}

#[test]
fn no_race_and_no_word_that_nobody_wrote() {
    let n = 3 * shape::<u32>().tile as usize + 5;
    let input: Vec<u32> = (0..n as u64).map(|i| random(i) as u32 >> 30).collect();
    let on = with_multiprocessors(2);
    let checked = check_races(Check { schedules: 8, ..Check::default() }, || {
        for task in [Task::Between, Task::Parted, Task::Firsts] {
            check(&on, task, &input, None, Bounds { low: 1, high: 2, order: UNSIGNED }, ALIGNED);
        }
    });
    let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn the_pass_suits_the_device_and_the_number_of_items() {
    let new = Device { multiprocessors: 132, shared_per_block: MAX_SHARED, compute_capability: (9, 0) };
    let old = Device { compute_capability: (8, 0), shared_per_block: 163 << 10, ..new };
    let small = Device { compute_capability: (12, 0), shared_per_block: 99 << 10, ..new };
    assert_eq!([LEAST - 1, LEAST].map(|n| Pass::of(new, n)), [Pass::LookBack, Pass::LookAhead]);
    assert_eq!([old, small].map(|device| Pass::of(device, LEAST)), [Pass::LookBack; 2]);
}

#[test]
fn each_word_has_its_turn_in_two_launches_of_a_round() {
    let tags = 1009;
    for len in [1, 2, 3, 500, 504, 505, 1008, 1009, 1010, 40_000] {
        // A launch counts for a word once.
        let mut launches = vec![vec![]; len as usize];
        for launch in 7 * tags..8 * tags {
            let (first, turns) = turns(launch, len, tags);
            for i in 0..turns {
                let of_word: &mut Vec<u32> = &mut launches[((first + i) % len) as usize];
                if of_word.last() != Some(&launch) {
                    of_word.push(launch);
                }
            }
        }
        assert!(launches.iter().all(|of_word| of_word.len() >= 2), "{len} words");
    }
}
