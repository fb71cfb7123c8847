//! The program `rungs`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

fn main() -> ExitCode {
    rungs_cli::cli::main(std::env::args_os())
}
