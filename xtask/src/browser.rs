//! The pages that the program writes, in a real browser.

use crate::{setup, shell};
use anyhow::Result;
use std::env;
use std::ffi::OsString;

/// Names under which systems have it.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Runs the tests that need Chromium, after installing it where that can be done. Says so where it cannot: they are
/// skipped then, and pass nowhere.
pub fn run() -> Result<()> {
    let browser = match find() {
        Some(browser) => browser,
        None => match setup::apt(&["chromium"]).map(|()| find()) {
            Ok(Some(browser)) => browser,
            Ok(None) => return skipped("installed, but still not found"),
            Err(why) => return skipped(&format!("{why:#}")),
        },
    };
    let mut tests = shell::cargo(&["test", "--package", "host", "--test", "page", "--", "--ignored"]);
    tests.env("RUNGS_CHROMIUM", browser);
    shell::run(tests)
}

/// The browser: what `RUNGS_CHROMIUM` says, or the first in PATH.
fn find() -> Option<OsString> {
    let said = env::var_os("RUNGS_CHROMIUM");
    said.or_else(|| NAMES.iter().find_map(|name| shell::which(name)).map(Into::into))
}

fn skipped(why: &str) -> Result<()> {
    println!("SKIPPED: no Chromium to open the pages in: {why}");
    Ok(())
}
