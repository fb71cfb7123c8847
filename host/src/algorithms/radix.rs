//! Radix sort.

use super::keys::Keys;
use super::rung::{Implementation, rung};
use super::sort::{KEY_TYPES, KeyWord, PairSorter, SortRung, Sorter, problem, unsigned_sorter, with_keys};
use super::{Extra, Family, Parameters, Size, pairs};
use crate::data::{Distribution, Dtype};
use crate::engine::{Buffer, Engine, Geometry};
use crate::error::{Error, Result};
use rungs_kernels::launcher::{Launcher, Shape};
use rungs_kernels::radix::columns;
use rungs_kernels::radix::r1_columns_one_thread::radix_columns_one_thread;
use rungs_kernels::radix::r2_columns_atomic_min::radix_columns_atomic_min;
use rungs_kernels::radix::r3_columns_tree::radix_columns_tree;
use rungs_kernels::radix::r4_columns_groups::radix_columns_groups;
use rungs_kernels::radix::r5_lsd_blocks::{
    self as lsd_blocks, radix_lsd_blocks_count, radix_lsd_blocks_scan, radix_lsd_blocks_scatter,
};
use rungs_kernels::radix::r6_lsd_ballot::{
    self as lsd_ballot, radix_lsd_ballot_count, radix_lsd_ballot_scan, radix_lsd_ballot_scatter,
};
use rungs_kernels::radix::steps::SCAN_THREADS;
use rungs_kernels::radix::{r7_onesweep as onesweep, r8_msd_buckets as msd_buckets, r9_msd_skewed as msd_skewed};
use simt::{Global, Kernel, Scalar};

/// The family.
pub static FAMILY: Family = Family {
    name: "radix",
    about: "sorting by digits",
    rungs: &[
        rung!(
            "radix/r1_columns_one_thread.rs",
            "columns-one-thread",
            &[radix_columns_one_thread::NAME],
            Implementation::Sort(&Columns(radix_columns_one_thread))
        )
        .with_capacity(CAPACITY)
        .refusing(refuses),
        rung!(
            "radix/r2_columns_atomic_min.rs",
            "columns-atomic-min",
            &[radix_columns_atomic_min::NAME],
            Implementation::Sort(&Columns(radix_columns_atomic_min))
        )
        .with_capacity(CAPACITY)
        .refusing(refuses),
        rung!(
            "radix/r3_columns_tree.rs",
            "columns-tree",
            &[radix_columns_tree::NAME],
            Implementation::Sort(&Columns(radix_columns_tree))
        )
        .with_capacity(CAPACITY)
        .refusing(refuses),
        rung!(
            "radix/r4_columns_groups.rs",
            "columns-groups",
            &[radix_columns_groups::NAME],
            Implementation::Sort(&Columns(radix_columns_groups))
        )
        .with_capacity(CAPACITY)
        .refusing(refuses),
        rung!(
            "radix/r5_lsd_blocks.rs",
            "lsd-blocks",
            &[
                <radix_lsd_blocks_count<u32> as Kernel>::NAME,
                <radix_lsd_blocks_count<u64> as Kernel>::NAME,
                radix_lsd_blocks_scan::NAME,
                <radix_lsd_blocks_scatter<u32> as Kernel>::NAME,
                <radix_lsd_blocks_scatter<u64> as Kernel>::NAME,
            ],
            Implementation::Sort(&LsdBlocks)
        )
        .with_tiles(&[lsd_blocks::TILE as u64])
        .refusing(|_, dtype, parameters| keys_only("lsd-blocks sorts", dtype, parameters)),
        rung!(
            "radix/r6_lsd_ballot.rs",
            "lsd-ballot",
            &[
                <radix_lsd_ballot_count<u32> as Kernel>::NAME,
                <radix_lsd_ballot_count<u64> as Kernel>::NAME,
                radix_lsd_ballot_scan::NAME,
                <radix_lsd_ballot_scatter<u32> as Kernel>::NAME,
                <radix_lsd_ballot_scatter<u64> as Kernel>::NAME,
            ],
            Implementation::Sort(&LsdBallot)
        )
        .with_tiles(&[lsd_ballot::TILE as u64])
        .refusing(|_, dtype, parameters| keys_only("lsd-ballot sorts", dtype, parameters)),
        rung!("radix/r7_onesweep/mod.rs", "onesweep", onesweep_kernels::NAMES, Implementation::Sort(&Onesweep))
            .with_tiles(&[onesweep::pass_tile::<u32>() as u64])
            .refusing(|_, dtype, parameters| wide_pairs(dtype, parameters)),
        rung!(
            "radix/r8_msd_buckets/mod.rs",
            "msd-buckets",
            msd_buckets_kernels::NAMES,
            Implementation::Sort(&MsdBuckets)
        )
        .with_tiles(&[msd_buckets::partition_tile::<u32>(false) as u64])
        .with_capacity(msd_buckets::MAX_KEYS as u64)
        .refusing(|_, dtype, parameters| keys_only("msd-buckets sorts", dtype, parameters)),
        rung!("radix/r9_msd_skewed/mod.rs", "msd-skewed", msd_skewed_kernels::NAMES, Implementation::Sort(&MsdSkewed))
            .with_tiles(&[msd_buckets::partition_tile::<u32>(false) as u64])
            .with_capacity(msd_buckets::MAX_KEYS as u64)
            .refusing(|_, dtype, parameters| keys_only("msd-skewed sorts", dtype, parameters)),
    ],
    dtypes: KEY_TYPES,
    simulator_size: Size::Elements(1 << 12),
    gpu_size: Size::Elements(1 << 24),
    extras: &[Extra::Columns, Extra::Values],
    input: Distribution::Uniform,
    problem: |workload| match workload.parameters.values {
        true => pairs::problem("radix", workload),
        false => problem("radix", workload),
    },
};

