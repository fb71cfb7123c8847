//! # Segments of the library
//!
//! What vectors run to treat many short vectors in one call. They lie in sequence in one view; element i of
//! `offsets` says where segment i begins, and one element more where the last one ends. Any segment may be empty.
//!
//! | module | task |
//! | --- | --- |
//! | [`by_length`] | sorts each segment, with values or without |
//! | [`reduce`](mod@reduce) | combines the elements of each segment |
//! | [`numbers`] | writes the number of each element's segment, for what runs by key |
//!
//! Offsets beyond the end count as the end, and a segment that would end before it begins is empty. Where offsets
//! descend, segments overlap: what is in the elements afterwards is then unspecified, but nothing else is written.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod by_length;
pub mod numbers;
pub mod reduce;
mod segment;

pub use segment::segment;

#[cfg(not(target_os = "cuda"))]
pub use by_length::launches::LADDER;
