//! # Keys in order, of the library
//!
//! What vectors run on keys that are sorted, or that are sorted into bins, and small kernels.
//!
//! | module | task |
//! | --- | --- |
//! | [`merge`] | merges two sorted views, with values or without |
//! | [`bounds`] | finds the places of needles among sorted keys |
//! | [`bins`] | divides a range, counts the keys between edges, and those outside |
//! | [`moves`] | scatters, reverses, fills, counts up, subtracts neighbours |
//! | [`small`] | makes keys of 8 and 16 bits words of 32, and back |
//!
//! Keys of all types are words, which an `order` maps to unsigned ones: see [`rungs_common::keys`].
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod bins;
pub mod bounds;
pub mod merge;
pub mod moves;
pub mod small;

/// Threads per block of every kernel here.
pub const BLOCK: u32 = 256;

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = {
    use simt::Instances;
    &[
        <merge::merge_split as Instances>::NAMES,
        <merge::merge_keys as Instances>::NAMES,
        <merge::merge_pairs as Instances>::NAMES,
        <bounds::bounds as Instances>::NAMES,
        <bins::bins_count as Instances>::NAMES,
        <bins::bins_even as Instances>::NAMES,
        <moves::moves_scatter as Instances>::NAMES,
        <moves::moves_reverse as Instances>::NAMES,
        <moves::moves_fill as Instances>::NAMES,
        <moves::moves_iota as Instances>::NAMES,
        <moves::moves_difference as Instances>::NAMES,
        <small::small_widen as Instances>::NAMES,
        <small::small_narrow as Instances>::NAMES,
    ]
};
