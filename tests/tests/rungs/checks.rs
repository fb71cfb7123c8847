//! Every rung under the simulator's checks: no race, no read of memory that nobody wrote, no barrier or warp operation
//! used wrongly, under hostile orders of threads and blocks; and each result is right.
//!
//! A trial also holds the sizes of its rung to their purpose: together they launch each of its kernels, and more than
//! one block where a rung has more.

use libtest_mimic::Failed;
use rungs::data::{Distribution, Dtype};
use rungs::engine::{Activity, Engine, What};
use rungs_cli::algorithms::{Family, Parameters, Rung, Size, Workload};
use rungs_cli::checks;
use rungs_cli::measure::run_once;
use rungs_kernels::keys::{DESCENDING, UNSIGNED};
use rungs_kernels::products::mixed;
use rungs_kernels::sorts::buckets::launches::{self, Memory};
use rungs_kernels::sorts::buckets::{self, Plain, radix_msd_skewed_histogram_bytes};
use rungs_kernels::sorts::msd_skewed::launches::{Plan, Sort};
use simt::launcher::Launcher;
use simt::sim::Check;
use simt::{Geometry, Scalar};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// Schedules, unless a case says otherwise: each rung has a case with this number.
const SCHEDULES: u32 = 32;

/// The same number, or a smaller one where `RUNGS_SCHEDULES` lowers it, for a quick run.
fn at_most(schedules: u32) -> u32 {
    let most = std::env::var("RUNGS_SCHEDULES").map_or(SCHEDULES, |text| {
        let most = text.parse().ok().filter(|most| *most > 0);
        most.unwrap_or_else(|| panic!("RUNGS_SCHEDULES is a number from 1 on, not '{text}'"))
    });
    schedules.min(most)
}

/// SMs that sequences see, whatever the host has: some sizes of grids depend on them.
const MULTIPROCESSORS: u32 = 4;

