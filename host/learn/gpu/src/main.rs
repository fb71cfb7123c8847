//! The program that `cargo learn check` runs where there is a GPU.

use std::process::ExitCode;

fn main() -> ExitCode {
    rungs_learn_gpu::main()
}
