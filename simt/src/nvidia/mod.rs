//! What both backends for NVIDIA's GPUs, `ptx` and `rust_cuda`, are made of: instructions as text.
//!
//! Loads, stores, atomics, fences and bulk copies are `asm!` in both. What differs, and so stands in the backends'
//! own folders, is how the threads, the block and its shared memory are reached.

pub(crate) mod assembly;
// rustfmt never settles on the nested macros there.
#[rustfmt::skip]
pub(crate) mod atomic;
pub(crate) mod bulk;
pub(crate) mod memory;
