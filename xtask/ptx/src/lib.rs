//! Compiles kernels written against `simt` to PTX: for xtask, and for the build scripts of programs that carry PTX.
//!
//! [`Package::at`] reads the package with the kernels, [`Toolchain::find`] looks for a Rust that can compile for a GPU,
//! [`build`] and [`build_all`] run it and finish the text ([`ptx::finish`]). [`embed_from_build_script`] does all of it
//! for a program that carries its PTX inside. The program itself needs no more than to read it: it depends on this
//! package without its features, its build script with `embed`.

mod arch;
#[cfg(feature = "compare")]
pub mod backends;
#[cfg(feature = "compile")]
mod build;
#[cfg(feature = "compile")]
mod convergence;
#[cfg(feature = "embed")]
mod embed;
#[cfg(feature = "embed")]
mod pack;
#[cfg(feature = "compile")]
mod package;
pub mod ptx;
#[cfg(feature = "compile")]
pub mod rust_cuda;
#[cfg(feature = "compile")]
mod toolchain;
mod unpack;

pub use arch::Arch;
#[cfg(feature = "compile")]
pub use build::{BuildError, Options, Ptx, build, build_all};
#[cfg(feature = "embed")]
pub use embed::{
    ARCHES_VARIABLE, DEFAULT_ARCHES, RELEASE_ARCHES, embed_from_build_script, embed_packed_from_build_script,
    ptx_dir_variable, target_dir_above,
};
#[cfg(feature = "compile")]
pub use package::Package;
#[cfg(feature = "compile")]
pub use toolchain::{Missing, Toolchain};
pub use unpack::unpack;
