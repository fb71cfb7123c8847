//! # Select, one global atomic per warp
//!
//! **Idea.** The lanes of a warp vote. By one atomic addition, one lane reserves a place for each selected item of the
//! warp, and tells the others where these places begin. A lane's own place comes after those of the selected lanes
//! below it.
//!
//! **Changed from the rung before.** A ballot counts the selected items of 32 lanes; one atomic addition reserves
//! places for all of them. Selected items of a warp are neighbours in the output, so their stores combine. On an H100
//! both rungs take the same time, 1.77 and 1.75 ms for 2²⁶ words, because ptxas optimises the first one in this way.
//!
//! **Bottleneck.** Still one atomic address for the whole grid, now with up to 32 times fewer additions, and an order
//! that depends on the schedule. The next rung has no atomics, and keeps the order.
//!
//! **Cost.** One global atomic per warp that selects an item; one read of each item and one write of each selected one;
//! no barrier; one launch, and the clearing of the count before it.
//!
//! **Threads.** One thread per item; neighbouring threads read neighbouring items.
//!
//! **Limits.** Any n. Items of a warp keep their order; the order of the warps may differ from run to run.
//!
//! **Source.** A. Adinetz, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics", NVIDIA (2014). Changed:
//! all lanes of the warp vote, those past the end too.

use super::{below, lanes_before};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::warp::{self, FULL};
use simt::{Argument, Global, Scalar, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Blocks for `n` items, one thread per item.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(BLOCK)
}

/// Writes the items below the pivot to `output` and adds their number to `count`, which is zero before.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64]))]
pub fn select_warp_aggregated<T: Scalar + Argument>(input: Global<T>, output: Global<T>, count: Global<u32>, pivot: T) {
    let (lane, item) = (warp::lane_id(), below(input, thread::index_1d(), pivot));
    // Lanes past the end vote too: a warp operation needs all lanes of its mask.
    let selected = warp::ballot(FULL, item.is_some());
    if selected == 0 {
        return;
    }
    let mut first = 0;
    if lane == 0 {
        // Atomic: every warp of the grid may be taking places.
        first = count.fetch_add(0, selected.count_ones(), Relaxed, Device);
    }
    first = warp::shuffle(FULL, first, 0);
    if let Some(item) = item {
        output.set(first + lanes_before(selected, lane), item);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the count cleared, then the kernel.

    use super::*;
    use rungs_common::ladder::select::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Select> =
        rung!("r2_warp_aggregated.rs", [select_warp_aggregated]).with_tiles(&[BLOCK as u64]).run_by(&WarpAggregated);

    struct WarpAggregated;

    impl Select for WarpAggregated {
        fn is_stable(&self) -> bool {
            false
        }
    }

    impl<T: Scalar + Argument> Serves<Items<T>> for WarpAggregated
    where
        select_warp_aggregated<T>: Kernel<Args = (Global<T>, Global<T>, Global<u32>, T)>,
    {
        type Memory = ();

        fn scratch(&self, _: &dyn Launcher, _: u32) -> Result {
            Ok(())
        }

        fn run(on: &dyn Launcher, Items { input, output, count, pivot }: Items<T>, (): &mut ()) -> Result {
            on.clear(count)?;
            let geometry = Geometry::linear(grid(input.len()), BLOCK);
            on.launch(select_warp_aggregated::<T>::default(), geometry, (input, output, count, pivot))
        }
    }
}
