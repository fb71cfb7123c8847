//! # Top k, a sampled pivot and one read
//!
//! **Idea.** A few thousand keys are enough to guess a *pivot* just below the k-th largest. One read of the input keeps
//! the keys above it, hardly more than k, and the result is found among those.
//!
//! | launch | task |
//! | --- | --- |
//! | [`kernels::top_k_sampled_pivot`] | takes the r-th largest of 8192 samples: a few more than k are above it |
//! | [`kernels::top_k_sampled_filter`] | reads all keys once, keeps those above, counts those equal to the pivot |
//! | [`kernels::top_k_sampled_select`] | finds the k-th largest of those; writes the keys above it and copies of it |
//!
//! **Ties.** Keys equal to the pivot are counted, not kept: however many there are, they cost no room. With fewer than
//! k keys above the pivot the result is those, and copies of the pivot. All words are distinct in the total order of
//! [`rungs_common::keys`], so a copy is the key itself.
//!
//! **Bad samples.** If the keys kept and those equal to the pivot are fewer than k, or the room was too small, the last
//! launch selects from the whole input. So the result is right whatever the sample. It does so from the start where
//! there are few keys, or where k is so large that the keys kept would take much memory, see [`Plan`]. Then the input
//! is read once per digit, and once more.
//!
//! **Bottleneck.** Memory, from 2²⁶ keys on; below, the pivot's block and the barriers of the last launch.
//! On an H100, times a whole sort by CUB: k = 10 of 2²⁰ keys 3.0, of 2²⁴ 9.4, of 2²⁸ 14; of 2²⁴ keys k = 1000 8.3, and
//! k = 65,536 7.7; of equal keys about the same.
//!
//! **Cost.** One read of each key and of 8192 samples; a few reads of the keys that are kept, about k + 5·√(k·n / 8192)
//! and 6·n / 8192 more; three launches.
//!
//! **Threads.** One block of 1024 threads finds the pivot. The filter has two blocks of 512 threads per SM; each thread
//! has 4 loads of 16 bytes in flight, and tests the 4 before. The last launch has one block for up to 16,384 words, and
//! up to one block per SM for more.
//!
//! **Limits.** Words of 4 and 8 bytes in any order; any k up to n; any alignment.
//!
//! **Source.** Our own, after J. Zhang et al., "Parallel top-k algorithms on GPU" (2023), for the filter while reading.

pub mod digits;
pub mod kernels;

/// Threads per block of the kernels that sample and select.
pub const BLOCK: u32 = 1024;

/// Threads per block of the filter.
pub const FILTER_BLOCK: u32 = 512;

/// Keys of the sample.
pub const SAMPLES: u32 = 8192;

#[cfg(not(target_os = "cuda"))]
pub use launches::{Args, Plan, RUNG, Selects, Sequence};

#[cfg(not(target_os = "cuda"))]
mod launches {
    use super::digits::Digits;
    use super::kernels::*;
    use super::*;
    use rungs_common::ladder::top_k::{Entry, FindsLargest, Keys, TopK};
    use rungs_common::rung;
    use simt::launcher::{Launcher, Result, Scratch};
    use simt::{Geometry, Global, Kernel};

    /// The row of the ladder.
    pub static RUNG: Entry<&dyn TopK> =
        rung!("mod.rs", [top_k_sampled_pivot, top_k_sampled_filter, top_k_sampled_select]).run_by(&Sampled);

    struct Sampled;

    impl FindsLargest for Sampled {
        type Memory = Sequence<u32>;

        fn scratch(on: &dyn Launcher, n: u32, k: u32) -> Result<Sequence<u32>> {
            Sequence::new(on, Plan::new(n, k))
        }

        fn find(on: &dyn Launcher, Keys { input, output, order }: Keys, sequence: &mut Sequence<u32>) -> Result {
            sequence.run(on, Args { input, output, nth: output.slice(0, 0), order })
        }
    }

    /// Most keys for which there is no filter.
    const FEW: u32 = 1 << 15;

