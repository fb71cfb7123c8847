//! Launch 8: sorts each group, keys that are crowded or that splitting has left, in one block.

use super::leftover::{Arrays, Numbers};
use super::lists::Lists;
use crate::msd::{
    BUCKET_MAX, IN_BLOCK_STATIC, Key, Mapped, SORT_THREADS, clear_counters, in_block_shared, sort_in_block,
    static_shared,
};
use simt::{Global, grid, kernel, thread};

/// Threads per block.
pub const GROUPS_THREADS: u32 = SORT_THREADS;

/// Bytes of static shared memory.
pub const GROUPS_STATIC: u32 = static_shared(IN_BLOCK_STATIC);

/// Bytes of dynamic shared memory.
pub const fn groups_shared<W: Key>() -> u32 {
    in_block_shared::<W>(SORT_THREADS)
}

/// Blocks per SM that the compiler makes room for; keys of 64 bits take twice the shared memory.
const fn blocks<W: Key>() -> u32 {
    4 / W::HALVES
}

/// Blocks: as many as run at once, or as there would be groups of half the largest size.
pub const fn groups_blocks(n: u32, multiprocessors: u32) -> u32 {
    let (most, enough) = (blocks::<u32>() * multiprocessors, n.div_ceil(BUCKET_MAX / 2));
    if enough < most { enough } else { most }
}

/// Sorts every group on the `lists`, from where it is into `output`.
#[kernel(max_threads = GROUPS_THREADS, min_blocks = blocks::<W>(), instances(
    radix_msd_skewed_groups: <u32>,
    radix_msd_skewed_groups_u64: <u64>,
))]
pub fn radix_msd_skewed_groups<W: Key>(scratch: Global<W>, output: Global<W>, lists: Global<u32>, numbers: Numbers) {
    grid::let_next_start();
    grid::wait_for_previous(); // keys and lists
    let lists = Lists::new(lists, output.len(), numbers.limits);
    let mut g = thread::block_idx_x();
    while g < lists.groups() {
        let (start, count, array) = lists.group(g);
        let input = Arrays { scratch, output }.of(array);
        clear_counters(SORT_THREADS);
        sort_in_block::<W, Mapped, false, SORT_THREADS>(input, output, numbers.order, start, start + count, 0);
        thread::sync_threads(); // all are done with the shared memory before the next group uses it
        g += thread::grid_dim_x();
    }
}
