//! Every plan, with data for it and what should come out.

use super::all_keys::{self, Jobs};
use libtest_mimic::Failed;
use rungs::Operation;
use rungs::data::Element;
use rungs::engine::Engine;
use rungs::plan::{Plan, SegmentedScan};
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

macro_rules! sort {
    ($jobs:ident, $engine:ident, $n:ident, $($T:ty),*) => {$(
        for descending in [false, true] {
            let make = if descending { Plan::sort_descending } else { Plan::sort };
            let plan = make($engine, $n)?;
            $jobs.push(Job {
                what: format!("sort of {} {}, descending: {descending}", $n, stringify!($T)),
                scratch_bytes: plan.scratch_bytes(),
                // SAFETY: the harness has the arrays that a job asks for.
                run: Box::new(move |stream, arrays, scratch, bytes| unsafe {
                    plan.run(stream, arrays[0].cast::<$T>(), scratch, bytes)
                }),
                arrays: Box::new(move |seed| {
                    let keys = keys::<$T>($n, seed);
                    let mut sorted = keys.clone();
                    sorted.sort_by_key(|key| key.to_word());
                    if descending {
                        sorted.reverse();
                    }
                    vec![Array::new(&keys, &sorted)]
                }),
            });
        }
    )*};
}

macro_rules! pairs {
    ($jobs:ident, $engine:ident, $n:ident, $($K:ty, $V:ty);*) => {$(
        for descending in [false, true] {
            let make = if descending { Plan::sort_pairs_descending } else { Plan::sort_pairs };
            let plan = make($engine, $n)?;
            $jobs.push(Job {
                what: format!("sort of {} pairs of {}, descending: {descending}", $n, stringify!($K, $V)),
                scratch_bytes: plan.scratch_bytes(),
                // SAFETY: the harness has the arrays that a job asks for.
                run: Box::new(move |stream, arrays, scratch, bytes| unsafe {
                    plan.run(stream, arrays[0].cast::<$K>(), arrays[1].cast::<$V>(), scratch, bytes)
                }),
                arrays: Box::new(move |seed| {
                    let (keys, values) = (keys::<$K>($n, seed), keys::<$V>($n, seed + 99));
                    let mut pairs: Vec<($K, $V)> = keys.iter().copied().zip(values.iter().copied()).collect();
                    // Equal keys keep their order in both.
                    pairs.sort_by_key(|(key, _)| if descending { !key.to_word() } else { key.to_word() });
                    let (sorted, moved): (Vec<$K>, Vec<$V>) = pairs.into_iter().unzip();
                    vec![Array::new(&keys, &sorted), Array::new(&values, &moved)]
                }),
            });
        }
    )*};
}

/// `$key`: what the order compares, the largest first.
macro_rules! sort_by {
    ($jobs:ident, $engine:ident, $n:ident, $($name:ident, $kernels:ident, $order:ident, $key:expr;)*) => {$(
        let key: fn(&u32) -> u32 = $key;
        let plan = Plan::$name($engine, $n, $kernels::Kernels, $order)?;
        $jobs.push(Job {
            what: format!("sort of {} u32, {} {}", $n, stringify!($name), stringify!($order)),
            scratch_bytes: plan.scratch_bytes(),
            // SAFETY: the harness has the arrays that a job asks for.
            run: Box::new(move |stream, arrays, scratch, bytes| unsafe {
                plan.run(stream, arrays[0].cast(), scratch, bytes)
            }),
            arrays: Box::new(move |seed| {
                let keys = keys::<u32>($n, seed);
                let mut sorted = keys.clone();
                sorted.sort_by_key(|word| std::cmp::Reverse(key(word)));
                vec![Array::new(&keys, &sorted)]
            }),
        });
    )*};
}

