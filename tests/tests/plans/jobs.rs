//! Every plan, with data for it and what should come out.

use super::all_keys;
use libtest_mimic::Failed;
use rungs::Operation;
use rungs::data::Element;
use rungs::engine::Engine;
use rungs::plan::{Histogram, Plan, Reduce, Scan, SegmentedScan, Sort, SortPairs};
use rungs_kernels::histogram::MAX_BINS;
use rungs_kernels::order::{Less, LowHalfDown};
use rungs_kernels::selections::operators::compose_u32;
use rungs_kernels::sorts::by_order::{merge_by_less, merge_by_low_half};
use simt::Scalar;
use std::ffi::c_void;

/// One array of a run, as bytes before and after.
pub struct Array {
    pub before: Vec<u8>,
    pub after: Vec<u8>,
    /// What it has to begin on a multiple of.
    pub align: usize,
    /// Whether a run without it is refused.
    pub is_needed: bool,
}

impl Array {
    pub fn new<T: Scalar>(before: &[T], after: &[T]) -> Self {
        let bytes = |elements: &[T]| {
            let mut bytes = Vec::with_capacity(size_of_val(elements));
            elements.iter().for_each(|element| bytes.extend(&element.to_bits_64().to_le_bytes()[..size_of::<T>()]));
            bytes
        };
        Self { before: bytes(before), after: bytes(after), align: align_of::<T>(), is_needed: true }
    }

    /// One that is only read.
    pub fn input<T: Scalar>(elements: &[T]) -> Self {
        Self::new(elements, elements)
    }

    /// One that is only written.
    pub fn output<T: Scalar>(elements: &[T]) -> Self {
        let array = Self::input(elements);
        Self { before: vec![POISON; array.after.len()], ..array }
    }
}

/// What lies around arrays, and in outputs and scratch memory before a run.
pub const POISON: u8 = 0xA5;

/// A run on a stream, with the addresses of the arrays, and those of the scratch memory's beginning and its bytes.
pub type Run = Box<dyn Fn(*mut c_void, &[*mut u8], *mut u8, usize) -> rungs::Result<()>>;

/// A plan, and data for it.
pub struct Job {
    pub what: String,
    pub scratch_bytes: usize,
    pub run: Run,
    /// The arrays for a seed.
    pub arrays: Box<dyn Fn(u64) -> Vec<Array>>,
}

