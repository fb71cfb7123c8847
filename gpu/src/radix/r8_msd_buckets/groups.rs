//! For skewed input: groups of keys that are too crowded for the bucket sort, or that splitting has left, each in
//! one block.

use super::in_block::{clear_counters, in_block_shared, sort_in_block};
use super::runs::ITEMS;
use super::{BUCKET_MAX, IN_SCRATCH, Key, Limits, Lists, Mapped, SLOTS};
use simt::{Global, grid, kernel, thread};

/// Threads a block.
pub const GROUPS_THREADS: u32 = SLOTS / ITEMS;

/// Bytes of dynamic shared memory.
pub const fn groups_shared(key_bytes: u32) -> u32 {
    in_block_shared(GROUPS_THREADS, key_bytes)
}

/// Blocks that a multiprocessor holds, at least, and of those for wide keys.
const BLOCKS: u32 = 4;
const BLOCKS_WIDE: u32 = 2;

/// Blocks: as many as are at work at once, or as there would be groups of half the largest size.
pub const fn groups_blocks(n: u32, multiprocessors: u32) -> u32 {
    let (most, enough) = (BLOCKS * multiprocessors, n.div_ceil(BUCKET_MAX / 2));
    if enough < most { enough } else { most }
}

/// Sorts every group on the `lists`, from where it is into `output`.
/// `tally_bits`, `least_bits`: see [`Limits`].
#[kernel(max_threads = GROUPS_THREADS, min_blocks = BLOCKS, instances(radix_msd_buckets_groups: <u32>))]
#[rustfmt::skip]
pub fn radix_msd_buckets_groups<W: Key>(
    scratch: Global<W>, output: Global<W>, order: u32, lists: Global<u32>, tally_bits: u32, least_bits: u32,
) {
    groups::<W>(scratch, output, order, lists, tally_bits, least_bits);
}

/// [`radix_msd_buckets_groups`] for wide keys.
#[kernel(max_threads = GROUPS_THREADS, min_blocks = BLOCKS_WIDE, instances(radix_msd_buckets_groups_u64: <u64>))]
#[rustfmt::skip]
pub fn radix_msd_buckets_groups_wide<W: Key>(
    scratch: Global<W>, output: Global<W>, order: u32, lists: Global<u32>, tally_bits: u32, least_bits: u32,
) {
    groups::<W>(scratch, output, order, lists, tally_bits, least_bits);
}

#[inline(always)]
#[rustfmt::skip]
fn groups<W: Key>(
    scratch: Global<W>, output: Global<W>, order: u32, lists: Global<u32>, tally_bits: u32, least_bits: u32,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // keys and lists
    let lists = Lists::new(lists, output.len(), Limits { tally_bits, least_bits });
    let mut g = thread::block_idx_x();
    while g < lists.groups() {
        let (start, count, array) = lists.group(g);
        let input = if array == IN_SCRATCH { scratch } else { output };
        clear_counters::<GROUPS_THREADS>();
        sort_in_block::<W, Mapped, GROUPS_THREADS, false>(input, output, order, start, start + count, 0);
        thread::sync_threads(); // all are done with the shared memory before the next group uses it
        g += thread::grid_dim_x();
    }
}
