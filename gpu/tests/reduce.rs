//! Every reduction rung on the simulator against a fold on the host.

use rungs_kernels::operator::{Max, Min, Operator, Sum};
use rungs_kernels::reduce::*;
use simt::sim::{Options, launch};
use simt::{Global, Kernel, Scalar};
use std::fmt::Debug;

/// As if the device had so many multiprocessors.
const MULTIPROCESSORS: u32 = 3;

/// A type with values to reduce. Sums of floats are compared exactly: the values are small whole numbers.
trait Element: Scalar + Debug {
    /// Value `i` of a pseudo-random sequence.
    fn random(i: u64) -> Self;
    /// What nobody may read or leave behind.
    const POISON: Self;
    /// Its bits, so that NaN equals NaN and -0 is not 0.
    fn bits(self) -> u64;
}

fn mix(i: u64) -> u64 {
    let x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ x >> 32
}

macro_rules! elements {
    ($($t:ty: $random:expr, $poison:expr, $bits:expr;)*) => {$(
        impl Element for $t {
            fn random(i: u64) -> Self {
                $random(mix(i))
            }
            const POISON: Self = $poison;
            fn bits(self) -> u64 {
                $bits(self)
            }
        }
    )*};
}
elements! {
    u32: |w| w as u32, 0xdead_beef, |v| v as u64;
    i32: |w| w as i32, -0x5ead_beef, |v| v as u32 as u64;
    u64: |w| w, 0xdead_beef_dead_beef, |v| v;
    f32: |w: u64| (w % 33) as f32 - 11.0, f32::NAN, |v: f32| v.to_bits() as u64;
    f64: |w: u64| (w % 1001) as f64 - 400.0, f64::NAN, |v: f64| v.to_bits();
}

fn view<T: Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launches that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

/// `n` elements that begin `start` elements after a multiple of 16 bytes, between poisoned neighbours.
struct Input<T> {
    memory: Vec<u128>,
    start: usize,
    n: usize,
    element: std::marker::PhantomData<T>,
}

impl<T: Element> Input<T> {
    fn new(values: &[T], start: usize) -> Self {
        let mut memory = vec![0u128; (start + values.len()) * size_of::<T>() / 16 + 2];
        let base = memory.as_mut_ptr().cast::<T>();
        for i in 0..memory.len() * 16 / size_of::<T>() {
            let value = i.checked_sub(start).and_then(|i| values.get(i)).copied().unwrap_or(T::POISON);
            // SAFETY: `i` is an element of `memory`.
            unsafe { base.add(i).write(value) };
        }
        Self { memory, start, n: values.len(), element: std::marker::PhantomData }
    }

    fn view(&mut self) -> Global<T> {
        // SAFETY: `memory` has start + n elements and outlives the launches.
        unsafe { Global::from_raw(self.memory.as_mut_ptr().cast::<T>().add(self.start), self.n as u32) }
    }
}

fn oracle<T: Element, O: Operator<T>>(values: &[T]) -> T {
    values.iter().fold(O::IDENTITY, |all, &v| O::combine(all, v))
}

/// Launches a rung over what it leaves until one value is left.
fn levels<T: Element, K>(kernel: K, block: u32, grid: impl Fn(u32) -> u32, values: &[T], start: usize) -> T
where
    K: Kernel<Args = (Global<T>, Global<T>)>,
{
    let mut input = Input::new(values, start);
    let first = grid(values.len() as u32);
    let mut scratch = [vec![T::POISON; first as usize], vec![T::POISON; grid(first) as usize]];
    let [a, b] = &mut scratch;
    let (mut from, mut to, mut other) = (input.view(), view(a), view(b));
    loop {
        let blocks = grid(from.len());
        let output = to.slice(0, blocks);
        launch(kernel, [blocks, 1, 1], [block, 1, 1], 0, (from, output), Options::default()).unwrap();
        if blocks == 1 {
            return output_of(output);
        }
        (from, to, other) = (output, other, to);
    }
}

/// Element 0 of a view, outside of a kernel.
fn output_of<T: Element>(output: Global<T>) -> T {
    // SAFETY: the view has an element, and no kernel is running.
    unsafe { output.as_ptr().read() }
}

fn single<T: Element, K>(kernel: K, values: &[T], start: usize) -> T
where
    K: Kernel<Args = (Global<T>, Global<T>, Global<T>, Global<u32>)>,
{
    use r7_single_launch::{BLOCK, grid, max_grid};
    let mut input = Input::new(values, start);
    let blocks = grid::<T>(values.len() as u32, MULTIPROCESSORS);
    assert!((1..=max_grid(MULTIPROCESSORS)).contains(&blocks));
    let (mut of_blocks, mut ticket) = (vec![T::POISON; max_grid(MULTIPROCESSORS) as usize], [0]);
    let mut results = vec![];
    // Twice: a launch leaves the ticket as it found it, and gives the same bits again.
    for _ in 0..2 {
        let mut output = [T::POISON; 3];
        let args = (input.view(), view(&mut output[1..2]), view(&mut of_blocks), view(&mut ticket));
        launch(kernel, [blocks, 1, 1], [BLOCK, 1, 1], 0, args, Options::default()).unwrap();
        assert_eq!(ticket, [0]);
        assert_eq!([output[0].bits(), output[2].bits()], [T::POISON.bits(); 2]);
        results.push(output[1]);
    }
    assert_eq!(results[0].bits(), results[1].bits());
    results[0]
}

