//! Every rung under the simulator's checks: no race, no read of memory that nobody wrote, no barrier or warp operation
//! used wrongly, under hostile orders of threads and blocks; and each result is right.
//!
//! A trial also holds the sizes of its rung to their purpose: together they launch each of its kernels, and more than
//! one block where a rung has more.

use libtest_mimic::Failed;
use rungs::algorithms::{Family, Parameters, Rung, Size, Workload};
use rungs::checks;
use rungs::data::Distribution;
use rungs::engine::{Engine, What};
use rungs::measure::run_once;
use simt::sim::Check;
use std::collections::BTreeSet;

/// Schedules, unless a case says otherwise.
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
}

const fn n(n: u64) -> Case {
    Case { size: Size::Elements(n), schedules: SCHEDULES, distribution: None, values: false }
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
}

/// The cases of families, and of the rungs that need others to launch all of their kernels and several blocks.
const CASES: &[(&str, &[&str], &[Case])] = &[
    ("bubble", &[], &[n(600)]),
    ("bubble", &["shared-block"], &[n(1300).schedules(8)]),
    ("bubble", &["warp-registers", "ring"], &[n(5000).schedules(8)]),
    ("bitonic", &[], &[n(5000)]),
    ("bitonic", &["register-step", "transpose", "strides", "backwards"], &[n(20_000).schedules(8)]),
    ("odd-even", &["bitonic-blocks"], &[n(20_000).schedules(8)]),
    // Tiles of 2^14 keys, and two of them at least.
    ("odd-even", &["merge-split", "persistent", "levels"], &[n(40_000).schedules(8)]),
    ("merge", &[], &[n(5000)]),
    // Small tiles up to 2^18 keys; splits found by launches of their own, and two distributions, beyond 2^21 and 2^20.
    ("merge", &["multi-way"], &[n(20_000), n(300_000).schedules(2), n((1 << 21) + 1).schedules(1)]),
    ("merge", &["stable"], &[n(20_000), n(300_000).schedules(2)]),
    ("merge", &["sample"], &[n(20_000).schedules(8), n((1 << 20) + 1).schedules(1)]),
    ("radix", &[], &[n(1500)]),
    ("radix", &["lsd-blocks", "lsd-ballot"], &[n(5000)]),
    ("radix", &["onesweep"], &[n(10_000), n(10_000).with_values().schedules(8)]),
    // The histogram has 2^16 bins, whatever n is; a second partition from 2^21 on.
    ("radix", &["msd-buckets"], &[n(20_000).schedules(4), n((1 << 21) + 1).schedules(1)]),
    (
        "radix",
        &["msd-skewed"],
        &[n(20_000).schedules(4), n(20_000).of(Distribution::Few).schedules(4), n((1 << 21) + 1).schedules(1)],
    ),
    // Both roads where the device chooses: from 3 tiles of 2^13 pairs per multiprocessor on.
    (
        "radix",
        &["msd-pairs"],
        &[
            n(20_000).with_values().schedules(8),
            n(40_000).with_values().schedules(4),
            n(100_000).with_values().schedules(1),
            n(100_000).of(Distribution::Few).with_values().schedules(1),
        ],
    ),
    ("matmul", &[], &[product(40, 41, 42)]),
    (
        "matmul",
        &["thread-column", "thread-tile", "vector-loads", "warp-tile", "async-copy"],
        &[product(150, 140, 60).schedules(8)],
    ),
    ("matmul", &["tensor-mma"], &[product(150, 140, 60).schedules(8)]),
    // Small tiles fill the multiprocessors better in the first case, and large ones in the second.
    ("matmul", &["three-tf32"], &[product(150, 140, 60).schedules(8), product(250, 200, 20).schedules(4)]),
    ("matmul", &["producer-consumer"], &[product(300, 70, 100).schedules(8)]),
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

/// Kernels that these cases do not launch, and why.
const NOT_LAUNCHED: &[(&str, &str)] = &[("radix_msd_buckets_partition_wide", "from 2^27 keys on")];

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
    let (mut launched, mut blocks) = (BTreeSet::new(), 0);
    for case in cases(family, rung)? {
        let Case { size, schedules, distribution, values } = *case;
        let size = match (size, rung.capacity) {
            (Size::Elements(n), Some(capacity)) => Size::Elements(n.min(capacity)),
            _ => size,
        };
        let (dtype, parameters) = (family.dtypes[0], Parameters { values, ..Parameters::default() });
        let distribution = distribution.unwrap_or(family.input);
        let problem = family.make(Workload { size, dtype, distribution, seed: 7, input: None, parameters })?;
        let mut prepared = problem.prepare(&engine, rung)?;
        for activity in engine.record(|| run_once(&mut *prepared))?.1 {
            if let What::Launch { kernel, geometry, .. } = activity.what {
                launched.insert(kernel);
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
    let left_out = |name: &str| NOT_LAUNCHED.iter().any(|(kernel, _)| *kernel == name);
    let missing: Vec<&str> = rung
        .kernels
        .iter()
        .filter(|instances| !instances.iter().any(|name| launched.contains(name)))
        .map(|instances| instances[0])
        .filter(|name| !left_out(name))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no case launches {}", missing.join(", ")).into()) }
}
