//! Puts the kernels' PTX into the program.

fn main() {
    ptx_builder::embed_from_build_script();
}
