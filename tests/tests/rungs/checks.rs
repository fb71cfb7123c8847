//! Every rung under the simulator's checks: no race, no read of memory that nobody wrote, no barrier or warp operation
//! used wrongly, under hostile orders of threads and blocks; and each result is right.
//!
//! A trial also holds the sizes of its rung to their purpose: together they launch each of its kernels, and more than
//! one block where a rung has more.

use libtest_mimic::Failed;
use rungs::algorithms::{Family, Parameters, Rung, Size, Workload};
use rungs::checks;
use rungs::data::{Distribution, Dtype};
use rungs::engine::{Activity, Engine, What};
use rungs::measure::run_once;
use rungs_kernels::keys::{DESCENDING, UNSIGNED};
use rungs_kernels::radix::r8_msd_buckets;
use rungs_kernels::radix::r8_msd_buckets::launches::{Memory, Plan, Sort};
use simt::Scalar;
use simt::sim::Check;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// Schedules, unless a case says otherwise: each rung has a case with so many.
const SCHEDULES: u32 = 32;

/// Multiprocessors that sequences see, whatever the host has: some sizes of grids depend on them.
const MULTIPROCESSORS: u32 = 4;

/// One input of a rung.
#[derive(Clone, Copy)]
struct Case {
    size: Size,
    schedules: u32,
    /// The family's, where None.
    distribution: Option<Distribution>,
    values: bool,
    /// The family's first, where None.
    dtype: Option<Dtype>,
}

const fn n(n: u64) -> Case {
    Case { size: Size::Elements(n), schedules: SCHEDULES, distribution: None, values: false, dtype: None }
}

const fn product(m: u64, n: u64, k: u64) -> Case {
    Case { size: Size::Product { m, n, k }, ..self::n(0) }
}

impl Case {
    /// For an input that takes long.
    const fn schedules(self, schedules: u32) -> Self {
        Self { schedules, ..self }
    }

    const fn of(self, distribution: Distribution) -> Self {
        Self { distribution: Some(distribution), ..self }
    }

    const fn with_values(self) -> Self {
        Self { values: true, ..self }
    }

    const fn typed(self, dtype: Dtype) -> Self {
        Self { dtype: Some(dtype), ..self }
    }
}

/// The cases of families, and of the rungs that need others to launch all of their kernels and several blocks.
const CASES: &[(&str, &[&str], &[Case])] = &[
    ("bubble", &[], &[n(600)]),
    ("bubble", &["shared-block"], &[n(1300)]),
    ("bubble", &["warp-registers", "ring"], &[n(5000)]),
    ("bitonic", &[], &[n(5000)]),
    ("bitonic", &["register-step", "transpose", "strides", "backwards"], &[n(20_000)]),
    ("odd-even", &["bitonic-blocks"], &[n(20_000)]),
    // Tiles of 2^14 keys, and two of them at least.
    ("odd-even", &["merge-split", "persistent", "levels"], &[n(40_000)]),
    ("merge", &[], &[n(5000)]),
    // Small tiles up to 2^18 keys; splits found by launches of their own, and two distributions, beyond 2^21 and 2^20.
    ("merge", &["multi-way"], &[n(20_000), n(300_000).schedules(2), n((1 << 21) + 1).schedules(1)]),
    ("merge", &["stable"], &[n(20_000), n(300_000).schedules(2)]),
    ("merge", &["sample"], &[n(20_000), n((1 << 20) + 1).schedules(1)]),
    ("radix", &[], &[n(1500)]),
    ("radix", &["lsd-blocks", "lsd-ballot"], &[n(5000)]),
    ("radix", &["onesweep"], &[n(10_000), n(10_000).with_values()]),
    // The histogram has 2^16 bins, whatever n is; a second partition from 2^21 on.
    ("radix", &["msd-buckets"], &[n(20_000), n((1 << 21) + 1).schedules(1)]),
    ("radix", &["msd-skewed"], &[n(20_000), n(20_000).of(Distribution::Few), n((1 << 21) + 1).schedules(1)]),
    // Both roads where the device chooses: from 3 tiles of 2^13 pairs per multiprocessor on.
    (
        "radix",
        &["msd-pairs"],
        &[
            n(20_000).with_values(),
            n(40_000).with_values().schedules(4),
            n(100_000).with_values().schedules(1),
            n(100_000).of(Distribution::Few).with_values().schedules(1),
        ],
    ),
    (
        "matmul",
        &["naive", "coalesced", "shared-tile", "wide-tile"],
        &[product(40, 41, 42), product(40, 41, 42).typed(Dtype::F64)],
    ),
    ("matmul", &["thread-column"], &[product(150, 140, 60), product(150, 140, 60).typed(Dtype::F64)]),
    ("matmul", &["thread-tile", "vector-loads", "warp-tile", "async-copy"], &[product(150, 140, 60)]),
    ("matmul", &["tensor-mma"], &[product(150, 140, 60)]),
    // Small tiles fill the multiprocessors better in the first case, and large ones in the second.
    ("matmul", &["three-tf32"], &[product(150, 140, 60), product(250, 200, 20)]),
    ("matmul", &["producer-consumer"], &[product(300, 70, 100)]),
    // Of the three widths of tiles, each fills the multiprocessors best once.
    ("matmul", &["three-tf32-group"], &[product(100, 130, 70), product(130, 250, 70), product(390, 250, 40)]),
    (
        "matmul",
        &["tensor-group"],
        &[
            product(100, 130, 70),
            product(130, 250, 70),
            product(390, 250, 40),
            product(100, 130, 71).typed(Dtype::Bf16),
            product(130, 250, 70).typed(Dtype::Bf16),
            product(390, 250, 40).typed(Dtype::Bf16),
            product(100, 130, 71).typed(Dtype::F16),
            product(130, 250, 70).typed(Dtype::F16),
            product(390, 250, 40).typed(Dtype::F16),
        ],
    ),
    ("cubes", &[], &[n(5000)]),
    ("reduce", &[], &[n(50_000)]),
    ("scan", &[], &[n(50_000)]),
    ("histogram", &[], &[n(20_000)]),
    ("saxpy", &[], &[n(5000)]),
];

