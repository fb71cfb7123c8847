//! Every rung of scan on the simulator, against a serial scan of the input.

use rungs_kernels::operator::{Max, Min, Operator, Sum};
use rungs_kernels::scan::*;
use simt::sim::{Options, launch};
use simt::{Global, Kernel, Scalar};
use std::fmt::Debug;

/// Elements before and after the output that must keep their value.
const GUARD: usize = 5;

/// Makes test data, and an oracle that compares: floats are small whole numbers, whose sums are exact.
trait Element: Scalar + Debug {
    const POISON: Self;
    fn of(value: u32) -> Self;
    fn same(self, other: Self) -> bool;
}

impl Element for u32 {
    const POISON: u32 = 0xA5A5_A5A5;
    fn of(value: u32) -> u32 {
        value
    }
    fn same(self, other: u32) -> bool {
        self == other
    }
}

impl Element for u64 {
    const POISON: u64 = 0xA5A5_A5A5_A5A5_A5A5;
    fn of(value: u32) -> u64 {
        // Different in both halves, so that a torn word is seen.
        (value as u64) << 32 | (value ^ 0x5555_5555) as u64
    }
    fn same(self, other: u64) -> bool {
        self == other
    }
}

impl Element for f32 {
    const POISON: f32 = -77.5;
    fn of(value: u32) -> f32 {
        (value % 17) as f32 - 8.0
    }
    fn same(self, other: f32) -> bool {
        self == other || self.is_nan() && other.is_nan()
    }
}

/// A well mixed number for each index.
fn mixed(i: u32) -> u32 {
    let x = (i ^ i >> 16).wrapping_mul(0x7feb_352d);
    let x = (x ^ x >> 15).wrapping_mul(0x846c_a68b);
    x ^ x >> 16
}

/// Inputs of `n` elements: mixed, all equal, the largest value, rising, falling.
fn inputs<T: Element>(n: u32) -> Vec<Vec<T>> {
    let make = |f: &dyn Fn(u32) -> u32| (0..n).map(|i| T::of(f(i))).collect();
    vec![make(&mixed), make(&|_| 3), make(&|_| u32::MAX), make(&|i| i), make(&|i| n - i)]
}

fn oracle<T: Scalar, O: Operator<T>>(input: &[T], exclusive: bool) -> Vec<T> {
    let mut sum = O::IDENTITY;
    let next = |&x| {
        let before = sum;
        sum = O::combine(sum, x);
        if exclusive { before } else { sum }
    };
    input.iter().map(next).collect()
}

/// A view of part of a slice that outlives the launch.
fn view<T: Scalar>(data: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(data.as_mut_ptr(), data.len() as u32) }
}

fn run<K: Kernel>(kernel: K, grid: u32, block: u32, shared_bytes: u32, args: K::Args) {
    if grid > 0 {
        launch(kernel, [grid, 1, 1], [block, 1, 1], shared_bytes, args, Options::default()).unwrap();
    }
}

/// A buffer whose element 0 of the data lies `offset` elements past a multiple of 16 bytes, with guards around.
struct Aligned<T> {
    words: Vec<T>,
    start: usize,
    n: usize,
}

impl<T: Element> Aligned<T> {
    fn new(n: usize, offset: usize) -> Self {
        let words = vec![T::POISON; n + 2 * GUARD + 16];
        let past = words.as_ptr() as usize % 16 / size_of::<T>();
        let pack = T::PACK as usize;
        let start = GUARD.next_multiple_of(pack) + (pack - past) % pack + offset;
        Self { words, start, n }
    }

    fn data(&mut self) -> &mut [T] {
        &mut self.words[self.start..self.start + self.n]
    }

    fn guards_are_whole(&self) -> bool {
        let end = self.start + self.n;
        self.words[..self.start].iter().chain(&self.words[end..]).all(|w| w.same(T::POISON))
    }
}

