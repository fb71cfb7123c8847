//! The rungs of `f32` on the simulator: whole products, compared with sums computed here.

use rungs_common::ladder::{Ask, Entry};
use rungs_matmul::LADDER;
use rungs_matmul::ladder::{Launcher, Multiply, Product, Result};
use rungs_testing::{Buffer, Random, same, with_multiprocessors};
use simt::sim::{Check, Gpu, check as check_races};

/// A rung's launches.
type Launch = fn(&dyn Launcher, Product<f32>) -> Result;

/// The rungs that multiply `f32` and round nothing else.
fn rungs() -> impl Iterator<Item = (&'static Entry<Multiply>, Launch)> {
    LADDER.rungs.iter().filter_map(|&entry| match entry.run {
        Multiply::F32(multiply) => Some((entry, multiply)),
        _ => None,
    })
}

/// A product: its sides, and how many elements after a multiple of 128 bytes A, B and C begin.
#[derive(Clone, Copy, Debug)]
struct Case {
    m: u32,
    n: u32,
    k: u32,
    offsets: [usize; 3],
}

const fn case(m: u32, n: u32, k: u32) -> Case {
    Case { m, n, k, offsets: [0; 3] }
}

/// Small whole numbers, whose products and sums are exact.
fn whole_numbers(count: u32, random: &mut Random) -> Vec<f32> {
    (0..count).map(|_| (random.next() % 9) as f32 - 4.0).collect()
}

/// The sums in double precision, and the sums of the absolute values of the products.
fn sums(a: &[f32], b: &[f32], Case { m, n, k, .. }: Case) -> Vec<(f64, f64)> {
    let (n, k) = (n as usize, k as usize);
    let mut all = vec![(0.0, 0.0); m as usize * n];
    for (at, (sum, size)) in all.iter_mut().enumerate() {
        let (row, column) = (at / n, at % n);
        for e in 0..k {
            let term = f64::from(a[row * k + e]) * f64::from(b[e * n + column]);
            (*sum, *size) = (*sum + term, *size + term.abs());
        }
    }
    all
}

/// C as the rung computes it. Memory around the matrices is poison, a NaN if read; that around C is not written, and A
/// and B are not either.
fn product(what: &str, launch: Launch, on: &dyn Launcher, a: &[f32], b: &[f32], case: Case) -> Vec<f32> {
    let Case { m, n, k, offsets } = case;
    let (mut a_there, mut b_there) = (Buffer::new(a, offsets[0]), Buffer::new(b, offsets[1]));
    let mut c = Buffer::<f32>::poisoned((m * n) as usize, offsets[2]);
    let product = Product { a: a_there.view(), b: b_there.view(), c: c.view(), m, n, k };
    launch(on, product).unwrap_or_else(|e| panic!("{what}, {case:?}: {e}"));
    for (buffer, before) in [(&mut a_there, a), (&mut b_there, b)] {
        buffer.check_guards(what);
        assert!(buffer.slice().iter().zip(before).all(|(&x, &y)| same(x, y)), "{what}, {case:?} wrote to an operand");
    }
    c.check_guards(what);
    c.slice().to_vec()
}

/// Every rung, with whole numbers, on a simulator of that number of SMs: every element is exact.
fn check_on(multiprocessors: u32, cases: &[Case]) {
    let gpu = with_multiprocessors(multiprocessors);
    for &case in cases {
        let mut random = Random(u64::from(case.m * 31 + case.n * 7 + case.k));
        let (a, b) = (whole_numbers(case.m * case.k, &mut random), whole_numbers(case.k * case.n, &mut random));
        let want = sums(&a, &b, case);
        for (entry, launch) in rungs() {
            let got = product(entry.rung.name, launch, &gpu, &a, &b, case);
            let wrong = (0..want.len()).find(|&i| f64::from(got[i]) != want[i].0);
            assert!(
                wrong.is_none(),
                "{}, {case:?}: element {wrong:?} is {}, not {}",
                entry.rung.name,
                got[wrong.unwrap()],
                want[wrong.unwrap()].0
            );
        }
    }
}

/// Few SMs, so that a block of the persistent rung computes several tiles.
fn check(cases: &[Case]) {
    check_on(2, cases);
}

/// Sides around those of blocks, tiles and stages, each with small others.
#[test]
fn any_side() {
    let sides = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257];
    let cases = |side| [case(side, 5, 3), case(3, side, 5), case(5, 3, side), case(side, side, 2)];
    check(&sides.into_iter().flat_map(cases).collect::<Vec<_>>());
}

/// Several tiles and stages, with sides that are prime, one off, and multiples of 4 alone.
#[test]
fn shapes_of_more_than_a_tile() {
    check(&[
        case(257, 131, 19),
        case(130, 260, 16),
        case(67, 300, 41),
        case(520, 129, 8),
        case(61, 67, 71),
        case(128, 256, 64),
        case(100, 36, 68),
        case(513, 257, 33),
    ]);
}

/// Without products every sum is zero, and written.
#[test]
fn without_k_the_product_is_zero() {
    check(&[case(9, 10, 0), case(300, 130, 0), case(1, 1, 0)]);
}

