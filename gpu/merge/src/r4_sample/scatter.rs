//! Launches 3, 4, 7 and 8: where the buckets start, and the move of the keys to them.

use super::tiles::{part_of_block, slot};
use super::{BLOCK, COPY, ITEMS, MAX_SPILLS, MOST_BUCKETS, SPLIT_TWINS, TILE};
use crate::Key;
use crate::block_scan_exclusive;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, shared, thread, unroll, warp};

shared!(SUMS: [u32; MOST_BUCKETS / warp::WARP]);
shared!(CURSORS: [u32; MOST_BUCKETS]);
shared!(OFFSETS: [u32; MOST_BUCKETS]);
shared!(FOUND: [u32; 3]);

/// Where the buckets of each bucket start, a block for each. `old_starts` and `old_finals`: the buckets before, empty
/// if there is one. `starts`, `cursors`, `finals`: the new ones.
#[kernel(max_threads = MOST_BUCKETS)]
#[rustfmt::skip]
pub fn merge_sample_starts(
    n: u32, old_starts: Global<u32>, old_finals: Global<u8>, bits: u32, counts: Global<u32>, twins: Global<u8>,
    modes: Global<u32>, starts: Global<u32>, cursors: Global<u32>, finals: Global<u8>,
) {
    let (t, bucket, buckets) = (thread::thread_idx_x(), thread::block_idx_x(), 1 << bits);
    grid::wait_for_previous();
    grid::let_next_start();
    let first = if old_starts.is_empty() { 0 } else { old_starts.get(bucket) };
    let (mode, mine) = (modes.get(bucket), bucket * buckets + t);
    let count = if t < buckets { counts.get(mine) } else { 0 };
    let start = first + block_scan_exclusive(count, SUMS::view());
    if t < buckets {
        starts.set(mine, start);
        cursors.set(mine, start);
        finals.set(mine, match mode {
            COPY => if old_finals.is_empty() { 0 } else { old_finals.get(bucket) },
            SPLIT_TWINS if t > 0 => twins.get(bucket * MOST_BUCKETS + t - 1),
            _ => 0,
        });
    }
    if t == 0 && bucket == thread::grid_dim_x() - 1 {
        starts.set((bucket + 1) * buckets, n);
    }
}

/// Blocks per SM that the compiler makes room for.
pub const fn scatter_min_blocks<K>() -> u32 {
    if size_of::<K>() == 8 { 2 } else { 4 }
}

/// Moves the keys of `input` to their buckets in `output`. The other arguments are those of
/// [`super::merge_sample_count`].
#[kernel(max_threads = BLOCK, min_blocks = scatter_min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_sample_scatter_u32: <u32>, merge_sample_scatter_u64: <u64>,
))]
#[rustfmt::skip]
pub fn merge_sample_scatter<K: Key>(
    input: Global<K>, output: Global<K>, starts: Global<u32>, bits: u32, modes: Global<u32>, ids: Global<u32>,
    cursors: Global<u32>,
) {
    // From the last tile on: what the count read last is still in the L2 cache.
    let (t, block) = (thread::thread_idx_x(), thread::grid_dim_x() - 1 - thread::block_idx_x());
    let (own, offsets) = (CURSORS::view(), OFFSETS::view());
    let staged = Shared::<K>::dynamic(0, TILE);
    let staged_ids = Shared::<u8>::dynamic(TILE * size_of::<K>() as u32, TILE);
    if t < MOST_BUCKETS {
        own.set(t, 0);
    }
    grid::wait_for_previous();
    grid::let_next_start();
    let Some(part) = part_of_block(input.len(), starts, block, FOUND::view()) else { return };
    let mut keys = [K::default(); ITEMS];
    // All loads before the first store.
    unroll::<ITEMS>(|i| keys[i] = input.get(part.place(slot(i))));
    if modes.get(part.bucket) == COPY {
        part.copy(&keys, output);
        return; // the whole block
    }
    let packed = ids.get_pack(block * BLOCK + t);
    let id = |i: usize| packed[i / 4] >> (i % 4 * 8) & 0xff;
    thread::sync_threads(); // the counts are 0
    unroll::<ITEMS>(|i| {
        if slot(i) < part.len {
            own.fetch_add(id(i), 1, Relaxed, Scope::Block);
        }
    });
    thread::sync_threads(); // the counts are complete
    let (mut count, mut first) = (0, 0);
    if t < MOST_BUCKETS {
        count = own.get(t);
        if count != 0 {
            first = cursors.fetch_add((part.bucket << bits) + t, count, Relaxed, Scope::Device);
        }
    }
    let start = block_scan_exclusive(count, SUMS::view());
    if t < MOST_BUCKETS {
        own.set(t, start);
        offsets.set(t, first.wrapping_sub(start));
    }
    thread::sync_threads(); // the starts in the tile are there before keys are placed
    // Lanes that ask for a place in one bucket wait for each other. If the keys were in order before, all lanes do:
    // then lane i asks for the places of the i-th keys of all 32.
    let (lane, mut places) = (warp::lane_id(), 0);
    let alike = packed.map(|ids| ids == warp::shuffle(warp::FULL, ids, 0)) == [true; 4];
    if warp::all(warp::FULL, alike && part.len == TILE) {
        if lane < ITEMS as u32 {
            let [low, high] = if lane < 8 { [packed[0], packed[1]] } else { [packed[2], packed[3]] };
            let its = (if lane & 4 == 0 { low } else { high }) >> (lane % 4 * 8) & 0xff;
            places = own.fetch_add(its, warp::WARP, Relaxed, Scope::Block);
        }
        unroll::<ITEMS>(|i| {
            let place = warp::shuffle(warp::FULL, places, i as u32) + lane;
            staged.set(place, keys[i]);
            staged_ids.set(place, id(i) as u8);
        });
    } else {
        unroll::<ITEMS>(|i| {
            if slot(i) < part.len {
                let place = own.fetch_add(id(i), 1, Relaxed, Scope::Block);
                staged.set(place, keys[i]);
                staged_ids.set(place, id(i) as u8);
            }
        });
    }
    thread::sync_threads(); // the tile is in the order of the buckets, so that neighbours are written together
    part.store(staged, staged_ids, offsets, output);
}