/// Runs `scan(input, output, exclusive)` both ways on `input`, apart and in place, and compares the whole output.
fn check<T: Element, O: Operator<T>>(
    what: &str,
    input: &[T],
    offsets: (usize, usize),
    mut scan: impl FnMut(Global<T>, Global<T>, u32),
) {
    for (exclusive, in_place) in [(false, false), (true, false), (false, true)] {
        let mut from = Aligned::new(input.len(), offsets.0);
        from.data().copy_from_slice(input);
        let mut to = Aligned::new(input.len(), offsets.1);
        let source = view(from.data());
        let target = if in_place { source } else { view(to.data()) };
        scan(source, target, exclusive as u32);
        let place = if in_place { &mut from } else { &mut to };
        let want = oracle::<T, O>(input, exclusive);
        if let Some(i) = (0..input.len()).find(|&i| !place.data()[i].same(want[i])) {
            let (n, got) = (input.len(), place.data()[i]);
            panic!(
                "{what}, n = {n}, {offsets:?}, exclusive {exclusive}, in place {in_place}: [{i}] is {got:?}, not {:?}",
                want[i]
            );
        }
        assert!(place.guards_are_whole(), "{what}: wrote outside of the output");
        assert!(in_place || from.data() == input, "{what}: wrote to the input");
    }
}

/// Sizes around a tile: none, one, around a warp, around the tile, a prime.
fn sizes(tile: u32) -> Vec<u32> {
    vec![0, 1, 2, 3, 31, 32, 33, 1009.min(tile), tile - 1, tile]
}

macro_rules! one_block {
    ($name:ident, $rung:ident, $kernel:ident) => {
        #[test]
        fn $name() {
            fn all<T: Element, O: Operator<T>>()
            where
                $rung::$kernel<T, O>: Kernel<Args = (Global<T>, Global<T>, u32)>,
            {
                let kernel = $rung::$kernel::<T, O>::default();
                for n in sizes($rung::CAPACITY) {
                    for input in inputs::<T>(n) {
                        check::<T, O>(stringify!($kernel), &input, (0, 1), |input, output, exclusive| {
                            run(kernel, $rung::grid(n), $rung::BLOCK, 0, (input, output, exclusive));
                        });
                    }
                }
            }
            all::<u32, Sum>();
            all::<u32, Min>();
            all::<u32, Max>();
            all::<f32, Sum>();
            all::<f32, Min>();
            all::<f32, Max>();
        }
    };
}

one_block!(hillis_steele, r1_hillis_steele, scan_hillis_steele);
one_block!(blelloch, r2_blelloch, scan_blelloch);
one_block!(blelloch_padded, r3_blelloch_padded, scan_blelloch_padded);

#[test]
fn three_kernels() {
    use r4_three_kernels::*;

    fn levels<T: Element, O: Operator<T>>(input: Global<T>, output: Global<T>, scratch: Global<T>, exclusive: u32)
    where
        scan_three_kernels_tiles<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<T>, u32)>,
        scan_three_kernels_add<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        let (tiles, add) = (scan_three_kernels_tiles::<T, O>::default(), scan_three_kernels_add::<T, O>::default());
        let blocks = grid(input.len());
        run(tiles, blocks, BLOCK, 0, (input, output, scratch, exclusive));
        if blocks > 1 {
            let sums = scratch.slice(0, blocks);
            levels::<T, O>(sums, sums, scratch.slice(blocks, scratch.len() - blocks), 1);
            run(add, blocks, BLOCK, 0, (output, sums));
        }
    }
    fn all<T: Element, O: Operator<T>>(most: u32)
    where
        scan_three_kernels_tiles<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<T>, u32)>,
        scan_three_kernels_add<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        for n in [sizes(TILE), vec![TILE + 1, 2 * TILE + 1, 10_007, most]].concat() {
            for input in inputs::<T>(n).into_iter().take(if n > 100_000 { 1 } else { 5 }) {
                check::<T, O>("three-kernels", &input, (1, 0), |input, output, exclusive| {
                    let mut scratch = vec![T::POISON; scratch(n) as usize];
                    levels::<T, O>(input, output, view(&mut scratch), exclusive);
                });
            }
        }
    }
    // More than TILE tiles: a third level.
    all::<u32, Sum>(TILE * TILE + 1);
    all::<u32, Min>(20_011);
    all::<u32, Max>(20_011);
    all::<f32, Sum>(20_011);
    all::<f32, Min>(20_011);
    all::<f32, Max>(20_011);
}

