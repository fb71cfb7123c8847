//! # Select, count, scan and scatter
//!
//! **Idea.** The place of a selected item is the number of selected items before it: an exclusive scan of ones and
//! zeros. The first kernel counts the selected items of each tile. The second scans the counts. The third tests each
//! item again and writes it to its tile's first place plus its rank in the tile.
//!
//! **Changed from the rung before.** No atomics: every place is computed from counts. So selected items keep their
//! order, and the result is the same in every run.
//!
//! **Bottleneck.** Every item is read twice. While one block scans the counts, the rest of the GPU is idle. The next
//! rung reads each item once, and its blocks scan the counts while they process the tiles.
//!
//! **Cost.** Two reads of each item and one write of each selected one; 3 launches; 1 barrier per tile that is counted
//! and 1 per tile that is scattered; 1 barrier per round of 4096 counts.
//!
//! **Threads.** One block per tile of [`BLOCK`] × [`ITEMS`] items. A warp has a contiguous piece of the tile and reads
//! it in rows of 32, so a ballot has the items of a row in their order.
//!
//! **Limits.** Any n.
//!
//! **Source.** G. E. Blelloch, "Prefix sums and their applications" (1990), its pack; D. Horn, "Stream reduction
//! operations for GPGPU applications", GPU Gems 2 (2005). Changed: ranks by ballot, counts scanned by one block.

use super::{items, lanes_before};
use rungs_common::operator::{Sum, warp_exclusive_of, warp_scan_inclusive};
use simt::warp::{self, FULL, WARP};
use simt::{Argument, Global, Scalar, Shared, kernel, shared, thread};

/// Threads per block of the kernels that count and scatter.
pub const BLOCK: u32 = 256;

/// Items per thread: rows of a warp.
pub const ITEMS: usize = 16;

/// Items of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Threads of the block that scans.
pub const SCAN_BLOCK: u32 = 1024;

/// Counts that a thread of the scan has in a round.
const COUNTS: usize = 4;

/// Counts of a round.
pub const ROUND: u32 = SCAN_BLOCK * COUNTS as u32;

/// Warps of a block that counts or scatters, and of the block that scans.
const WARPS: usize = (BLOCK / WARP) as usize;
const SCAN_WARPS: usize = (SCAN_BLOCK / WARP) as usize;

shared!(
    /// The selected items of each warp.
    SELECTED: [u32; WARPS]
);
shared!(
    /// The sum of the counts of each warp, for one round and the next by turns.
    SUMS: [u32; 2 * SCAN_WARPS]
);

/// Blocks for `n` items, one per tile; also the number of counts.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// The first kernel: counts the items below the pivot in each tile.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64]))]
pub fn select_three_kernels_count<T: Scalar + Argument>(input: Global<T>, counts: Global<u32>, pivot: T) {
    let t = thread::thread_idx_x();
    let mine = count_warp(&tile(input, t, pivot), pivot);
    if warp::lane_id() == 0 {
        SELECTED::view().set(t / WARP, mine);
    }
    thread::sync_threads(); // the numbers of all warps are written before they are added
    if t == 0 {
        counts.set(thread::block_idx_x(), add_warps::<WARPS>(SELECTED::view(), 0).1);
    }
}

/// The second kernel, one block: replaces each count by the sum of the counts before it; `total` is the sum of all.
#[kernel(max_threads = SCAN_BLOCK)]
pub fn select_three_kernels_scan(counts: Global<u32>, total: Global<u32>) {
    let (t, mut before, mut start) = (thread::thread_idx_x(), 0, 0);
    while start < counts.len() {
        let first = start + t * COUNTS as u32;
        let mut own = [0; COUNTS];
        simt::unroll::<COUNTS>(|i| {
            if first + (i as u32) < counts.len() {
                own[i] = counts.get(first + i as u32);
            }
        });
        let mut sum = 0;
        simt::unroll::<COUNTS>(|i| sum += own[i]);
        let inclusive = warp_scan_inclusive::<Sum, u32>(sum);
        let sums = SUMS::view().slice(start / ROUND % 2 * SCAN_WARPS as u32, SCAN_WARPS as u32);
        if warp::lane_id() == WARP - 1 {
            sums.set(t / WARP, inclusive);
        }
        // The sums of all warps are written before they are read. A warp may begin the next round while others still
        // read: that round has sums of its own.
        thread::sync_threads();
        let (warps, round) = add_warps::<SCAN_WARPS>(sums, t / WARP);
        let mut place = before + warps + warp_exclusive_of::<Sum, u32>(inclusive);
        simt::unroll::<COUNTS>(|i| {
            if first + (i as u32) < counts.len() {
                counts.set(first + i as u32, place);
            }
            place += own[i];
        });
        before += round;
        start += ROUND;
    }
    if t == 0 {
        total.set(0, before);
    }
}

