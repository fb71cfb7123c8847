//! Shared by the tests of the families: memory with guards, inputs that kernels get wrong, and sorts of any rung on the
//! simulator.

use rungs_common::keys::UNSIGNED;
use rungs_common::ladder::sort::{Keys, Sort, Width};
use rungs_common::ladder::{Entry, Ladder, Launcher, Options, Rung};
use rungs_common::operator::{Max, Min, Operation, Operator, Sum};
use simt::sim::Gpu;
use simt::{Geometry, Global, Kernel, Scalar};
use std::fmt::Debug;
use std::marker::PhantomData;

/// A view of a slice, for launches that end before the slice is used again.
pub fn view<T: Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launches that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

/// Launches one kernel on the simulator.
pub fn launch<K: Kernel>(kernel: K, geometry: Geometry, args: K::Args) {
    let on: &dyn Launcher = &Gpu::default();
    on.launch(kernel, geometry, args).unwrap_or_else(|e| panic!("{e}"));
}

/// The simulator, as if the device had this many SMs.
pub fn with_multiprocessors(multiprocessors: u32) -> Gpu {
    let mut gpu = Gpu::default();
    gpu.device.multiprocessors = multiprocessors;
    gpu
}

/// 128 bytes, aligned to 128: the start of a device's allocation.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Line([u32; 32]);

/// What lies around data. Read by mistake it shows: as a float it is NaN, as an integer it is not zero, and as a key it
/// is not the largest, which sorts fill up with.
const POISON: u32 = 0xFFF5_A5A5;

/// `n` elements that begin `offset` elements after a multiple of 128 bytes, between poison that nobody may write.
pub struct Buffer<T> {
    lines: Vec<Line>,
    start: usize,
    n: usize,
    element: PhantomData<T>,
}

impl<T: Scalar> Buffer<T> {
    /// `n` elements of poison.
    pub fn poisoned(n: usize, offset: usize) -> Self {
        // A line before the data, and at least one behind them.
        let (line, size) = (size_of::<Line>(), size_of::<T>());
        let lines = vec![Line([POISON; 32]); 2 + ((offset + n) * size).div_ceil(line)];
        Self { lines, start: line / size + offset, n, element: PhantomData }
    }

    /// The elements of `data`.
    pub fn new(data: &[T], offset: usize) -> Self {
        let mut buffer = Self::poisoned(data.len(), offset);
        buffer.slice().copy_from_slice(data);
        buffer
    }

    /// The elements.
    pub fn slice(&mut self) -> &mut [T] {
        // SAFETY: the lines have room for `start + n` elements, are aligned to more than any element is, and any bytes
        // are a T.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<T>().add(self.start), self.n) }
    }

    /// The elements, as a kernel's argument, for launches that end before the buffer is used again.
    pub fn view(&mut self) -> Global<T> {
        view(self.slice())
    }

    /// Makes the elements poison again.
    pub fn poison(&mut self) {
        let fresh = Self::poisoned(1, 0).slice()[0];
        self.slice().fill(fresh);
    }

    /// Panics if anything around the elements was written.
    pub fn check_guards(&self, what: &str) {
        let poison = POISON.to_ne_bytes();
        // SAFETY: the lines are bytes without padding.
        let bytes = unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<u8>(), size_of_val(&*self.lines)) };
        let (start, end) = (self.start * size_of::<T>(), (self.start + self.n) * size_of::<T>());
        let outside = (0..start).chain(end..bytes.len());
        let written = outside.into_iter().find(|&at| bytes[at] != poison[at % poison.len()]);
        let at = written.map(|at| at as isize - start as isize);
        assert!(at.is_none(), "{what}: byte {at:?} from the start of {} elements was written", self.n);
    }
}

/// Numbers that look random, the same in every run (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        random(self.0)
    }
}

