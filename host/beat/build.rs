//! Compiles the reader's kernels to PTX and leaves it where `src/main.rs` includes it.

fn main() {
    println!("cargo::rerun-if-env-changed=RUNGS_ANSWER");
    let kernels = std::env::var_os("DEP_RUNGS_BEAT_KERNELS_MANIFEST").expect("rungs-beat-kernels says where it is");
    rungs_ptx::embed_from_build_script(&kernels);
}
