//! # Saxpy
//!
//! y = a·x + y, often the first program written for a GPU: once as a kernel, once as a functor that a library's
//! transform applies.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_kernel;
pub mod r2_transform;

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::saxpy::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Axpy> = Ladder {
        family: "saxpy",
        about: "y = a·x + y on floats, a = 2.5",
        rungs: &[&r1_kernel::launches::RUNG, &r2_transform::launches::RUNG],
        default: &r2_transform::launches::RUNG,
    };
}
