//! All kernels and their launches, by family: each family is a package of its own, so that a change of a kernel
//! compiles one family and its PTX again. Here they are together, for programs that want all of them.
#![no_std]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub use rungs_bitonic as bitonic;
pub use rungs_bubble as bubble;
#[cfg(not(target_os = "cuda"))]
pub use rungs_common::rung;
pub use rungs_common::{aligned, encode, keys, operator, order, places, state, transform, verify, wait};
pub use rungs_cubes as cubes;
pub use rungs_exchange as exchange;
pub use rungs_histogram as histogram;
pub use rungs_matmul as matmul;
pub use rungs_merge as merge;
pub use rungs_odd_even as odd_even;
pub use rungs_ordered as ordered;
pub use rungs_products as products;
pub use rungs_radix as radix;
pub use rungs_reduce as reduce;
pub use rungs_saxpy as saxpy;
pub use rungs_scan as scan;
pub use rungs_segments as segments;
pub use rungs_select as select;
pub use rungs_selections as selections;
pub use rungs_selections::operator_kernels;
pub use rungs_sorts as sorts;
pub use rungs_sorts::{sort_kernel, sort_kernels};
pub use rungs_top_k as top_k;

#[cfg(not(target_os = "cuda"))]
mod answer;
#[cfg(not(target_os = "cuda"))]
pub mod ladders;

/// Rungs, the ladders that they form, and the launches of each kind of rung.
#[cfg(not(target_os = "cuda"))]
pub mod ladder {
    pub use crate::answer::Answer;
    pub use rungs_common::ladder::*;
    pub use rungs_products::ladder as matmul;
}
