//! # Bitonic sort
//!
//! A sorting network: the data does not decide which keys are compared, so all threads do the same at the same time.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_global_step;
pub mod r2_shared_step;
pub mod r3_register_step;
pub mod r4_transpose;
pub mod r5_strides;
pub mod r6_backwards;
pub mod tile;
pub mod transposed;

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::sort::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Sort> = Ladder {
        family: "bitonic",
        about: "bitonic sorting network",
        rungs: &[
            &r1_global_step::launches::RUNG,
            &r2_shared_step::launches::RUNG,
            &r3_register_step::launches::RUNG,
            &r4_transpose::launches::RUNG,
            &r5_strides::launches::RUNG,
            &r6_backwards::launches::RUNG,
        ],
        default: &r6_backwards::launches::RUNG,
    };
}
