//! A reader's kernels, for a GPU and for the simulator. `cargo learn beat` says which file they are in.

#![no_std]
#![cfg_attr(target_os = "cuda", feature(abi_ptx, asm_experimental_arch))]
#![allow(clippy::duplicate_mod, reason = "without a reader's file, what a scan begins with takes its place")]

#[cfg(not(target_os = "cuda"))]
extern crate std;

#[allow(missing_docs, unused, reason = "a reader's file")]
mod file {
    include!(concat!(env!("OUT_DIR"), "/answer.rs"));
}
pub use file::answer;

#[cfg(not(target_os = "cuda"))]
pub mod starts;
