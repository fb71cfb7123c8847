//! # Scan of one block, doubling sums
//!
//! **Idea.** Before step `s` each element is the sum of the 2ˢ elements that end with it. The step adds to each element
//! the one 2ˢ places before it, so the sums double in length. After log₂n steps each sum begins at the first element.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Every step adds in every place: about n·log₂n additions where n - 1 are enough. The next rung needs
//! a constant number of additions per element.
//!
//! **Cost.** About n·log₂n additions for the 1024 places of the block; 8 bytes of global memory per word; 10 barriers,
//! 11 if exclusive; one launch.
//!
//! **Threads.** One block, one thread per element.
//!
//! **Limits.** At most [`CAPACITY`] elements: one block. Floats are added in the order of the doubling.
//!
//! **Source.** W. D. Hillis and G. L. Steele, "Data parallel algorithms" (1986). Changed: two generations of sums in
//! turn, exclusive scans, other types and operators.

use super::{get_or_identity, set_within};
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar, kernel, shared, thread};

/// Threads of the block: the most that a block may have.
pub const BLOCK: u32 = 1024;

/// Elements that can be scanned.
pub const CAPACITY: u32 = BLOCK;

/// Steps, each of which doubles the length of the sums.
const STEPS: usize = BLOCK.ilog2() as usize;

shared!(
    /// Two generations of sums, written in turn; room for elements of 8 bytes.
    SUMS: [u64; 2 * BLOCK]
);

/// Blocks for `n` elements: one, or none if there is nothing to do.
pub const fn grid(n: u32) -> u32 {
    (n > 0) as u32
}

/// Scans the elements of `input` into `output`, at most [`CAPACITY`].
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
pub fn scan_hillis_steele<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>, exclusive: u32) {
    let (t, sums) = (thread::thread_idx_x(), SUMS::view().cast::<T>());
    let mut sum = get_or_identity::<T, O>(input, t);
    simt::unroll::<STEPS>(|step| {
        let distance = 1 << step;
        // No thread reads this generation any more: those that read it have passed the last barrier.
        let generation = sums.slice((step as u32 & 1) * BLOCK, BLOCK);
        generation.set(t, sum);
        thread::sync_threads(); // all sums of this generation are written before a thread reads another's
        if t >= distance {
            sum = O::combine(generation.get(t - distance), sum);
        }
    });
    let scanned = if exclusive != 0 { shift(t, sum, O::IDENTITY) } else { sum };
    set_within(output, t, scanned);
}

/// The sum of the thread before; `first` for thread 0. Contains a barrier: all threads of the block call it.
#[simt::device]
fn shift<T: Scalar>(t: u32, sum: T, first: T) -> T {
    // The generation that the last step did not read.
    let generation = SUMS::view().cast::<T>().slice((STEPS as u32 & 1) * BLOCK, BLOCK);
    generation.set(t, sum);
    thread::sync_threads(); // all sums are written before a thread reads its neighbour's
    if t == 0 { first } else { generation.get(t - 1) }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one block.

    use super::*;
    use rungs_common::ladder::scan::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Scan> =
        rung!("r1_hillis_steele.rs", [scan_hillis_steele]).with_capacity(CAPACITY as u64).run_by(&HillisSteele);

    struct HillisSteele;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for HillisSteele
    where
        scan_hillis_steele<T, O>: Kernel<Args = (Global<T>, Global<T>, u32)>,
    {
        type Memory = ();

        fn scratch(&self, _: &dyn Launcher, _: u32) -> Result {
            Ok(())
        }

        fn run(on: &dyn Launcher, Elements { input, output, exclusive }: Elements<T>, (): &mut ()) -> Result {
            let geometry = Geometry::linear(grid(input.len()), BLOCK);
            on.launch(scan_hillis_steele::<T, O>::default(), geometry, (input, output, exclusive as u32))
        }
    }
}
