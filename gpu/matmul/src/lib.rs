//! # Matrix product
//!
//! C = A·B for row-major matrices without gaps between rows: A has m rows and k columns, B has k rows and n columns, C
//! has m rows and n columns. Any m, n and k; with k = 0, C is zero.
//!
//! Factors, transposes, strides, batches and other types are the library's (`rungs-products`).
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

#[cfg(not(target_os = "cuda"))]
pub mod ladder;
pub mod r11_tensor_mma;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod r12_tensor_group;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod r13_tensor_map;
#[cfg(any(sm_90a, not(target_os = "cuda")))]
pub mod r14_tensor_cluster;
pub mod tensor;

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use crate::ladder::{Ladder, Multiply};

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Multiply> = Ladder {
        family: "matmul",
        about: "matrix product C = A·B of row-major matrices",
        rungs: &[
            &r11_tensor_mma::launches::RUNG,
            &r12_tensor_group::launches::RUNG,
            &r13_tensor_map::launches::RUNG,
            &r14_tensor_cluster::launches::RUNG,
        ],
        default: &r14_tensor_cluster::launches::RUNG,
    };
}