/// Numbers that look random (SplitMix64).
pub fn words(n: usize, seed: u64) -> impl Iterator<Item = u64> {
    (0..n as u64).map(move |i| {
        let mut z = (i + (seed << 32) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Keys of all bits; by seed also few distinct ones, and some of a narrow range.
fn keys<T: Element>(n: usize, seed: u64) -> Vec<T> {
    let kind = |word: u64| match seed % 3 {
        0 => word,
        1 => word % 5,
        _ => word & 0xFFFF_0000_FFFF,
    };
    words(n, seed).map(|word| T::from_pattern(kind(word))).collect()
}

/// Where jobs are gathered: for this engine and number of elements, every `of`-th from `number` on.
pub struct Jobs<'a> {
    pub engine: &'a Engine,
    pub n: usize,
    number: usize,
    of: usize,
    /// Jobs so far, taken or not.
    seen: usize,
    taken: Vec<Job>,
}

impl Jobs<'_> {
    /// Whether the next job is one of these. A plan of another is not made: on a GPU that compiles its kernels, which
    /// takes minutes for those of all plans.
    pub fn takes_next(&mut self) -> bool {
        self.seen += 1;
        (self.seen - 1) % self.of == self.number
    }

    pub fn take(&mut self, job: Job) {
        self.taken.push(job);
    }
}

macro_rules! pointer {
    ($addresses:ident null) => {
        std::ptr::null()
    };
    ($addresses:ident $place:tt) => {
        $addresses[$place].cast()
    };
}

/// Adds a job: its name, its plan, which is made if the job is taken, the numbers of the arrays that a run takes, and
/// the arrays by seed.
macro_rules! add {
    ($to:ident, $what:expr, $plan:expr, [$($array:tt),*]; $arrays:expr) => {
        if $to.takes_next() {
            let (what, plan) = (format!("{}, n = {}", $what, $to.n), $plan?);
            let scratch_bytes = plan.scratch_bytes();
            let run = move |stream: *mut c_void, addresses: &[*mut u8], scratch: *mut u8, bytes: usize| {
                // SAFETY: the harness has the arrays that a job asks for.
                unsafe { plan.run(stream, $(pointer!(addresses $array)),*, scratch, bytes) }
            };
            $to.take(Job { what, scratch_bytes, run: Box::new(run), arrays: Box::new($arrays) });
        }
    };
}
pub(crate) use {add, pointer};

macro_rules! sort {
    ($to:ident, $($T:ty),*) => {$(
        for descending in [false, true] {
            let (on, n) = ($to.engine, $to.n);
            let make = if descending { Plan::<Sort<$T>>::sort_descending } else { Plan::<Sort<$T>>::sort };
            let what = format!("sort of {}, descending: {descending}", stringify!($T));
            add!($to, what, make(on, n), [0]; move |seed| {
                let keys = keys::<$T>(n, seed);
                let mut sorted = keys.clone();
                sorted.sort_by_key(|key| key.to_word());
                if descending {
                    sorted.reverse();
                }
                vec![Array::new(&keys, &sorted)]
            });
        }
    )*};
}

macro_rules! pairs {
    ($to:ident, $($K:ty, $V:ty);*) => {$(
        for descending in [false, true] {
            let (on, n) = ($to.engine, $to.n);
            type Of = Plan<SortPairs<$K, $V>>;
            let make = if descending { Of::sort_pairs_descending } else { Of::sort_pairs };
            let what = format!("sort of pairs of {}, descending: {descending}", stringify!($K, $V));
            add!($to, what, make(on, n), [0, 1]; move |seed| {
                let (keys, values) = (keys::<$K>(n, seed), keys::<$V>(n, seed + 99));
                let mut pairs: Vec<($K, $V)> = keys.iter().copied().zip(values.iter().copied()).collect();
                // Equal keys keep their order in both.
                pairs.sort_by_key(|(key, _)| if descending { !key.to_word() } else { key.to_word() });
                let (sorted, moved): (Vec<$K>, Vec<$V>) = pairs.into_iter().unzip();
                vec![Array::new(&keys, &sorted), Array::new(&values, &moved)]
            });
        }
    )*};
}

/// `$key`: what the order compares, the largest first.
macro_rules! sort_by {
    ($to:ident, $($name:ident, $kernels:ident, $order:ident, $key:expr;)*) => {$(
        let (on, n) = ($to.engine, $to.n);
        let key: fn(&u32) -> u32 = $key;
        let what = format!("sort of u32, {} {}", stringify!($name), stringify!($order));
        add!($to, what, Plan::$name(on, n, $kernels::Kernels, $order), [0]; move |seed| {
            let keys = keys::<u32>(n, seed);
            let mut sorted = keys.clone();
            sorted.sort_by_key(|word| std::cmp::Reverse(key(word)));
            vec![Array::new(&keys, &sorted)]
        });
    )*};
}

/// `$of` makes an element of a word; floats are small whole numbers, whose sums are exact. `$add`, `$min`, `$max`.
macro_rules! elements {
    ($to:ident, $($T:ty: $of:expr, $add:expr, $least:expr, $greatest:expr;)*) => {$(
        let (on, n) = ($to.engine, $to.n);
        let of: fn(u64) -> $T = $of;
        let add: fn($T, $T) -> $T = $add;
        let combine = move |operation, a: $T, b: $T| match operation {
            Operation::Sum => add(a, b),
            Operation::Min => if b < a { b } else { a },
            Operation::Max => if b > a { b } else { a },
        };
        let identity = move |operation| match operation {
            Operation::Sum => of(0),
            Operation::Min => $greatest,
            Operation::Max => $least,
        };
        let elements = move |seed| words(n, seed).map(of).collect::<Vec<$T>>();
        for operation in Operation::ALL {
            let what = format!("{operation:?} of {}", stringify!($T));
            add!($to, what, Plan::<Reduce<$T>>::reduce(on, n, operation), [0, 1]; move |seed| {
                let all = elements(seed);
                let one = all.iter().fold(identity(operation), |a, &b| combine(operation, a, b));
                vec![Array::input(&all), Array::output(&[one])]
            });
            let exclusive = size_of::<$T>() == 8 || operation == Operation::Max;
            let in_place = operation == Operation::Min;
            let what = format!("scan of {} by {operation:?}", stringify!($T));
            let to = usize::from(!in_place);
            add!($to, what, Plan::<Scan<$T>>::scan(on, n, operation, exclusive), [0, to]; move |seed| {
                let (all, mut sum) = (elements(seed), identity(operation));
                let step = |&x: &$T| {
                    let before = sum;
                    sum = combine(operation, sum, x);
                    if exclusive { before } else { sum }
                };
                let sums: Vec<$T> = all.iter().map(step).collect();
                if in_place {
                    return vec![Array::new(&all, &sums)];
                }
                vec![Array::input(&all), Array::output(&sums)]
            });
        }
    )*};
}

/// Scans inside segments: one of everything, and an empty one behind it.
macro_rules! segmented_scans {
    ($to:ident, $($V:ty),*) => {$(
        let (on, n) = ($to.engine, $to.n);
        let values = move |seed| words(n, seed + 9).map(|word| word as $V).collect::<Vec<$V>>();
        let plan = || Plan::<SegmentedScan<$V>>::segmented_scan(on, n, 2, Operation::Sum, false);
        add!($to, format!("scan of segments of {}", stringify!($V)), plan(), [0, 1, 2]; move |seed| {
            let (values, mut sum) = (values(seed), 0);
            let step = |&value: &$V| {
                sum = value.wrapping_add(sum);
                sum
            };
            let running: Vec<$V> = values.iter().map(step).collect();
            vec![Array::input(&values), Array::input(&[0, n as u32, n as u32]), Array::output(&running)]
        });
    )*};
}

macro_rules! histogram {
    ($to:ident, $($K:ty, $bins:expr, $range:expr;)*) => {$(
        let (on, n) = ($to.engine, $to.n);
        let what = format!("histogram of {} in {} bins", stringify!($K), $bins);
        add!($to, what, Plan::<Histogram<$K>>::histogram(on, n, $bins), [0, 1]; move |seed| {
            let keys: Vec<$K> = words(n, seed).map(|word| (word % $range) as $K).collect();
            let mut counts = vec![0u32; $bins as usize];
            for &key in &keys {
                if let Some(count) = counts.get_mut(key as usize) {
                    *count += 1;
                }
            }
            vec![Array::input(&keys), Array::output(&counts)]
        });
    )*};
}

/// Maps, each a factor and a summand, composed.
fn compositions(to: &mut Jobs) -> Result<(), Failed> {
    let (on, n) = (to.engine, to.n);
    let maps = move |seed| words(n, seed).map(|word| word | 1).collect::<Vec<u64>>();
    // The factor is the lower half, as it lies in memory.
    let compose = |f: u64, g: u64| {
        let [a, b, c, d] = [f, f >> 32, g, g >> 32].map(|word| word as u32);
        u64::from(c.wrapping_mul(a)) | u64::from(c.wrapping_mul(b).wrapping_add(d)) << 32
    };
    add!(to, "composition of maps", Plan::reduce_with(on, n, compose_u32::Kernels), [0, 1]; move |seed| {
        let maps = maps(seed);
        vec![Array::input(&maps), Array::output(&[maps.iter().fold(1, |f, &g| compose(f, g))])]
    });
    for exclusive in [false, true] {
        let what = format!("scan of maps by composition, exclusive: {exclusive}");
        add!(to, what, Plan::scan_with(on, n, compose_u32::Kernels, exclusive), [0, 1]; move |seed| {
            let (maps, mut all) = (maps(seed), 1);
            let step = |&map: &u64| {
                let before = all;
                all = compose(all, map);
                if exclusive { before } else { all }
            };
            let composed: Vec<u64> = maps.iter().map(step).collect();
            vec![Array::input(&maps), Array::output(&composed)]
        });
    }
    Ok(())
}

/// Every `of`-th plan for `n` elements, from `number` on.
pub fn jobs(engine: &Engine, n: usize, [number, of]: [usize; 2]) -> Result<Vec<Job>, Failed> {
    let mut jobs = Jobs { engine, n, number, of, seen: 0, taken: vec![] };
    let to = &mut jobs;
    sort!(to, u32, i32, f32, u64, i64, f64);
    pairs!(to, u32, u32; f32, i32; i32, f32);
    sort_by! { to,
        sort_by, merge_by_less, Less, |key| !*key;
        // Different keys are equivalent in this one.
        stable_sort_by, merge_by_low_half, LowHalfDown, |key| *key & 0xFFFF;
    }
    elements! { to,
        u32: |word| word as u32, u32::wrapping_add, u32::MIN, u32::MAX;
        i32: |word| word as i32, i32::wrapping_add, i32::MIN, i32::MAX;
        u64: |word| word, u64::wrapping_add, u64::MIN, u64::MAX;
        i64: |word| word as i64, i64::wrapping_add, i64::MIN, i64::MAX;
        f32: |word| (word % 3) as f32, |a, b| a + b, f32::NEG_INFINITY, f32::INFINITY;
        f64: |word| (word % 1001) as f64, |a, b| a + b, f64::NEG_INFINITY, f64::INFINITY;
    }
    segmented_scans!(to, i32, u64);
    compositions(to)?;
    histogram! { to,
        u8, 256, 256;
        u8, 100, 256;
        u32, MAX_BINS, u64::from(MAX_BINS) + 9;
    }
    all_keys::jobs(to)?;
    Ok(jobs.taken)
}
