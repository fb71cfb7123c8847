//! Instructions as text, shared by both backends for NVIDIA's GPUs, `ptx` and `rust_cuda`.
//!
//! Loads, stores, atomics, fences and bulk copies are `asm!` in both. Access to the threads, the block and its shared
//! memory differs, and is in the backends' own folders.

pub(crate) mod assembly;
pub(crate) mod async_copy;
// rustfmt never settles on the nested macros there.
#[rustfmt::skip]
pub(crate) mod atomic;
pub(crate) mod bulk;
pub(crate) mod cluster;
pub(crate) mod convert;
pub(crate) mod forwards;
pub(crate) mod memory;
pub(crate) mod mma;
// rustfmt gives each number of the lists a line.
#[rustfmt::skip]
pub(crate) mod wgmma;

pub(crate) use forwards::forwards;
