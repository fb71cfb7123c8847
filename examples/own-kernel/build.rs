//! Compiles the kernels to PTX and leaves it where `src/lib.rs` includes it.

fn main() {
    rungs_ptx::embed_from_build_script("kernels");
}
