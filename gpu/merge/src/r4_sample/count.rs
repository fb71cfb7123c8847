//! Launches 2 and 6: the bucket of each key, and how many keys each bucket has.

use super::tiles::{part_of_block, slot};
use super::{BLOCK, COPY, ITEMS, MAX_SPILLS, MOST_BUCKETS, SPLIT_TWINS};
use crate::Key;
use crate::at_byte;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, grid, kernel, opaque, shared, thread, unroll};

shared!(TREE: [u64; MOST_BUCKETS]);
shared!(SORTED: [u64; MOST_BUCKETS]);
shared!(TWINS: [u8; MOST_BUCKETS]);
shared!(COUNTS: [u32; MOST_BUCKETS]);
shared!(FOUND: [u32; 3]);

/// Blocks per SM that the compiler makes room for: a thread has 16 keys and 16 places in the tree.
pub const fn count_min_blocks<K>() -> u32 {
    if size_of::<K>() == 8 { 2 } else { 3 }
}

/// Writes the bucket of each key to `ids`, sixteen to a pack: a pack per thread of the tile. Adds to `counts`. The
/// other arguments are those of [`super::merge_sample_splitters`].
#[kernel(max_threads = BLOCK, min_blocks = count_min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_sample_count: <u32>, merge_sample_count_u64: <u64>,
))]
#[rustfmt::skip]
pub fn merge_sample_count<K: Key>(
    input: Global<K>, starts: Global<u32>, bits: u32, tree: Global<K>, sorted: Global<K>, twins: Global<u8>,
    modes: Global<u32>, counts: Global<u32>, ids: Global<u32>,
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
            counts.fetch_add(part.bucket * buckets, part.len, Relaxed, Scope::Device);
        }
        return; // the whole block
    }
    let mut keys = [K::default(); ITEMS];
    // All loads before the first store.
    unroll::<ITEMS>(|i| keys[i] = input.get(part.place(slot(i))));
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
    // the compiler does not know it is done next to the comparisons, by the unit for multiplications.
    let (size, two) = (size_of::<K>() as u32, opaque(2));
    let mut nodes_of = [size; ITEMS];
    let mut level = 0;
    while level < bits {
        unroll::<ITEMS>(|i| {
            let right = at_byte(nodes, nodes_of[i]) < keys[i];
            nodes_of[i] = nodes_of[i] * two + if right { size } else { 0 };
        });
        level += 1;
    }
    let mut packed = [0; 4];
    unroll::<ITEMS>(|i| {
        let mut bucket = nodes_of[i] / size - buckets;
        // The keys that are equal to two splitters get the bucket between these.
        if mode == SPLIT_TWINS && own_twins.get(bucket) != 0 && splitters.get(bucket) <= keys[i] {
            bucket += 1;
        }
        packed[i / 4] |= bucket << (i % 4 * 8);
        if slot(i) < part.len {
            own_counts.fetch_add(bucket, 1, Relaxed, Scope::Block);
        }
    });
    ids.set_pack(thread::block_idx_x() * BLOCK + t, packed);
    thread::sync_threads(); // the counts are complete
    if t < buckets {
        let count = own_counts.get(t);
        if count != 0 {
            counts.fetch_add(part.bucket * buckets + t, count, Relaxed, Scope::Device);
        }
    }
}
