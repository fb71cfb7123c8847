//! `rungs learn`: the exercises, by the commands of the crate `rungs-learn`.

use crate::error::{Error, Result};
use clap::ArgMatches;

pub(super) fn run(matches: &ArgMatches) -> Result<()> {
    match rungs_learn::run("rungs learn", matches)? {
        true => Ok(()),
        // The verdict has been printed.
        false => Err(Error::Found { count: 1 }),
    }
}
