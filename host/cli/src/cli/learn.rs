//! `rungs learn`: the exercises, by the commands of the crate `rungs-learn`.

use clap::ArgMatches;
use rungs::error::Error;
use std::process::ExitCode;

/// Runs the command, whose errors are its own.
pub(super) fn main(matches: &ArgMatches) -> ExitCode {
    let (why, is_silent, code) = match rungs_learn::run("rungs learn", matches) {
        Ok(true) => return ExitCode::SUCCESS,
        // The verdict has been printed.
        Ok(false) => {
            let error = Error::Found { count: 1 };
            (error.to_string(), error.is_silent(), error.exit_code())
        }
        Err(error) => (error.to_string(), error.is_silent(), error.exit_code()),
    };
    if !is_silent {
        crate::streams::tell(&format!("rungs: {why}"));
    }
    ExitCode::from(code)
}