/// The least k of the kernels of `mixed`.
const MIXED_K: u64 = mixed::LEAST_K as u64;

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
    // Small tiles up to 557,056 keys, small blocks up to 2^18.
    ("merge", &["all-runs"], &[n(20_000), n(560_000).schedules(2)]),
    ("merge", &["stable"], &[n(20_000), n(560_000).schedules(2), n((1 << 20) + 1).schedules(1)]),
    ("merge", &["sample"], &[n(20_000), n((1 << 20) + 1).schedules(1)]),
    ("radix", &[], &[n(1500)]),
    ("radix", &["lsd-blocks", "lsd-ballot"], &[n(5000)]),
    // Digits that are ranked by atomics, and by votes.
    (
        "radix",
        &["onesweep"],
        &[
            n(10_000),
            n(10_000).with_values(),
            n(10_000).of(Distribution::Few),
            n(10_000).of(Distribution::Few).with_values(),
        ],
    ),
    // The histogram has 2^16 bins, whatever n is; a second partition from 2^21 on.
    ("radix", &["msd-buckets"], &[n(20_000), n((1 << 21) + 1).schedules(1)]),
    ("radix", &["msd-skewed"], &[n(20_000), n(20_000).of(Distribution::Few), n((1 << 21) + 1).schedules(1)]),
    // One partition and no oversized bucket; oversized buckets; a second partition.
    (
        "radix",
        &["learned"],
        &[n(20_000), n(20_000).of(Distribution::Few), n(1_130_000).of(Distribution::Normal).schedules(1)],
    ),
    // The two ways that the device chooses between, and keys that fill few buckets which fit a block; one block. The
    // two ways of more than 2^20 keys, with few schedules: gpu/library/sorts/tests/choice.rs has more, by plans for
    // fewer keys.
    (
        "radix",
        &["either"],
        &[
            n(20_000),
            n(20_000).of(Distribution::LowBits(16)),
            n(8000).of(Distribution::Two),
            n(5000),
            n(5000).of(Distribution::Zipf),
            n(5000).of(Distribution::Few),
            n(5000).of(Distribution::Entropy(3)),
            n((1 << 20) + 1).schedules(1),
            n((1 << 20) + 1).of(Distribution::LowBits(16)).schedules(1),
            n((1 << 21) + 1).of(Distribution::LowBits(16)).schedules(1),
        ],
    ),
    // One block, and both paths where the device chooses: from 3 tiles of 2^13 pairs per SM on.
    (
        "radix",
        &["msd-pairs"],
        &[
            n(3_000).with_values(),
            n(20_000).with_values(),
            n(40_000).with_values().schedules(4),
            n(100_000).with_values().schedules(1),
            n(100_000).of(Distribution::Few).with_values().schedules(1),
            n(100_000).of(Distribution::Normal).typed(Dtype::F32).with_values().schedules(1),
        ],
    ),
    ("matmul", &["naive", "coalesced", "shared-tile", "wide-tile"], &[product(40, 41, 42)]),
    ("matmul", &["any-type"], &[product(40, 41, 42), product(40, 41, 42).typed(Dtype::F64)]),
    ("matmul", &["thread-column", "thread-tile", "vector-loads", "warp-tile", "async-copy"], &[product(150, 140, 60)]),
    // One tile per block, and several.
    ("matmul", &["producer-consumer"], &[product(300, 140, 20), product(600, 260, 12).schedules(4)]),
    // Both sizes of tiles.
    ("matmul", &["fp64"], &[product(512, 512, 20).typed(Dtype::F64), product(90, 70, 60).typed(Dtype::F64)]),
    // Both widths of tiles, and more tiles than blocks.
    (
        "matmul",
        &["fp64-hopper"],
        &[
            product(250, 120, 50).typed(Dtype::F64),
            product(250, 250, 18).typed(Dtype::F64),
            product(510, 250, 18).typed(Dtype::F64).schedules(2),
        ],
    ),
    ("matmul", &["tensor-double"], &[product(150, 140, 60).typed(Dtype::F64)]),
    ("matmul", &["tensor-mma"], &[product(150, 140, 60)]),
    (
        "matmul",
        &["tensor-group"],
        &[product(136, 264, 72).typed(Dtype::Bf16), product(100, 130, 71).typed(Dtype::Bf16)],
    ),
    // Tiles that are not full, and more of them than blocks.
    (
        "matmul",
        &["tensor-map", "tensor-cluster"],
        &[product(136, 264, 72).typed(Dtype::Bf16), product(520, 520, 136).typed(Dtype::Bf16).schedules(2)],
    ),
    ("matmul", &["fp32"], &[product(150, 140, 60)]),
    ("matmul", &["tf32"], &[product(150, 140, 60)]),
    // Small tiles fill the SMs better in the first case, and large ones in the second.
    ("matmul", &["three-tf32"], &[product(150, 140, 60), product(250, 200, 20)]),
    // Whole tiles, tiles of clusters of two blocks, halves of tiles of two and of three, and tiles in parts by blocks.
    (
        "matmul",
        &["fp32-hopper"],
        &[
            product(300, 70, 20),
            product(300, 70, 100),
            product(200, 70, 100),
            product(100, 70, 140),
            product(600, 72, 1120).schedules(1),
        ],
    ),
    // Of the three widths of tiles, each fills the SMs best once, and so does a pair's tile; then A that is
    // taken as it is, by blocks and by pairs.
    (
        "matmul",
        &["three-tf32-group"],
        &[
            product(100, 130, 70),
            product(130, 250, 70),
            product(390, 250, 38),
            product(390, 250, 40),
            product(520, 130, 36),
            product(100, 100, 702),
            product(130, 100, 72),
            product(100, 100, 704),
        ],
    ),
    // The same, with as many k as the rung's own kernels take.
    (
        "matmul",
        &["mixed"],
        &[
            product(5, 70, MIXED_K),
            product(130, 130, MIXED_K + 1).schedules(4),
            product(390, 250, MIXED_K).schedules(1),
        ],
    ),
    (
        "matmul",
        &["packed"],
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
    // The three widths of tiles, with rows that the copy engine takes, and rows that it does not. The other ways to
    // hold operands are transposed ones.
    (
        "matmul",
        &["half-hopper"],
        &[
            product(104, 136, 72).typed(Dtype::Bf16),
            product(248, 248, 264).typed(Dtype::F16),
            product(512, 256, 2432).typed(Dtype::Bf16).schedules(1),
            product(100, 130, 71).typed(Dtype::F16),
        ],
    ),
    // Rows that do not begin on lines of the cache have pairs of blocks chosen: one of them with little to do, more
    // pairs than run at once, and pairs of which one block has nothing to do. And a product too small for pairs.
    (
        "matmul",
        &["half-cluster"],
        &[
            product(136, 504, 136).typed(Dtype::Bf16),
            product(520, 504, 200).typed(Dtype::F16).schedules(4),
            product(104, 136, 72).typed(Dtype::F16),
            product(100, 130, 71).typed(Dtype::F16),
        ],
    ),
    // The same as of `half-hopper` for `f32`; a product of which both operands lie along K has B transposed.
    (
        "matmul",
        &["tensor-registers"],
        &[product(136, 104, 68), product(248, 248, 132), product(256, 512, 1216).schedules(1), product(100, 130, 71)],
    ),
    ("cubes", &[], &[n(5000)]),
    ("reduce", &[], &[n(50_000)]),
    ("scan", &[], &[n(50_000)]),
    ("select", &[], &[n(20_000)]),
    ("partition", &[], &[n(20_000)]),
    ("unique", &[], &[n(20_000)]),
    ("run-lengths", &[], &[n(20_000)]),
    ("reduce-by-key", &[], &[n(20_000)]),
    ("top-k", &[], &[n(20_000)]),
    // The filter from 2^15 keys on.
    ("top-k", &["sampled"], &[n(33_000)]),
    ("segmented-sort", &[], &[n(20_000)]),
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

/// Kernels of rungs that only inputs launch which are too large for 32 schedules.
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
            "merge_sample_scatter_u32",
            "merge_sample_buckets",
        ],
    ),
    ("all-runs", &["merge_all_runs_tile", "merge_all_runs_many"]),
    (
        "stable",
        &[
            "merge_stable_scatter_u8",
            "merge_by_less_stable_middle_tile",
            "merge_by_less_stable_buckets",
            "merge_by_less_stable_sort_large",
        ],
    ),
    ("fp32-hopper", &["product_fp32_hopper_sum"]),
    ("half-hopper", &["product_half_hopper_nn_bf16"]),
    ("tensor-registers", &["product_tensor_registers_across"]),
    ("mixed", &["product_mixed", "product_mixed_middle"]),
    (
        "msd-pairs",
        &[
            "radix_msd_pairs_histogram",
            "radix_msd_pairs_histogram_learned",
            "radix_msd_pairs_starts",
            "radix_msd_pairs_bucket_sort",
            "radix_msd_pairs_oversized",
            "radix_msd_pairs_rest",
        ],
    ),
    (
        "either",
        &[
            "radix_either_many_histogram",
            "radix_either_many_starts",
            "radix_either_many_first",
            "radix_either_many_second",
            "radix_either_many_bucket_sort",
            "radix_either_rest",
        ],
    ),
];