/// Matrices that begin at no multiple of 16 bytes are not read by 16 bytes.
#[test]
fn matrices_begin_anywhere() {
    for offsets in [[1, 0, 0], [0, 2, 0], [0, 0, 3], [1, 2, 3], [4, 4, 4]] {
        check(&[Case { offsets, ..case(36, 68, 20) }, Case { offsets, ..case(132, 136, 12) }]);
    }
}

/// The persistent rung's blocks share the tiles in every way there is: fewer tiles than blocks, one round, some more.
#[test]
fn any_number_of_multiprocessors() {
    for multiprocessors in [1, 3, 4, 7, 132] {
        check_on(multiprocessors, &[case(300, 400, 24), case(256, 128, 100), case(5, 7, 9), case(600, 130, 17)]);
    }
}

/// A grid has at most 65,535 blocks along y and z.
#[test]
fn more_rows_of_tiles_than_a_grid_has_along_y() {
    let case = case(65_535 * 16 + 1, 1, 1);
    let (a, b): (Vec<f32>, _) = ((0..case.m).map(|i| i as f32).collect(), [2.0]);
    for (entry, launch) in rungs().take(3) {
        let got = product(entry.rung.name, launch, &Gpu::default(), &a, &b, case);
        assert!((0..got.len()).all(|i| got[i] == 2.0 * i as f32), "{}", entry.rung.name);
    }
}

/// Infinite elements reach the sums that they belong to, and no others: tiles are filled up with zeros, and zero times
/// infinity is NaN.
#[test]
fn infinite_elements_stay_in_their_rows_and_columns() {
    let case = case(9, 11, 13);
    let (mut a, mut b) = (vec![1f32; 9 * 13], vec![2f32; 13 * 11]);
    a[8 * 13 + 12] = f32::INFINITY;
    b[12 * 11 + 10] = f32::NEG_INFINITY;
    for (entry, launch) in rungs() {
        let got = product(entry.rung.name, launch, &Gpu::default(), &a, &b, case);
        for (at, &element) in got.iter().enumerate() {
            let right = match (at / 11, at % 11) {
                (8, 10) => element == f32::NEG_INFINITY,
                (8, _) => element == f32::INFINITY,
                (_, 10) => element == f32::NEG_INFINITY,
                _ => element == 26.0,
            };
            assert!(right, "{}: element {at} is {element}", entry.rung.name);
        }
    }
}

/// Products of random numbers against sums in double precision: each of the k steps of a sum rounds once.
#[test]
fn sums_round_once_per_product() {
    let case = case(70, 72, 300);
    let mut random = Random(11);
    let mut draw = |count: u32| -> Vec<f32> {
        (0..count).map(|_| (random.next() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
    };
    let (a, b) = (draw(case.m * case.k), draw(case.k * case.n));
    let want = sums(&a, &b, case);
    for (entry, launch) in rungs() {
        let got = product(entry.rung.name, launch, &Gpu::default(), &a, &b, case);
        for (&got, &(sum, size)) in got.iter().zip(&want) {
            let error = (f64::from(got) - sum).abs();
            assert!(error <= f64::from(case.k) * f64::from(f32::EPSILON) * size, "{}: {got}, {sum}", entry.rung.name);
        }
    }
}

/// No race, no misuse of a barrier and no other result in any order of the threads: several tiles and stages, whose
/// edges are ragged, with loads of 16 bytes and without; and a k that goes twice around the ring of stages.
#[test]
fn no_races_under_hostile_schedules() {
    for (entry, launch) in rungs() {
        for case in [case(37, 36, 20), case(33, 35, 19), case(13, 12, 150), case(260, 132, 28)] {
            let schedules = if case.m > 100 { 4 } else { 32 };
            let mut random = Random(5);
            let (a, b) = (whole_numbers(case.m * case.k, &mut random), whole_numbers(case.k * case.n, &mut random));
            let want = sums(&a, &b, case);
            let on = with_multiprocessors(2);
            let checked = check_races(Check { schedules, ..Check::default() }, || {
                product(entry.rung.name, launch, &on, &a, &b, case)
            });
            assert!(checked.report.is_clean(), "{}, {case:?}: {}", entry.rung.name, checked.report);
            assert_eq!(checked.report.launches, u64::from(schedules));
            for got in &checked.results {
                assert!(got.iter().zip(&want).all(|(&x, y)| f64::from(x) == y.0), "{}, {case:?}", entry.rung.name);
            }
        }
    }
}

/// The registers of a warpgroup move on devices of compute capability 9.0 alone.
#[test]
fn producer_consumer_refuses_other_devices() {
    let rung = &LADDER.get("producer-consumer").unwrap().rung;
    let mut gpu = Gpu::default();
    for (capability, refused) in [((8, 0), true), ((9, 0), false), ((10, 0), true)] {
        gpu.device.compute_capability = capability;
        let refusal = rung.refusal(&Ask::of::<f32>(&gpu, 100));
        assert_eq!(refusal.is_some(), refused, "{capability:?}");
        assert!(refusal.is_none_or(|why| why.contains("needs compute capability 9.0, not")));
    }
}
