//! Radix sort.

use super::keys::Keys;
use super::rung::{Implementation, rung};
use super::sort::{SortRung, Sorter, problem, unsigned_sorter};
use super::{Extra, Family, Parameters, Size};
use crate::data::{Distribution, Dtype};
use crate::engine::{Engine, Geometry};
use crate::error::{Error, Result};
use gpu::radix::columns;
use gpu::radix::r1_columns_one_thread::radix_columns_one_thread;
use gpu::radix::r2_columns_atomic_min::radix_columns_atomic_min;
use gpu::radix::r3_columns_tree::radix_columns_tree;
use gpu::radix::r4_columns_groups::radix_columns_groups;
use simt::{Global, Kernel};

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
    ],
    dtypes: &[Dtype::U32, Dtype::I32, Dtype::F32],
    simulator_size: Size::Elements(1 << 12),
    gpu_size: Size::Elements(1 << 24),
    extras: &[Extra::Columns],
    input: Distribution::Uniform,
    problem: |workload| problem("radix", workload),
};

/// Columns where nobody asks for a number.
pub const COLUMNS: u32 = 128;

/// Keys that fit a block in that many columns.
const CAPACITY: u64 = columns::capacity(COLUMNS, simt::sim::MAX_SHARED) as u64;

/// Why the column-wise rungs cannot sort this.
fn refuses(size: &Size, _: Dtype, parameters: &Parameters) -> Option<String> {
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
