//! Elements of 8 bits: what they are, copies of them by tensor maps, and their products by warpgroups on the simulator.

use simt::launcher::Launcher;
use simt::mbarrier::{self, Mbarrier};
use simt::sim::{Check, Gpu, Kind, LaunchError, Options, check, launch};
use simt::tensor_map::{Described, TensorMap};
use simt::warpgroup::{MORE, ROW, Sums, Tile, multiply_add_scaled};
use simt::{Eight, F8E4M3, F8E5M2, Geometry, Global, Kernel, bulk, kernel, shared, thread};

/// Memory as a device allocates it.
#[repr(align(256))]
struct Aligned<T, const N: usize>([T; N]);

fn view<T: simt::Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

fn run<K: Kernel>(k: K, threads: u32, args: K::Args) -> Result<(), LaunchError> {
    launch(k, [1; 3], [threads, 1, 1], (64 << 10) + MORE, args, Options::default())
}

/// What the tests know of a format by itself.
trait Format: Eight + std::fmt::Debug {
    /// Bits of the fraction, and what is taken from an exponent.
    const FRACTION: i32;
    const BIAS: i32;
    /// The largest number.
    const LARGEST: f64;

    fn of_bits(bits: u8) -> Self;
    fn bits(self) -> u8;
    fn nearest(x: f32) -> Self;
    fn value(self) -> f64;

    /// The number of these bits by the formats' definition (Micikevicius et al., "FP8 formats for deep learning").
    fn defined(bits: u8) -> f64 {
        let sign = if bits >> 7 == 1 { -1.0 } else { 1.0 };
        let fraction = f64::from(bits & ((1 << Self::FRACTION) - 1)) / f64::from(1 << Self::FRACTION);
        let exponent = i32::from(bits & 0x7F) >> Self::FRACTION;
        let number = match exponent {
            0 => fraction * 2f64.powi(1 - Self::BIAS),
            _ => (1.0 + fraction) * 2f64.powi(exponent - Self::BIAS),
        };
        match number {
            _ if number <= Self::LARGEST => sign * number,
            _ if Self::FRACTION == 2 && fraction == 0.0 => sign * f64::INFINITY,
            _ => f64::NAN,
        }
    }
}

macro_rules! formats {
    ($($t:ident: $fraction:literal, $bias:literal, $largest:literal;)*) => {$(
        impl Format for $t {
            const FRACTION: i32 = $fraction;
            const BIAS: i32 = $bias;
            const LARGEST: f64 = $largest;

            fn of_bits(bits: u8) -> Self {
                Self::from_bits(bits)
            }

            fn bits(self) -> u8 {
                self.to_bits()
            }

            fn nearest(x: f32) -> Self {
                Self::from_f32(x)
            }

            fn value(self) -> f64 {
                self.to_f64()
            }
        }
    )*};
}
formats! {
    F8E4M3: 3, 7, 448.0;
    F8E5M2: 2, 15, 57344.0;
}

/// The number nearest to `x` among all of a format, of two that with even bits; the largest for what is beyond.
fn searched<T: Format>(x: f32) -> u8 {
    let finite = || (0..0x7F).filter(|&bits| T::defined(bits).is_finite());
    // Beyond twice the largest, distances would be equal in `f64`.
    let size = f64::from(x.abs()).min(2.0 * T::LARGEST);
    let distance = |bits: &u8| (T::defined(*bits) - size).abs();
    let bits = finite().min_by(|x, y| distance(x).total_cmp(&distance(y)).then((x & 1).cmp(&(y & 1))));
    bits.expect("a format has numbers") | if x.is_sign_negative() { 0x80 } else { 0 }
}

#[test]
fn all_numbers_are_those_of_the_formats() {
    fn check<T: Format>() {
        for bits in 0..=u8::MAX {
            let (number, want) = (T::of_bits(bits), T::defined(bits));
            assert_eq!(number.bits(), bits);
            assert!(number.value() == want || number.value().is_nan() && want.is_nan(), "{bits:#x}");
            assert_eq!(number.value().is_sign_negative() || want.is_nan(), bits >> 7 == 1 || want.is_nan());
        }
    }
    check::<F8E4M3>();
    check::<F8E5M2>();
}