/// Instances of one kernel that are more than types apart, so that each of these has to be launched.
const EACH: &[(&str, &[&str])] = &[
    // There are too few SMs for larger clusters; gpu/tests/matmul.rs checks those.
    ("fp32-hopper", &["product_fp32_hopper_by_2", "product_fp32_hopper_half_by_2", "product_fp32_hopper_half_by_3"]),
    ("three-tf32-group", &["product_three_tf32_group_held", "product_three_tf32_group_held_pair"]),
    (
        "half-hopper",
        &["product_half_hopper_nn_bf16", "product_half_hopper_middle_nn_f16", "product_half_hopper_narrow_nn_bf16"],
    ),
    (
        "tensor-registers",
        &[
            "product_tensor_registers_across",
            "product_tensor_registers_middle_across",
            "product_tensor_registers_narrow_across",
        ],
    ),
];

/// Kernels that rungs launch from more keys on than a test can have: [`many_keys`] checks them.
const BY_PLAN: &[&str] = &[WIDE, LEARNED_WIDE, RUNG_WIDE, LARGE_BLOCKS, IN_BYTES];
const WIDE: &str = "radix_msd_skewed_partition_wide";
/// The same by a map, which gpu/library/sorts/tests/learned.rs checks.
const LEARNED_WIDE: &str = "radix_learned_partition_wide";
/// The same of the rung, which gpu/radix/tests checks.
const RUNG_WIDE: &str = "radix_msd_buckets_partition_wide";
const LARGE_BLOCKS: &str = "radix_msd_skewed_bucket_sort_large";
const IN_BYTES: &str = "radix_msd_skewed_histogram_bytes";