/// Columns where nobody asks for a number.
pub const COLUMNS: u32 = 128;

/// Keys that fit a block in that many columns.
const CAPACITY: u64 = columns::capacity(COLUMNS, simt::sim::MAX_SHARED) as u64;

/// Why no rung can sort this with values.
fn wide_pairs(dtype: Dtype, parameters: &Parameters) -> Option<String> {
    (parameters.values && dtype.size() != 4).then(|| format!("values go with keys of 32 bits, not with {dtype}"))
}

/// Why a rung that sorts keys alone cannot sort this.
fn keys_only(who_sorts: &str, dtype: Dtype, parameters: &Parameters) -> Option<String> {
    let alone = || parameters.values.then(|| format!("{who_sorts} keys without values; onesweep moves both"));
    wide_pairs(dtype, parameters).or_else(alone)
}

/// Why the column-wise rungs cannot sort this.
fn refuses(size: &Size, dtype: Dtype, parameters: &Parameters) -> Option<String> {
    if let Some(why) = keys_only("the column-wise rungs sort", dtype, parameters) {
        return Some(why);
    }
    if dtype.size() != 4 {
        return Some(format!("the column-wise radix sorts take keys of 32 bits, not {dtype}"));
    }
    let columns = parameters.columns.unwrap_or(COLUMNS);
    let (least, most) = (columns::MIN_COLUMNS, columns::MAX_COLUMNS);
    if !columns.is_power_of_two() || !(least..=most).contains(&columns) {
        return Some(format!("{columns} columns: it takes a power of two from {least} to {most}"));
    }
    let capacity = columns::capacity(columns, simt::sim::MAX_SHARED) as u64;
    (size.n() > capacity).then(|| format!("{} keys do not fit a block's shared memory; {capacity} do", size.n()))
}

/// A rung that sorts columns in shared memory and merges them.
struct Columns<K>(K);

impl<K: Kernel<Args = (Global<u32>,)>> SortRung for Columns<K> {
    fn sorter(&self, engine: &Engine, n: u32, _: u32, parameters: &Parameters) -> Result<Box<dyn Sorter>> {
        let (kernel, columns) = (self.0, parameters.columns.unwrap_or(COLUMNS));
        let (size, dtype) = (Size::Elements(n.into()), Dtype::U32);
        if let Some(why) = refuses(&size, dtype, parameters) {
            return Err(Error::Usage(why));
        }
        unsigned_sorter(engine, move |engine, keys: Keys| match keys {
            Keys::Bits32(keys) => {
                let shared = columns::shared_bytes(keys.len(), columns);
                let geometry = Geometry::linear(columns::grid(keys.len()), columns).shared(shared);
                engine.launch(kernel, geometry, (keys,))
            }
            Keys::Bits64(_) => Err(Error::Usage("the column-wise radix sorts take keys of 32 bits".into())),
        })
    }
}