/// Each number, the middle of each two neighbours, and what is next to these in `f32`; what is too large, and too
/// small.
#[test]
fn numbers_are_rounded_to_the_nearest() {
    fn check<T: Format>() {
        let numbers: Vec<f64> = (0..0x7F).map(T::defined).filter(|x| x.is_finite()).collect();
        let middles = numbers.windows(2).map(|two| (two[0] + two[1]) / 2.0);
        let last = T::LARGEST * 1.1;
        let around = numbers.iter().copied().chain(middles).chain([last, 1e30]).flat_map(|x| {
            let x = x as f32;
            [x, x.next_up(), x.next_down().max(0.0)]
        });
        for x in around.chain([f32::INFINITY, f32::MIN_POSITIVE, f32::from_bits(1)]) {
            for x in [x, -x] {
                assert_eq!(T::nearest(x).bits(), searched::<T>(x), "{x:e}");
            }
        }
        assert!(T::nearest(f32::NAN).value().is_nan() && T::nearest(-f32::NAN).value().is_nan());
    }
    check::<F8E4M3>();
    check::<F8E5M2>();
}

shared!(BARRIER: [u64; 1]);

/// Has a box of 16 rows copied to shared memory, and from there to another matrix.
#[kernel(instances(move_e4m3: <F8E4M3>, move_e5m2: <F8E5M2>))]
fn move_box<T: Eight>(
    from: TensorMap<T>,
    to: TensorMap<T>,
    _source: Global<T>,
    _target: Global<T>,
    row: u32,
    column: u32,
    seen: Global<T>,
) {
    let (barrier, tile) = (Mbarrier::at(BARRIER::view(), 0), Tile::<T>::dynamic(0, 16));
    barrier.init(1);
    mbarrier::fence_init();
    barrier.arrive_expecting(16 * ROW);
    from.load(tile, row, column, barrier);
    barrier.wait(0);
    for i in 0..16 * 128 {
        seen.set(i, tile.elements().get(Tile::<T>::place(i / 128, i % 128)));
    }
    to.store(0, 0, tile);
    bulk::commit();
    bulk::wait_read::<0>();
}

/// An odd number of columns, and boxes that begin at odd ones: a byte more or less would show.
#[test]
fn boxes_of_bytes_end_where_the_matrix_does() {
    const ROWS: usize = 20;
    const COLUMNS: usize = 141;
    const STRIDE: usize = 144;
    let value = |row: usize, column: usize| F8E4M3::from_bits((1 + (row * 31 + column * 7) % 120) as u8);
    let mut from = Aligned([F8E4M3::from_bits(0x7F); ROWS * STRIDE]);
    for row in 0..ROWS {
        (0..COLUMNS).for_each(|column| from.0[row * STRIDE + column] = value(row, column));
    }
    for [row, column] in [[0, 0], [7, 13], [19, 128], [3, 144]] {
        let mut to = Aligned([F8E4M3::from_bits(0x55); 10 * 80]);
        let mut seen = [F8E4M3::from_bits(0x7F); 16 * 128];
        let (source, target) = (view(&mut from.0), view(&mut to.0));
        let maps = [
            Described::of(source, [ROWS as u32, COLUMNS as u32], STRIDE as u32, 16),
            Described::of(target, [10, 77], 80, 16),
        ];
        assert_eq!(maps[0].expect("a map").box_extents(), [128, 16]);
        let [map_from, map_to] = maps.map(|of| TensorMap::new(of.expect("a map").simulated()));
        let args = (map_from, map_to, source, target, row as u32, column as u32, view(&mut seen));
        run(move_box::<F8E4M3>::default(), 1, args).unwrap();
        let want = |r: usize, c: usize| {
            let (row, column) = (row + r, column + c);
            if row < ROWS && column < COLUMNS { value(row, column).to_bits() } else { 0 }
        };
        for (i, got) in seen.iter().enumerate() {
            assert_eq!(got.to_bits(), want(i / 128, i % 128), "{row} {column}: {i}");
        }
        for (i, got) in to.0.iter().enumerate() {
            let want = if i % 80 < 77 { want(i / 80, i % 80) } else { 0x55 };
            assert_eq!(got.to_bits(), want, "{row} {column}: {i}");
        }
    }
}

