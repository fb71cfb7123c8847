//! A trace as one page that plays it. Everything is in the file: it needs no network.

use super::Trace;
use crate::error::{Error, Result};

const PAGE: &str = include_str!("page.html");

/// The place in the page where the trace goes.
const MARK: &str = "/*TRACE*/null";

/// The page.
///
/// # Errors
/// If the trace cannot be written as JSON.
pub fn page(trace: &Trace) -> Result<String> {
    let json = serde_json::to_string(trace).map_err(|e| Error::Usage(format!("cannot be written as JSON: {e}")))?;
    // Inside a script no text may close the script.
    let title = format!("{} {}", trace.family, trace.rung);
    Ok(PAGE.replacen(MARK, &json.replace('<', "\\u003c"), 1).replace("TITLE", &title))
}
