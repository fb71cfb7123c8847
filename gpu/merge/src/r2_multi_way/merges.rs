//! The other launches: where the parts of a merge begin, and the merges.

use super::split::split;
use super::{
    BLOCK, KEYS, MAX_SPILLS, SMALL_BLOCK, SMALL_MERGE_KEYS, SMALL_MIN_BLOCKS, SPLIT_BLOCK, WIDE_KEYS, min_blocks,
};
use crate::Key;
use crate::Tile;
use crate::part_keys;
use crate::runs::{Group, load_runs, merge_part, split_words};
use simt::{Global, grid, kernel, shared, thread, warp};

shared!(SPLITS: [u32; split_words(8)]);

/// Where each part of a merge of four runs begins in them. `parts`: those of a whole group; `keys`: of a part.
#[kernel(max_threads = SPLIT_BLOCK, instances(merge_multi_way_split4: <u32>, merge_multi_way_split4_u64: <u64>))]
pub fn merge_multi_way_split4<K: Key>(input: Global<K>, run: u32, parts: u32, keys: u32, splits: Global<u32>) {
    find_splits::<K, 4, 8>(input, run, parts, keys, splits);
}

/// The same for eight runs.
#[kernel(max_threads = SPLIT_BLOCK, instances(merge_multi_way_split8: <u32>, merge_multi_way_split8_u64: <u64>))]
pub fn merge_multi_way_split8<K: Key>(input: Global<K>, run: u32, parts: u32, keys: u32, splits: Global<u32>) {
    find_splits::<K, 8, 4>(input, run, parts, keys, splits);
}

/// What the kernels that find splits do: a warp for each part.
#[simt::device]
#[rustfmt::skip]
fn find_splits<K: Key, const WAYS: usize, const SAMPLES: usize>(
    input: Global<K>, run: u32, parts: u32, part_keys: u32, splits: Global<u32>,
) {
    grid::wait_for_previous();
    grid::let_next_start();
    let (ways, lane) = (WAYS as u32, warp::lane_id());
    let part = thread::index_1d() / warp::WARP;
    if part >= splits.len() / ways {
        return; // the whole warp
    }
    let group = Group::new(part / parts, input.len(), run, ways);
    let found = split::<K, WAYS, SAMPLES>(input, group, part % parts * part_keys);
    if lane.is_multiple_of(SAMPLES as u32) {
        splits.set(part * ways + lane / SAMPLES as u32, found);
    }
}

/// Merges one part of four runs of `run` keys. `parts`: those of a whole group. `splits`: found before, or empty.
#[kernel(max_threads = BLOCK, min_blocks = min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_multi_way_merge4: <u32>, merge_multi_way_merge4_u64: <u64>,
))]
pub fn merge_multi_way_merge4<K: Key>(input: Global<K>, output: Global<K>, run: u32, parts: u32, splits: Global<u32>) {
    if size_of::<K>() == 8 {
        merge_runs::<K, 4, 8, WIDE_KEYS, false>(input, output, run, parts, splits);
    } else {
        merge_runs::<K, 4, 8, KEYS, false>(input, output, run, parts, splits);
    }
}

/// The same for eight runs.
#[kernel(max_threads = BLOCK, min_blocks = min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_multi_way_merge8: <u32>, merge_multi_way_merge8_u64: <u64>,
))]
pub fn merge_multi_way_merge8<K: Key>(input: Global<K>, output: Global<K>, run: u32, parts: u32, splits: Global<u32>) {
    if size_of::<K>() == 8 {
        merge_runs::<K, 8, 4, WIDE_KEYS, false>(input, output, run, parts, splits);
    } else {
        merge_runs::<K, 8, 4, KEYS, false>(input, output, run, parts, splits);
    }
}

/// The same for four runs and small tiles.
#[kernel(max_threads = SMALL_BLOCK, min_blocks = SMALL_MIN_BLOCKS, instances(
    merge_multi_way_small_merge: <u32>, merge_multi_way_small_merge_u64: <u64>,
))]
#[rustfmt::skip]
pub fn merge_multi_way_small_merge<K: Key>(
    input: Global<K>, output: Global<K>, run: u32, parts: u32, splits: Global<u32>,
) {
    if size_of::<K>() == 8 {
        merge_runs::<K, 4, 8, WIDE_KEYS, true>(input, output, run, parts, splits);
    } else {
        merge_runs::<K, 4, 8, SMALL_MERGE_KEYS, true>(input, output, run, parts, splits);
    }
}

/// What the kernels of merges do.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
fn merge_runs<K: Key, const WAYS: usize, const SAMPLES: usize, const N: usize, const AHEAD: bool>(
    input: Global<K>, output: Global<K>, run: u32, parts: u32, splits: Global<u32>,
) {
    let (t, threads, ways) = (thread::thread_idx_x(), thread::block_dim_x(), WAYS as u32);
    let (block, shared) = (thread::block_idx_x(), SPLITS::view().slice(0, split_words(ways)));
    let keys = part_keys(ways, threads, N as u32);
    grid::wait_for_previous();
    grid::let_next_start();
    let group = Group::new(block / parts, input.len(), run, ways);
    let from = block % parts * keys;
    let to = if group.len - from < keys { group.len } else { from + keys };
    if splits.is_empty() {
        // Two warps find the splits of both ends.
        let end = t / warp::WARP;
        if end < 2 {
            let found = split::<K, WAYS, SAMPLES>(input, group, if end == 0 { from } else { to });
            let lane = warp::lane_id();
            if lane.is_multiple_of(SAMPLES as u32) {
                shared.set(end * ways + lane / SAMPLES as u32, found);
            }
        }
    } else if t < ways {
        shared.set(t, splits.get(block * ways + t));
        let last = to == group.len;
        shared.set(ways + t, if last { group.len_of(t) } else { splits.get((block + 1) * ways + t) });
    }
    thread::sync_threads(); // all threads see the splits
    let tile = Tile::new(threads * N as u32);
    let load = |places| load_runs(tile, input, group, shared, places, ways);
    merge_part::<K, WAYS, N, AHEAD>(output, group, [from, to], shared, tile, load);
}
