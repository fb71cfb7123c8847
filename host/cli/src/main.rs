//! The program `rungs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rungs_cli::cli::main(std::env::args_os())
}