/// The cases of a rung: its own, or the family's.
fn cases(family: &Family, rung: &Rung) -> Result<&'static [Case], Failed> {
    let of = |own: bool| {
        let fits = |names: &[&str]| if own { names.contains(&rung.name) } else { names.is_empty() };
        CASES.iter().find(|(name, rungs, _)| *name == family.name && fits(rungs)).map(|(.., cases)| *cases)
    };
    of(true).or_else(|| of(false)).ok_or_else(|| format!("{} {} has no cases", family.name, rung.name).into())
}

/// The kernels that a list has for a rung.
fn of_rung(list: &'static [(&str, &[&'static str])], rung: &Rung) -> &'static [&'static str] {
    list.iter().find(|(name, _)| *name == rung.name).map_or(&[], |(_, kernels)| kernels)
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
        let (dtype, parameters) =
            (dtype.unwrap_or_else(|| family.usual_dtype(rung)), Parameters { values, ..Parameters::default() });
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
        let options = Check { schedules: at_most(schedules), ..Check::default() };
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
        let each = of_rung(EACH, rung).iter().copied().filter(|name| !launched.contains(name));
        missing.chain(each).filter(|name| !BY_PLAN.contains(name)).collect()
    };
    let missing = not_in(&launched);
    if !missing.is_empty() {
        return Err(format!("no case launches {}", missing.join(", ")).into());
    }
    let seldom = not_in(&often);
    let known = of_rung(LARGE, rung);
    if seldom == known {
        return Ok(());
    }
    Err(format!("under fewer than {SCHEDULES} schedules: {}; not {}", seldom.join(", "), known.join(", ")).into())
}

