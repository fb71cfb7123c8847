//! Puts the kernels' PTX into whatever uses this library.

fn main() {
    // The build script of rungs-kernels says where that package is.
    let kernels = std::env::var_os("DEP_RUNGS_KERNELS_MANIFEST").expect("rungs-kernels says where it is");
    rungs_ptx::embed_packed_from_build_script(&kernels);
}
