//! Kernels and their launches: one folder per family, one file per rung. Each is written against [`simt`] alone and
//! runs as PTX on a GPU or on the simulator.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod aligned;
pub mod bitonic;
pub mod bubble;
pub mod cubes;
pub mod histogram;
pub mod keys;
#[cfg(not(target_os = "cuda"))]
pub mod ladder;
pub mod matmul;
pub mod merge;
pub mod odd_even;
pub mod operator;
pub mod order;
pub mod places;
pub mod radix;
pub mod reduce;
#[cfg(any(sm_90, not(target_os = "cuda")))]
mod ring;
pub mod saxpy;
pub mod scan;
pub mod transform;
pub mod verify;
pub mod wait;