/// The kernels that sorts launch from 2^27 keys on or more, under the same checks. The sequences take plans that ask
/// for them: the wide partition for one tile and a part of another, large blocks for eight buckets. With the instances
/// that map keys.
pub fn many_keys() -> Result<(), Failed> {
    let drawn = |i: u32| (u64::from(i) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    // All eight values of the top bits, about as often: a bucket that does not fit a usual block is one tile.
    let crowded = |i: u32| drawn(i) >> 32 & 0xe000_0000 | drawn(!i) & 3;
    // Four of them: such a bucket is a segment of two tiles, whose blocks write to one descriptor.
    let more_crowded = |i: u32| crowded(i) & 0x6000_0003;
    let n = buckets::partition_tile::<u32>(true) + 1001;
    many_keys_of(WIDE, n, UNSIGNED, |i| drawn(i) as u32, |a, b| a.cmp(b))?;
    let n = buckets::partition_tile::<u64>(true) + 1001;
    many_keys_of(WIDE, n, DESCENDING, drawn, |a, b| b.cmp(a))?;
    many_keys_of(LARGE_BLOCKS, 20_011, UNSIGNED, |i| drawn(i) as u32, |a, b| a.cmp(b))?;
    many_keys_of(LARGE_BLOCKS, 60_013, DESCENDING, |i| crowded(i) as u32, |a, b| b.cmp(a))?;
    many_keys_of(LARGE_BLOCKS, 60_013, UNSIGNED, |i| more_crowded(i) as u32, |a, b| a.cmp(b))?;
    many_keys_of(LARGE_BLOCKS, 20_011, UNSIGNED, drawn, |a, b| a.cmp(b))?;
    counted_in_bytes(&(0..20_011).map(|i| drawn(i) as u32).collect::<Vec<_>>())?;
    counted_in_bytes(&(0..9001).map(|i| crowded(i) as u32).collect::<Vec<_>>())
}

fn many_keys_of<W: Sort + Scalar + PartialEq + Debug>(
    kernel: &'static str,
    n: u32,
    order: u32,
    drawn: impl Fn(u32) -> W,
    compare: impl FnMut(&W, &W) -> Ordering,
) -> Result<(), Failed> {
    let engine = Engine::simulator_with(MULTIPROCESSORS);
    let shared = engine.device().shared_per_block;
    let usual = launches::Plan::new::<W>(n, shared);
    let buckets = match kernel {
        WIDE => launches::Plan { wide: true, ..usual },
        _ => launches::Plan { first_bits: 3, second_bits: 0, ..usual },
    };
    let plan = Plan::by_way_of::<W>(buckets, kernel == LARGE_BLOCKS, shared);
    let keys: Vec<W> = (0..n).map(drawn).collect();
    let mut want = keys.clone();
    want.sort_by(compare);
    let sort = || -> rungs::Result<Vec<W>> {
        let (keys, scratch) = (engine.upload(&keys)?, engine.alloc::<W>(n as usize)?);
        let workspace = engine.upload(&vec![0u32; plan.words() as usize])?;
        let (input, scratch, workspace) = (keys.view(), scratch.view(), workspace.view());
        W::sort_skewed(&engine, &plan, order, Memory { input, output: input, scratch, workspace })?;
        keys.download()
    };
    launches_once(&engine, kernel, sort)?;
    passes("msd-skewed", &want, sort)
}

/// A histogram of 17 top bits by itself: the sort has more buckets than schedules of it can be run.
fn counted_in_bytes(keys: &[u32]) -> Result<(), Failed> {
    const TOP_BITS: u32 = buckets::BYTES_TOP_BITS;
    let engine = Engine::simulator_with(MULTIPROCESSORS);
    let mut want = vec![0u32; 1 << TOP_BITS];
    keys.iter().for_each(|key| want[(key >> (32 - TOP_BITS)) as usize] += 1);
    let count = || -> rungs::Result<Vec<u32>> {
        let (keys, counts) = (engine.upload(keys)?, engine.upload(&vec![0u32; want.len()])?);
        let geometry = Geometry::linear(2, buckets::HISTOGRAM_THREADS);
        let geometry = geometry.shared(buckets::histogram_shared(TOP_BITS)).overlapping();
        let args = (keys.view(), UNSIGNED, counts.view(), counts.slice(0, 0));
        let on: &dyn Launcher = &engine;
        on.launch(radix_msd_skewed_histogram_bytes::<u32, Plain>::default(), geometry, args)?;
        counts.download()
    };
    launches_once(&engine, IN_BYTES, count)?;
    passes("msd-skewed", &want, count)
}

/// Whether a sequence launches the kernel, one of its instances, once.
fn launches_once<W>(engine: &Engine, kernel: &str, run: impl Fn() -> rungs::Result<Vec<W>>) -> Result<(), Failed> {
    let is_it = |activity: &&Activity| match activity.what {
        What::Launch { kernel: launched, .. } => launched.starts_with(kernel),
        _ => false,
    };
    let launched = engine.record(run)?.1.iter().filter(is_it).count();
    if launched == 1 { Ok(()) } else { Err(format!("{kernel} is launched {launched} times").into()) }
}

/// Whether a sequence gives what it should, and nothing is found, under all schedules.
#[rustfmt::skip]
fn passes<W: PartialEq + Debug>(
    rung: &str, want: &[W], run: impl Fn() -> rungs::Result<Vec<W>>,
) -> Result<(), Failed> {
    let compare = || {
        let got = run()?;
        let Some(index) = (0..want.len()).find(|&i| got[i] != want[i]) else { return Ok(()) };
        let (n, want, got) = (want.len() as u64, format!("{:?}", want[index]), format!("{:?}", got[index]));
        Err(rungs::Error::Mismatch { family: "radix".into(), rung: rung.into(), n, index: index as u64, want, got })
    };
    let checked = checks::check(Check { schedules: at_most(SCHEDULES), ..Check::default() }, compare, None)?;
    if checked.is_clean() && checked.not_judged == 0 { Ok(()) } else { Err(checked.text().into()) }
}
