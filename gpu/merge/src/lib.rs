//! # Merge sort and sample sort
//!
//! Sorts that compare: they take any order, see [`rungs_common::order`].
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

mod distribute;
#[macro_use]
mod kernels;
mod levels;
mod network;
pub mod passes;
pub mod r1_merge_path;
pub mod r2_multi_way;
pub mod r3_all_runs;
pub mod r4_sample;
pub mod r5_stable;
mod split;
mod tile;

pub use kernels::MAX_SPILLS;
// For the macros, which name it from the crate of an order.
#[doc(hidden)]
pub use rungs_common::order;

#[cfg(not(target_os = "cuda"))]
pub mod host;

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;
