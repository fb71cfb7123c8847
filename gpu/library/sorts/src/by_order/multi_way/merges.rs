//! The other launches: where the parts of a merge begin, and the merges.

use super::{keys, small_merge_keys};
use crate::by_order::passes::{Group, end, ended, load_runs, merge_part, split_words, tile_keys};
use crate::by_order::split::split;
use crate::by_order::tile::Tile;
use rungs_common::order::Order;
use simt::{Global, Scalar, grid, shared, thread, warp};

shared!(SPLITS: [u32; split_words(8)]);

/// Where each part of a merge of `WAYS` runs begins in them. `parts`: those of a whole group; `tile`: keys of a part.
#[simt::device]
#[rustfmt::skip]
pub fn find_splits<K: Scalar, C: Order<K>, const WAYS: usize, const SAMPLES: usize>(
    input: Global<K>, run: u32, parts: u32, tile: u32, splits: Global<u32>, order: C,
) {
    grid::wait_for_previous();
    grid::let_next_start();
    let (ways, lane) = (WAYS as u32, warp::lane_id());
    let part = thread::index_1d() / warp::WARP;
    if part >= splits.len() / ways {
        return; // the whole warp
    }
    let group = Group::new(part / parts, input.len(), run, ways);
    let found = split::<K, C, WAYS, SAMPLES>(input, group, part % parts * tile, order);
    if lane.is_multiple_of(SAMPLES as u32) {
        splits.set(part * ways + lane / SAMPLES as u32, found);
    }
}

/// Merges one part of `WAYS` runs of `run` keys. `parts`: those of a whole group. `splits`: found before, or empty.
#[simt::device]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub fn merge<K: Scalar, C: Order<K>, const WAYS: usize, const SAMPLES: usize>(
    input: Global<K>, output: Global<K>, run: u32, parts: u32, splits: Global<u32>, state: Global<u32>, pass: u32,
    order: C,
) {
    if size_of::<K>() == 8 {
        merge_runs::<K, C, WAYS, SAMPLES, { keys::<u64>() as usize }, false>(
            input, output, run, parts, splits, state, pass, order,
        );
    } else {
        merge_runs::<K, C, WAYS, SAMPLES, { keys::<u32>() as usize }, false>(
            input, output, run, parts, splits, state, pass, order,
        );
    }
}

/// The same for four runs and small tiles.
#[simt::device]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub fn small_merge<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, run: u32, parts: u32, splits: Global<u32>, state: Global<u32>, pass: u32,
    order: C,
) {
    if size_of::<K>() == 8 {
        merge_runs::<K, C, 4, 8, { small_merge_keys::<u64>() as usize }, true>(
            input, output, run, parts, splits, state, pass, order,
        );
    } else {
        merge_runs::<K, C, 4, 8, { small_merge_keys::<u32>() as usize }, true>(
            input, output, run, parts, splits, state, pass, order,
        );
    }
}

#[simt::device]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
fn merge_runs<
    K: Scalar, C: Order<K>, const WAYS: usize, const SAMPLES: usize, const N: usize, const AHEAD: bool,
>(
    input: Global<K>, output: Global<K>, run: u32, parts: u32, splits: Global<u32>, state: Global<u32>, pass: u32,
    order: C,
) {
    let (t, threads, ways) = (thread::thread_idx_x(), thread::block_dim_x(), WAYS as u32);
    let (block, shared) = (thread::block_idx_x(), SPLITS::view().slice(0, split_words(ways)));
    let keys = tile_keys(ways, threads, N as u32);
    grid::wait_for_previous();
    grid::let_next_start();
    let ended = ended(state);
    let group = Group::new(block / parts, input.len(), run, ways);
    let from = block % parts * keys;
    let to = if group.len - from < keys { group.len } else { from + keys };
    if splits.is_empty() {
        // Two warps find the splits of both ends.
        let end = t / warp::WARP;
        if end < 2 {
            let found = split::<K, C, WAYS, SAMPLES>(input, group, if end == 0 { from } else { to }, order);
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
    let tile = Tile::new(threads, threads * N as u32);
    let load = |places| load_runs(tile, input, group, shared, places, ways);
    if !merge_part::<K, C, WAYS, N, AHEAD>(output, group, [from, to], shared, tile, ended, order, load) {
        end(state, pass, ended);
    }
}
