//! Every rung of scan on the simulator, against a serial scan of the input.

use rungs_common::ladder::scan::{Elements, Scan, Scans};
use rungs_common::ladder::{Entry, Launcher};
use rungs_common::operator::{Operation, Sum};
use rungs_scan::*;
use rungs_testing::{Buffer, Element, launch, random, same, view, with_multiprocessors};
use simt::sim::{Check, check as check_races};
use simt::{Geometry, Global, Scalar};

/// SMs of the device that the simulator stands for: few, so that blocks take many tiles.
const MULTIPROCESSORS: u32 = 3;

/// Inputs of `n` elements: mixed, all equal, the largest value, rising, falling. Both halves of a word differ, so that
/// a torn word is seen.
fn inputs<T: Element>(n: u32) -> Vec<Vec<T>> {
    let word = |low: u32| T::of((low as u64 ^ 0x5555_5555) << 32 | low as u64);
    let make = |f: &dyn Fn(u32) -> u32| (0..n).map(|i| word(f(i))).collect();
    vec![make(&|i| random(i as u64) as u32), make(&|_| 3), make(&|_| u32::MAX), make(&|i| i), make(&|i| n - i)]
}

fn oracle<T: Element>(operation: Operation, input: &[T], exclusive: bool) -> Vec<T> {
    let mut sum = T::identity(operation);
    let next = |&x| {
        let before = sum;
        sum = T::combine(operation, sum, x);
        if exclusive { before } else { sum }
    };
    input.iter().map(next).collect()
}

/// Runs `scan` inclusive and exclusive on `input`, apart and in place, and compares the whole output. Input and output
/// begin so many elements after a multiple of 128 bytes.
fn check_by<T: Element>(
    what: &str,
    operation: Operation,
    input: &[T],
    offsets: (usize, usize),
    mut scan: impl FnMut(Elements<T>),
) {
    for (exclusive, in_place) in [(false, false), (true, false), (false, true)] {
        let mut from = Buffer::new(input, offsets.0);
        let mut to = Buffer::poisoned(input.len(), offsets.1);
        let output = if in_place { from.view() } else { to.view() };
        scan(Elements { input: from.view(), output, exclusive });
        let what = format!(
            "{what}, {} of {}, n = {}, {offsets:?}, exclusive {exclusive}, in place {in_place}",
            operation.name(),
            std::any::type_name::<T>(),
            input.len()
        );
        to.check_guards(&what);
        from.check_guards(&what);
        assert!(in_place || from.slice() == input, "{what}: wrote to the input");
        let (want, got) = (oracle(operation, input, exclusive), if in_place { from.slice() } else { to.slice() });
        if let Some(i) = (0..input.len()).find(|&i| !same(got[i], want[i])) {
            panic!("{what}: [{i}] is {:?}, not {:?}", got[i], want[i]);
        }
    }
}