#[test]
fn minimum_and_maximum_of_floats_are_those_of_ieee_754() {
    let input = [3.0, -0.0, 0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY, f32::NAN, 1.0];
    let mut out = [0f32; 8];
    let (grid, block) = (1, r1_hillis_steele::BLOCK);
    let minimum = r1_hillis_steele::scan_hillis_steele::<f32, Min>::default();
    run(minimum, grid, block, 0, (view(&mut input.clone()), view(&mut out), 0));
    let bits = out.map(f32::to_bits);
    assert_eq!(bits[..4], [3.0, -0.0, -0.0, -0.0].map(f32::to_bits));
    assert!(bits[4] == f32::NEG_INFINITY.to_bits() && bits[5] == bits[4] && out[6].is_nan() && out[7].is_nan());
    let maximum = r1_hillis_steele::scan_hillis_steele::<f32, Max>::default();
    run(maximum, grid, block, 0, (view(&mut [-3.0, -0.0, 0.0, -0.0, 5.0, f32::NAN, 9.0, 0.0]), view(&mut out), 0));
    assert_eq!(out.map(f32::to_bits)[..5], [-3.0, -0.0, 0.0, 0.0, 5.0].map(f32::to_bits));
    assert!(out[5..].iter().all(|x| x.is_nan()));
}

macro_rules! for_each_instance {
    ($all:ident) => {
        $all::<u32, Sum>();
        $all::<u32, Min>();
        $all::<u32, Max>();
        $all::<u64, Sum>();
        $all::<u64, Min>();
        $all::<u64, Max>();
        $all::<f32, Sum>();
        $all::<f32, Min>();
        $all::<f32, Max>();
    };
}

#[test]
fn look_back() {
    use r5_look_back::*;

    fn all<T: Element, O: Operator<T>>()
    where
        scan_look_back<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<u64>, u32)>,
    {
        // More than 32 tiles: more than one look may be needed.
        for n in [sizes(TILE), vec![TILE + 1, 2 * TILE + 1, 35 * TILE + 17]].concat() {
            let mut workspace = vec![u64::MAX; workspace::<T>(n) as usize];
            for input in inputs::<T>(n).into_iter().take(if n > 100_000 { 1 } else { 5 }) {
                check::<T, O>("look-back", &input, (1, 0), |input, output, exclusive| {
                    let words = view(&mut workspace);
                    run(scan_look_back_clear, clear_grid(words.len()), BLOCK, 0, (words,));
                    let kernel = scan_look_back::<T, O>::default();
                    run(kernel, grid(n), BLOCK, shared_bytes::<T>(), (input, output, words, exclusive));
                });
            }
        }
    }
    for_each_instance!(all);
}

/// Multiprocessors of the device that the simulator stands for: few, so that blocks take many tiles.
const MULTIPROCESSORS: u32 = 3;

fn look_ahead_all<T: Element, O: Operator<T>>(sizes: &[u32], offsets: &[(usize, usize)])
where
    r6_look_ahead::scan_look_ahead<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<u64>, u32)>,
{
    use r6_look_ahead::*;

    let most = sizes.iter().copied().max().unwrap_or(0);
    // One workspace for all scans, as in use: it is never cleared.
    let mut workspace = vec![0; workspace::<T>(most) as usize];
    for &n in sizes {
        for input in inputs::<T>(n).into_iter().take(if n > 10_000 { 1 } else { 5 }) {
            for &offsets in offsets {
                check::<T, O>("look-ahead", &input, offsets, |input, output, exclusive| {
                    let (kernel, words) = (scan_look_ahead::<T, O>::default(), view(&mut workspace));
                    let grid = grid::<T>(n, MULTIPROCESSORS);
                    run(kernel, grid, BLOCK, SHARED_BYTES, (input, output, words, exclusive));
                });
            }
        }
    }
}

#[test]
fn look_ahead() {
    fn all<T: Element, O: Operator<T>>()
    where
        r6_look_ahead::scan_look_ahead<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<u64>, u32)>,
    {
        let tile = r6_look_ahead::tile::<T>();
        look_ahead_all::<T, O>(&[0, 1, 2, 3, 4, 5, 33, 1009, tile - 1, tile, tile + 1, 2 * tile + 1], &[(0, 0)]);
    }
    for_each_instance!(all);
}