/// The kernels of `onesweep`.
mod onesweep_kernels {
    use rungs_kernels::radix::r7_onesweep::*;
    use simt::Kernel;

    pub const NAMES: &[&str] = &[
        <radix_onesweep_histogram<u32> as Kernel>::NAME,
        <radix_onesweep_histogram<u64> as Kernel>::NAME,
        radix_onesweep_starts::NAME,
        <radix_onesweep_pass<u32, KeysOnly> as Kernel>::NAME,
        <radix_onesweep_pass<u64, KeysOnly> as Kernel>::NAME,
        <radix_onesweep_pass<u32, Pairs> as Kernel>::NAME,
    ];
}

/// The kernels of `msd-buckets`.
mod msd_buckets_kernels {
    use rungs_kernels::radix::r8_msd_buckets::*;

    use simt::Kernel;

    pub const NAMES: &[&str] = &[
        <radix_msd_buckets_bucket_sort<u32, Plain> as Kernel>::NAME,
        <radix_msd_buckets_bucket_sort<u32, Mapped> as Kernel>::NAME,
        <radix_msd_buckets_bucket_sort<u64, Plain> as Kernel>::NAME,
        <radix_msd_buckets_bucket_sort<u64, Mapped> as Kernel>::NAME,
        <radix_msd_buckets_histogram<u32, Plain> as Kernel>::NAME,
        <radix_msd_buckets_histogram<u32, Mapped> as Kernel>::NAME,
        <radix_msd_buckets_histogram<u64, Plain> as Kernel>::NAME,
        <radix_msd_buckets_histogram<u64, Mapped> as Kernel>::NAME,
        <radix_msd_buckets_partition<u32, Plain> as Kernel>::NAME,
        <radix_msd_buckets_partition<u32, Mapped> as Kernel>::NAME,
        <radix_msd_buckets_partition<u64, Plain> as Kernel>::NAME,
        <radix_msd_buckets_partition<u64, Mapped> as Kernel>::NAME,
        <radix_msd_buckets_partition_wide<u32, Plain> as Kernel>::NAME,
        <radix_msd_buckets_partition_wide<u32, Mapped> as Kernel>::NAME,
        <radix_msd_buckets_partition_wide<u64, Plain> as Kernel>::NAME,
        <radix_msd_buckets_partition_wide<u64, Mapped> as Kernel>::NAME,
        <radix_msd_buckets_starts<u32> as Kernel>::NAME,
        <radix_msd_buckets_starts<u64> as Kernel>::NAME,
    ];
}

/// The kernels of `msd-skewed` beside those of `msd-buckets` that it launches too.
mod msd_skewed_kernels {
    use rungs_kernels::radix::r8_msd_buckets::{Mapped, Plain};
    use rungs_kernels::radix::r9_msd_skewed::*;
    use simt::Kernel;

    pub const NAMES: &[&str] = &[
        <radix_msd_skewed_bucket_sort<u32, Plain> as Kernel>::NAME,
        <radix_msd_skewed_bucket_sort<u32, Mapped> as Kernel>::NAME,
        <radix_msd_skewed_bucket_sort<u64, Plain> as Kernel>::NAME,
        <radix_msd_skewed_bucket_sort<u64, Mapped> as Kernel>::NAME,
        <radix_msd_skewed_groups<u32> as Kernel>::NAME,
        <radix_msd_skewed_groups<u64> as Kernel>::NAME,
        <radix_msd_skewed_split<u32> as Kernel>::NAME,
        <radix_msd_skewed_split<u64> as Kernel>::NAME,
        <radix_msd_skewed_starts<u32> as Kernel>::NAME,
        <radix_msd_skewed_starts<u64> as Kernel>::NAME,
        <radix_msd_skewed_tally<u32> as Kernel>::NAME,
        <radix_msd_skewed_tally<u64> as Kernel>::NAME,
    ];
}

