//! Compiles the kernels to PTX, which `src/lib.rs` includes.

fn main() {
    rungs_ptx::embed_from_build_script("kernels");
}