/// Both types are bytes to the copy engine, but a kernel says which it means.
#[test]
fn maps_of_the_two_types_are_not_the_same() {
    let mut data = Aligned([F8E4M3::from_bits(0); 16 * 128]);
    let data = view(&mut data.0);
    let other = data.cast::<F8E5M2>();
    let e4m3 = Described::of(data, [16, 128], 128, 16).expect("a map");
    let e5m2 = Described::of(other, [16, 128], 128, 16).expect("a map");
    assert_eq!((e4m3.element(), e5m2.element()), ((0, 1), (0, 1)));
    let map = TensorMap::new(e4m3.simulated());
    run(move_box::<F8E4M3>::default(), 1, (map, map, data, data, 0, 0, data)).unwrap();
    let run_other = |words| {
        let map = TensorMap::new(words);
        run(move_box::<F8E5M2>::default(), 1, (map, map, other, other, 0, 0, other))
    };
    run_other(e5m2.simulated()).unwrap();
    match run_other(e4m3.simulated()) {
        Err(LaunchError::Fault(f)) => assert!(f.what.contains("of elements E4m3, and the tile's are E5m2"), "{f}"),
        other => panic!("{other:?}"),
    }
}

/// A number of sums per thread.
trait Width: Send + Sync + 'static {
    /// Columns of the product.
    const COLUMNS: usize;

    fn multiply<S: Eight, T: Eight>(a: Global<S>, b: Global<T>, c: Global<f32>, factors: Global<f32>, steps: u32);
}

struct Of<const SUMS: usize>;
type Sums32 = Of<32>;
type Sums64 = Of<64>;
type Sums128 = Of<128>;

impl<const SUMS: usize> Width for Of<SUMS> {
    const COLUMNS: usize = 2 * SUMS;

    fn multiply<S: Eight, T: Eight>(a: Global<S>, b: Global<T>, c: Global<f32>, factors: Global<f32>, steps: u32) {
        let (t, columns) = (thread::thread_idx_x(), 2 * SUMS as u32);
        let tiles = |step: u32| {
            let start = step * (64 + columns) * ROW;
            (Tile::<S>::dynamic(start, 64), Tile::<T>::dynamic(start + 64 * ROW, columns))
        };
        for step in 0..steps {
            let from = |row: u32, k: u32| (row * steps + step) * 128 + k;
            for i in (t..64 * 128).step_by(128) {
                tiles(step).0.elements().set(Tile::<S>::place(i / 128, i % 128), a.get(from(i / 128, i % 128)));
            }
            for i in (t..columns * 128).step_by(128) {
                tiles(step).1.elements().set(Tile::<T>::place(i / 128, i % 128), b.get(from(i / 128, i % 128)));
            }
        }
        bulk::fence();
        thread::sync_threads(); // the tiles are complete before they are multiplied
        let (mut sums, mut scaled) = (Sums::<SUMS>::ZERO, [0.0; SUMS]);
        for step in 0..steps {
            let (a, b) = tiles(step);
            if factors.is_empty() {
                sums = sums.add_eight(a, b);
            } else {
                let factor = |i: u32| factors.get(4 * step + i);
                scaled = multiply_add_scaled(a, b, [[factor(0), factor(1)], [factor(2), factor(3)]], scaled);
            }
        }
        let sums = if factors.is_empty() { sums.finish() } else { scaled };
        let (g, q, w) = (t % 32 / 4, t % 4, t / 32);
        for (i, sum) in (0..).zip(sums) {
            c.set((16 * w + i / 2 % 2 * 8 + g) * columns + i / 4 * 8 + 2 * q + i % 2, sum);
        }
    }
}

