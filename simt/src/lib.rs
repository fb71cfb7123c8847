//! What a kernel may call: one API, three machines below it.
//!
//! A kernel is written once against this crate. Compiled for `nvptx64-nvidia-cuda` each call is an instruction or two
//! of PTX; on any other target the same calls run on a simulator ([`sim`]), which needs no GPU and reports what a GPU
//! would leave undefined. What the machines differ in is the trait in `machine.rs` and nothing else, so the compiler
//! holds the backends against each other.
//!
//! | module | what it gives |
//! | --- | --- |
//! | [`thread`] | indices, block barriers |
//! | [`warp`] | shuffles, votes, match, reduce, warp barrier |
//! | [`Global`], [`Shared`], [`shared!`] | views of memory: scalar, 16-byte and atomic access |
//! | [`atomic`] | orders, scopes, fences |
//! | [`grid`] | overlap of a launch with the one before |
//! | [`mbarrier`], [`bulk`] | barriers that count bytes, and copies that they count |
//! | [`clock`] | cycle counter, global timer, sleep |
//! | [`math`] | fused multiply-add |
//!
//! Names follow `cuda_std` where it has them, so that a reader of rust-cuda code knows them.
#![cfg_attr(target_os = "cuda", no_std)]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(core_intrinsics))]
#![cfg_attr(target_os = "cuda", allow(internal_features))]

#[cfg(any(target_os = "cuda", feature = "rust-cuda"))]
mod assembly;
pub mod atomic;
pub mod bulk;
pub mod clock;
mod global;
pub mod grid;
mod machine;
pub mod math;
pub mod mbarrier;
mod scalar;
mod shared;
pub mod thread;
mod unroll;
pub mod warp;

// One machine below the API, and which one is decided here: the feature, then the target.
#[cfg(all(target_os = "cuda", not(feature = "rust-cuda")))]
mod ptx;
#[cfg(all(target_os = "cuda", not(feature = "rust-cuda")))]
pub(crate) use ptx::Ptx as Backend;

#[cfg(feature = "rust-cuda")]
mod rust_cuda;
#[cfg(feature = "rust-cuda")]
pub(crate) use rust_cuda::RustCuda as Backend;

#[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
pub mod sim;
#[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
pub(crate) use sim::Simulator as Backend;

#[cfg(not(target_os = "cuda"))]
mod kernel;
#[cfg(not(target_os = "cuda"))]
pub use kernel::{Argument, Arguments, Kernel, Parameters};

pub use global::Global;
pub use scalar::{AtomicScalar, Scalar};
pub use shared::{Shared, shared_symbol};
pub use simt_macros::kernel;
pub use unroll::{opaque, unroll};

/// What the macros of this crate expand to; not for direct use.
#[doc(hidden)]
pub mod expansion {
    #[cfg(target_os = "cuda")]
    pub use core::arch::{asm, global_asm};

    #[cfg(feature = "rust-cuda")]
    pub use crate::rust_cuda::{SharedArray, shared_address};
    #[cfg(feature = "rust-cuda")]
    pub use cuda_std::{address_space, kernel as cuda_kernel};

    #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
    pub use crate::sim::static_shared;
}

/// Lets kernels take a struct of plain numbers as a parameter: `simt::argument!(MyFunctor);`. The struct is `Copy` and
/// `#[repr(C)]`, so that host and device lay it out alike.
#[macro_export]
macro_rules! argument {
    ($t:ty) => {
        #[cfg(not(target_os = "cuda"))]
        impl $crate::Argument for $t {}
    };
}

// Here, so that a crate of kernels needs none. rust-cuda's cuda_std has its own.
#[cfg(all(target_os = "cuda", not(feature = "rust-cuda")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // The builder compiles panics to a trap; this is only here because the language asks for it.
    loop {}
}