/// A pass a digit, three launches a pass: count, scan, scatter. Passes go to and fro between the keys and the scratch.
macro_rules! lsd {
    ($(#[$doc:meta])* $name:ident, $module:ident, $count:ident, $scan:ident, $scatter:ident, $shared:expr) => {
        $(#[$doc])*
        struct $name;

        impl SortRung for $name {
            fn sorter(&self, engine: &Engine, n: u32, bytes: u32, _: &Parameters) -> Result<Box<dyn Sorter>> {
                fn sort<T: Scalar>(engine: &Engine, keys: Global<T>, scratch: Global<T>, counts: Global<u32>) -> Result<()>
                where
                    $count<T>: Kernel<Args = (Global<T>, Global<u32>, u32)>,
                    $scatter<T>: Kernel<Args = (Global<T>, Global<T>, Global<u32>, u32)>,
                {
                    let geometry = Geometry::linear($module::grid(keys.len()), $module::BLOCK);
                    let (bytes, shared): (u32, fn(u32) -> u32) = (size_of::<T>() as u32, $shared);
                    let (mut from, mut to) = (keys, scratch);
                    for shift in (0..8 * bytes).step_by($module::BITS as usize) {
                        engine.launch($count::<T>::default(), geometry, (from, counts, shift))?;
                        engine.launch($scan, Geometry::linear(1, SCAN_THREADS), (counts,))?;
                        let geometry = geometry.shared(shared(bytes));
                        engine.launch($scatter::<T>::default(), geometry, (from, to, counts, shift))?;
                        (from, to) = (to, from);
                    }
                    Ok(()) // an even number of passes ends where it began
                }
                let counts = engine.alloc::<u32>($module::counts(n) as usize)?;
                let scratch = engine.alloc::<u64>((n as usize * bytes as usize).div_ceil(8))?;
                unsigned_sorter(engine, move |engine, keys: Keys| {
                    let room = scratch.slice(0, scratch.len());
                    with_keys!(keys, k => sort(engine, k, room.cast().slice(0, k.len()), counts.view()))
                })
            }
        }
    };
}
lsd!(
    /// 4-bit digits, ranked by counters a thread.
    LsdBlocks, lsd_blocks, radix_lsd_blocks_count, radix_lsd_blocks_scan, radix_lsd_blocks_scatter, |_| 0
);
lsd!(
    /// 8-bit digits, ranked by ballots.
    LsdBallot, lsd_ballot, radix_lsd_ballot_count, radix_lsd_ballot_scan, radix_lsd_ballot_scatter,
    lsd_ballot::shared_bytes
);

/// Launches of a sequence that stands beside its kernels.
struct On<'e>(&'e Engine);

impl Launcher for On<'_> {
    type Error = Error;

    fn launch<K: Kernel>(&mut self, kernel: K, shape: Shape, args: K::Args) -> Result<()> {
        let geometry = Geometry::linear(shape.blocks, shape.threads).shared(shape.shared_bytes);
        let geometry = if shape.overlaps { geometry.overlapping() } else { geometry };
        self.0.launch(kernel, geometry, args)
    }
}

/// One pass over memory a digit.
struct Onesweep;

impl SortRung for Onesweep {
    fn sorter(&self, engine: &Engine, n: u32, bytes: u32, _: &Parameters) -> Result<Box<dyn Sorter>> {
        Ok(match bytes {
            4 => Box::new(OnesweepSorter::<u32>::new(engine, n, 0)?),
            _ => Box::new(OnesweepSorter::<u64>::new(engine, n, 0)?),
        })
    }

    fn pair_sorter(&self, engine: &Engine, n: u32) -> Result<Box<dyn PairSorter>> {
        Ok(Box::new(OnesweepSorter::<u32>::new(engine, n, n)?))
    }
}

struct OnesweepSorter<W> {
    engine: Engine,
    plan: onesweep::Plan,
    workspace: Buffer<u32>,
    scratch: Buffer<W>,
    values_scratch: Buffer<u32>,
    /// The next number that the workspace has not seen.
    epoch: u32,
}

