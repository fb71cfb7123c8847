//! # Reduction
//!
//! All elements together: their sum, or with another [`Operator`] their minimum or maximum; of nothing, the operator's
//! identity. Sums of integers are taken modulo 2³² or 2⁶⁴. Floats are added in an order that depends on how many there
//! are (and, in the last two rungs, on the alignment of the first and on the device), never on timing: the same call
//! gives the same bits in every run.
//!
//! The rungs up to [`r6_vector_loads`] leave one value a block, and are launched again over these until one is left:
//! while `grid(n) > 1`, `n` becomes `grid(n)`.

pub mod r1_interleaved;
pub mod r2_sequential;
pub mod r3_first_add;
pub mod r4_unrolled_warp;
pub mod r5_shuffle;
pub mod r6_vector_loads;
pub mod r7_single_launch;

use crate::operator::{Operator, warp_reduce};
use core::marker::PhantomData;
use simt::warp::{WARP, lane_id};
use simt::{Scalar, Shared, thread, unroll};

/// Blocks for `n` elements, `per_block` each; one block for none of them, which writes the identity.
const fn blocks_for(n: u32, per_block: u32) -> u32 {
    if n == 0 { 1 } else { n.div_ceil(per_block) }
}

/// All values of a block together, in the threads of its first warp. `warps` has an element for each warp.
///
/// Contains one block barrier; a second call needs another between the two, so that `warps` is free again.
#[inline(always)]
fn combine_block<T: Scalar, O: Operator<T>>(value: T, warps: Shared<T>) -> T {
    let (t, all) = (thread::thread_idx_x(), warp_reduce::<O, T>(value));
    if lane_id() == 0 {
        warps.set(t / WARP, all);
    }
    thread::sync_threads(); // every warp's value is there before the first warp reads them
    // Branches of the block are whole warps, so the shuffles below have all their lanes.
    if t < WARP { warp_reduce::<O, T>(if t < warps.len() { warps.get(t) } else { O::IDENTITY }) } else { all }
}

/// What a thread has combined so far: a running value for each element of a 16-byte load, so that one combination does
/// not wait for the last.
struct Running<T: Scalar, O: Operator<T>> {
    values: T::Pack,
    operator: PhantomData<O>,
}

impl<T: Scalar, O: Operator<T>> Running<T, O> {
    /// Nothing yet.
    #[inline(always)]
    fn new() -> Self {
        let mut values = T::Pack::default();
        values.as_mut().fill(O::IDENTITY);
        Self { values, operator: PhantomData }
    }

    /// A load of nothing: what [`Running::take`] takes without a change.
    #[inline(always)]
    fn nothing(&self) -> T::Pack {
        Self::new().values
    }

    /// Takes in 16 bytes.
    #[inline(always)]
    fn take(&mut self, pack: T::Pack) {
        unroll::<4>(|e| {
            if e < T::PACK as usize {
                let value = &mut self.values.as_mut()[e];
                *value = O::combine(*value, pack.as_ref()[e]);
            }
        });
    }

    /// All of it together, with one more element.
    #[inline(always)]
    fn finish(self, more: Option<T>) -> T {
        let all = more.unwrap_or(O::IDENTITY);
        self.values.as_ref().iter().fold(all, |all, &value| O::combine(all, value))
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::{LADDER, levels};

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use crate::ladder::reduce::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<&dyn Reduce> = Ladder {
        family: "reduce",
        about: "sum, minimum or maximum of all elements",
        rungs: &[
            &r1_interleaved::launches::RUNG,
            &r2_sequential::launches::RUNG,
            &r3_first_add::launches::RUNG,
            &r4_unrolled_warp::launches::RUNG,
            &r5_shuffle::launches::RUNG,
            &r6_vector_loads::launches::RUNG,
            &r7_single_launch::launches::RUNG,
        ],
        default: &r7_single_launch::launches::RUNG,
    };

    /// Launches of a kernel over what it leaves, one value per block, until one value is left.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn levels<T: Scalar, K>(
        kernel: K,
        on: &dyn Launcher,
        n: u32,
        geometry: impl Fn(u32) -> Geometry + 'static,
    ) -> Result<Launches<Elements<T>>>
    where
        K: Kernel<Args = (Global<T>, Global<T>)>,
    {
        // What the levels leave that are not the last, used in turn; the last one writes to the output.
        let blocks = |n| geometry(n).grid[0];
        let scratch = [on.scratch::<T>(blocks(n))?, on.scratch::<T>(blocks(blocks(n)))?];
        Ok(Box::new(move |on, Elements { input, output }| {
            let (mut from, mut turn) = (input, 0);
            loop {
                let geometry = geometry(from.len());
                let blocks = geometry.grid[0];
                let to = if blocks == 1 { output } else { scratch[turn].view().slice(0, blocks) };
                on.launch(kernel, geometry, (from, to))?;
                if blocks == 1 {
                    return Ok(());
                }
                (from, turn) = (to, 1 - turn);
            }
        }))
    }
}
