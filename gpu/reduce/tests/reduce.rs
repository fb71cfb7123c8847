//! Every reduction rung on the simulator against a fold on the host.

use rungs_common::ladder::reduce::{Elements, Reduce, Reduces};
use rungs_common::ladder::{Entry, Launcher};
use rungs_common::operator::Operation;
use rungs_reduce::*;
use rungs_testing::{Buffer, Element, random, same, with_multiprocessors};

/// The number of SMs that the device pretends to have.
const MULTIPROCESSORS: u32 = 3;

/// What a rung makes of values that begin `offset` elements after a multiple of 128 bytes. Where one launch leaves
/// scratch memory ready for the next, twice by one sequence, with the same bits both times.
fn reduced<T: Element>(rung: &'static Entry<&dyn Reduce>, operation: Operation, values: &[T], offset: usize) -> T
where
    dyn Reduce: Reduces<T>,
{
    let (what, n) = (rung.rung.name, values.len() as u32);
    let on: &dyn Launcher = &with_multiprocessors(MULTIPROCESSORS);
    let mut sequence = rung.reducer::<T>(on, n, operation).unwrap();
    let (mut input, mut output) = (Buffer::new(values, offset), Buffer::<T>::poisoned(1, 1));
    let mut reduce = || {
        output.poison();
        sequence.run(on, Elements { input: input.view(), output: output.view() }).unwrap();
        output.slice()[0]
    };
    let first = reduce();
    let second = if rung.rung.name == "single-launch" { reduce() } else { first };
    output.check_guards(what);
    input.check_guards(what);
    assert!(input.slice().iter().zip(values).all(|(&a, &b)| same(a, b)), "{what} wrote to its input, n = {n}");
    assert!(same(first, second), "{what}, n = {n}: {first:?} and then {second:?}");
    first
}

/// Inputs of `n` elements: random, all the largest of them, sorted both ways, few distinct.
fn inputs<T: Element>(n: usize) -> Vec<Vec<T>> {
    let random_values: Vec<T> = (0..n as u64).map(|i| T::of(random(i))).collect();
    let mut sorted = random_values.clone();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let largest = vec![*sorted.last().unwrap_or(&T::default()); n];
    let reversed = sorted.iter().rev().copied().collect();
    let few = (0..n as u64).map(|i| T::of(random(random(i) % 3))).collect();
    vec![random_values, largest, sorted, reversed, few]
}

fn check<T: Element>(rung: &'static Entry<&dyn Reduce>, operations: &[Operation], sizes: &[usize], offset: usize)
where
    dyn Reduce: Reduces<T>,
{
    for &n in sizes {
        for (which, values) in inputs::<T>(n).iter().enumerate() {
            for &operation in operations {
                let fold = |all, &value| T::combine(operation, all, value);
                let want = values.iter().fold(T::identity(operation), fold);
                let got = reduced(rung, operation, values, offset);
                let (name, o, t) = (rung.rung.name, operation.name(), std::any::type_name::<T>());
                assert!(same(got, want), "{name}, {o} of {t}, n = {n}, input {which}: {got:?}, not {want:?}");
            }
        }
    }
}

/// [`check`] for every type and operation, each at these sizes.
fn check_all(rung: &'static Entry<&dyn Reduce>, sizes: &[usize], offset: usize) {
    check::<u32>(rung, &Operation::ALL, sizes, offset);
    check::<i32>(rung, &Operation::ALL, sizes, offset);
    check::<f32>(rung, &Operation::ALL, sizes, offset);
    check::<u64>(rung, &Operation::ALL, sizes, offset);
    check::<i64>(rung, &Operation::ALL, sizes, offset);
    check::<f64>(rung, &Operation::ALL, sizes, offset);
}

/// Around a warp, around blocks, and up to three levels of blocks.
const SIZES: [usize; 22] =
    [0, 1, 2, 3, 4, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1023, 4097, 8191, 8192, 8193, 65_537, 131_073, 300_007];

/// Every type and operation at sizes around a warp and around blocks, so two levels of blocks; sums at larger ones too,
/// of words up to three levels.
fn check_textbook(rung: &'static Entry<&dyn Reduce>) {
    check_all(rung, &[0, 1, 2, 31, 32, 33, 255, 257, 511, 513, 1023], 1);
    check::<u32>(rung, &[Operation::Sum], &SIZES, 1);
    check::<f32>(rung, &[Operation::Sum], &SIZES[..20], 1);
    check::<i32>(rung, &[Operation::Sum], &SIZES[..16], 1);
    check::<u64>(rung, &[Operation::Sum], &SIZES[..16], 1);
    check::<f64>(rung, &[Operation::Sum], &SIZES[..16], 1);
}

#[test]
fn interleaved() {
    check_textbook(&r1_interleaved::launches::RUNG);
}

#[test]
fn sequential() {
    check_textbook(&r2_sequential::launches::RUNG);
}

#[test]
fn first_add() {
    check_textbook(&r3_first_add::launches::RUNG);
}

#[test]
fn unrolled_warp() {
    check_textbook(&r4_unrolled_warp::launches::RUNG);
}

#[test]
fn shuffle() {
    check_textbook(&r5_shuffle::launches::RUNG);
}

/// Sizes around what a block and a grid of the upper rungs take at once.
fn upper_sizes() -> Vec<usize> {
    SIZES.iter().copied().filter(|&n| n < 9000).chain([40_961, 300_007]).collect()
}

#[test]
fn vector_loads() {
    check_all(&r6_vector_loads::launches::RUNG, &upper_sizes(), 0);
}

#[test]
fn single_launch() {
    check_all(&r7_single_launch::launches::RUNG, &upper_sizes(), 0);
}

#[test]
fn every_alignment() {
    let sizes = [0, 1, 2, 3, 4, 5, 8, 100, 8190, 20_003];
    for offset in 0..4 {
        for rung in [&r6_vector_loads::launches::RUNG, &r7_single_launch::launches::RUNG] {
            check::<u32>(rung, &[Operation::Sum], &sizes, offset);
            check::<f32>(rung, &[Operation::Min], &sizes, offset);
            check::<u64>(rung, &[Operation::Sum], &sizes, offset);
            check::<i64>(rung, &[Operation::Max], &sizes, offset);
        }
    }
}

/// Also of a rung that has no test of its own yet.
#[test]
fn every_rung_of_the_ladder() {
    for rung in LADDER.rungs {
        check_all(rung, &[0, 1, 2, 31, 33, 257, 1025], 0);
    }
}

#[test]
fn nan_and_infinity() {
    for rung in LADDER.rungs {
        let mut values: Vec<f32> = (0..70_000).map(|i| f32::of(random(i))).collect();
        values[12_345] = f32::NEG_INFINITY;
        assert_eq!(reduced(rung, Operation::Min, &values, 0), f32::NEG_INFINITY);
        values[54_321] = f32::NAN;
        assert!(Operation::ALL.iter().all(|&operation| reduced(rung, operation, &values, 0).is_nan()));
    }
}

#[test]
fn sums_of_floats_are_the_same_in_every_run() {
    // Values whose sum depends on the order of the additions, over many blocks that end in any order.
    let values: Vec<f32> = (0..500_000).map(|i| (random(i) as f32).sqrt() * 1e-5).collect();
    let sum = || reduced(&r7_single_launch::launches::RUNG, Operation::Sum, &values, 1);
    let first = sum();
    for _ in 0..2 {
        assert_eq!(sum().to_bits(), first.to_bits());
    }
    let exact: f64 = values.iter().map(|&v| v as f64).sum();
    assert!((first as f64 / exact - 1.0).abs() < 1e-5, "{first} is not {exact}");
}

#[test]
fn grids() {
    use r7_single_launch::{grid, max_grid};
    assert_eq!([0, 1, 8192, 8193].map(|n| grid::<u32>(n, 132)), [1, 1, 1, 9]);
    assert_eq!([18, 20, 24, 26, 28].map(|k| grid::<u32>(1 << k, 132)), [256, 264, 264, 1024, 1024 + 32]);
    assert_eq!(grid::<f64>(u32::MAX, 132), max_grid(132));
    assert_eq!(grid::<u32>(u32::MAX, 1), max_grid(1));
    // The values of the blocks have room for as many.
    let most = max_grid(MULTIPROCESSORS);
    assert!(
        (0..=u32::BITS).all(|bits| grid::<u32>((1u64 << bits).min(u32::MAX.into()) as u32, MULTIPROCESSORS) <= most)
    );
}