/// Products of `steps` pairs of tiles of 128 k, of 64 rows and of the width's columns: added by the tensor cores if
/// `factors` is empty, or else by the threads, with the factors there, four per step.
#[kernel(instances(
    e4m3_e4m3_32: <F8E4M3, F8E4M3, Sums32>, e4m3_e4m3_64: <F8E4M3, F8E4M3, Sums64>,
    e4m3_e4m3_128: <F8E4M3, F8E4M3, Sums128>, e4m3_e5m2_32: <F8E4M3, F8E5M2, Sums32>,
    e4m3_e5m2_64: <F8E4M3, F8E5M2, Sums64>, e4m3_e5m2_128: <F8E4M3, F8E5M2, Sums128>,
    e5m2_e4m3_32: <F8E5M2, F8E4M3, Sums32>, e5m2_e4m3_64: <F8E5M2, F8E4M3, Sums64>,
    e5m2_e4m3_128: <F8E5M2, F8E4M3, Sums128>, e5m2_e5m2_32: <F8E5M2, F8E5M2, Sums32>,
    e5m2_e5m2_64: <F8E5M2, F8E5M2, Sums64>, e5m2_e5m2_128: <F8E5M2, F8E5M2, Sums128>,
))]
fn multiply<S: Eight, T: Eight, W: Width>(
    a: Global<S>,
    b: Global<T>,
    c: Global<f32>,
    factors: Global<f32>,
    steps: u32,
) {
    W::multiply(a, b, c, factors, steps);
}

/// C by that kernel, for operands that are given by functions of the row and of k.
fn product<S: Format, T: Format, W: Width>(
    a: impl Fn(usize, usize) -> f32,
    b: impl Fn(usize, usize) -> f32,
    factors: &mut [f32],
    steps: usize,
) -> Vec<f32>
where
    multiply<S, T, W>: Kernel<Args = (Global<S>, Global<T>, Global<f32>, Global<f32>, u32)>,
{
    let depth = 128 * steps;
    let mut of_a: Vec<S> = (0..64 * depth).map(|i| S::nearest(a(i / depth, i % depth))).collect();
    let mut of_b: Vec<T> = (0..W::COLUMNS * depth).map(|i| T::nearest(b(i / depth, i % depth))).collect();
    let mut c = vec![f32::NAN; 64 * W::COLUMNS];
    let args = (view(&mut of_a), view(&mut of_b), view(&mut c), view(factors), steps as u32);
    let shared = steps as u32 * (64 + W::COLUMNS as u32) * ROW + MORE;
    launch(multiply::<S, T, W>::default(), [1; 3], [128, 1, 1], shared, args, Options::default()).unwrap();
    c
}

/// Small whole numbers, of which all sums are exact, in either way, with other factors for each step, half and row.
#[test]
fn products_of_every_pair_of_types_and_width() {
    fn check<S: Format, T: Format, W: Width>()
    where
        multiply<S, T, W>: Kernel<Args = (Global<S>, Global<T>, Global<f32>, Global<f32>, u32)>,
    {
        let a = |row: usize, k: usize| ((row * 5 + k * 3) % 9) as f32 - 4.0;
        let b = |row: usize, k: usize| ((row * 7 + k) % 7) as f32 - 3.0;
        let mut factors = [1.0, 2.0, -4.0, 8.0, 0.5, 3.0, 5.0, 16.0];
        let c = product::<S, T, W>(a, b, &mut [], 2);
        let scaled = product::<S, T, W>(a, b, &mut factors, 2);
        for i in 0..c.len() {
            let (row, column) = (i / W::COLUMNS, i % W::COLUMNS);
            let of = |step: usize| (128 * step..128 * (step + 1)).map(|k| a(row, k) * b(column, k)).sum::<f32>();
            assert_eq!(c[i], of(0) + of(1), "{row} {column} of {}", W::COLUMNS);
            let factor = |step: usize| factors[4 * step + column / 128 * 2 + row % 16 / 8];
            assert_eq!(scaled[i], factor(0) * of(0) + factor(1) * of(1), "{row} {column} of {}, scaled", W::COLUMNS);
        }
    }
    macro_rules! check_all {
        ($($S:ident $T:ident),*) => {$(
            check::<$S, $T, Sums32>();
            check::<$S, $T, Sums64>();
            check::<$S, $T, Sums128>();
        )*};
    }
    check_all!(F8E4M3 F8E4M3, F8E4M3 F8E5M2, F8E5M2 F8E4M3, F8E5M2 F8E5M2);
}

