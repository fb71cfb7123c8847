//! Launches 3 and 4: moves the keys of each tile to their buckets.

use crate::msd::{Digit, Key, Mapped, Mapping, PACKS, Plain, Tables, Tile, TopDigit, move_tile, spread, tile_shared};
use simt::{Global, Scalar, grid, kernel, thread};

/// Threads per block.
pub const PARTITION_THREADS: u32 = 512;
/// Threads per wide block, which the first partition of many keys uses: longer runs of keys to each bucket.
pub const PARTITION_THREADS_WIDE: u32 = 1024;

/// Blocks per SM that the compiler makes room for: four of 512 threads with 32 registers. These are too few
/// for 64-bit keys that are mapped, and without the registers that Hopper has for values that are the same in a warp.
pub const fn partition_blocks<W: Key, M: Mapping>() -> u32 {
    if cfg!(sm_90) && !(W::HALVES == 2 && M::MAPS) { 4 } else { 3 }
}

/// The same for wide blocks.
pub const fn blocks_wide<W: Key, M: Mapping>() -> u32 {
    partition_blocks::<W, M>() / 2
}

/// Keys per tile.
pub const fn partition_tile<W: Scalar>(wide: bool) -> u32 {
    PACKS * W::PACK * partition_threads(wide)
}

/// Threads per block.
pub const fn partition_threads(wide: bool) -> u32 {
    if wide { PARTITION_THREADS_WIDE } else { PARTITION_THREADS }
}

/// Bytes of dynamic shared memory; there is no static.
pub const fn partition_shared(wide: bool) -> u32 {
    tile_shared(partition_threads(wide))
}

/// Moves the keys of `input` to `output`, each to where the cursor of its bucket points.
///
/// `shift`, `bits`: the digit among the 32 top bits. `tiles`: empty to partition all of `input`, or the descriptors of
/// [`super::radix_pieces_starts`]. `spread_out`: whether `cursors` are placed by [`spread`].
#[kernel(max_threads = PARTITION_THREADS, min_blocks = partition_blocks::<W, M>(), instances(
    radix_msd_skewed_partition: <u32, Plain>,
    radix_msd_skewed_partition_mapped: <u32, Mapped>,
    radix_msd_skewed_partition_u64: <u64, Plain>,
    radix_msd_skewed_partition_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_skewed_partition<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, shift: u32, bits: u32, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>,
) {
    partition::<W, M, PARTITION_THREADS>(input, output, order, shift, bits, cursors, spread_out, tiles);
}

/// [`radix_msd_skewed_partition`] in wide blocks.
#[kernel(max_threads = PARTITION_THREADS_WIDE, min_blocks = blocks_wide::<W, M>(), instances(
    radix_msd_skewed_partition_wide: <u32, Plain>,
    radix_msd_skewed_partition_wide_mapped: <u32, Mapped>,
    radix_msd_skewed_partition_wide_u64: <u64, Plain>,
    radix_msd_skewed_partition_wide_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_skewed_partition_wide<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, shift: u32, bits: u32, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>,
) {
    partition::<W, M, PARTITION_THREADS_WIDE>(input, output, order, shift, bits, cursors, spread_out, tiles);
}

#[simt::device]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
fn partition<W: Key, M: Mapping, const THREADS: u32>(
    input: Global<W>, output: Global<W>, order: u32, shift: u32, bits: u32, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>,
) {
    grid::let_next_start();
    Tables::new(THREADS, bits).clear();
    grid::wait_for_previous(); // cursors, tiles, and in the second partition the keys
    partition_cleared::<W, M, THREADS>(input, output, order, TopDigit { shift, bits }, cursors, spread_out, tiles);
}

/// The work of a block of a partition once its counters are cleared and everything is there.
#[simt::device]
#[track_caller]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub(in crate) fn partition_cleared<W: Key, M: Mapping, const THREADS: u32>(
    input: Global<W>, output: Global<W>, order: u32, digit: impl Digit<W>, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>,
) {
    let in_tile = PACKS * W::PACK * THREADS;
    let [begin, end, first_bucket, origin] = if tiles.is_empty() {
        let origin = thread::block_idx_x() * in_tile;
        [origin, input.len().min(origin.saturating_add(in_tile)), 0, origin]
    } else {
        tiles.get_pack(thread::block_idx_x())
    };
    if begin == end {
        return;
    }
    let cursor = |bucket: u32| {
        let bucket = first_bucket + bucket;
        if spread_out != 0 { spread(bucket) } else { bucket }
    };
    let tile = Tile { begin, end, origin };
    move_tile::<W, M, THREADS>(input, output, order, tile, digit, cursors, cursor);
}
