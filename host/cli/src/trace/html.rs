//! A trace as one page that plays it. Everything is in the file: it needs no network.

use super::{ArrayTrace, Trace};
use crate::counters::{self, Kernel};
use rungs::error::{Error, Result};
use serde::Serialize;
use std::fmt::Write;

const PAGE: &str = include_str!("page.html");

/// The place in the page where the trace goes.
const MARK: &str = "/*TRACE*/null";

/// The place where the pictures of the counters go.
const PICTURES: &str = "<!--PICTURES-->";

/// The page of a line of elements.
///
/// # Errors
/// If the trace cannot be written as JSON.
pub fn page(trace: &Trace) -> Result<String> {
    fill(trace, &format!("{} {}", trace.family, trace.rung), &trace.kernels)
}

/// The page of several arrays.
///
/// # Errors
/// If the trace cannot be written as JSON.
pub fn array_page(trace: &ArrayTrace) -> Result<String> {
    fill(trace, &format!("{} {}", trace.family, trace.rung), &trace.kernels)
}

/// The page with this data.
pub(super) fn fill(trace: &impl Serialize, title: &str, kernels: &[Kernel]) -> Result<String> {
    let json = serde_json::to_string(trace).map_err(|e| Error::Usage(format!("cannot be written as JSON: {e}")))?;
    let page = PAGE.replacen("TITLE", title, 1).replacen(PICTURES, &pictures(kernels), 1);
    // Last, as it may hold the other marks. Inside a script no text may close the script.
    Ok(page.replacen(MARK, &json.replace('<', "\\u003c"), 1))
}

/// The heat map of each kernel, and the costliest request of each of its lines.
fn pictures(kernels: &[Kernel]) -> String {
    let mut html = String::new();
    for kernel in kernels {
        // Writing to a string cannot fail.
        let _ = writeln!(html, "<details><summary>{}: what a GPU would do, by line</summary>", kernel.name);
        html += &counters::heat(kernel);
        for picture in kernel.lines.iter().filter_map(counters::access) {
            html += &picture;
        }
        html += "</details>\n";
    }
    html
}