/// `$of` makes an element of a word; floats are small whole numbers, whose sums are exact. `$add`, `$min`, `$max`.
macro_rules! elements {
    ($jobs:ident, $engine:ident, $n:ident, $($T:ty: $of:expr, $add:expr, $least:expr, $greatest:expr;)*) => {$(
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
        let elements = move |seed| words($n, seed).map(of).collect::<Vec<$T>>();
        for operation in Operation::ALL {
            let plan = Plan::reduce($engine, $n, operation)?;
            $jobs.push(Job {
                what: format!("{operation:?} of {} {}", $n, stringify!($T)),
                scratch_bytes: plan.scratch_bytes(),
                // SAFETY: the harness has the arrays that a job asks for.
                run: Box::new(move |stream, arrays, scratch, bytes| unsafe {
                    plan.run(stream, arrays[0].cast::<$T>(), arrays[1].cast(), scratch, bytes)
                }),
                arrays: Box::new(move |seed| {
                    let all = elements(seed);
                    let one = all.iter().fold(identity(operation), |a, &b| combine(operation, a, b));
                    vec![Array::input(&all), Array::output(&[one])]
                }),
            });
            let exclusive = size_of::<$T>() == 8 || operation == Operation::Max;
            let plan = Plan::scan($engine, $n, operation, exclusive)?;
            let in_place = operation == Operation::Min;
            $jobs.push(Job {
                what: format!("scan of {} {} by {operation:?}", $n, stringify!($T)),
                scratch_bytes: plan.scratch_bytes(),
                // SAFETY: the harness has the arrays that a job asks for.
                run: Box::new(move |stream, arrays, scratch, bytes| unsafe {
                    plan.run(stream, arrays[0].cast::<$T>(), arrays[!in_place as usize].cast(), scratch, bytes)
                }),
                arrays: Box::new(move |seed| {
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
                }),
            });
        }
    )*};
}

/// Scans inside segments: one of everything, and an empty one behind it.
macro_rules! segmented_scans {
    ($jobs:ident, $engine:ident, $n:ident, $($V:ty),*) => {$(
        let values = move |seed| words($n, seed + 9).map(|word| word as $V).collect::<Vec<$V>>();
        let plan = Plan::<SegmentedScan<$V>>::segmented_scan($engine, $n, 2, Operation::Sum, false)?;
        $jobs.push(Job {
            what: format!("scan of segments of {} {}", $n, stringify!($V)),
            scratch_bytes: plan.scratch_bytes(),
            // SAFETY: the harness has the arrays that a job asks for.
            run: Box::new(move |stream, a, scratch, bytes| unsafe {
                plan.run(stream, a[0].cast(), a[1].cast(), a[2].cast(), scratch, bytes)
            }),
            arrays: Box::new(move |seed| {
                let (values, mut sum) = (values(seed), 0);
                let step = |&value: &$V| {
                    sum = value.wrapping_add(sum);
                    sum
                };
                let running: Vec<$V> = values.iter().map(step).collect();
                vec![Array::input(&values), Array::input(&[0, $n as u32, $n as u32]), Array::output(&running)]
            }),
        });
    )*};
}

macro_rules! histogram {
    ($jobs:ident, $engine:ident, $n:ident, $($K:ty, $bins:expr, $range:expr;)*) => {$(
        let plan = Plan::histogram($engine, $n, $bins)?;
        $jobs.push(Job {
            what: format!("histogram of {} {} in {} bins", $n, stringify!($K), $bins),
            scratch_bytes: plan.scratch_bytes(),
            // SAFETY: the harness has the arrays that a job asks for.
            run: Box::new(move |stream, arrays, scratch, bytes| unsafe {
                plan.run(stream, arrays[0].cast::<$K>(), arrays[1].cast(), scratch, bytes)
            }),
            arrays: Box::new(move |seed| {
                let keys: Vec<$K> = words($n, seed).map(|word| (word % $range) as $K).collect();
                let mut counts = vec![0u32; $bins as usize];
                for &key in &keys {
                    if let Some(count) = counts.get_mut(key as usize) {
                        *count += 1;
                    }
                }
                vec![Array::input(&keys), Array::output(&counts)]
            }),
        });
    )*};
}

