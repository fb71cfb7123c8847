//! Compiles kernels written against `simt` to PTX: for xtask, and for the build scripts of programs that carry PTX.
//!
//! [`Package::at`] reads the package with the kernels, [`Toolchain::find`] looks for a Rust that can compile for a GPU,
//! [`build`] and [`build_all`] run it and finish the text ([`ptx::finish`]). [`embed_from_build_script`] does all of it
//! for a program that carries its PTX inside.

mod arch;
mod build;
mod convergence;
mod embed;
mod package;
pub mod ptx;
pub mod roads;
pub mod rust_cuda;
mod toolchain;

pub use arch::Arch;
pub use build::{BuildError, Options, Ptx, build, build_all};
pub use embed::{
    ARCHES_VARIABLE, DEFAULT_ARCHES, RELEASE_ARCHES, embed_from_build_script, embed_packed_from_build_script,
    ptx_dir_variable, target_dir_above, unpack,
};
pub use package::Package;
pub use toolchain::{Missing, Toolchain};
