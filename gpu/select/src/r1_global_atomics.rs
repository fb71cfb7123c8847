//! # Select, one global atomic per selected item
//!
//! **Idea.** A thread tests its item. If the item is selected, the thread adds one to a counter with an atomic
//! addition. The former value is the item's place in the output; no other item gets it.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** All atomic additions use one address, and the L2 cache does them in sequence. The next rung makes
//! one addition for all selected items of a warp. On a GPU this rung does so too: ptxas sees that all lanes add one to
//! one address, and emits a vote and a single addition (in SASS `VOTEU`, `POPC`, `ATOMG`).
//!
//! **Cost.** One global atomic per selected item; one read of each item and one write of each selected one; no barrier;
//! one launch, and the clearing of the count before it.
//!
//! **Threads.** One thread per item; neighbouring threads read neighbouring items.
//!
//! **Limits.** Any n. The order of the selected items depends on the schedule, so it may differ from run to run.
//!
//! **Source.** A. Adinetz, "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics", NVIDIA (2014), its first
//! version. Changed: any predicate, and the six element types.

use super::below;
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::{Argument, Global, Scalar, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Blocks for `n` items, one thread per item.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(BLOCK)
}

/// Writes the items below the pivot to `output`, in any order, and adds their number to `count`, which is zero before.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64]))]
pub fn select_global_atomics<T: Scalar + Argument>(input: Global<T>, output: Global<T>, count: Global<u32>, pivot: T) {
    if let Some(item) = below(input, thread::index_1d(), pivot) {
        // Atomic: every thread of the grid may be taking a place.
        output.set(count.fetch_add(0, 1, Relaxed, Device), item);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the count cleared, then the kernel.

    use super::*;
    use rungs_common::ladder::select::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Select> =
        rung!("r1_global_atomics.rs", [select_global_atomics]).with_tiles(&[BLOCK as u64]).run_by(&GlobalAtomics);

    struct GlobalAtomics;

    impl Select for GlobalAtomics {
        fn is_stable(&self) -> bool {
            false
        }
    }

    impl<T: Scalar + Argument> Serves<Items<T>> for GlobalAtomics
    where
        select_global_atomics<T>: Kernel<Args = (Global<T>, Global<T>, Global<u32>, T)>,
    {
        type Memory = ();

        fn scratch(&self, _: &dyn Launcher, _: u32) -> Result {
            Ok(())
        }

        fn run(on: &dyn Launcher, Items { input, output, count, pivot }: Items<T>, (): &mut ()) -> Result {
            on.clear(count)?;
            let geometry = Geometry::linear(grid(input.len()), BLOCK);
            on.launch(select_global_atomics::<T>::default(), geometry, (input, output, count, pivot))
        }
    }
}
