//! The program `rungs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::cli::main(std::env::args_os())
}
