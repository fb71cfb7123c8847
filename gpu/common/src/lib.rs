//! What the families of kernels share: keys, operators and orders, how ladders are described, and the kernels that
//! belong to no family.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod aligned;
pub mod bins;
pub mod block;
pub mod clocks;
pub mod encode;
pub mod keys;
#[cfg(not(target_os = "cuda"))]
pub mod ladder;
pub mod operator;
pub mod order;
pub mod places;
pub mod ring;
pub mod state;
pub mod transform;
pub mod verify;
pub mod wait;