/// Number `i` of a sequence that looks random.
pub fn random(i: u64) -> u64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Number `i` of a sequence between 0 and 1, neither of them included.
pub fn unit(i: u64) -> f64 {
    ((random(i) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}

/// Number `i` of a sequence of the normal distribution.
pub fn normal(i: u64) -> f64 {
    (-2.0 * unit(i).ln()).sqrt() * (std::f64::consts::TAU * unit(!i)).cos()
}

/// The same, but seven numbers in 24 are a corner of the `f32`: NaN of either sign, both zeroes, both infinities, or a
/// number so small that it is not normal.
pub fn corners(i: u64) -> f64 {
    match random(i) % 24 {
        0 => f64::NAN,
        1 => -f64::NAN,
        2 => 0.0,
        3 => -0.0,
        4 => f64::INFINITY,
        5 => f64::NEG_INFINITY,
        6 => f32::from_bits(random(!i) as u32 % 1000).into(),
        _ => normal(i),
    }
}

/// A type of elements to reduce or scan.
pub trait Element: Scalar + Debug {
    /// An element made of a word that looks random. Floats are small whole numbers, whose sums are exact.
    fn of(word: u64) -> Self;
    /// What an operation makes of two elements.
    fn combine(operation: Operation, a: Self, b: Self) -> Self;
    /// The identity of an operation.
    fn identity(operation: Operation) -> Self;
}

macro_rules! elements {
    ($($t:ty: $of:expr;)*) => {$(
        impl Element for $t {
            fn of(word: u64) -> Self {
                $of(word)
            }

            fn combine(operation: Operation, a: Self, b: Self) -> Self {
                match operation {
                    Operation::Sum => <Sum as Operator<Self>>::combine(a, b),
                    Operation::Min => <Min as Operator<Self>>::combine(a, b),
                    Operation::Max => <Max as Operator<Self>>::combine(a, b),
                }
            }

            fn identity(operation: Operation) -> Self {
                operation.identity::<Self>()
            }
        }
    )*};
}
elements! {
    u32: |w| w as u32;
    i32: |w| w as i32;
    f32: |w: u64| (w % 33) as f32 - 11.0;
    u64: |w| w;
    i64: |w| w as i64;
    f64: |w: u64| (w % 1001) as f64 - 400.0;
}

/// Whether two elements have the same bits: NaN is NaN, and -0 is not 0.
pub fn same<T: Scalar>(a: T, b: T) -> bool {
    a.to_bits_64() == b.to_bits_64()
}

/// Arrays of `n` keys that sorting kernels get wrong: by name.
pub fn inputs(n: usize) -> Vec<(&'static str, Vec<u64>)> {
    let mut random = Random(n as u64);
    let mut any = |f: &dyn Fn(u64) -> u64| (0..n).map(|_| f(random.next())).collect::<Vec<_>>();
    vec![
        ("random", any(&|r| r)),
        ("few distinct", any(&|r| r % 3)),
        ("all equal", vec![0x1234_5678; n]),
        ("all largest", vec![u64::MAX; n]),
        ("largest and smallest", any(&|r| if r & 1 == 0 { u64::MAX } else { 0 })),
        ("sorted", (0..n as u64).map(|i| i * i).collect()),
        ("reversed", (0..n as u64).rev().map(|i| u64::MAX - n as u64 + i).collect()),
    ]
}

/// The low halves, as keys of 32 bits.
pub fn narrow(keys: &[u64]) -> Vec<u32> {
    keys.iter().map(|&k| k as u32).collect()
}

/// Inputs that sorting by digits gets wrong: by name, made from random words.
#[allow(clippy::type_complexity)]
const KINDS: [(&str, fn(u64, u64) -> u64); 12] = [
    ("uniform", |_, r| r),
    ("sorted", |i, _| i << 40 | i << 12),
    ("reversed", |i, _| (!i) << 40 | (!i) << 12),
    ("equal", |_, _| 0x1234_5678_9ABC_DEF0),
    ("largest", |_, _| u64::MAX),
    ("few", |_, r| r % 16 * 0x1111_1111_1111_1111),
    ("two", |_, r| if r & 1 == 0 { 5 } else { 0x8000_0001_8000_0001 }),
    ("low bits zero", |_, r| r & 0xFFFF_0000_FFFF_0000),
    ("high bits zero", |_, r| r & 0x0000_FFFF_0000_FFFF),
    ("anded", |i, r| r & random(i + 77) & random(i + 99)),
    ("one in a hundred", |i, r| if i.is_multiple_of(100) { r } else { 0xDEAD_BEEF_DEAD_BEEF }),
    ("largest and smallest", |_, r| if r & 1 == 0 { 0 } else { u64::MAX }),
];

/// Each kind of input as 32-bit and as 64-bit keys.
pub fn for_kinds(sizes: &[u64], mut f: impl FnMut(&str, &[u32], &[u64])) {
    for &n in sizes {
        for (name, make) in KINDS {
            let wide: Vec<u64> = (0..n).map(|i| make(i, random(i ^ n << 32))).collect();
            let narrow: Vec<u32> = wide.iter().map(|k| (k >> 32) as u32).collect();
            f(&format!("{name}, n = {n}"), &narrow, &wide);
        }
    }
}

/// A rung that sorts, and how it is run on the simulator.
#[derive(Clone, Copy)]
pub struct Sorting {
    /// The rung.
    pub rung: &'static Entry<Sort>,
    /// The simulator.
    pub on: Gpu,
    /// Wishes about the geometry.
    pub options: Options,
    /// What the words of the keys mean, see [`rungs_common::keys`].
    pub order: u32,
    /// Sorts of the same keys in sequence, by one sequence of launches.
    pub runs: u32,
}

impl Sorting {
    /// One sort of unsigned keys.
    pub fn by(rung: &'static Entry<Sort>) -> Self {
        Self { rung, on: Gpu::default(), options: Options::default(), order: UNSIGNED, runs: 1 }
    }

    /// What the rung makes of the keys.
    pub fn sort<W: Width>(&self, keys: &[W]) -> Vec<W> {
        let (name, n) = (self.rung.rung.name, keys.len() as u32);
        let fail = |e| panic!("{name}, n = {n}: {e}");
        let mut sequence = self.rung.sorter::<W>(&self.on, n, self.options).unwrap_or_else(fail);
        let mut buffer = Buffer::new(keys, 0);
        for _ in 0..self.runs {
            buffer.slice().copy_from_slice(keys);
            let args = Keys { keys: buffer.view(), order: self.order };
            sequence.run(&self.on, args).unwrap_or_else(|e| panic!("{name}, n = {n}: {e}"));
        }
        buffer.check_guards(name);
        buffer.slice().to_vec()
    }

    /// Panics unless the rung makes the keys what the standard library makes of them.
    pub fn check<W: Width + Debug>(&self, what: &str, keys: &[W]) {
        if let Some(difference) = difference(keys, &self.sort(keys), self.order) {
            panic!("{}, {what}, n = {}, order {}: {difference}", self.rung.rung.name, keys.len(), self.order);
        }
    }

    /// [`Sorting::check`] of keys of both widths.
    pub fn check_both(&self, what: &str, narrow: &[u32], wide: &[u64]) {
        self.check(what, narrow);
        self.check(what, wide);
    }
}

/// Where `got` is not `keys` as the standard library sorts them.
pub fn difference<W: Width + Debug>(keys: &[W], got: &[W], order: u32) -> Option<String> {
    let mut want = keys.to_vec();
    want.sort_unstable_by_key(|key| key.encode(order));
    let i = (0..want.len()).find(|&i| got[i] != want[i])?;
    Some(format!("place {i} holds {:?} instead of {:?}", got[i], want[i]))
}

/// A family, and its rungs in order; checks that the default is one of them.
pub fn rungs_of<K>(ladder: &Ladder<K>) -> (&'static str, Vec<&'static Rung>) {
    assert!(ladder.rungs.iter().any(|&entry| std::ptr::eq(entry, ladder.default)), "{}", ladder.family);
    for &entry in ladder.rungs {
        let found = ladder.get(entry.rung.name).unwrap();
        assert!(std::ptr::eq(entry, found), "two rungs of {} are named {}", ladder.family, entry.rung.name);
    }
    (ladder.family, ladder.rungs.iter().map(|entry| &entry.rung).collect())
}
