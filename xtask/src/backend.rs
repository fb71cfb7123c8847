//! The compilers of the kernels.

/// A compiler for GPUs, by its name on the command line.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// rustc's own code generator for NVIDIA GPUs
    #[default]
    Rustc,
    /// rust-cuda: cuda_std below the kernels, libnvvm behind the compiler
    RustCuda,
}
