//! # Scan of any length, three kernels
//!
//! **Idea.** Cut the input into tiles. The first kernel scans each tile by itself and stores its sum. The sums are
//! scanned in the same way: as one tile, or as several tiles if there are too many. The last kernel adds to each
//! element the sum of everything before its tile.
//!
//! **Changed from the rung before.** Any length: there are many blocks, one per tile.
//!
//! **Bottleneck.** Every element is read twice and written twice. The next rung reads and writes it once.
//!
//! **Cost.** About 3·n additions, n more if inclusive; 16 bytes of global memory per word; 2·k - 1 launches for k
//! levels of tiles (k = 1 up to 2¹⁰ elements, 2 up to 2²⁰, 3 up to 2³⁰, 4 above); 21 barriers per block of the first
//! kernel.
//!
//! **Threads.** One block per tile, two elements per thread, as in the rung before.
//!
//! **Limits.** Any n. Floats are added in the order of the tree, then tile by tile of 1024, in the same order in every
//! run.
//!
//! **Source.** M. Harris, S. Sengupta and J. D. Owens, "Parallel prefix sum (scan) with CUDA", GPU Gems 3 (2007), and
//! Moscow Aviation Institute, "Parallel data processing", lab 3 (2020). Changed: as many levels as the length needs,
//! inclusive scans, other types and operators.

use super::r3_blelloch_padded as tile;
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = tile::BLOCK;

/// Elements of a tile.
pub const TILE: u32 = tile::CAPACITY;

/// Blocks for `n` elements, one per tile; also the number of their sums.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Elements of scratch memory for a scan of `n` elements: the sums of all levels, one level after another.
pub const fn scratch(n: u32) -> u32 {
    let (mut level, mut total) = (grid(n), 0);
    while level > 1 {
        total += level;
        level = grid(level);
    }
    // The top level has one tile and one sum, which no kernel reads.
    total + 1
}

/// The first kernel: scans each tile of `input` into `output` and writes the tile's sum to `sums`. It also scans the
/// sums of a level, in place and exclusively.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
pub fn scan_three_kernels_tiles<T: Scalar, O: Operator<T>>(
    input: Global<T>,
    output: Global<T>,
    sums: Global<T>,
    exclusive: u32,
) {
    let block = thread::block_idx_x();
    let (start, len) = tile_of(block, input.len());
    let sum = tile::scan_block::<T, O>(input.slice(start, len), output.slice(start, len), exclusive);
    if thread::thread_idx_x() == 0 {
        sums.set(block, sum);
    }
}

/// The last kernel: combines each element of `output` with the sum before its tile; `sums` is scanned exclusively.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
pub fn scan_three_kernels_add<T: Scalar, O: Operator<T>>(output: Global<T>, sums: Global<T>) {
    let block = thread::block_idx_x();
    let (start, len) = tile_of(block, output.len());
    let (output, before) = (output.slice(start, len), sums.get(block));
    let mut i = thread::thread_idx_x();
    while i < len {
        output.set(i, O::combine(before, output.get(i)));
        i += BLOCK;
    }
}

/// First element and length of a block's tile; the last tile may be short.
#[simt::device]
fn tile_of(block: u32, n: u32) -> (u32, u32) {
    let start = block * TILE;
    (start, (n - start).min(TILE))
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the tiles of each level, up to one tile of sums; then the sums, added to the levels
    //! below.

    use super::*;
    use rungs_common::ladder::scan::*;
    use std::vec::Vec;

    /// The rung.
    pub static RUNG: Entry<&dyn Scan> =
        rung!("r4_three_kernels.rs", [scan_three_kernels_tiles, scan_three_kernels_add])
            .with_tiles(&[TILE as u64])
            .run_by(&ThreeKernels);

    struct ThreeKernels;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for ThreeKernels
    where
        scan_three_kernels_tiles<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<T>, u32)>,
        scan_three_kernels_add<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        /// The sums of the levels' tiles.
        type Memory = Scratch<T>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Scratch<T>> {
            on.scratch(scratch(n))
        }

        fn run(on: &dyn Launcher, Elements { input, output, exclusive }: Elements<T>, sums: &mut Scratch<T>) -> Result {
            let geometry = |n| Geometry::linear(grid(n), BLOCK);
            // Up: the sums of a level's tiles are the next level's input; the first level has the caller's.
            let (mut level, mut rest) = ((input, output, exclusive as u32), sums.view());
            let mut levels = Vec::new();
            loop {
                let (input, output, exclusive) = level;
                let tiles = grid(input.len());
                let kernel = scan_three_kernels_tiles::<T, O>::default();
                on.launch(kernel, geometry(input.len()), (input, output, rest, exclusive))?;
                if tiles <= 1 {
                    break;
                }
                let sums = rest.slice(0, tiles);
                levels.push((output, sums));
                (level, rest) = ((sums, sums, 1), rest.slice(tiles, rest.len() - tiles));
            }
            // Down: the sums are scanned; each level adds its sums to the level below.
            levels.into_iter().rev().try_for_each(|(output, sums)| {
                let kernel = scan_three_kernels_add::<T, O>::default();
                on.launch(kernel, geometry(output.len()), (output, sums))
            })
        }
    }
}