/// The rungs that are one block by their idea, or that no small input makes more than one block of.
const ONE_BLOCK: &[(&str, &[&str])] = &[
    ("bubble", &["one-block"]),
    ("radix", &["columns-one-thread", "columns-atomic-min", "columns-tree", "columns-groups"]),
    ("cubes", &["one-thread", "one-block-strided", "one-block"]),
    ("scan", &["hillis-steele", "blelloch", "blelloch-padded"]),
];

/// Kernels of rungs that only inputs launch which are too large for so many schedules.
const LARGE: &[(&str, &[&str])] = &[
    (
        "multi-way",
        &[
            "merge_multi_way_tile",
            "merge_multi_way_split4",
            "merge_multi_way_split8",
            "merge_multi_way_merge4",
            "merge_multi_way_merge8",
        ],
    ),
    (
        "sample",
        &[
            "merge_sample_splitters",
            "merge_sample_count",
            "merge_sample_starts",
            "merge_sample_scatter_u8",
            "merge_sample_buckets",
            "merge_sample_large",
        ],
    ),
    ("stable", &["merge_stable_tile"]),
    ("msd-pairs", &["radix_msd_pairs_histogram", "radix_msd_pairs_starts", "radix_msd_pairs_bucket_sort"]),
];

/// Kernels that rungs launch from more keys on than a test can have: [`wide_partition`] checks them.
const BY_PLAN: &[&str] = &["radix_msd_buckets_partition_wide"];

/// The cases of a rung: its own, or the family's.
fn cases(family: &Family, rung: &Rung) -> Result<&'static [Case], Failed> {
    let of = |own: bool| {
        let fits = |names: &[&str]| if own { names.contains(&rung.name) } else { names.is_empty() };
        CASES.iter().find(|(name, rungs, _)| *name == family.name && fits(rungs)).map(|(.., cases)| *cases)
    };
    of(true).or_else(|| of(false)).ok_or_else(|| format!("{} {} has no cases", family.name, rung.name).into())
}

