//! The browser that the program's pages are tested in.

use crate::{setup, shell};
use std::env;
use std::ffi::OsString;

/// Names under which systems have it.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Chromium, after installing it where that can be done. Says so where it cannot: the tests that need it are reported as
/// ignored then.
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

/// The browser: what `RUNGS_CHROMIUM` says, or the first in PATH.
fn find() -> Option<OsString> {
    let said = env::var_os("RUNGS_CHROMIUM");
    said.or_else(|| NAMES.iter().find_map(|name| shell::which(name)).map(Into::into))
}
