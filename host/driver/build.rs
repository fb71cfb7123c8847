//! There is nothing to build. Cargo wants a build script where `links` says that one such package is all that a program
//! may have: two would define each function of the driver twice, which the linker says less clearly.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
