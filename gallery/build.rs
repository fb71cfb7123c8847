//! Tells the build scripts of packages that depend on this one where it is, so that they can compile it to PTX.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=manifest={}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
}