/// Every input of `n` elements (one if there are many) at all these offsets, by one sequence.
fn check<T: Element>(rung: &'static Entry<&dyn Scan>, operation: Operation, n: u32, offsets: &[(usize, usize)])
where
    dyn Scan: Scans<T>,
{
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    let mut sequence = rung.scanner::<T>(on, n, operation).unwrap();
    for input in inputs::<T>(n).into_iter().take(if n > 10_000 { 1 } else { 5 }) {
        for &offsets in offsets {
            check_by(rung.rung.name, operation, &input, offsets, |args| sequence.run(on, args).unwrap());
        }
    }
}

/// Every operation on every type: on words and floats of 32 bits at all of the sizes, on the others at the sizes around
/// a tile of `tile` elements.
fn check_all(rung: &'static Entry<&dyn Scan>, sizes: &[u32], tile: u32, offsets: (usize, usize)) {
    // One block takes a tile at most.
    let most = rung.rung.capacity.map_or(u32::MAX, |capacity| capacity as u32);
    let fewer: Vec<u32> =
        [0, 1, 33, tile - 1, tile, tile + 1, 2 * tile + 1].into_iter().filter(|&n| n <= most).collect();
    for operation in Operation::ALL {
        sizes.iter().for_each(|&n| check::<u32>(rung, operation, n, &[offsets]));
        sizes.iter().for_each(|&n| check::<f32>(rung, operation, n, &[offsets]));
        fewer.iter().for_each(|&n| check::<i32>(rung, operation, n, &[offsets]));
        fewer.iter().for_each(|&n| check::<u64>(rung, operation, n, &[offsets]));
        fewer.iter().for_each(|&n| check::<i64>(rung, operation, n, &[offsets]));
        fewer.iter().for_each(|&n| check::<f64>(rung, operation, n, &[offsets]));
    }
}

/// Sizes around a tile: none, one, around a warp, around the tile, a prime.
fn sizes(tile: u32) -> Vec<u32> {
    vec![0, 1, 2, 3, 31, 32, 33, 1009.min(tile), tile - 1, tile]
}

#[test]
fn hillis_steele() {
    use r1_hillis_steele::{CAPACITY, launches::RUNG};
    check_all(&RUNG, &sizes(CAPACITY), CAPACITY, (0, 1));
}

#[test]
fn blelloch() {
    use r2_blelloch::{CAPACITY, launches::RUNG};
    check_all(&RUNG, &sizes(CAPACITY), CAPACITY, (0, 1));
}

#[test]
fn blelloch_padded() {
    use r3_blelloch_padded::{CAPACITY, launches::RUNG};
    check_all(&RUNG, &sizes(CAPACITY), CAPACITY, (0, 1));
}

#[test]
fn three_kernels() {
    use r4_three_kernels::{TILE, launches::RUNG};
    check_all(&RUNG, &[sizes(TILE), vec![TILE + 1, 2 * TILE + 1, 10_007, 20_011]].concat(), TILE, (1, 0));
    // More than TILE tiles: a third level.
    check::<u32>(&RUNG, Operation::Sum, TILE * TILE + 1, &[(1, 0)]);
}

#[test]
fn minimum_and_maximum_of_floats_are_those_of_ieee_754() {
    let scanned = |operation, input: [f32; 8]| {
        let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
        let (mut input, mut output) = (input, [0f32; 8]);
        let args = Elements { input: view(&mut input), output: view(&mut output), exclusive: false };
        r1_hillis_steele::launches::RUNG.scanner(on, 8, operation).unwrap().run(on, args).unwrap();
        output
    };
    let input = [3.0, -0.0, 0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY, f32::NAN, 1.0];
    let out = scanned(Operation::Min, input);
    let bits = out.map(f32::to_bits);
    assert_eq!(bits[..4], [3.0, -0.0, -0.0, -0.0].map(f32::to_bits));
    assert!(bits[4] == f32::NEG_INFINITY.to_bits() && bits[5] == bits[4] && out[6].is_nan() && out[7].is_nan());
    let out = scanned(Operation::Max, [-3.0, -0.0, 0.0, -0.0, 5.0, f32::NAN, 9.0, 0.0]);
    assert_eq!(out.map(f32::to_bits)[..5], [-3.0, -0.0, 0.0, 0.0, 5.0].map(f32::to_bits));
    assert!(out[5..].iter().all(|x| x.is_nan()));
}

#[test]
fn look_back() {
    use r5_look_back::{TILE, launches::RUNG};
    // More than 32 tiles: more than one look may be needed.
    let most = 35 * TILE + 17;
    check_all(&RUNG, &[sizes(TILE), vec![TILE + 1, 2 * TILE + 1, most]].concat(), TILE, (1, 0));
    Operation::ALL.iter().for_each(|&operation| check::<u64>(&RUNG, operation, most, &[(1, 0)]));
}

use r6_look_ahead::launches::RUNG as LOOK_AHEAD;

/// Elements of a tile of look-ahead.
fn tile<T: Scalar>() -> u32 {
    r6_look_ahead::tile::<T>()
}

#[test]
fn look_ahead() {
    let (words, longs) = (tile::<u32>(), tile::<u64>());
    let sizes = |tile| vec![0, 1, 2, 3, 4, 5, 33, 1009, tile - 1, tile, tile + 1, 2 * tile + 1];
    check_all(&LOOK_AHEAD, &sizes(words), longs, (0, 0));
    for operation in Operation::ALL {
        sizes(longs).iter().for_each(|&n| check::<u64>(&LOOK_AHEAD, operation, n, &[(0, 0)]));
    }
}

#[test]
fn look_ahead_at_any_alignment() {
    let offsets: Vec<_> = (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).collect();
    let (words, longs) = (tile::<u32>(), tile::<u64>());
    for n in [1, 2, 3, 4, 5, 7, 8, words - 3, words - 1, words, words + 2, 20_011] {
        check::<u32>(&LOOK_AHEAD, Operation::Sum, n, &offsets);
    }
    for n in [1, 3, 6, words, 20_011] {
        check::<f32>(&LOOK_AHEAD, Operation::Max, n, &offsets);
    }
    let offsets: Vec<_> = (0..2).flat_map(|from| (0..2).map(move |to| (from, to))).collect();
    for n in [1, 2, 3, 4, longs - 1, longs, longs + 1, 20_011] {
        check::<u64>(&LOOK_AHEAD, Operation::Sum, n, &offsets);
    }
}

#[test]
fn look_ahead_over_many_groups_of_tiles() {
    // With few blocks some look ahead over more groups at once than they ask for in one round.
    check::<u32>(&LOOK_AHEAD, Operation::Sum, 200 * tile::<u32>() + 5, &[(0, 0)]);
    check::<u64>(&LOOK_AHEAD, Operation::Min, 70 * tile::<u64>() + 5, &[(1, 1)]);
}

/// Launches look-ahead's kernel on `n` elements with the given workspace and compares: three scans.
fn look_ahead_in(workspace: &mut [u64], n: u32) {
    use r6_look_ahead::launches::{SHARED_BYTES, grid};
    use r6_look_ahead::{BLOCK, scan_look_ahead};

    let workspace: Global<u64> = view(workspace);
    let geometry = Geometry::linear(grid::<u32>(n, MULTIPROCESSORS), BLOCK).shared(SHARED_BYTES);
    check_by("look-ahead", Operation::Sum, &inputs::<u32>(n)[0], (0, 0), |Elements { input, output, exclusive }| {
        launch(scan_look_ahead::<u32, Sum>::default(), geometry, (input, output, workspace, exclusive as u32));
    });
}

#[test]
fn look_ahead_shares_a_workspace_between_sizes() {
    let most = 40 * tile::<u32>();
    let mut workspace = vec![0; r6_look_ahead::launches::workspace::<u32>(most) as usize];
    for n in [most, 1, 0, 5 * tile::<u32>() + 1, tile::<u32>(), most - 1] {
        look_ahead_in(&mut workspace, n);
    }
}

#[test]
fn look_ahead_counts_launches_past_the_end_of_32_bits() {
    let n = 2 * tile::<u32>() + 1;
    let mut workspace = vec![0; r6_look_ahead::launches::workspace::<u32>(n) as usize];
    workspace[0] = ((u32::MAX - 6) as u64) << 32;
    // Three scans each: the launches MAX - 6 to MAX - 2, then 0 to 3.
    (0..3).for_each(|_| look_ahead_in(&mut workspace, n));
    assert_eq!(workspace[0], 4 << 32);
}

#[test]
fn look_ahead_forgets_tags_of_long_ago() {
    let n = 40 * tile::<u32>();
    let mut workspace = vec![77 << 32 | 5; r6_look_ahead::launches::workspace::<u32>(n) as usize];
    workspace[0] = 1000 << 32;
    // As many small launches as there are states clear all that a later launch with number 76 could mistake for
    // its own.
    (0..workspace.len() / 3 + 1).for_each(|_| look_ahead_in(&mut workspace, 3));
    let first = workspace.len() - r6_look_ahead::launches::grid::<u32>(n, u32::MAX) as usize;
    assert!(workspace[first..].iter().all(|w| w >> 32 != 77));
}

/// Tiles that threads complete and store, under hostile schedules: no race with the bulk copies or the other roles.
#[test]
fn look_ahead_completes_tiles_without_races() {
    let n = 3 * tile::<u64>() + 7;
    let input: Vec<u64> = (0..n as u64).map(random).collect();
    let want = oracle(Operation::Sum, &input, false);
    for (from_offset, to_offset) in [(0, 0), (1, 1), (1, 0)] {
        let checked = check_races(Check { schedules: 8, ..Check::default() }, || {
            let on: &dyn Launcher = &with_multiprocessors(2);
            let (mut from, mut to) = (Buffer::new(&input, from_offset), Buffer::<u64>::poisoned(n as usize, to_offset));
            let args = Elements { input: from.view(), output: to.view(), exclusive: false };
            LOOK_AHEAD.scanner(on, n, Operation::Sum).unwrap().run(on, args).unwrap();
            to.slice().to_vec()
        });
        let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "{findings:#?}");
        assert!(checked.results.iter().all(|output| *output == want), "{from_offset} {to_offset}");
    }
}

#[test]
fn look_ahead_adds_floats_in_one_order() {
    // Sums that are rounded at every step, on devices of different size: the same to the last bit.
    let n = 50 * tile::<f32>() + 9;
    let input: Vec<f32> = (0..n as u64).map(|i| random(i) as u32 as f32 * 1e-7).collect();
    let results = [1, 2, 5].map(|multiprocessors| {
        let on: &dyn Launcher = &with_multiprocessors(multiprocessors);
        let (mut from, mut to) = (Buffer::new(&input, 0), Buffer::<f32>::poisoned(n as usize, 0));
        let args = Elements { input: from.view(), output: to.view(), exclusive: false };
        LOOK_AHEAD.scanner(on, n, Operation::Sum).unwrap().run(on, args).unwrap();
        to.slice().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    });
    assert!(results[0] == results[1] && results[1] == results[2]);
    // And close to the exact sums.
    let mut sum = 0.0;
    for (&x, &got) in input.iter().zip(&results[0]) {
        sum += x as f64;
        assert!((f32::from_bits(got) as f64 - sum).abs() <= sum * 1e-5);
    }
}
