//! The products on the tensor cores on the simulator: whole results against sums computed here.

use rungs_matmul::LADDER;
use rungs_matmul::ladder::{Ask, Entry, Launcher, Multiply, Options, Product, Result};
use rungs_testing::{Buffer, Random, with_multiprocessors};
use simt::launcher::{Call, Device, Memory};
use simt::sim::{Check, Gpu, check as check_races};
use simt::{Geometry, Scalar, bf16};
use std::cell::RefCell;
use std::fmt::Debug;

/// The rungs for `bf16`.
const BF16: [&str; 3] = ["tensor-group", "tensor-map", "tensor-cluster"];

/// A type of elements, which a test computes with in double precision.
trait Number: Scalar + Debug + Into<f64> {
    /// The nearest element.
    fn of(x: f64) -> Self;

    /// The launches of a rung for this type.
    fn launches(rung: &Multiply) -> fn(&dyn Launcher, Product<Self>) -> Result;

    /// The largest error of an element that is the sum of `k` products, relative to the sum of their magnitudes, and of
    /// what is rounded to an element of C, relative to that.
    fn bounds(k: u32) -> (f64, f64);
}

/// The unit of the last place of an `f32`.
const UNIT: f64 = f32::EPSILON as f64;

impl Number for f32 {
    fn of(x: f64) -> Self {
        x as f32
    }

    fn launches(rung: &Multiply) -> fn(&dyn Launcher, Product<Self>) -> Result {
        let Multiply::Tf32(launches) = rung else { panic!("not a rung for TF32") };
        *launches
    }

    /// Factors rounded to TF32, which has 13 bits less; eight products and a sum are aligned and cut off at once.
    fn bounds(k: u32) -> (f64, f64) {
        (UNIT * (8192.0 + 10.0 * f64::from(k.div_ceil(8)) + 2.0), 0.0)
    }
}

impl Number for bf16 {
    fn of(x: f64) -> Self {
        bf16::from_f64(x)
    }

    fn launches(rung: &Multiply) -> fn(&dyn Launcher, Product<Self>) -> Result {
        let Multiply::Bf16(launches) = rung else { panic!("not a rung for bf16") };
        *launches
    }

    /// Sixteen products and a sum are aligned and cut off at once; C has 8 bits.
    fn bounds(k: u32) -> (f64, f64) {
        (UNIT * (18.0 * f64::from(k.div_ceil(16)) + 2.0), 1.0 / 256.0)
    }
}

impl Number for f64 {
    fn of(x: f64) -> Self {
        x
    }

    fn launches(rung: &Multiply) -> fn(&dyn Launcher, Product<Self>) -> Result {
        let Multiply::F64(launches) = rung else { panic!("not a rung for f64") };
        *launches
    }

    /// Each product is rounded once with the sum, as in the sums here.
    fn bounds(k: u32) -> (f64, f64) {
        (f64::EPSILON * 2.0 * f64::from(k), 0.0)
    }
}

fn rung(name: &str) -> &'static Entry<Multiply> {
    LADDER.get(name).unwrap()
}

/// Small whole numbers, whose products and sums are exact.
fn whole(random: &mut Random) -> f64 {
    (random.next() % 9) as f64 - 4.0
}