/// Maps, each a factor and a summand, composed.
fn compositions(jobs: &mut Vec<Job>, engine: &Engine, n: usize) -> Result<(), Failed> {
    let maps = move |seed| words(n, seed).map(|word| word | 1).collect::<Vec<u64>>();
    // The factor is the lower half, as it lies in memory.
    let compose = |f: u64, g: u64| {
        let [a, b, c, d] = [f, f >> 32, g, g >> 32].map(|word| word as u32);
        u64::from(c.wrapping_mul(a)) | u64::from(c.wrapping_mul(b).wrapping_add(d)) << 32
    };
    let reduce = Plan::reduce_with(engine, n, compose_u32::Kernels)?;
    jobs.push(Job {
        what: format!("composition of {n} maps"),
        scratch_bytes: reduce.scratch_bytes(),
        // SAFETY: the harness has the arrays that a job asks for.
        run: Box::new(move |stream, arrays, scratch, bytes| unsafe {
            reduce.run(stream, arrays[0].cast(), arrays[1].cast(), scratch, bytes)
        }),
        arrays: Box::new(move |seed| {
            let maps = maps(seed);
            vec![Array::input(&maps), Array::output(&[maps.iter().fold(1, |f, &g| compose(f, g))])]
        }),
    });
    for exclusive in [false, true] {
        let scan = Plan::scan_with(engine, n, compose_u32::Kernels, exclusive)?;
        jobs.push(Job {
            what: format!("scan of {n} maps by composition, exclusive: {exclusive}"),
            scratch_bytes: scan.scratch_bytes(),
            // SAFETY: the harness has the arrays that a job asks for.
            run: Box::new(move |stream, arrays, scratch, bytes| unsafe {
                scan.run(stream, arrays[0].cast(), arrays[1].cast(), scratch, bytes)
            }),
            arrays: Box::new(move |seed| {
                let (maps, mut all) = (maps(seed), 1);
                let step = |&map: &u64| {
                    let before = all;
                    all = compose(all, map);
                    if exclusive { before } else { all }
                };
                let composed: Vec<u64> = maps.iter().map(step).collect();
                vec![Array::input(&maps), Array::output(&composed)]
            }),
        });
    }
    Ok(())
}

/// Every plan for `n` elements.
pub fn jobs(engine: &Engine, n: usize) -> Result<Vec<Job>, Failed> {
    let mut jobs = vec![];
    sort!(jobs, engine, n, u32, i32, f32, u64, i64, f64);
    pairs!(jobs, engine, n, u32, u32; f32, i32; i32, f32);
    sort_by! { jobs, engine, n,
        sort_by, merge_by_less, Less, |key| !*key;
        // Different keys are equivalent in this one.
        stable_sort_by, merge_by_low_half, LowHalfDown, |key| *key & 0xFFFF;
    }
    elements! { jobs, engine, n,
        u32: |word| word as u32, u32::wrapping_add, u32::MIN, u32::MAX;
        i32: |word| word as i32, i32::wrapping_add, i32::MIN, i32::MAX;
        u64: |word| word, u64::wrapping_add, u64::MIN, u64::MAX;
        i64: |word| word as i64, i64::wrapping_add, i64::MIN, i64::MAX;
        f32: |word| (word % 3) as f32, |a, b| a + b, f32::NEG_INFINITY, f32::INFINITY;
        f64: |word| (word % 1001) as f64, |a, b| a + b, f64::NEG_INFINITY, f64::INFINITY;
    }
    segmented_scans!(jobs, engine, n, i32, u64);
    compositions(&mut jobs, engine, n)?;
    histogram! { jobs, engine, n,
        u8, 256, 256;
        u8, 100, 256;
        u32, MAX_BINS, u64::from(MAX_BINS) + 9;
    }
    all_keys::jobs(&mut Jobs { jobs: &mut jobs, engine, n })?;
    Ok(jobs)
}
