//! Products of fp8 on the simulator: whole results compared with sums computed here in double precision.

use rungs_common::ladder::Launcher;
use rungs_products::fp8::launches::{Adding, OfC, Product, Times, sequence};
use rungs_products::fp8::{COLUMNS_SCALED, DEPTH};
use rungs_products::ladder::Matrix;
use rungs_testing::{Buffer, Random, view, with_multiprocessors};
use simt::launcher::{Call, Device, Memory, Result};
use simt::sim::{Check, Gpu, check};
use simt::{Eight, F8E4M3, F8E5M2, Geometry, bf16};
use std::cell::RefCell;

/// An element that a test computes with in double precision.
trait Number: simt::Scalar + std::fmt::Debug {
    fn of(x: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! numbers {
    ($($t:ident: $of:expr, $value:expr;)*) => {$(
        impl Number for $t {
            fn of(x: f64) -> Self {
                $of(x)
            }

            fn value(self) -> f64 {
                $value(self)
            }
        }
    )*};
}
numbers! {
    F8E4M3: F8E4M3::from_f64, |x: F8E4M3| x.to_f64();
    F8E5M2: F8E5M2::from_f64, |x: F8E5M2| x.to_f64();
    f32: |x| x as f32, f64::from;
    bf16: bf16::from_f64, |x: bf16| x.to_f64();
}

/// A machine that writes down what is launched.
struct Noting {
    gpu: Gpu,
    launched: RefCell<Vec<&'static str>>,
}

impl Noting {
    fn new(multiprocessors: u32) -> Self {
        Self { gpu: with_multiprocessors(multiprocessors), launched: RefCell::default() }
    }
}

impl Launcher for Noting {
    fn device(&self) -> Device {
        self.gpu.device()
    }

    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result {
        self.launched.borrow_mut().push(call.name());
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

/// How a test's matrices are stored.
#[derive(Clone, Copy, Debug)]
struct Case {
    m: u32,
    n: u32,
    k: u32,
    /// Elements of C behind each row that do not belong to it, and elements before its first.
    gap: u32,
    offset: usize,
    alpha: f32,
    beta: f32,
}

impl Case {
    const fn new(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k, gap: 0, offset: 0, alpha: 1.0, beta: 0.0 }
    }
}

/// An operand whose runs of `k` elements begin on multiples of 16; poison is between them.
struct Stored<T> {
    buffer: Buffer<T>,
    stride: u32,
    k: u32,
}

impl<T: Number + Eight> Stored<T> {
    fn new(rows: u32, k: u32, mut element: impl FnMut() -> f64) -> Self {
        let stride = k.next_multiple_of(16);
        let mut buffer = Buffer::poisoned((rows * stride) as usize, 0);
        for row in 0..rows {
            (0..k).for_each(|e| buffer.slice()[(row * stride + e) as usize] = T::of(element()));
        }
        Self { buffer, stride, k }
    }

    fn at(&mut self, row: u32, e: u32) -> f64 {
        self.buffer.slice()[(row * self.stride + e) as usize].value()
    }

    /// A, or the transpose of what is stored.
    fn matrix(&mut self, rows: u32, columns: u32, transposed: bool) -> Matrix<T> {
        let Self { stride, .. } = *self;
        Matrix { data: self.buffer.view(), rows, columns, stride, transposed }
    }
}

/// Multiplies small whole numbers, whose sums are exact, twice by one sequence; compares C's whole buffer. `scales`
/// says that blocks have factors, which are powers of two.
fn multiplies<L, R, C>(on: &dyn Launcher, case: Case, adding: Adding, scales: bool)
where
    L: Times<R, C> + Number,
    R: Eight + Number,
    C: OfC + Number,
{
    let Case { m, n, k, gap, offset, alpha, beta } = case;
    let mut random = Random(u64::from(m * 31 + n * 7 + k));
    let mut whole = |most: u64| (random.next() % (2 * most + 1)) as f64 - most as f64;
    let (mut a, mut b) = (Stored::<L>::new(m, k, || whole(4)), Stored::<R>::new(n, k, || whole(3)));
    let (steps, stride) = (k.div_ceil(DEPTH), n + gap);
    let mut power = |rows: u32| -> Vec<f32> { (0..rows * steps).map(|_| 2f32.powi(whole(2) as i32)).collect() };
    let (mut of_a, mut of_b) = (power(m), power(n.div_ceil(COLUMNS_SCALED)));
    let mut c = Buffer::<C>::poisoned(((m - 1) * stride + n) as usize, offset);
    let mut multiplier = sequence::<L, R, C>(on).unwrap_or_else(|e| panic!("{case:?}: {e}"));
    for _ in 0..2 {
        c.poison();
        let mut before = vec![0.0; c.slice().len()];
        if beta != 0.0 {
            before.iter_mut().for_each(|x| *x = whole(9));
            c.slice().iter_mut().zip(&before).for_each(|(to, &x)| *to = C::of(x));
        }
        let old: Vec<C> = c.slice().to_vec();
        let adding = if scales { Adding::Scaled { a: view(&mut of_a), b: view(&mut of_b) } } else { adding };
        let of_c = Matrix::new(c.view(), m, n, stride);
        let product = Product { a: a.matrix(m, k, false), b: b.matrix(k, n, true), c: of_c, alpha, beta, adding };
        multiplier.run(on, product).unwrap_or_else(|e| panic!("{case:?}: {e}"));
        for (at, got) in c.slice().to_vec().into_iter().enumerate() {
            let (row, column) = (at as u32 / stride, at as u32 % stride);
            if column >= n {
                assert!(got.to_bits_64() == old[at].to_bits_64(), "{case:?}: the gap behind row {row}");
                continue;
            }
            let sum: f64 = (0..a.k)
                .map(|e| {
                    let block = |of: &[f32], line: u32| f64::from(of[(line * steps + e / DEPTH) as usize]);
                    let scale = if scales { block(&of_a, row) * block(&of_b, column / COLUMNS_SCALED) } else { 1.0 };
                    a.at(row, e) * b.at(column, e) * scale
                })
                .sum();
            let of_old = if beta == 0.0 { 0.0 } else { f64::from(beta) * before[at] };
            let want = C::of(f64::from(alpha) * sum + of_old);
            assert!(got == want, "{case:?}, row {row}, column {column}: {got:?} for {want:?}");
        }
    }
    c.check_guards("C");
}

/// Sizes around those of tiles of each width, in either way and for both types of C. Where SMs are few, wide tiles
/// take the least time.
#[test]
fn products_of_every_size() {
    let (one, many) = (Noting::new(1), Noting::new(132));
    for case in [Case::new(1, 1, 1), Case::new(7, 9, 16), Case::new(130, 127, 129), Case::new(257, 321, 80)] {
        for adding in [Adding::OnTensorCores, Adding::Promoted] {
            for on in [&one, &many] {
                multiplies::<F8E4M3, F8E4M3, f32>(on, case, adding, false);
                multiplies::<F8E4M3, F8E4M3, bf16>(on, case, adding, false);
            }
        }
    }
    // Pairs with a narrow tile for the last columns.
    for adding in [Adding::OnTensorCores, Adding::Promoted] {
        multiplies::<F8E4M3, F8E4M3, f32>(&one, Case::new(250, 316, 272), adding, false);
        multiplies::<F8E4M3, F8E4M3, bf16>(&one, Case::new(256, 312, 144), adding, false);
    }
    let launched = [one.launched.take(), many.launched.take()].concat();
    for name in ["pair_e", "pair_promoted_e", "e", "promoted_e", "small_e", "small_promoted_e"] {
        let name = format!("product_fp8_{name}");
        for of_c in ["_f32", "_bf16"] {
            let is_it = |launched: &&'static str| launched.starts_with(&name) && launched.ends_with(of_c);
            assert!(launched.iter().any(is_it), "{name}…{of_c} is not among {launched:?}");
        }
    }
}

#[test]
fn products_of_the_two_types() {
    let on = &Noting::new(2);
    for case in [Case::new(65, 70, 150), Case::new(300, 260, 40)] {
        for adding in [Adding::OnTensorCores, Adding::Promoted] {
            multiplies::<F8E4M3, F8E5M2, bf16>(on, case, adding, false);
            multiplies::<F8E5M2, F8E4M3, f32>(on, case, adding, false);
        }
    }
}

/// C that TMA takes, and C that it does not: with a gap, and beginning anywhere.
#[test]
fn factors_and_parts_of_c() {
    let on = &Noting::new(2);
    for (gap, offset) in [(0, 0), (8, 0), (3, 5)] {
        for (alpha, beta) in [(0.5, 0.0), (-2.0, 3.0), (0.0, 1.0), (0.0, 0.0)] {
            let case = Case { gap, offset, alpha, beta, ..Case::new(70, 136, 48) };
            multiplies::<F8E4M3, F8E4M3, f32>(on, case, Adding::Promoted, false);
            multiplies::<F8E4M3, F8E4M3, bf16>(on, case, Adding::Promoted, false);
        }
    }
}

/// With a factor of 0 the operands are not looked at, and a k of 0 has none. The sign of a zero is that of beta·C.
#[test]
fn nothing_is_zero() {
    let on: &dyn Launcher = &Noting::new(2);
    let mut nan = [F8E4M3::from_bits(0x7F); 64 * 32];
    let all = [(32, 0.0, 0.0), (0, 1.0, 0.0), (0, f32::INFINITY, 0.0), (32, 0.0, 1.0), (0, f32::NAN, 2.0)];
    for (k, alpha, beta) in all {
        let mut c = [if beta == 0.0 { f32::NAN } else { -0.0 }; 3 * 5];
        let data = view(&mut nan);
        let (a, b) = (Matrix::new(data, 3, k, 32), Matrix { transposed: true, ..Matrix::new(data, k, 5, 32) });
        let of_c = Matrix::new(view(&mut c), 3, 5, 5);
        let product = Product { a, b, c: of_c, alpha, beta, adding: Adding::OnTensorCores };
        sequence(on).unwrap().run(on, product).unwrap();
        let want = if beta == 0.0 { 0.0f32 } else { -0.0 };
        assert_eq!(c.map(f32::to_bits), [want.to_bits(); 15], "{k} {alpha} {beta}");
    }
}

#[test]
fn blocks_have_scales() {
    let on = &Noting::new(2);
    for case in [Case::new(3, 5, 16), Case::new(130, 300, 300), Case { alpha: 4.0, ..Case::new(257, 257, 129) }] {
        multiplies::<F8E4M3, F8E4M3, f32>(on, case, Adding::Promoted, true);
        multiplies::<F8E4M3, F8E4M3, bf16>(on, case, Adding::Promoted, true);
    }
    assert!(on.launched.borrow().iter().all(|name| name.starts_with("product_fp8_scaled")));
}

/// The error of elements in [0, 1), relative to C, for the k at which an H100 was measured: 5e-4 and 3e-2 where the
/// tensor cores add up all, and 5e-4 promoted.
#[test]
fn promoted_sums_keep_what_the_tensor_cores_lose() {
    let on: &dyn Launcher = &Noting::new(2);
    let (m, n) = (40, 24);
    let error = |k: u32, adding: Adding| {
        let mut random = Random(k.into());
        let mut element = || (random.next() >> 11) as f64 / (1u64 << 53) as f64;
        let (mut a, mut b) = (Stored::<F8E4M3>::new(m, k, &mut element), Stored::<F8E4M3>::new(n, k, &mut element));
        let mut c = vec![f32::NAN; (m * n) as usize];
        let of_c = Matrix::new(view(&mut c), m, n, n);
        let (of_a, of_b) = (a.matrix(m, k, false), b.matrix(k, n, true));
        let product = Product { a: of_a, b: of_b, c: of_c, alpha: 1.0, beta: 0.0, adding };
        sequence(on).unwrap().run(on, product).unwrap();
        let (mut errors, mut squares) = (0.0, 0.0);
        for (i, &got) in (0..).zip(&c) {
            let want: f64 = (0..k).map(|e| a.at(i / n, e) * b.at(i % n, e)).sum();
            errors += (f64::from(got) - want).powi(2);
            squares += want * want;
        }
        (errors / squares).sqrt()
    };
    for (k, adding, [least, most]) in [
        (128, Adding::OnTensorCores, [3e-4, 8e-4]),
        (2048, Adding::OnTensorCores, [2e-2, 4e-2]),
        (128, Adding::Promoted, [3e-4, 8e-4]),
        (2048, Adding::Promoted, [3e-4, 8e-4]),
    ] {
        let error = error(k, adding);
        assert!((least..most).contains(&error), "{error:e} at k = {k}");
    }
}

/// The checker finds nothing: neither for single blocks nor for pairs, of one tile each or of several, with C of either
/// type.
#[test]
fn no_races() {
    for (sms, scaled, adding, [m, n, k]) in [
        (2, false, Adding::OnTensorCores, [136, 136, 272]),
        (2, false, Adding::OnTensorCores, [136, 128, 272]),
        (1, false, Adding::Promoted, [136, 264, 144]),
        (1, false, Adding::Promoted, [256, 320, 272]),
        (1, true, Adding::Promoted, [136, 264, 144]),
    ] {
        races::<bf16>(sms, scaled, adding, [m, n, k]);
        races::<f32>(sms, scaled, adding, [m, n, k]);
    }
}

/// Runs a product twice, and asserts that the checker is silent.
fn races<C: OfC>(sms: u32, scaled: bool, adding: Adding, [m, n, k]: [u32; 3])
where
    F8E4M3: Times<F8E4M3, C>,
{
    let checked = check(Check { schedules: 2, ..Check::default() }, || {
        let on: &dyn Launcher = &with_multiprocessors(sms);
        let [a, b] = [m * k, k * n].map(|n| on.zeros::<F8E4M3>(n).unwrap());
        let c = on.zeros::<C>(m * n).unwrap();
        let (of_a, of_b) = (m * k.div_ceil(DEPTH), n.div_ceil(COLUMNS_SCALED) * k.div_ceil(DEPTH));
        let [of_a, of_b] = [of_a, of_b].map(|n| on.zeros::<f32>(n).unwrap());
        let adding = if scaled { Adding::Scaled { a: of_a.view(), b: of_b.view() } } else { adding };
        let (a, b) = (Matrix::new(a.view(), m, k, k), Matrix { transposed: true, ..Matrix::new(b.view(), k, n, k) });
        let product = Product { a, b, c: Matrix::new(c.view(), m, n, n), alpha: 1.0, beta: 0.0, adding };
        let mut multiplier = sequence(on).unwrap();
        multiplier.run(on, product).unwrap();
        multiplier.run(on, product).unwrap();
    });
    assert!(checked.report.is_clean(), "{m} {n} {k}: {}", checked.report);
}

#[test]
fn other_devices_are_refused_by_name() {
    let mut gpu = with_multiprocessors(2);
    gpu.device.compute_capability = (8, 0);
    let why = sequence::<F8E4M3, F8E4M3, f32>(&gpu).err().expect("an error").to_string();
    assert!(why.contains("fp8 needs compute capability 9.0, not 8.0"), "{why}");
}