/// Any numbers between -1 and 1.
fn fractions(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Multiplies random matrices that begin `offset` elements after a multiple of 128 bytes, and compares each element of
/// C with its sum in double precision: equal but for one rounding if `is_exact`, else within the bounds.
fn check<T: Number>(
    name: &str,
    on: &dyn Launcher,
    [m, n, k]: [u32; 3],
    offset: usize,
    (draw, is_exact): (fn(&mut Random) -> f64, bool),
) {
    let what = format!("{name}, {m} x {n} x {k}, offset {offset}");
    let mut random = Random(u64::from(m * 31 + n * 7 + k));
    let mut matrix = |len: u32| -> Vec<T> { (0..len).map(|_| T::of(draw(&mut random))).collect() };
    let (a, b) = (matrix(m * k), matrix(k * n));
    let (mut in_a, mut in_b) = (Buffer::new(&a, offset), Buffer::new(&b, offset));
    let mut in_c = Buffer::<T>::poisoned((m * n) as usize, offset);
    let product = Product { a: in_a.view(), b: in_b.view(), c: in_c.view(), m, n, k };
    T::launches(&rung(name).run)(on, product).unwrap_or_else(|e| panic!("{what}: {e}"));
    let [a, b] = [a, b].map(|of| of.into_iter().map(Into::into).collect::<Vec<f64>>());
    let (of_sum, of_rounding) = T::bounds(k);
    let (m, n, k) = (m as usize, n as usize, k as usize);
    for (row, got) in in_c.slice().chunks(n.max(1)).enumerate() {
        let (mut sums, mut magnitudes) = (vec![0.0; n], vec![0.0; n]);
        for (e, &x) in a[row * k..][..k].iter().enumerate() {
            for (column, &y) in b[e * n..][..n].iter().enumerate() {
                sums[column] += x * y;
                magnitudes[column] += (x * y).abs();
            }
        }
        for (column, &got) in got.iter().enumerate() {
            let (got, sum): (f64, f64) = (got.into(), sums[column]);
            let right = if is_exact {
                got == T::of(sum).into()
            } else {
                let error = of_sum * magnitudes[column];
                (got - sum).abs() <= error + of_rounding * (sum.abs() + error)
            };
            assert!(right, "{what}: C({row}, {column}) is {got}, not {sum}");
        }
    }
    assert_eq!(in_c.slice().len(), m * n);
    [&in_a, &in_b, &in_c].iter().for_each(|buffer| buffer.check_guards(&what));
}

const EXACT: (fn(&mut Random) -> f64, bool) = (whole, true);
const BOUNDED: (fn(&mut Random) -> f64, bool) = (fractions, false);

/// Every rung, on so few SMs that blocks have several tiles.
fn check_all(sizes: &[[u32; 3]], offset: usize) {
    let gpu = with_multiprocessors(2);
    for &size in sizes {
        check::<f32>("tensor-mma", &gpu, size, offset, EXACT);
        check::<f64>("tensor-double", &gpu, size, offset, EXACT);
        BF16.iter().for_each(|name| check::<bf16>(name, &gpu, size, offset, EXACT));
    }
}

/// Sides around those of tiles, of which some are primes, each with small others.
#[test]
fn any_size() {
    for side in [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 131, 255, 256, 257] {
        check_all(&[[side, 5, 3], [3, side, 5], [5, 3, side], [side, side, 2]], 0);
    }
}

/// Sides that tensor maps take: n and k are multiples of 8.
#[test]
fn sides_around_tiles_that_tma_takes() {
    for side in [8, 56, 64, 72, 120, 128, 136, 248, 256, 264] {
        check_all(&[[3, side, 8], [5, 8, side], [side + 1, 16, 24], [side - 1, side, 8]], 0);
    }
    // K steps as many as the ring has stages, and one more or less.
    for k in [192, 200, 256, 264, 320] {
        check_all(&[[7, 16, k]], 0);
    }
}

/// More tiles than blocks, whose steps are no whole number of rounds of the ring; and an odd number of rows of tiles.
#[test]
fn several_tiles_per_block() {
    check_all(&[[257, 264, 72], [650, 8, 200], [8, 1050, 24], [131, 523, 37]], 0);
}

/// Nine rows of tiles: more than a group of the order of tiles has.
#[test]
fn more_rows_of_tiles_than_a_group() {
    check_all(&[[1100, 264, 8], [2100, 264, 8]], 0);
}

/// Matrices that begin elsewhere than on multiples of 16 bytes.
#[test]
fn unaligned_matrices() {
    for offset in [1, 2, 8, 12] {
        check_all(&[[37, 64, 40], [130, 260, 8]], offset);
    }
}

#[test]
fn sums_of_fractions_are_within_their_bounds() {
    let gpu = with_multiprocessors(2);
    for size in [[33, 40, 48], [130, 72, 264], [65, 37, 301]] {
        check::<f32>("tensor-mma", &gpu, size, 0, BOUNDED);
        check::<f64>("tensor-double", &gpu, size, 0, BOUNDED);
        BF16.iter().for_each(|name| check::<bf16>(name, &gpu, size, 0, BOUNDED));
    }
}

/// A simulated GPU that notes what is launched: kernel and blocks.
struct Noting {
    gpu: Gpu,
    launched: RefCell<Vec<(&'static str, u32)>>,
}

impl Launcher for Noting {
    fn device(&self) -> Device {
        self.gpu.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        if !geometry.is_empty() {
            self.launched.borrow_mut().push((call.name(), geometry.grid[0]));
        }
        self.gpu.enqueue(call, geometry)
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>> {
        self.gpu.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result {
        // SAFETY: passed on.
        unsafe { self.gpu.clear_bytes(address, bytes) }
    }
}

/// TMA takes what it can; `tensor-group` multiplies the rest. The grid is as large as the device, in whole pairs.
#[test]
fn who_multiplies_what() {
    let launched = |name: &str, multiprocessors, size, offset| {
        let on = Noting { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() };
        check::<bf16>(name, &on, size, offset, EXACT);
        on.launched.take()
    };
    let (map, cluster) = ("matmul_tensor_map", "matmul_tensor_cluster");
    assert_eq!(launched("tensor-map", 3, [600, 8, 8], 0), [(map, 3)]);
    assert_eq!(launched("tensor-map", 8, [600, 8, 8], 0), [(map, 5)]);
    assert_eq!(launched("tensor-cluster", 3, [600, 8, 8], 0), [(cluster, 2)]);
    assert_eq!(launched("tensor-cluster", 8, [600, 8, 8], 0), [(cluster, 6)]);
    for name in ["tensor-map", "tensor-cluster"] {
        for (size, offset) in [([9, 12, 8], 0), ([9, 8, 12], 0), ([9, 8, 0], 0), ([9, 8, 8], 4)] {
            assert_eq!(launched(name, 3, size, offset), [("matmul_tensor_group", 1)], "{size:?}");
        }
        assert_eq!(launched(name, 3, [0, 8, 8], 0), []);
    }
}

/// Devices without the instructions, or with too little shared memory.
#[test]
fn refusals_name_the_limit() {
    let ask = |compute_capability, shared_per_block| {
        let device = Device { multiprocessors: 100, shared_per_block, compute_capability };
        Ask { n: 1, element_bytes: 2, options: Options::default(), device }
    };
    for name in BF16 {
        let refusal = |ask| rung(name).rung.refusal(&ask);
        assert_eq!(refusal(ask((9, 0), 227 << 10)), None);
        assert_eq!(refusal(ask((8, 0), 227 << 10)), Some(format!("{name} needs compute capability 9.0, not 8.0")));
        assert_eq!(refusal(ask((10, 0), 227 << 10)), Some(format!("{name} needs compute capability 9.0, not 10.0")));
        let why = refusal(ask((9, 0), 99 << 10)).unwrap();
        assert!(why.ends_with("bytes of shared memory per block, not 101376"), "{why}");
    }
    let refusal = |ask| rung("tensor-mma").rung.refusal(&ask);
    assert_eq!(refusal(ask((8, 6), 99 << 10)), None);
    for name in ["tensor-mma", "tensor-double"] {
        let why = format!("{name} needs 98304 bytes of shared memory per block, not 49152");
        assert_eq!(rung(name).rung.refusal(&ask((8, 0), 48 << 10)), Some(why));
    }
}

/// Under hostile orders no access is wrong, and the bits are the same although sums round. Blocks have two tiles, and
/// the ring goes round.
fn check_schedules<T: Number>(name: &str, [m, n, k]: [u32; 3]) {
    let mut random = Random(5);
    let mut draw = |len: u32| -> Vec<T> { (0..len).map(|_| T::of(fractions(&mut random))).collect() };
    let (a, b) = (draw(m * k), draw(k * n));
    let checked = check_races(Check { schedules: 32, ..Check::default() }, || {
        let (mut a, mut b) = (Buffer::new(&a, 0), Buffer::new(&b, 0));
        let mut c = Buffer::<T>::poisoned((m * n) as usize, 0);
        let product = Product { a: a.view(), b: b.view(), c: c.view(), m, n, k };
        T::launches(&rung(name).run)(&with_multiprocessors(1), product).unwrap();
        c.slice().iter().map(|element| element.to_bits_64()).collect::<Vec<_>>()
    });
    assert!(checked.report.is_clean(), "{name}: {}", checked.report);
    assert_eq!((checked.report.schedules, checked.report.launches), (32, 32));
    assert!(checked.results.iter().all(|bits| *bits == checked.results[0]), "{name}: other bits");
}

#[test]
fn tensor_mma_is_silent_under_hostile_schedules() {
    check_schedules::<f32>("tensor-mma", [8, 12, 132]);
    check_schedules::<f32>("tensor-mma", [3, 5, 67]);
}

#[test]
fn tensor_double_is_silent_under_hostile_schedules() {
    check_schedules::<f64>("tensor-double", [8, 12, 68]);
    check_schedules::<f64>("tensor-double", [3, 5, 67]);
}

#[test]
fn tensor_group_is_silent_under_hostile_schedules() {
    check_schedules::<bf16>("tensor-group", [8, 16, 328]);
    check_schedules::<bf16>("tensor-group", [3, 5, 67]);
}

#[test]
fn tensor_map_is_silent_under_hostile_schedules() {
    check_schedules::<bf16>("tensor-map", [136, 8, 200]);
}

#[test]
fn tensor_cluster_is_silent_under_hostile_schedules() {
    check_schedules::<bf16>("tensor-cluster", [264, 8, 200]);
}