/// Runs the cases of a rung.
pub fn check(family: &'static Family, rung: &'static Rung) -> Result<(), Failed> {
    let engine = Engine::simulator_with(MULTIPROCESSORS);
    let (mut launched, mut often, mut blocks) = (BTreeSet::new(), BTreeSet::new(), 0);
    for case in cases(family, rung)? {
        let Case { size, schedules, distribution, values, dtype } = *case;
        let size = match (size, rung.capacity) {
            (Size::Elements(n), Some(capacity)) => Size::Elements(n.min(capacity)),
            _ => size,
        };
        let (dtype, parameters) = (dtype.unwrap_or(family.dtypes[0]), Parameters { values, ..Parameters::default() });
        let distribution = distribution.unwrap_or(family.input);
        let problem = family.make(Workload { size, dtype, distribution, seed: 7, input: None, parameters })?;
        let mut prepared = problem.prepare(&engine, rung)?;
        for activity in engine.record(|| run_once(&mut *prepared))?.1 {
            if let What::Launch { kernel, geometry, .. } = activity.what {
                launched.insert(kernel);
                if schedules >= SCHEDULES {
                    often.insert(kernel);
                }
                blocks = blocks.max(geometry.grid.iter().product::<u32>());
            }
        }
        let options = Check { schedules, ..Check::default() };
        let run = || problem.prepare(&engine, rung).and_then(|mut prepared| run_once(&mut *prepared));
        let checked = checks::check(options, run, None)?;
        if !checked.is_clean() || checked.not_judged > 0 {
            return Err(format!("{} {} {size:?}: {}", family.name, rung.name, checked.text()).into());
        }
    }
    let is_one_block = ONE_BLOCK.iter().any(|(name, rungs)| *name == family.name && rungs.contains(&rung.name));
    if is_one_block == (blocks > 1) {
        return Err(format!("the largest launch has {blocks} blocks").into());
    }
    let not_in = |launched: &BTreeSet<&str>| -> Vec<&str> {
        let has = |instances: &&&[&'static str]| instances.iter().any(|name| launched.contains(name));
        let missing = rung.kernels.iter().filter(|instances| !has(instances)).map(|instances| instances[0]);
        missing.filter(|name| !BY_PLAN.contains(name)).collect()
    };
    let missing = not_in(&launched);
    if !missing.is_empty() {
        return Err(format!("no case launches {}", missing.join(", ")).into());
    }
    let seldom = not_in(&often);
    let known = LARGE.iter().find(|(name, ..)| *name == rung.name).map_or(&[][..], |(_, kernels)| kernels);
    if seldom == known {
        return Ok(());
    }
    Err(format!("under fewer than {SCHEDULES} schedules: {}; not {}", seldom.join(", "), known.join(", ")).into())
}

/// The wide partition, which sorts launch from 2^27 keys on, under the same checks: the sequence takes a plan that asks
/// for it with one tile and a part of another.
pub fn wide_partition() -> Result<(), Failed> {
    let drawn = |i: u32| (u64::from(i) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    wide_partition_of(UNSIGNED, |i| drawn(i) as u32, |a, b| a.cmp(b))?;
    // The instances that map keys.
    wide_partition_of(DESCENDING, drawn, |a, b| b.cmp(a))
}

fn wide_partition_of<W: Sort + Scalar + PartialEq + Debug>(
    order: u32,
    drawn: impl Fn(u32) -> W,
    compare: impl FnMut(&W, &W) -> Ordering,
) -> Result<(), Failed> {
    let engine = Engine::simulator_with(MULTIPROCESSORS);
    let n = r8_msd_buckets::partition_tile::<W>(true) + 1001;
    let plan = Plan { wide: true, ..Plan::new::<W>(n, MULTIPROCESSORS, engine.device().shared_per_block) };
    let keys: Vec<W> = (0..n).map(drawn).collect();
    let mut want = keys.clone();
    want.sort_by(compare);
    let sort = || -> rungs::Result<Vec<W>> {
        let (keys, scratch) = (engine.upload(&keys)?, engine.alloc::<W>(n as usize)?);
        let workspace = engine.upload(&vec![0u32; plan.layout().words as usize])?;
        let (input, scratch, workspace) = (keys.view(), scratch.view(), workspace.view());
        W::sort(&engine, &plan, order, Memory { input, output: input, scratch, workspace })?;
        keys.download()
    };
    let launches = engine.record(sort)?.1;
    let is_wide = |activity: &&Activity| match activity.what {
        What::Launch { kernel, .. } => BY_PLAN.iter().any(|name| kernel.starts_with(name)),
        _ => false,
    };
    if launches.iter().filter(is_wide).count() != 1 {
        return Err(format!("{plan:?} does not launch the wide partition").into());
    }
    let run = || {
        let sorted = sort()?;
        let Some(index) = (0..want.len()).find(|&i| sorted[i] != want[i]) else { return Ok(()) };
        let (want, got) = (format!("{:?}", want[index]), format!("{:?}", sorted[index]));
        let (family, rung, n) = ("radix".into(), "msd-buckets".into(), n.into());
        Err(rungs::Error::Mismatch { family, rung, n, index: index as u64, want, got })
    };
    let checked = checks::check(Check { schedules: SCHEDULES, ..Check::default() }, run, None)?;
    if checked.is_clean() && checked.not_judged == 0 { Ok(()) } else { Err(checked.text().into()) }
}
