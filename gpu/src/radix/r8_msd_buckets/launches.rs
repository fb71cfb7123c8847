//! What the host launches.

use super::*;
use crate::ladder::sort::{Keys, Sort as Kind, Sorts, Width};
use crate::ladder::*;

/// The rung.
pub static RUNG: Entry<Kind> = rung!(
    "mod.rs",
    [
        radix_msd_buckets_histogram,
        radix_msd_buckets_starts,
        radix_msd_buckets_partition,
        radix_msd_buckets_partition_mapped_wide_keys,
        radix_msd_buckets_partition_wide,
        radix_msd_buckets_partition_wide_mapped_wide_keys,
        radix_msd_buckets_bucket_sort,
        radix_msd_buckets_bucket_sort_wide,
        radix_msd_buckets_split,
        radix_msd_buckets_tally,
        radix_msd_buckets_groups,
        radix_msd_buckets_groups_wide,
    ]
)
.with_capacity(MAX_KEYS as u64)
.with_tiles(&[TILE])
.run_by(Kind::both(&MsdBuckets));

struct MsdBuckets;

/// Keys of a tile.
const TILE: u64 = partition_tile::<u32>(false) as u64;

impl<W: Width + Sort> Sorts<W> for MsdBuckets {
    fn launches(&self, on: &dyn Launcher, n: u32, _: &Options) -> Result<Launches<Keys<W>>> {
        let device = on.device();
        let plan = Plan::new::<W>(n, device.multiprocessors, device.shared_per_block);
        // Zero once: every sort leaves the histogram so.
        let (workspace, scratch) = (on.zeros(plan.layout().words)?, on.scratch(n)?);
        Ok(Box::new(move |on, Keys { keys, order }| {
            let memory = Memory { input: keys, output: keys, scratch: scratch.view(), workspace: workspace.view() };
            W::sort(on, &plan, order, memory)
        }))
    }
}
