//! Suites of others: patterns of GPUVerify's tests, Indigo's programs, Indigo3's planted bugs and Oclgrind's tests,
//! written again over `simt`. Each [`Case`] has its suite's name and verdict.
//!
//! The test has the checker judge them. The example `run` launches them on a GPU, for other tools.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch, abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

#[cfg(not(target_os = "cuda"))]
mod case;
mod gpuverify;
mod indigo;
mod indigo3;
mod oclgrind;
mod rows;

#[cfg(not(target_os = "cuda"))]
use case::graph;
#[cfg(not(target_os = "cuda"))]
pub use case::{Bug, Case, SUITES, Suite, What};
