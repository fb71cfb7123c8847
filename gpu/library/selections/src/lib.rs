//! # Selections of the library
//!
//! What vectors run to keep some of their elements, to combine runs of equal keys, or to combine elements by any
//! operator.
//!
//! | module | task |
//! | --- | --- |
//! | [`compact`] | moves what a test keeps to the front, by bounds or runs, and the rest elsewhere if asked to |
//! | [`kernels`] | the same by flags |
//! | [`by_key`] | the length of each run of equal keys, their values combined, and scans inside the runs |
//! | [`look_ahead`] | all but flags for many items on newer devices |
//! | `pass`, `runs` | what the host launches: one or the other |
//! | [`sampled`] | the k largest keys |
//! | [`reduce`] | all elements combined in their order: by any operator, products, places of extremes |
//! | [`scan`] | running results by any operator |
//! | [`operators`] | the kernels of an operator of your own |
//!
//! All read their input once, in tiles whose places are found by looking back ([`look_back`]). How many items were kept
//! stays in device memory, where the next call finds it: every kernel takes a `limit`, a view of one word that says how
//! many of the input's elements there are, or an empty view for all of them. Blocks for elements beyond return at once.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod by_key;
pub mod compact;
pub mod kernels;
// Its kernels are of compute capability 9.0.
#[cfg(any(sm_90, not(target_os = "cuda")))]
pub mod look_ahead;
pub mod look_back;
pub mod operators;
#[cfg(not(target_os = "cuda"))]
pub mod pass;
pub mod reduce;
#[cfg(not(target_os = "cuda"))]
pub mod rows;
#[cfg(not(target_os = "cuda"))]
pub mod runs;
pub mod sampled;
pub mod scan;

use simt::{Global, Scalar, Shared, thread};

/// Threads per block of every kernel here.
pub const BLOCK: u32 = 256;

/// Warps of a block.
pub(crate) const WARPS: usize = (BLOCK / simt::warp::WARP) as usize;

#[cfg(not(target_os = "cuda"))]
mod ladders {
    use super::*;
    use rungs_common::ladder::select::Select;
    use rungs_common::ladder::sift::Sift;
    use rungs_common::ladder::top_k::TopK;
    use rungs_common::ladder::{Entry, Ladder};

    /// The selections, for the end of their ladder.
    pub const SELECTIONS: &[&Entry<&dyn Select>] = &[&compact::launches::SELECT, &look_ahead::launches::SELECT];

    /// The searches for the largest keys, for the end of theirs.
    pub const TOP_K: &[&Entry<&dyn TopK>] = &[&sampled::RUNG];

    /// Partitions, which the course has no rungs for.
    pub static PARTITION: Ladder<&dyn Sift> = Ladder {
        family: "partition",
        about: "the items below a pivot, and the others",
        rungs: &[&compact::launches::PARTITION, &look_ahead::launches::PARTITION],
        default: &look_ahead::launches::PARTITION,
    };

    /// The first item of each run.
    pub static UNIQUE: Ladder<&dyn Sift> = Ladder {
        family: "unique",
        about: "the first item of each run of equal items",
        rungs: &[&compact::launches::UNIQUE, &look_ahead::launches::UNIQUE],
        default: &look_ahead::launches::UNIQUE,
    };

    /// The length of each run.
    pub static RUN_LENGTHS: Ladder<&dyn Sift> = Ladder {
        family: "run-lengths",
        about: "how many items each run of equal items has",
        rungs: &[&by_key::launches::RUN_LENGTHS, &look_ahead::launches::RUN_LENGTHS],
        default: &look_ahead::launches::RUN_LENGTHS,
    };

    /// The sum of each run.
    pub static REDUCE_BY_KEY: Ladder<&dyn Sift> = Ladder {
        family: "reduce-by-key",
        about: "the sum of the words that belong to each run of equal items",
        rungs: &[&by_key::launches::REDUCE_BY_KEY, &look_ahead::launches::REDUCE_BY_KEY],
        default: &look_ahead::launches::REDUCE_BY_KEY,
    };
}

#[cfg(not(target_os = "cuda"))]
pub use ladders::{PARTITION, REDUCE_BY_KEY, RUN_LENGTHS, SELECTIONS, TOP_K, UNIQUE};

/// Stores the `len` elements of a tile in shared memory, in stripes. A block has [`BLOCK`] × `ITEMS` places.
#[simt::device]
pub(crate) fn load<T: Scalar, const ITEMS: usize>(len: u32, element: impl Fn(u32) -> T, to: Shared<T>) {
    let mut loaded = [T::default(); ITEMS];
    let at = |i: usize| i as u32 * BLOCK + thread::thread_idx_x();
    if len == BLOCK * ITEMS as u32 {
        // Nothing is asked, so all loads are in flight together.
        simt::unroll::<ITEMS>(|i| loaded[i] = element(at(i)));
    } else {
        simt::unroll::<ITEMS>(|i| {
            if at(i) < len {
                loaded[i] = element(at(i));
            }
        });
    }
    simt::unroll::<ITEMS>(|i| to.set(at(i), loaded[i]));
}

/// Stores a tile from shared memory to all places of `to`, in stripes.
#[simt::device]
pub(crate) fn store<T: Scalar, const ITEMS: usize>(from: Shared<T>, to: Global<T>) {
    let at = |i: usize| i as u32 * BLOCK + thread::thread_idx_x();
    if to.len() == BLOCK * ITEMS as u32 {
        simt::unroll::<ITEMS>(|i| to.set(at(i), from.get(at(i))));
    } else {
        simt::unroll::<ITEMS>(|i| {
            if at(i) < to.len() {
                to.set(at(i), from.get(at(i)));
            }
        });
    }
}
