//! Launches 2 and 6: the bucket of each key, and how many keys each bucket has.

use super::{BLOCK, BLOCK_ROWS, COPY, ITEMS, MOST_BUCKETS, SPLIT_TWINS, TILE, WARP_ROWS};
use crate::by_order::distribute::{Column, part_of_block};
use rungs_common::order::Order;
use simt::atomic::{Order as Memory, Scope};
use simt::{Global, Scalar, Shared, grid, opaque, shared, thread, unroll};

shared!(TREE: [u64; MOST_BUCKETS]);
shared!(SORTED: [u64; MOST_BUCKETS]);
shared!(TWINS: [u8; MOST_BUCKETS]);
shared!(COUNTS: [u32; MOST_BUCKETS]);
shared!(FOUND: [u32; 3]);

/// Blocks per SM that the compiler makes room for: a thread has 16 keys and 16 places in the tree.
pub const fn count_min_blocks<K>() -> u32 {
    if size_of::<K>() == 8 { 2 } else { 3 }
}

/// Writes the bucket of each key to `ids`, sixteen to a pack: a pack per thread of the tile. Adds to `counts`. `rows`:
/// [`BLOCK_ROWS`] or [`WARP_ROWS`].
/// The other arguments are those of [`super::splitters`].
#[simt::device]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub fn count<K: Scalar, C: Order<K>>(
    input: Global<K>, starts: Global<u32>, bits: u32, rows: u32, tree: Global<K>, sorted: Global<K>, twins: Global<u8>,
    modes: Global<u32>, counts: Global<u32>, ids: Global<u32>, order: C,
) {
    let (t, buckets) = (thread::thread_idx_x(), 1 << bits);
    let (nodes, splitters) = (TREE::view().cast::<K>(), SORTED::view().cast::<K>());
    let (own_twins, own_counts) = (TWINS::view(), COUNTS::view());
    if t < MOST_BUCKETS {
        own_counts.set(t, 0);
    }
    grid::wait_for_previous();
    grid::let_next_start();
    let Some(part) = part_of_block(input.len(), starts, thread::block_idx_x(), FOUND::view()) else { return };
    let mode = modes.get(part.bucket);
    if mode == COPY {
        if t == 0 {
            counts.fetch_add(part.bucket * buckets, part.len, Memory::Relaxed, Scope::Device);
        }
        return; // the whole block
    }
    let mut keys = [K::default(); ITEMS];
    // All loads before the first store; in two ways, so that places take no registers.
    let mut load = |column: Column| unroll::<ITEMS>(|i| keys[i] = input.get(part.place(column.slot(i))));
    if rows == BLOCK_ROWS {
        load(Column::of(BLOCK_ROWS));
    } else {
        load(Column::of(WARP_ROWS));
    }
    if t < buckets {
        let place = part.bucket * MOST_BUCKETS + t;
        nodes.set(t, tree.get(place));
        if mode == SPLIT_TWINS {
            splitters.set(t, sorted.get(place));
            own_twins.set(t, twins.get(place));
        }
    }
    thread::sync_threads(); // the splitters are there before they are searched, and the counts are 0
    // Offsets of nodes in bytes, from the root on: going down doubles an offset. As a multiplication by a number that
    // the compiler does not know, it runs on the unit for multiplications, at the same time as the comparisons.
    let (size, two) = (size_of::<K>() as u32, opaque(2));
    let mut nodes_of = [size; ITEMS];
    let mut level = 0;
    while level < bits {
        unroll::<ITEMS>(|i| {
            let right = order.before(at_byte(nodes, nodes_of[i]), keys[i]);
            nodes_of[i] = nodes_of[i] * two + if right { size } else { 0 };
        });
        level += 1;
    }
    // Found again, rather than kept in registers since the loads.
    let (column, mut packed) = (Column::of(rows).anew(), [0; 4]);
    unroll::<ITEMS>(|i| {
        let mut bucket = nodes_of[i] / size - buckets;
        // The keys that are equivalent to two splitters get the bucket between these.
        if mode == SPLIT_TWINS && own_twins.get(bucket) != 0 && !order.before(keys[i], splitters.get(bucket)) {
            bucket += 1;
        }
        packed[i / 4] |= bucket << (i % 4 * 8);
        if column.slot(i) < part.len {
            own_counts.fetch_add(bucket, 1, Memory::Relaxed, Scope::Block);
        }
    });
    ids.set_pack(thread::block_idx_x() * BLOCK + t, packed);
    thread::sync_threads(); // the counts are complete
    if t < buckets {
        let count = own_counts.get(t);
        if count != 0 {
            counts.fetch_add(part.bucket * buckets + t, count, Memory::Relaxed, Scope::Device);
        }
    }
}

/// The element `offset` bytes from the start of a view.
#[simt::device]
fn at_byte<K: Scalar>(view: Shared<K>, offset: u32) -> K {
    view.cast::<u8>().slice(offset, size_of::<K>() as u32).cast::<K>().get(0)
}

/// Words of the ids of `tiles` tiles.
pub const fn id_words(tiles: u32) -> u32 {
    // Not `tiles * TILE / 4`: of 2³² - 1 keys the tiles have more than 2³² places.
    tiles * (TILE / 4)
}