/// The third kernel: writes the items below the pivot to `output`, from the place on that the scan found for the tile.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64]))]
pub fn select_three_kernels_scatter<T: Scalar + Argument>(
    input: Global<T>,
    output: Global<T>,
    places: Global<u32>,
    pivot: T,
) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let items = tile(input, t, pivot);
    let mine = count_warp(&items, pivot);
    if lane == 0 {
        SELECTED::view().set(t / WARP, mine);
    }
    thread::sync_threads(); // the numbers of all warps are written before they are added
    let mut place = places.get(thread::block_idx_x()) + add_warps::<WARPS>(SELECTED::view(), t / WARP).0;
    simt::unroll::<ITEMS>(|i| {
        let selected = warp::ballot(FULL, items[i] < pivot);
        if items[i] < pivot {
            output.set(place + lanes_before(selected, lane), items[i]);
        }
        place += selected.count_ones();
    });
}

/// The thread's items of the block's tile.
#[simt::device]
fn tile<T: Scalar>(input: Global<T>, t: u32, pivot: T) -> [T; ITEMS] {
    let start = thread::block_idx_x() * TILE;
    items(input.slice(start, (input.len() - start).min(TILE)), t, TILE, pivot)
}

/// How many items of the warp are selected.
#[simt::device]
fn count_warp<T: Scalar>(items: &[T; ITEMS], pivot: T) -> u32 {
    let mut sum = 0;
    simt::unroll::<ITEMS>(|i| sum += (items[i] < pivot) as u32);
    warp::reduce_add(FULL, sum)
}

/// The sum of the warps before warp `w`, and the sum of all.
#[simt::device]
fn add_warps<const N: usize>(warps: Shared<u32>, w: u32) -> (u32, u32) {
    let (mut before, mut total) = (0, 0);
    simt::unroll::<N>(|i| {
        let own = warps.get(i as u32);
        before += if (i as u32) < w { own } else { 0 };
        total += own;
    });
    (before, total)
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: count, scan, scatter.

    use super::*;
    use rungs_common::ladder::select::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Select> = rung!(
        "r3_three_kernels.rs",
        [select_three_kernels_count, select_three_kernels_scan, select_three_kernels_scatter]
    )
    .with_tiles(&[TILE as u64])
    .run_by(&ThreeKernels);

    struct ThreeKernels;

    impl Select for ThreeKernels {
        fn is_stable(&self) -> bool {
            true
        }
    }

    impl<T: Scalar + Argument> Serves<Items<T>> for ThreeKernels
    where
        select_three_kernels_count<T>: Kernel<Args = (Global<T>, Global<u32>, T)>,
        select_three_kernels_scatter<T>: Kernel<Args = (Global<T>, Global<T>, Global<u32>, T)>,
    {
        /// A count for each tile, then its place.
        type Memory = Scratch<u32>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Scratch<u32>> {
            on.scratch(grid(n))
        }

        fn run(on: &dyn Launcher, items: Items<T>, places: &mut Scratch<u32>) -> Result {
            let (Items { input, output, count, pivot }, places) = (items, places.view());
            let tiles = Geometry::linear(grid(input.len()), BLOCK);
            on.launch(select_three_kernels_count::<T>::default(), tiles, (input, places, pivot))?;
            on.launch(select_three_kernels_scan, Geometry::linear(1, SCAN_BLOCK), (places, count))?;
            on.launch(select_three_kernels_scatter::<T>::default(), tiles, (input, output, places, pivot))
        }
    }
}
