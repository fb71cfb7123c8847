//! Launches 1 and 5: sorts a sample of each bucket that is to be split, and takes splitters from it.

use super::{BLOCK, COPY, MOST_BUCKETS, SPLIT, SPLIT_TWINS};
use crate::Key;
use crate::{Tile, sort_in_block};
use simt::math::mul_hi;
use simt::{Global, grid, kernel, thread};

/// Keys of a sample per thread.
const KEYS: usize = 15;

/// Most keys of a sample.
pub const MOST_SAMPLES: u32 = BLOCK * KEYS as u32;

/// Splitters for each bucket of `input`, a block for each.
///
/// `starts`: where the buckets start, and the end; empty if there is one. `finals`: which of them are final. Buckets of
/// up to `small` keys are not split either. The others are split into `1 << bits`, by as many samples as `samples`.
/// `tree`: splitters as a search tree, breadth first from place 1 on; `sorted`: in order; `twins`: whether a splitter
/// is equal to the next; each with room for [`MOST_BUCKETS`] per bucket. `modes`: what is done with each bucket.
/// `counts`: set to 0.
#[kernel(max_threads = BLOCK, instances(merge_sample_splitters: <u32>, merge_sample_splitters_u64: <u64>))]
#[rustfmt::skip]
pub fn merge_sample_splitters<K: Key>(
    input: Global<K>, starts: Global<u32>, finals: Global<u8>, small: u32, bits: u32, samples: u32,
    tree: Global<K>, sorted: Global<K>, twins: Global<u8>, modes: Global<u32>, counts: Global<u32>,
) {
    let (t, bucket, buckets) = (thread::thread_idx_x(), thread::block_idx_x(), 1 << bits);
    grid::wait_for_previous();
    grid::let_next_start();
    let (start, end) = if starts.is_empty() { (0, input.len()) } else { (starts.get(bucket), starts.get(bucket + 1)) };
    let n = end - start;
    let mut i = t;
    while i < buckets {
        counts.set(bucket * buckets + i, 0);
        i += BLOCK;
    }
    if n == 0 || !starts.is_empty() && (n <= small || finals.get(bucket) != 0) {
        if t == 0 {
            modes.set(bucket, COPY);
        }
        return; // the whole block
    }
    let tile = Tile::<K>::new(MOST_SAMPLES);
    tile.surround(samples);
    let mut i = t;
    while i < samples {
        // One key at random from each of `samples` parts.
        let place = |i: u32| (i as u64 * n as u64 / samples as u64) as u32;
        let (first, next) = (place(i), place(i + 1));
        let parts = if next > first { next - first } else { 1 };
        tile.set(i, input.get(start + first + mul_hi(random(i, bucket), parts)));
        i += BLOCK;
    }
    thread::sync_threads(); // the sample is whole before each thread takes its neighbouring keys
    sort_in_block::<K, KEYS, true, true>(tile, samples);
    thread::sync_threads(); // the sample is sorted
    let splitter = |i: u32| tile.get((((i as u64 + 1) * samples as u64) >> bits) as u32);
    let (base, mut any) = (bucket * MOST_BUCKETS, false);
    let mut i = t;
    while i < buckets {
        // The places that no search comes to are written too: they are loaded with the others.
        if i == 0 {
            tree.set(base, splitter(0));
        } else {
            // Node i is number x of the 2^level nodes of its level; below it lie the splitters of its part of the
            // range.
            let level = 31 - i.leading_zeros();
            let x = i - (1 << level);
            tree.set(base + i, splitter(((2 * x + 1) << (bits - level - 1)) - 1));
        }
        sorted.set(base + i, splitter(if i + 1 < buckets { i } else { i - 1 }));
        let twin = i + 2 < buckets && splitter(i + 1) <= splitter(i);
        twins.set(base + i, twin as u8);
        any |= twin;
        i += BLOCK;
    }
    let any = thread::sync_threads_or(any);
    if t == 0 {
        modes.set(bucket, if any { SPLIT_TWINS } else { SPLIT });
    }
}

/// A number that looks random, for sample `i` of a bucket.
#[simt::device]
fn random(i: u32, bucket: u32) -> u32 {
    let mut z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = z.wrapping_add((bucket as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    z = (z ^ (z >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 32) as u32
}
