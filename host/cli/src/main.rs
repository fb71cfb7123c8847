//! The program `rungs`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

fn main() -> ExitCode {
    // SAFETY: the program has no other thread yet.
    unsafe { rungs_group::nccl::without_multicast() };
    rungs_cli::cli::main(std::env::args_os())
}
