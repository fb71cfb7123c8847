//! The browser that tests the program's pages.

use crate::{setup, shell};
use std::env;
use std::ffi::OsString;

/// Its names on different systems.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Chromium, installed if necessary and possible. If not, prints why; the tests that need it are then reported as
/// ignored.
pub fn find_or_install() -> Option<OsString> {
    find().or_else(|| {
        let why = match setup::apt(&["chromium"]).map(|()| find()) {
            Ok(Some(browser)) => return Some(browser),
            Ok(None) => "installed, but still not found".to_string(),
            Err(why) => format!("{why:#}"),
        };
        println!("no Chromium to open the pages in: {why}");
        None
    })
}

/// The browser: that in `RUNGS_CHROMIUM`, or the first in PATH.
fn find() -> Option<OsString> {
    let said = env::var_os("RUNGS_CHROMIUM");
    said.or_else(|| NAMES.iter().find_map(|name| shell::which(name)).map(Into::into))
}
