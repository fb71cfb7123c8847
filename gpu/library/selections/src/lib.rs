//! # Selections of the library
//!
//! What vectors run to keep some of their elements, or to combine runs of equal keys.
//!
//! | module | task |
//! | --- | --- |
//! | [`compact`] | moves the items that a test keeps to the front, and the others to a second view if asked to |
//! | [`kernels`] | its kernels: by flags, by bounds, the first of each run of equal items |
//! | [`look_ahead`] | the same by bounds and runs, for many items on newer devices |
//! | `pass` | what the host launches: one or the other |
//! | [`by_key`] | the length of each run of equal keys, and their values combined |
//! | [`top_k`] | the k largest keys |
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
pub mod look_ahead;
pub mod look_back;
#[cfg(not(target_os = "cuda"))]
pub mod pass;
pub mod top_k;

/// Threads per block of every kernel here.
pub const BLOCK: u32 = 256;

/// Warps of a block.
pub(crate) const WARPS: usize = (BLOCK / simt::warp::WARP) as usize;
