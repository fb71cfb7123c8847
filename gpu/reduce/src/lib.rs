//! # Reduction
//!
//! Combines all elements into one: their sum or, with another [`Operator`], their minimum or maximum. Without elements
//! the result is the operator's identity. Sums of integers are taken modulo 2³² or 2⁶⁴. The order in which floats are
//! added depends on the number of elements (in the last two rungs also on the alignment of the first element and on the
//! device), never on timing: the same call gives the same bits in every run.
//!
//! The rungs up to [`r6_vector_loads`] write one value per block. The host launches the kernel again over these values
//! until one is left: while `grid(n) > 1`, `n` becomes `grid(n)`.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_interleaved;
pub mod r2_sequential;
pub mod r3_first_add;
pub mod r4_unrolled_warp;
pub mod r5_shuffle;
pub mod r6_vector_loads;
pub mod r7_single_launch;

use core::marker::PhantomData;
use rungs_common::operator::Operator;
use simt::warp::{WARP, lane_id};
use simt::{Scalar, Shared, thread, unroll};

/// Blocks for `n` elements, `per_block` each. For no elements one block, which writes the identity.
const fn blocks_for(n: u32, per_block: u32) -> u32 {
    if n == 0 { 1 } else { n.div_ceil(per_block) }
}

/// Combines all values of a block; the threads of its first warp get the result. `warps` has an element for each warp.
///
/// Contains one block barrier. Between two calls there must be another, so that `warps` is free again.
#[simt::device]
fn combine_block<T: Scalar, O: Operator<T>>(value: T, warps: Shared<T>) -> T {
    let (t, all) = (thread::thread_idx_x(), O::combine_warp(value));
    if lane_id() == 0 {
        warps.set(t / WARP, all);
    }
    thread::sync_threads(); // every warp's value is there before the first warp reads them
    // Branches of the block are whole warps, so the shuffles below have all their lanes.
    if t < WARP { O::combine_warp(if t < warps.len() { warps.get(t) } else { O::IDENTITY }) } else { all }
}

/// What a thread has combined so far: one running value for each element of a 16-byte load, so that the combinations of
/// one load do not wait for each other.
struct Running<T: Scalar, O: Operator<T>> {
    values: T::Pack,
    operator: PhantomData<O>,
}

impl<T: Scalar, O: Operator<T>> Running<T, O> {
    /// Identities: nothing is combined yet.
    #[simt::device]
    fn new() -> Self {
        let mut values = T::Pack::default();
        values.as_mut().fill(O::IDENTITY);
        Self { values, operator: PhantomData }
    }

    /// A pack of identities, which [`Running::take`] takes in without a change.
    #[simt::device]
    fn nothing(&self) -> T::Pack {
        Self::new().values
    }

    /// Takes in a load of 16 bytes.
    #[simt::device]
    fn take(&mut self, pack: T::Pack) {
        unroll::<4>(|e| {
            if e < T::PACK as usize {
                let value = &mut self.values.as_mut()[e];
                *value = O::combine(*value, pack.as_ref()[e]);
            }
        });
    }

    /// Combines all running values, and one more element if there is one.
    #[simt::device]
    fn finish(self, more: Option<T>) -> T {
        let all = more.unwrap_or(O::IDENTITY);
        self.values.as_ref().iter().fold(all, |all, &value| O::combine(all, value))
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::{LADDER, Levels};

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::reduce::*;

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

    /// The values that the levels before the last leave, in two buffers used in turn; the last level writes to the
    /// output.
    pub struct Levels<T>([Scratch<T>; 2]);

    impl<T: Scalar> Levels<T> {
        /// The memory to reduce `n` elements by launches of `grid` blocks.
        ///
        /// # Errors
        /// [`Failed::Machine`] if there is no memory.
        pub fn new(on: &dyn Launcher, n: u32, grid: impl Fn(u32) -> u32) -> Result<Self> {
            Ok(Self([on.scratch(grid(n))?, on.scratch(grid(grid(n)))?]))
        }

        /// Launches a kernel over the elements, then over the values that it leaves, one per block, until one value is
        /// left.
        ///
        /// # Errors
        /// Those of a launch.
        pub fn launch<K: Kernel<Args = (Global<T>, Global<T>)>>(
            &self,
            on: &dyn Launcher,
            kernel: K,
            Elements { input, output }: Elements<T>,
            geometry: impl Fn(u32) -> Geometry,
        ) -> Result {
            let (mut from, mut turn) = (input, 0);
            loop {
                let geometry = geometry(from.len());
                let blocks = geometry.grid[0];
                let to = if blocks == 1 { output } else { self.0[turn].view().slice(0, blocks) };
                on.launch(kernel, geometry, (from, to))?;
                if blocks == 1 {
                    return Ok(());
                }
                (from, turn) = (to, 1 - turn);
            }
        }
    }
}
