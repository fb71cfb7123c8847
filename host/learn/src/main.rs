//! `cargo learn`: the commands of `rungs learn`, without the rest of the program, which takes minutes to build.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    const CALL: &str = "cargo learn";
    let matches = rungs_learn::command().bin_name(CALL).get_matches();
    match rungs_learn::run(CALL, &matches) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            if !error.is_silent() {
                // Where nobody can be told, the exit code says it.
                let _ = writeln!(std::io::stderr(), "error: {error}");
            }
            ExitCode::from(error.exit_code())
        }
    }
}
