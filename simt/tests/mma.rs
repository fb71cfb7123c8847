//! Products of small matrices on the simulator: which lane has what, the precision of operands and sums, and lanes that
//! do not come.

use simt::math::{to_bf16, to_bf16_pair};
use simt::mma::{self, Tf32};
use simt::sim::{LaunchError, Options, launch};
use simt::{Global, Kernel, kernel, thread};

fn view<T: simt::Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

fn run<K: Kernel>(k: K, threads: u32, args: K::Args) -> Result<(), LaunchError> {
    launch(k, [1; 3], [threads, 1, 1], 0, args, Options::default())
}

/// D = A·B + C for the matrices of each warp, all of them by rows: A of 16 × 8, B of 8 × 8, C and D of 16 × 8. The
/// product is computed twice in a row.
#[kernel]
fn product(a: Global<f32>, b: Global<f32>, c: Global<f32>, d: Global<f32>) {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (g, t) = (lane / 4, lane % 4);
    let (a, b, c, d) = (a.slice(warp * 128, 128), b.slice(warp * 64, 64), c.slice(warp * 128, 128), d);
    let of_a = [(g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)].map(|(row, k)| Tf32::truncated(a.get(row * 8 + k)));
    let of_b = [(t, g), (t + 4, g)].map(|(k, column)| Tf32::truncated(b.get(k * 8 + column)));
    let places = [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)];
    let once = mma::multiply_add(of_a, of_b, places.map(|(row, column)| c.get(row * 8 + column)));
    let twice = mma::multiply_add(of_a, of_b, once);
    for ((row, column), x) in places.into_iter().zip(twice) {
        d.set(warp * 128 + row * 8 + column, x);
    }
}

fn products(warps: usize, element: impl Fn(usize) -> f32) -> [Vec<f32>; 4] {
    let make = |n: usize, seed: usize| (0..warps * n).map(|i| element(i * 7 + seed)).collect::<Vec<f32>>();
    let (mut a, mut b, mut c, mut d) = (make(128, 1), make(64, 2), make(128, 3), vec![f32::NAN; warps * 128]);
    run(product, warps as u32 * 32, (view(&mut a), view(&mut b), view(&mut c), view(&mut d))).unwrap();
    [a, b, c, d]
}

#[test]
fn each_lane_has_its_elements() {
    let [a, b, c, d] = products(3, |i| ((i * i) % 23) as f32 - 11.0);
    for (i, &got) in d.iter().enumerate() {
        let (warp, row, column) = (i / 128, i / 8 % 16, i % 8);
        let sum: f32 = (0..8).map(|k| a[warp * 128 + row * 8 + k] * b[warp * 64 + k * 8 + column]).sum();
        assert_eq!(got, c[i] + 2.0 * sum, "warp {warp}, ({row}, {column})");
    }
}

/// The bits of operands that the tensor cores do not see do not count, and a sum is cut off, not rounded.
#[test]
fn operands_and_sums_are_cut_off() {
    let ulp = f32::EPSILON;
    let [.., d] = products(1, |i| if i % 7 == 3 { 0.0 } else { 1.0 + 1023.0 * ulp });
    assert!(d.iter().all(|&x| x == 16.0), "{d:?}");
    // Sums of more than 24 bits.
    let [a, b, c, d] = products(1, |i| match i % 7 {
        3 => 1.0 / 3.0,
        _ => 1.0 + (i % 3) as f32 / 1024.0,
    });
    for (i, &got) in d.iter().enumerate() {
        let term = |k: usize| f64::from(a[i / 8 * 8 + k]) * f64::from(b[k * 8 + i % 8]);
        let sum: f64 = (0..8).map(term).sum();
        let cut = |x: f64| f64::from_bits(x.to_bits() & !((1 << 29) - 1));
        assert_eq!(f64::from(got), cut(cut(f64::from(c[i]) + sum) + sum), "{i}");
    }
}

#[kernel]
fn conversions(from: Global<f32>, to: Global<f32>) {
    let x = from.get(thread::thread_idx_x());
    let (large, rest) = Tf32::split(x);
    let all = [Tf32::nearest(x).value(), Tf32::truncated(x).value(), large.value(), rest.value()];
    (0..4u32).for_each(|i| to.set(thread::thread_idx_x() * 4 + i, all[i as usize]));
}

