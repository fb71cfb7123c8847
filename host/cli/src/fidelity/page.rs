//! The comparison as a page of the docs.

use super::{Comparison, MEASURES, Measure};
use crate::algorithms::Rung;
use crate::report::count;
use rungs::error::{Error, Result};

/// The lines of the page between which the table stands.
const BEGIN: &str = "<!-- fidelity: generated -->\n";
const END: &str = "<!-- fidelity: end -->";

/// A measure of a case: one value where both are equal, else the simulator's and the GPU's.
pub fn cell(comparison: &Comparison, measure: Measure) -> String {
    let show = |value: f64| match measure.per {
        Some(_) => format!("{value:.3}"),
        None => count(value as u64),
    };
    match comparison.measure(measure) {
        None => "-".into(),
        Some((ours, theirs)) if ours == theirs => show(ours),
        Some((ours, theirs)) => format!("{} / {}", show(ours), show(theirs)),
    }
}

/// Whether the machines agree, or why not.
pub fn verdict(comparison: &Comparison) -> String {
    let (known, unknown) = comparison.reasons();
    let pairs = || MEASURES.into_iter().filter_map(|measure| comparison.measure(measure));
    if !unknown.is_empty() {
        return format!("differs, reason not known: {}", unknown.join(", "));
    }
    match &known[..] {
        [] if pairs().all(|(ours, theirs)| ours == theirs) => "equal".into(),
        [] => "within 1 %".into(),
        reasons => reasons.join("; "),
    }
}

/// The rungs that the profiler's report lacks, as a sentence.
pub fn not_measured(missing: &[&Rung]) -> String {
    let names: Vec<String> = missing.iter().map(|rung| rung.path()).collect();
    format!("Not in the profiler's report: {}.", names.join(", "))
}

/// The page with the table of these comparisons, and the rungs for which there are none.
///
/// # Errors
/// [`Error::Usage`] if the page does not have the two lines between which the table stands.
pub fn page(page: &str, comparisons: &[Comparison], missing: &[&Rung]) -> Result<String> {
    let begin = page.find(BEGIN).map(|at| at + BEGIN.len());
    let (Some(begin), Some(end)) = (begin, page.find(END)) else {
        return Err(Error::Usage(format!("the page has no lines {} and {END}", BEGIN.trim_end())));
    };
    let measures = || comparisons.iter().flat_map(|c| MEASURES.into_iter().filter_map(|measure| c.measure(measure)));
    let equal = measures().filter(|(ours, theirs)| ours == theirs).count();
    let names = MEASURES.map(|measure| measure.name).join(" | ");
    let mut table = format!(
        "{equal} of {} values are equal.\n\n| family | rung | n | {names} | verdict |\n| --- | --- | --- | --- | --- | \
         --- | --- | --- |\n",
        measures().count()
    );
    for c in comparisons {
        let cells = MEASURES.map(|measure| cell(c, measure)).join(" | ");
        table += &format!("| {} | {} | {} | {cells} | {} |\n", c.family, c.rung, count(c.n), verdict(c));
    }
    if !missing.is_empty() {
        table += &format!("\n{}\n", not_measured(missing));
    }
    Ok(format!("{}{table}{}", &page[..begin], &page[end..]))
}
