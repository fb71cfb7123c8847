//! Puts the kernels' PTX into the program.

use std::env;

fn main() {
    // The build script of rungs-kernels says where that package is.
    let kernels = env::var_os("DEP_RUNGS_KERNELS_MANIFEST").expect("rungs-kernels says where it is");
    rungs_ptx::embed_from_build_script(kernels);
}