#[test]
fn conversions_round_as_they_say() {
    let ulp = 1.0 / 1024.0;
    let mut from: Vec<f32> = vec![0.0, -0.0, 1.0, 1.0 + ulp, 1.0 + ulp / 2.0, -1.0 - ulp / 2.0, 1.0 + 0.499 * ulp];
    from.extend([1.0 / 3.0, -3e37, 1e-30, f32::from_bits(0x3FFF_FFFF), f32::INFINITY, f32::NAN, f32::from_bits(!0)]);
    let mut to = vec![7.0f32; 4 * from.len()];
    run(conversions, from.len() as u32, (view(&mut from), view(&mut to))).unwrap();
    for (&x, got) in from.iter().zip(to.chunks(4)) {
        let [nearest, truncated, large, rest] = got else { unreachable!() };
        if !x.is_finite() {
            assert!(rest.is_nan(), "{x}");
            assert_eq!(nearest.is_nan(), x.is_nan());
            continue;
        }
        // An element's unit is 2⁻¹⁰ of its power of two.
        let unit = f32::from_bits(x.to_bits() & 0x7F80_0000) * ulp;
        assert!((nearest - x).abs() <= unit / 2.0 && (x - truncated).abs() < unit.max(1e-40), "{x}: {got:?}");
        assert!(truncated.abs() <= x.abs(), "{x}: {got:?}");
        assert_eq!(large, nearest, "{x}");
        let left = f64::from(x) - f64::from(*large) - f64::from(*rest);
        assert!(left.abs() <= f64::from(unit) / 4096.0, "{x}: {got:?} leaves {left}");
    }
    assert_eq!(to[4 * 4], 1.0 + ulp, "of two as near, the larger");
    assert_eq!(to[5 * 4], -1.0 - ulp, "of two as near, the larger in magnitude");
}

/// Two numbers as neighbours of 16 bits: the first in the low half, ties to even, the hardware's NaN.
#[test]
fn pairs_of_bf16() {
    let (ulp, nan) = (1.0 / 128.0, f32::NAN);
    assert_eq!(to_bf16_pair(1.0, -2.0), 0xC000_3F80);
    assert_eq!(to_bf16_pair(1.0 + ulp / 2.0, 1.0 + ulp * 1.5), 0x3F82_3F80);
    assert_eq!(to_bf16_pair(f32::MAX, -nan), 0x7FFF_7F80);
    for (x, y) in [(0.1, -0.3), (-0.0, 1e-40), (nan, f32::NEG_INFINITY)] {
        let [low, high] = [x, y].map(|z| u32::from(to_bf16(z).to_bits()));
        assert_eq!(to_bf16_pair(x, y), low | high << 16);
    }
}

/// D = A·B + C for the matrices of each warp in `f64`, all by rows: A of 16 × 16, B of 16 × 8, C and D of 16 × 8. The
/// product is computed twice in a row.
#[kernel]
fn product_f64(a: Global<f64>, b: Global<f64>, c: Global<f64>, d: Global<f64>) {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (g, t) = (lane / 4, lane % 4);
    let (a, b, c, d) = (a.slice(warp * 256, 256), b.slice(warp * 128, 128), c.slice(warp * 128, 128), d);
    let of_a = core::array::from_fn(|i| a.get((g + i as u32 % 2 * 8) * 16 + t + i as u32 / 2 * 4));
    let of_b = core::array::from_fn(|i| b.get((t + i as u32 * 4) * 8 + g));
    let places = [(g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)];
    let once = mma::multiply_add_f64(of_a, of_b, places.map(|(row, column)| c.get(row * 8 + column)));
    let twice = mma::multiply_add_f64(of_a, of_b, once);
    for ((row, column), x) in places.into_iter().zip(twice) {
        d.set(warp * 128 + row * 8 + column, x);
    }
}

/// Sums of `f64` are those of `fma` by ascending column of A.
#[test]
fn f64_products_are_fused_with_their_sum() {
    let make = |n: usize, seed: usize| (0..3 * n).map(|i| 1.0 / (i * 7 + seed) as f64 - 0.01).collect::<Vec<f64>>();
    let (mut a, mut b, mut c, mut d) = (make(256, 1), make(128, 2), make(128, 3), vec![f64::NAN; 384]);
    run(product_f64, 96, (view(&mut a), view(&mut b), view(&mut c), view(&mut d))).unwrap();
    for (i, &got) in d.iter().enumerate() {
        let (warp, row, column) = (i / 128, i / 8 % 16, i % 8);
        let terms = (0..16).map(|k| (a[warp * 256 + row * 16 + k], b[warp * 128 + k * 8 + column]));
        let want = terms.clone().chain(terms).fold(c[i], |sum, (a, b)| a.mul_add(b, sum));
        assert_eq!(got, want, "warp {warp}, ({row}, {column})");
    }
}

/// Half a warp, or lanes in two places, do not multiply.
#[kernel]
fn apart(out: Global<f32>, from: u32) {
    let (lane, a, b) = (thread::thread_idx_x(), [Tf32::default(); 4], [Tf32::default(); 2]);
    let [first, ..] = if lane < from { mma::multiply_add(a, b, [1.0; 4]) } else { mma::multiply_add(a, b, [2.0; 4]) };
    out.set(lane, first);
}

#[test]
fn all_lanes_make_the_call_together() {
    let mut out = vec![0.0f32; 32];
    run(apart, 32, (view(&mut out), 32)).unwrap();
    assert_eq!(out, [1.0; 32]);
    for (threads, from) in [(32, 16), (16, 32)] {
        let Err(LaunchError::Fault(fault)) = run(apart, threads, (view(&mut out), from)) else {
            panic!("{threads} threads, from lane {from} on in another place: nothing was said");
        };
        assert!(fault.location().contains("mma.rs:"), "{fault}");
    }
}
