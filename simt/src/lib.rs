//! The API that GPU kernels call: threads, warps, memory, barriers, copies, tensor cores.
//!
//! ```
//! use simt::sim::{self, Check};
//! use simt::{Geometry, Global, kernel, launcher::Launcher, thread};
//!
//! #[kernel(max_threads = 256)]
//! pub fn squares(out: Global<u32>) {
//!     let i = thread::index_1d();
//!     if i < out.len() {
//!         out.set(i, i * i);
//!     }
//! }
//!
//! # fn main() -> simt::launcher::Result {
//! let gpu: &dyn Launcher = &sim::Gpu::default();
//! let out = gpu.scratch(1000)?;
//! let checked = sim::check(Check::default(), || gpu.launch(squares, Geometry::linear(4, 256), (out.view(),)));
//! assert!(checked.report.findings.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! You write a kernel once. For the target `nvptx64-nvidia-cuda` each call compiles to one or two PTX instructions. On
//! any other target the same kernel runs on a CPU simulator ([`sim`]), which needs no GPU and reports behaviour that is
//! undefined on one: races, missed barriers, accesses out of bounds. Each of the three backends (rustc, rust-cuda,
//! simulator) implements the trait in `machine.rs`, so the compiler checks that they offer the same calls.
//!
//! | module | contents |
//! | --- | --- |
//! | [`thread`] | indices, block barriers |
//! | [`warp`] | shuffles, votes, match, reduce, warp barrier |
//! | [`warpgroup`] | tensor-core products (`wgmma`) and register reallocation (`setmaxnreg`) of four warps |
//! | [`kernel`](macro@kernel), [`argument`](macro@argument) | attributes of kernels and their struct arguments |
//! | [`Global`], [`Shared`], [`shared!`] | views of memory: scalar, 16-byte and atomic access |
//! | [`atomic`] | orders, scopes, fences |
//! | [`grid`] | programmatic dependent launch (PDL): a launch overlaps with the previous one |
//! | [`async_copy`] | asynchronous copies to shared memory (`cp.async`) |
//! | [`mbarrier`], [`bulk`], [`tensor_map`] | mbarriers, bulk copies and TMA |
//! | [`cluster`] | clusters: blocks that access each other's shared memory |
//! | [`clock`] | cycle counter, global timer, sleep |
//! | [`Geometry`], [`launcher`] | launches from the host: grid and block sizes, and where they run |
//! | [`mma`] | tensor-core products of one warp (`mma.sync`) |
//! | [`math`] | fused multiply-add, conversions |
//!
//! Where `cuda_std` has a function, ours has the same name, so rust-cuda code looks familiar.

// Miri cannot switch stacks, so it runs no kernel. The unsafe code below that, memory and parameters, has tests for it:
// cargo xtask miri.
#![recursion_limit = "256"]
#![warn(clippy::undocumented_unsafe_blocks)]
#![cfg_attr(target_os = "cuda", no_std)]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_unadjusted, core_intrinsics))]
#![cfg_attr(target_os = "cuda", allow(internal_features))]

pub mod async_copy;
pub mod atomic;
pub mod bulk;
pub mod clock;
pub mod cluster;
mod dim;
mod geometry;
mod global;
pub mod grid;
mod machine;
pub mod math;
pub mod mbarrier;
pub mod mma;
mod scalar;
mod shared;
pub mod tensor_map;
pub mod thread;
mod unroll;
pub mod warp;
pub mod warpgroup;

#[cfg(any(target_os = "cuda", feature = "rust-cuda"))]
mod nvidia;

// There is one machine below the API, chosen here: by the feature, then by the target. The alias `Backend` stands for
// the trait `Machine`: its callers depend on machine.rs, not on a backend's folder, so the modules above a backend that
// it uses itself (`Kernel`, say, which `sim` runs) close no circle. tests/modules.rs holds that.
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
pub mod launcher;
#[cfg(not(target_os = "cuda"))]
mod live;
#[cfg(not(target_os = "cuda"))]
pub use kernel::{Argument, Arguments, Instances, Kernel, Parameters};
/// On the device every type may be a kernel's argument; the host has checked those that are.
#[cfg(target_os = "cuda")]
pub trait Argument {}

#[cfg(target_os = "cuda")]
impl<T> Argument for T {}

pub use dim::Dim3;
pub use float8::{F8E4M3, F8E5M2};
pub use geometry::Geometry;
pub use global::Global;
pub use half::{bf16, f16};
pub use scalar::{AtomicScalar, Eight, Operand, Pair, Scalar};
pub use shared::{Shared, shared_symbol};
pub use simt_macros::{argument, device, kernel};
pub use unroll::{four, opaque, opaque_to_rust_cuda, unroll};

/// Parts of the expansion of this crate's macros; not for direct use.
#[doc(hidden)]
pub mod expansion {
    #[cfg(target_os = "cuda")]
    pub use core::arch::{asm, global_asm};

    #[cfg(feature = "rust-cuda")]
    pub use crate::rust_cuda::{Passing, SharedArray, Way, shared_address};
    #[cfg(feature = "rust-cuda")]
    pub use cuda_std::{address_space, kernel as cuda_kernel};

    #[cfg(not(any(target_os = "cuda", feature = "rust-cuda")))]
    pub use crate::sim::static_shared;
}

// Here, so that a crate of kernels needs none. rust-cuda's cuda_std has its own.
#[cfg(all(target_os = "cuda", not(feature = "rust-cuda")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // The builder compiles panics to a trap; this is only here because the language asks for it.
    loop {}
}
