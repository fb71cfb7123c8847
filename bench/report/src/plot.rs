//! Plots.

use crate::Report;

/// All plots of a report: names of files and their SVG.
pub fn all(_: &Report) -> Vec<(String, String)> {
    vec![]
}