/// Beside 2¹⁴ the unit is 2: products of 1 are lost one by one, though they are 96 together. Sums of their own keep
/// them.
#[test]
fn sums_of_the_tensor_cores_lose_what_is_small() {
    // The first instruction's products are 32 times 512; those of the others are 1.
    let a = |_, k: usize| if k < 32 { 32.0 } else { 1.0 };
    let b = |_, k: usize| if k < 32 { 16.0 } else { 1.0 };
    let c = product::<F8E4M3, F8E4M3, Sums32>(a, b, &mut [], 1);
    assert!(c.iter().all(|&sum| sum == 16384.0), "{}", c[0]);
    // In two steps: the large products, then the small ones.
    let of = |large: f32| move |_: usize, k: usize| if k < 128 { large } else { 1.0 };
    let c = product::<F8E4M3, F8E4M3, Sums32>(of(16.0), of(8.0), &mut [], 2);
    assert!(c.iter().all(|&sum| sum == 16384.0), "{}", c[0]);
    let c = product::<F8E4M3, F8E4M3, Sums32>(of(16.0), of(8.0), &mut [1.0; 8], 2);
    assert!(c.iter().all(|&sum| sum == 16384.0 + 128.0), "{}", c[0]);
}

#[test]
fn what_is_no_number_stays_so() {
    let at = |value: f32| move |row: usize, k: usize| if row == 3 && k == 77 { value } else { 1.0 };
    let mut infinite = [F8E5M2::from_f32(1.0); 64 * 128];
    infinite[3 * 128 + 77] = F8E5M2::from_bits(0xFC);
    let mut ones = [F8E5M2::from_f32(1.0); 64 * 128];
    let mut c = [0.0; 64 * 64];
    let kernel = multiply::<F8E5M2, F8E5M2, Sums32>::default();
    run(kernel, 128, (view(&mut infinite), view(&mut ones), view(&mut c), view(&mut []), 1)).unwrap();
    let nan = product::<F8E4M3, F8E4M3, Sums32>(at(f32::NAN), at(1.0), &mut [], 1);
    for i in 0..64 * 64 {
        let is_there = i / 64 == 3;
        assert_eq!(c[i], if is_there { f32::NEG_INFINITY } else { 128.0 });
        assert!(if is_there { nan[i].is_nan() } else { nan[i] == 128.0 }, "{i}");
    }
}

/// Writes to A's tile when a product with it has begun, or when it has been made; without a fence if `fenced` is 0.
#[kernel]
fn written_beside(output: Global<f32>, after: u32, fenced: u32) {
    let t = thread::thread_idx_x();
    let (a, b) = (Tile::<F8E4M3>::dynamic(0, 64), Tile::<F8E5M2>::dynamic(64 * ROW, 64));
    let fill = |bits: u8| {
        for i in (t..64 * 128).step_by(128) {
            a.elements().set(i, F8E4M3::from_bits(bits));
            b.elements().set(i, F8E5M2::from_bits(bits));
        }
    };
    fill(0x38);
    if fenced == 1 {
        bulk::fence();
    }
    thread::sync_threads(); // the tiles are complete
    let sums = Sums::<32>::ZERO.add_eight(a, b);
    if after == 0 {
        thread::sync_threads(); // all have begun
        fill(0);
    }
    let sums = sums.finish();
    if after == 1 {
        thread::sync_threads(); // all products have been made
        fill(0);
    }
    output.set(t, sums[31]);
}

#[test]
fn the_checker_knows_products_of_bytes() {
    let found = |after: u32, fenced: u32| {
        let checked = check(Check { schedules: 2, ..Check::default() }, || {
            let gpu: &dyn Launcher = &Gpu::default();
            let output = gpu.scratch::<f32>(128).unwrap();
            let geometry = Geometry::linear(1, 128).shared(128 * ROW + MORE);
            gpu.launch(written_beside, geometry, (output.view(), after, fenced)).unwrap();
        });
        checked.report
    };
    let report = found(1, 1);
    assert!(report.is_clean(), "{report}");
    let report = found(0, 1);
    assert!(!report.kinds().is_empty() && report.kinds().iter().all(|&kind| kind == Kind::SharedRace), "{report}");
    let first = report.findings[0].first.as_ref().expect("the product is shown");
    assert_eq!(first.what, "reads by a product that it began", "{report}");
    let report = found(2, 0);
    assert_eq!(report.kinds()[0], Kind::MissingProxyFence, "{report}");
}