#[test]
fn look_ahead_at_any_alignment() {
    let offsets: Vec<_> = (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).collect();
    let (words, longs) = (r6_look_ahead::tile::<u32>(), r6_look_ahead::tile::<u64>());
    look_ahead_all::<u32, Sum>(&[1, 2, 3, 4, 5, 7, 8, words - 3, words - 1, words, words + 2, 20_011], &offsets);
    look_ahead_all::<f32, Max>(&[1, 3, 6, words, 20_011], &offsets);
    let offsets: Vec<_> = (0..2).flat_map(|from| (0..2).map(move |to| (from, to))).collect();
    look_ahead_all::<u64, Sum>(&[1, 2, 3, 4, longs - 1, longs, longs + 1, 20_011], &offsets);
}

#[test]
fn look_ahead_over_many_groups_of_tiles() {
    // With few blocks some look ahead over more groups at once than they ask for in one round.
    look_ahead_all::<u32, Sum>(&[200 * r6_look_ahead::tile::<u32>() + 5], &[(0, 0)]);
    look_ahead_all::<u64, Min>(&[70 * r6_look_ahead::tile::<u64>() + 5], &[(1, 1)]);
}

/// Runs look-ahead on `n` elements with the given workspace and compares.
fn look_ahead_once(n: u32, words: &mut [u64]) {
    use r6_look_ahead::*;

    let input: Vec<u32> = (0..n).map(mixed).collect();
    check::<u32, Sum>("look-ahead", &input, (0, 0), |input, output, exclusive| {
        let grid = grid::<u32>(n, MULTIPROCESSORS);
        let args = (input, output, view(words), exclusive);
        run(scan_look_ahead::<u32, Sum>::default(), grid, BLOCK, SHARED_BYTES, args);
    });
}

#[test]
fn look_ahead_counts_launches_past_the_end_of_32_bits() {
    let n = 2 * r6_look_ahead::tile::<u32>() + 1;
    let mut workspace = vec![0; r6_look_ahead::workspace::<u32>(n) as usize];
    workspace[0] = ((u32::MAX - 6) as u64) << 32;
    // `check` scans three times: the launches MAX - 6 to MAX - 2, then 0 to 3.
    (0..3).for_each(|_| look_ahead_once(n, &mut workspace));
    assert_eq!(workspace[0], 4 << 32);
}

#[test]
fn look_ahead_forgets_tags_of_long_ago() {
    let n = 40 * r6_look_ahead::tile::<u32>();
    let mut workspace = vec![77 << 32 | 5; r6_look_ahead::workspace::<u32>(n) as usize];
    workspace[0] = 1000 << 32;
    // As many small launches as there are states clear all that a later launch with number 76 could mistake for its own.
    (0..workspace.len() / 3 + 1).for_each(|_| look_ahead_once(3, &mut workspace));
    let first = workspace.len() - r6_look_ahead::grid::<u32>(n, u32::MAX) as usize;
    assert!(workspace[first..].iter().all(|w| w >> 32 != 77));
}

#[test]
fn look_ahead_adds_floats_in_one_order() {
    use r6_look_ahead::*;

    // Sums that are rounded at every step, on devices of different size: the same to the last bit.
    let n = 50 * tile::<f32>() + 9;
    let mut input: Vec<f32> = (0..n).map(|i| mixed(i) as f32 * 1e-7).collect();
    let mut words = vec![0; workspace::<f32>(n) as usize];
    let mut results = [1, 2, 5].map(|multiprocessors| {
        let mut output = Aligned::new(n as usize, 0);
        let mut from = Aligned::new(n as usize, 0);
        from.data().copy_from_slice(&input);
        let args = (view(from.data()), view(output.data()), view(&mut words), 0);
        let grid = grid::<f32>(n, multiprocessors);
        run(scan_look_ahead::<f32, Sum>::default(), grid, BLOCK, SHARED_BYTES, args);
        output.data().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    });
    assert!(results[0] == results[1] && results[1] == results[2]);
    // And close to the exact sums.
    let mut sum = 0.0;
    for (x, got) in input.drain(..).zip(results[0].drain(..)) {
        sum += x as f64;
        assert!((f32::from_bits(got) as f64 - sum).abs() <= sum * 1e-5);
    }
}
