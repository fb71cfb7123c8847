//! Compiles the kernels to PTX; used by xtask and by host's build script.
//!
//! [`Toolchain::find`] looks for a Rust that can compile for a GPU, [`build`] and [`build_all`] run it on the crate
//! `gpu` and finish the text ([`ptx::finish`]), [`embed_from_build_script`] does both for a program that carries its
//! PTX inside.

mod arch;
mod build;
mod embed;
pub mod ptx;
pub mod rust_cuda;
mod toolchain;

pub use arch::Arch;
pub use build::{BuildError, Options, Ptx, build, build_all};
pub use embed::{DEFAULT_ARCHES, PTX_DIR_VARIABLE, embed_from_build_script, target_dir_above};
pub use toolchain::{Missing, Toolchain};