    /// How the k largest of n keys are found.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Plan {
        /// The number of keys.
        pub n: u32,
        /// How many of them are asked for: 1 to n.
        pub k: u32,
        /// The rank of the pivot in the sample, 1 to [`SAMPLES`]; 0 for no filter.
        pub rank: u32,
        /// Candidates that there is room for.
        pub room: u32,
    }

    impl Plan {
        /// The plan for the k largest of n keys. Its room is at most n / 8 keys, or 2²² if that is more.
        ///
        /// # Panics
        /// If k is 0 or more than n.
        pub fn new(n: u32, k: u32) -> Self {
            assert!((1..=n).contains(&k), "the {k} largest of {n} keys");
            let direct = Self { n, k, rank: 0, room: 0 };
            // About this number of the sample belong to the k largest; the standard deviation is less than its root.
            let expected = f64::from(k) * f64::from(SAMPLES) / f64::from(n);
            let rank = (expected + 5.0 * expected.sqrt() + 6.0).ceil();
            // If more are kept than this, fewer than `rank` of all samples are above the pivot: the chance is less
            // than 10⁻⁹.
            let room = (rank + 8.0 * rank.sqrt() + 16.0) * f64::from(n) / f64::from(SAMPLES);
            if n <= FEW || rank > f64::from(SAMPLES) || room > f64::from((n / 8).max(1 << 22)) {
                return direct;
            }
            Self { rank: rank as u32, room: (room as u32).min(n), ..direct }
        }
    }

    /// The views of a selection.
    #[derive(Clone, Copy)]
    pub struct Args<W> {
        /// The keys.
        pub input: Global<W>,
        /// Room for the k largest, or empty. Another view than `input`.
        pub output: Global<W>,
        /// Room for the k-th largest, or empty.
        pub nth: Global<W>,
        /// The order of the keys, see [`rungs_common::keys`]; with `DESCENDING` the k smallest are found.
        pub order: u32,
    }

    /// A word as which keys are selected.
    pub trait Selects: Digits {
        /// Launches the kernels of a plan.
        ///
        /// # Errors
        /// Those of the launches.
        fn launch(on: &dyn Launcher, sequence: &Sequence<Self>, args: Args<Self>) -> Result;
    }

    impl<W: Digits> Selects for W
    where
        top_k_sampled_pivot<W>: Kernel<Args = (Global<W>, u32, u32, Global<u32>)>,
        top_k_sampled_filter<W>: Kernel<Args = (Global<W>, u32, Global<W>, Global<u32>)>,
        top_k_sampled_select<W>: Kernel<Args = (Global<W>, u32, Global<W>, Global<u32>, u32, Global<W>, Global<W>)>,
    {
        fn launch(on: &dyn Launcher, sequence: &Sequence<Self>, args: Args<Self>) -> Result {
            let Plan { n, k, rank, .. } = sequence.plan;
            let Args { input, output, nth, order } = args;
            let (candidates, control) = (sequence.candidates.view(), sequence.control.view());
            let (bytes, multiprocessors) = (size_of::<W>() as u32, on.device().multiprocessors);
            if rank == 0 {
                on.clear(control)?;
            } else {
                let one = Geometry::linear(1, BLOCK);
                on.launch(top_k_sampled_pivot::<W>::default(), one, (input, order, rank, control))?;
                let grid = filter_grid(n, bytes, multiprocessors);
                // Behind the pivot's launch, which waits for all before it: the keys are there.
                let grid = Geometry::linear(grid, FILTER_BLOCK).shared(STAGE_BYTES).overlapping();
                on.launch(top_k_sampled_filter::<W>::default(), grid, (input, order, candidates, control))?;
            }
            let mut grid = Geometry::linear(select_grid(n, bytes, multiprocessors), BLOCK);
            if grid.grid[0] > 1 {
                // Blocks wait for each other.
                grid = grid.together();
            }
            let args = (input, order, candidates, control, k, output, nth);
            on.launch(top_k_sampled_select::<W>::default(), grid, args)
        }
    }

    /// The launches of a plan, with their scratch memory; they can be run again and again.
    pub struct Sequence<W> {
        plan: Plan,
        candidates: Scratch<W>,
        control: Scratch<u32>,
    }

    impl<W: Selects> Sequence<W> {
        /// Takes the scratch memory of a plan.
        ///
        /// # Errors
        /// [`Failed::Machine`](simt::launcher::Failed::Machine) if there is no memory.
        pub fn new(on: &dyn Launcher, plan: Plan) -> Result<Self> {
            let (candidates, control) = (on.scratch(plan.room)?, on.scratch(control::<W>())?);
            Ok(Self { plan, candidates, control })
        }

        /// Enqueues all launches.
        ///
        /// # Errors
        /// Those of the launches.
        ///
        /// # Panics
        /// If a view has another length than the plan says.
        pub fn run(&self, on: &dyn Launcher, args: Args<W>) -> Result {
            let Plan { n, k, .. } = self.plan;
            let fits = args.input.len() == n && [0, k].contains(&args.output.len()) && args.nth.len() <= 1;
            assert!(fits, "views of other lengths than {n} keys and {k} of them");
            W::launch(on, self, args)
        }
    }
}