impl<W: onesweep::Sort + KeyWord> OnesweepSorter<W> {
    /// For `n` keys, and either as many values or none.
    fn new(engine: &Engine, n: u32, values: u32) -> Result<Self> {
        let plan = onesweep::Plan::new::<W>(n, engine.multiprocessors());
        let workspace = engine.alloc::<u32>(plan.workspace_words() as usize)?;
        workspace.fill(0)?;
        let (scratch, values_scratch) = (engine.alloc(n as usize)?, engine.alloc(values as usize)?);
        Ok(Self { engine: engine.clone(), plan, workspace, scratch, values_scratch, epoch: 1 })
    }

    fn launch(&mut self, keys: Global<W>, values: Global<u32>, order: u32) -> Result<()> {
        if self.epoch > onesweep::LAST_EPOCH - self.plan.epochs() {
            self.workspace.fill(0)?;
            self.epoch = 1;
        }
        let memory = onesweep::Memory {
            keys,
            scratch: self.scratch.view(),
            values,
            values_scratch: self.values_scratch.view(),
            workspace: self.workspace.view(),
        };
        W::sort(&mut On(&self.engine), &self.plan, order, memory, self.epoch)?;
        self.epoch += self.plan.epochs();
        Ok(())
    }
}

impl<W: onesweep::Sort + KeyWord> Sorter for OnesweepSorter<W> {
    fn sort(&mut self, keys: Keys, order: u32) -> Result<()> {
        let Some(keys) = W::from_keys(keys) else {
            return Err(Error::Usage("the sorter was made for keys of another width".into()));
        };
        self.launch(keys, self.workspace.slice(0, 0), order)
    }
}

impl PairSorter for OnesweepSorter<u32> {
    fn sort(&mut self, keys: Global<u32>, values: Global<u32>, order: u32) -> Result<()> {
        self.launch(keys, values, order)
    }
}

/// A rung that sorts from the most significant digit.
macro_rules! msd {
    ($(#[$doc:meta])* $name:ident, $sorter:ident, $module:ident, $words:expr, $sort:ident) => {
        $(#[$doc])*
        struct $name;

        impl SortRung for $name {
            fn sorter(&self, engine: &Engine, n: u32, bytes: u32, _: &Parameters) -> Result<Box<dyn Sorter>> {
                fn sorter<W: $module::Sort + KeyWord>(engine: &Engine, n: u32) -> Result<Box<dyn Sorter>> {
                    let plan = $module::Plan::new::<W>(n, engine.multiprocessors(), engine.shared_per_block());
                    let words: fn(&$module::Plan) -> u32 = $words;
                    let workspace = engine.alloc::<u32>(words(&plan) as usize)?;
                    workspace.fill(0)?;
                    let scratch = engine.alloc::<W>(n as usize)?;
                    Ok(Box::new($sorter { engine: engine.clone(), plan, workspace, scratch }))
                }
                if bytes == 4 { sorter::<u32>(engine, n) } else { sorter::<u64>(engine, n) }
            }
        }

        struct $sorter<W> {
            engine: Engine,
            plan: $module::Plan,
            workspace: Buffer<u32>,
            scratch: Buffer<W>,
        }

        impl<W: $module::Sort + KeyWord> Sorter for $sorter<W> {
            fn sort(&mut self, keys: Keys, order: u32) -> Result<()> {
                let Some(keys) = W::from_keys(keys) else {
                    return Err(Error::Usage("the sorter was made for keys of another width".into()));
                };
                let memory = msd_buckets::Memory {
                    input: keys,
                    output: keys,
                    scratch: self.scratch.view(),
                    workspace: self.workspace.view(),
                };
                W::$sort(&mut On(&self.engine), &self.plan, order, memory)
            }
        }
    };
}
msd!(
    /// The most significant digits first, and each bucket in one block.
    MsdBuckets, MsdBucketsSorter, msd_buckets, |plan| plan.layout().words, sort
);
msd!(
    /// The same, and what is too large for a block is work for many.
    MsdSkewed, MsdSkewedSorter, msd_skewed, msd_skewed::Plan::words, sort_skewed
);
