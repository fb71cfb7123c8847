//! The browser that tests the program's pages.

use crate::{setup, shell};
use anyhow::{Context, Error, Result, ensure};
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// Its names on different systems.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Why there is no Chromium to open pages in, if there is none and it cannot be installed; the tests that need it are
/// then reported as ignored.
pub fn missing() -> Option<String> {
    find_or_install().err().map(|why| format!("no Chromium to open the pages in: {why:#}"))
}

/// Chromium, installed if necessary. What one call found or failed to install is not tried again by the next.
pub fn find_or_install() -> Result<OsString> {
    static FOUND: OnceLock<Result<OsString, String>> = OnceLock::new();
    let install = || setup::apt(&["chromium"]).and_then(|()| find().context("installed, but still not found"));
    let found = FOUND.get_or_init(|| find().map_or_else(install, Ok).map_err(|why| format!("{why:#}")));
    found.clone().map_err(Error::msg)
}

/// The browser: that in `RUNGS_CHROMIUM`, or the first in PATH.
pub fn find() -> Option<OsString> {
    let said = env::var_os("RUNGS_CHROMIUM");
    said.or_else(|| NAMES.iter().find_map(|name| shell::which(name)).map(Into::into))
}

/// Starts it without a window, with a profile of its own and no way to another machine: every name is unknown.
fn command(browser: &OsStr, profile: &Path) -> Command {
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command
}

/// Opens a page and returns what it writes to the console, and what it asks of another machine: nothing if all is well.
pub fn open(browser: &OsStr, page: &Path) -> Result<Vec<String>> {
    let profile = tempfile::tempdir()?;
    let mut command = command(browser, profile.path());
    let log = profile.path().join("requests.json");
    command.arg(format!("--log-net-log={}", log.display()));
    command.args(["--virtual-time-budget=5000", "--dump-dom"]).arg(format!("file://{}", page.display()));
    let output = command.output().with_context(|| format!("{} does not start", browser.to_string_lossy()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} cannot be opened: {errors}", page.display());
    // "[…:CONSOLE(line)] …" or, since 2024, "[…:CONSOLE:line] …".
    let mut complaints: Vec<String> =
        errors.lines().filter(|line| line.contains("CONSOLE")).map(str::to_string).collect();
    let log = std::fs::read_to_string(&log).context("the browser wrote no log of its requests")?;
    complaints.extend(log.lines().filter_map(request).map(|address| format!("asks for {address}")));
    Ok(complaints)
}

/// The address that one line of the browser's log says a page of a file asked for, if it is another machine's. The
/// browser asks for some of its own accord; those belong to no page.
fn request(line: &str) -> Option<String> {
    let event: serde_json::Value = serde_json::from_str(line.trim_end_matches(',')).ok()?;
    let parameters = event.get("params")?;
    let of_page = parameters.get("site_for_cookies")?.as_str()?.contains("site=file://");
    let address = parameters.get("url")?.as_str()?;
    (of_page && !address.starts_with("file:")).then(|| address.to_string())
}

/// Prints a page to a PDF.
pub fn print(browser: &OsStr, page: &Path, pdf: &Path) -> Result<()> {
    let profile = tempfile::tempdir()?;
    let mut command = command(browser, profile.path());
    command.arg("--no-pdf-header-footer").arg(format!("--print-to-pdf={}", pdf.display()));
    command.arg(format!("file://{}", page.display()));
    let output = command.output().with_context(|| format!("{} does not start", browser.to_string_lossy()))?;
    ensure!(output.status.success() && pdf.is_file(), "no PDF: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_asks_another_machine_or_fails_is_found() {
        let Some(browser) = find() else {
            eprintln!("there is no browser: not tested");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.html");
        for (body, clean) in [
            ("<p>Text.", true),
            ("<img src=\"https://example.org/a.png\">", false),
            ("<script>nobody.defined = this;</script>", false),
        ] {
            std::fs::write(&page, format!("<!doctype html><title>t</title>{body}")).unwrap();
            let console = open(&browser, &page).unwrap();
            assert_eq!(console.is_empty(), clean, "{body}: {console:?}");
        }
    }
}
