//! Answers to the exercises, for a GPU and for the simulator: the reader's, which `cargo learn check` names, or all
//! that the project knows.
//!
//! An answer may have launches next to its kernels, written for [`simt::launcher`], which a GPU has not. So that the
//! reader's file need not say which of its lines are for the host, answers get `simt` from here: on a GPU with a
//! `launcher` whose launches only compile.

#![no_std]
#![cfg_attr(target_os = "cuda", feature(abi_ptx, asm_experimental_arch))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

#[cfg(not(target_os = "cuda"))]
extern crate the_simt as simt;

#[cfg(target_os = "cuda")]
extern crate self as simt;
#[cfg(target_os = "cuda")]
pub mod launcher;
#[cfg(target_os = "cuda")]
pub use the_simt::*;

#[allow(missing_docs, unused, clippy::all, reason = "a reader's file, or wrong on purpose")]
mod files {
    include!(concat!(env!("OUT_DIR"), "/answers.rs"));
}
pub use files::*;
