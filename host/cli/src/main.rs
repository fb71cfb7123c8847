//! The program `rungs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rungs::cli::main(std::env::args_os())
}