const SIZES: [usize; 22] =
    [0, 1, 2, 3, 4, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1023, 4097, 8191, 8192, 8193, 65_537, 131_073, 300_007];

/// Inputs of `n` elements: random, all the largest of them, sorted both ways, few distinct.
fn inputs<T: Element>(n: usize) -> Vec<Vec<T>> {
    let random: Vec<T> = (0..n as u64).map(T::random).collect();
    let mut sorted = random.clone();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let largest = vec![*sorted.last().unwrap_or(&T::default()); n];
    let reversed = sorted.iter().rev().copied().collect();
    let few = (0..n as u64).map(|i| T::random(mix(i) % 3)).collect();
    vec![random, largest, sorted, reversed, few]
}

fn check<T: Element, O: Operator<T>>(run: impl Fn(&[T]) -> T, sizes: &[usize]) {
    for &n in sizes {
        for (which, values) in inputs::<T>(n).iter().enumerate() {
            let (got, want) = (run(values), oracle::<T, O>(values));
            let (t, o) = (std::any::type_name::<T>(), std::any::type_name::<O>());
            assert_eq!(got.bits(), want.bits(), "{o} of {t}, n = {n}, input {which}: {got:?}, not {want:?}");
        }
    }
}

macro_rules! textbook {
    ($($test:ident: $rung:ident, $kernel:ident;)*) => {$(
        #[test]
        fn $test() {
            use $rung::*;
            macro_rules! sums {
                ($sizes:expr, $t:ty) => {
                    check::<$t, Sum>(|v| levels($kernel::<$t, Sum>::default(), BLOCK, grid, v, 1), $sizes)
                };
            }
            sums!(&SIZES, u32);
            sums!(&SIZES[..16], i32);
            sums!(&SIZES[..16], u64);
            sums!(&SIZES[..20], f32);
            sums!(&SIZES[..16], f64);
        }
    )*};
}
textbook! {
    interleaved: r1_interleaved, reduce_interleaved;
    sequential: r2_sequential, reduce_sequential;
    first_add: r3_first_add, reduce_first_add;
    unrolled_warp: r4_unrolled_warp, reduce_unrolled_warp;
    shuffle: r5_shuffle, reduce_shuffle;
}

/// All operators on all types, at `start` elements after a multiple of 16 bytes.
macro_rules! everything {
    ($check:ident) => {
        everything!($check, Sum);
        everything!($check, Min);
        everything!($check, Max);
    };
    ($check:ident, $o:ty) => {
        $check!(u32, $o);
        $check!(i32, $o);
        $check!(u64, $o);
        $check!(f32, $o);
        $check!(f64, $o);
    };
}

#[test]
fn vector_loads() {
    use r6_vector_loads::*;
    let sizes: Vec<usize> = SIZES.iter().copied().filter(|&n| n < 9000).chain([40_961, 300_007]).collect();
    macro_rules! one {
        ($t:ty, $o:ty) => {
            let grid = |n| grid::<$t>(n, MULTIPROCESSORS);
            check::<$t, $o>(|v| levels(reduce_vector_loads::<$t, $o>::default(), BLOCK, grid, v, 0), &sizes)
        };
    }
    everything!(one);
}

#[test]
fn single_launch() {
    use r7_single_launch::*;
    let sizes: Vec<usize> = SIZES.iter().copied().filter(|&n| n < 9000).chain([40_961, 300_007]).collect();
    macro_rules! one {
        ($t:ty, $o:ty) => {
            check::<$t, $o>(|v| single(reduce_single_launch::<$t, $o>::default(), v, 0), &sizes)
        };
    }
    everything!(one);
}

#[test]
fn every_alignment() {
    let sizes = [0, 1, 2, 3, 4, 5, 8, 100, 8190, 20_003];
    for start in 0..4 {
        check::<u32, Sum>(|v| single(r7_single_launch::reduce_single_launch::<u32, Sum>::default(), v, start), &sizes);
        check::<f32, Min>(|v| single(r7_single_launch::reduce_single_launch::<f32, Min>::default(), v, start), &sizes);
        check::<u64, Sum>(|v| single(r7_single_launch::reduce_single_launch::<u64, Sum>::default(), v, start), &sizes);
        let grid = |n| r6_vector_loads::grid::<u32>(n, MULTIPROCESSORS);
        let kernel = r6_vector_loads::reduce_vector_loads::<u32, Max>::default();
        check::<u32, Max>(|v| levels(kernel, r6_vector_loads::BLOCK, grid, v, start), &sizes);
    }
}

#[test]
fn nan_and_infinity() {
    let mut values: Vec<f32> = (0..70_000).map(f32::random).collect();
    values[12_345] = f32::NEG_INFINITY;
    let min = r7_single_launch::reduce_single_launch::<f32, Min>::default();
    assert_eq!(single(min, &values, 0), f32::NEG_INFINITY);
    values[54_321] = f32::NAN;
    assert!(single(min, &values, 0).is_nan());
    assert!(single(r7_single_launch::reduce_single_launch::<f32, Sum>::default(), &values, 0).is_nan());
}

#[test]
fn sums_of_floats_are_the_same_in_every_run() {
    // Values whose sum depends on the order of the additions, over many blocks that end in any order.
    let values: Vec<f32> = (0..500_000).map(|i| (mix(i) as f32).sqrt() * 1e-5).collect();
    let sum = r7_single_launch::reduce_single_launch::<f32, Sum>::default();
    let first = single(sum, &values, 1);
    for _ in 0..5 {
        assert_eq!(single(sum, &values, 1).to_bits(), first.to_bits());
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
}
