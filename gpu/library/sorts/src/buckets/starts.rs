//! Launch 2: where each bucket starts, and which tiles the second partition has.

use super::partition_tile;
use crate::msd::{Key, start_buckets};
use simt::{Global, grid, kernel};

pub use crate::msd::STARTS_THREADS;

/// Blocks: one for each value of the first partition's bits; one in all if that is the only partition.
pub const fn starts_blocks(first_bits: u32, second_bits: u32) -> u32 {
    if second_bits == 0 { 1 } else { 1 << first_bits }
}

/// Turns the histogram of `1 << (first_bits + second_bits)` buckets of `n` keys into starts.
///
/// `starts`: one word per bucket, and the end. `second`, `first`: one cursor per bucket and per top bucket (placed by
/// `spread`), set to its start; with one partition only `first`, one word per bucket. `tiles`: four words per tile:
/// begin, end, first bucket, and the multiple of a pack that the tile starts on. The tiles of top bucket q stand from
/// ⌊start of q / keys per tile⌋ + q on, which takes no scan over the numbers of tiles; descriptors without a tile are
/// empty.
#[kernel(max_threads = STARTS_THREADS, instances(
    radix_pieces_starts: <u32>,
    radix_pieces_starts_u64: <u64>,
))]
#[rustfmt::skip]
pub fn radix_pieces_starts<W: Key>(
    histogram: Global<u32>, n: u32, first_bits: u32, second_bits: u32, starts: Global<u32>, second: Global<u32>,
    first: Global<u32>, tiles: Global<u32>,
) {
    let (bits, tile) = ([first_bits, second_bits], partition_tile::<W>(false));
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete
    start_buckets::<W>(histogram, n, bits, starts, [first, second], tiles, tile, |_, _| {});
}
