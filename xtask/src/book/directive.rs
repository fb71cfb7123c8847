//! The directives in the book's pages: what stands in a page where the command puts a listing, a picture, a transcript
//! or a table.
//!
//! A directive is a line of its own, `{{#NAME argument | argument …}}`. None of them is one of mdBook's own.

use anyhow::{Context, Result, bail, ensure};

/// What is to stand in its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Directive {
    /// Items of a source file, cut out of it: `{{#listing PATH | ITEM | ITEM}}`. Lines stay as they are.
    Listing { path: String, items: Vec<String> },
    /// A part of a rung's head, as `Cost`: `{{#head FAMILY/RUNG | PART}}`.
    Head { rung: String, part: String },
    /// The measured ladder of a family, or a part of it, with the reports it comes from:
    /// `{{#measured FAMILY | FIRST..LAST}}`.
    Measured { family: String, rungs: Option<String> },
    /// A drawing in book/src/figures: `{{#figure FILE | CAPTION}}`.
    Figure { file: String, caption: String },
    /// A plot of bench/results: `{{#plot FILE | CAPTION}}`.
    Plot { file: String, caption: String },
    /// A call of the program and what it prints: `{{#run ARGUMENTS}}`.
    Run { arguments: String },
    /// A trace as a picture: `{{#picture FAMILY ARGUMENTS | CAPTION}}`; with a third part without the array of that
    /// name, for instance one with times, which are others in every run.
    Picture { arguments: String, caption: String, without: Option<String> },
    /// The costliest request of one kind that a rung makes, lane by lane:
    /// `{{#request FAMILY --rung RUNG --n N | global load | CAPTION}}`.
    Request { arguments: String, instruction: String, caption: String },
    /// The simulator's counters of a family or a part of it: `{{#counts FAMILY ARGUMENTS | FIRST..LAST}}`.
    Counts { arguments: String, rungs: Option<String> },
    /// A cost model, compared with the counters: `{{#cost FAMILY/RUNG n=65536 | bytes_in = 8*n}}`.
    Cost { rung: String, values: String, formulas: Vec<String> },
    /// A bug of the gallery with the checker's finding: `{{#bug NAME}}`.
    Bug { name: String },
    /// The bugs of one topic of the gallery: `{{#gallery TOPIC}}`.
    Gallery { topic: String },
}

/// From a page to the root, in `book/src` as in `book/read`.
pub const UP: &str = "../../";

/// The folder of pictures, next to the pages.
const PICTURES: &str = "pictures";

/// The begin of every directive of ours.
const BEGIN: &str = "{{#";

impl Directive {
    /// The directive of a line; `None` for any other line.
    ///
    /// # Errors
    /// If the line is meant for one and cannot be read.
    pub fn of(line: &str) -> Result<Option<Self>> {
        if !line.contains(BEGIN) {
            return Ok(None);
        }
        let wrong = || format!("not a directive on a line of its own: {line}");
        let inside = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix("}}")).with_context(wrong)?;
        let (name, rest) = inside.split_once(' ').with_context(wrong)?;
        let parts: Vec<String> = rest.split(" | ").map(|part| part.trim().to_string()).collect();
        ensure!(parts.iter().all(|part| !part.is_empty()), wrong());
        let (first, others) = (parts[0].clone(), parts[1..].to_vec());
        let one = |others: &[String]| match others {
            [other] => Ok(other.clone()),
            _ => bail!("{name} takes two parts with | between them: {line}"),
        };
        let at_most_one = |others: &[String]| {
            ensure!(others.len() <= 1, "{name} takes one part behind | at most: {line}");
            Ok(others.first().cloned())
        };
        let none = |directive| {
            ensure!(others.is_empty(), "{name} takes no part behind |: {line}");
            Ok(directive)
        };
        Ok(Some(match name {
            "listing" => {
                ensure!(!others.is_empty(), "a listing names the items that it shows: {line}");
                Self::Listing { path: first, items: others }
            }
            "head" => Self::Head { rung: first, part: one(&others)? },
            "measured" => Self::Measured { family: first, rungs: at_most_one(&others)? },
            "figure" => Self::Figure { file: first, caption: one(&others)? },
            "plot" => Self::Plot { file: first, caption: one(&others)? },
            "run" => none(Self::Run { arguments: first })?,
            "picture" => {
                let caption = one(others.get(..1).unwrap_or_default())?;
                ensure!(others.len() <= 2, "a picture leaves out one array at most: {line}");
                Self::Picture { arguments: first, caption, without: others.get(1).cloned() }
            }
            "request" => {
                let [instruction, caption] = &others[..] else {
                    bail!("a request has an instruction and a caption: {line}");
                };
                Self::Request { arguments: first, instruction: instruction.clone(), caption: caption.clone() }
            }
            "counts" => Self::Counts { arguments: first, rungs: at_most_one(&others)? },
            "cost" => {
                let (rung, values) = first.split_once(' ').with_context(wrong)?;
                ensure!(!others.is_empty(), "a cost has formulas: {line}");
                Self::Cost { rung: rung.into(), values: values.into(), formulas: others }
            }
            "bug" => none(Self::Bug { name: first })?,
            "gallery" => none(Self::Gallery { topic: first })?,
            _ => bail!("no directive is called {name}: {line}"),
        }))
    }

    /// The file of a picture that the program draws, from the page.
    pub fn picture(&self) -> Option<String> {
        let words = match self {
            Self::Picture { arguments, without, .. } => {
                let without = without.as_ref().map_or(String::new(), |name| format!(" without {name}"));
                format!("trace {arguments}{without}")
            }
            Self::Request { arguments, instruction, .. } => format!("request {arguments} {instruction}"),
            _ => return None,
        };
        let name = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        Some(format!("{PICTURES}/{}.svg", name.collect::<Vec<_>>().join("-").to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_read_with_their_parts() {
        let of = |line| Directive::of(line).unwrap();
        assert_eq!(of("Text with {braces}."), None);
        assert_eq!(
            of("{{#listing gpu/src/a.rs | f | g}}"),
            Some(Directive::Listing { path: "gpu/src/a.rs".into(), items: vec!["f".into(), "g".into()] })
        );
        assert_eq!(of("{{#run list}}").unwrap().picture(), None);
        let picture = of("{{#picture scan --n 8 | A scan. | times}}").unwrap().picture();
        assert_eq!(picture.unwrap(), "pictures/trace-scan-n-8-without-times.svg");
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for line in [
            "{{#lsting gpu/src/a.rs | f}}",
            "{{#listing gpu/src/a.rs}}",
            "{{#run}}",
            "{{#run ladder reduce",
            "See {{#run ladder reduce}}.",
            "{{#picture scan --n 8}}",
            "{{#picture scan --n 8 | A scan. | times | sums}}",
            "{{#bug a | b}}",
            "{{#figure a.svg}}",
            "{{#measured scan | a..b | c}}",
            "{{#request scan --n 8 | global load}}",
            "{{#cost saxpy/kernel | n}}",
            "{{#include ../../README.md}}",
        ] {
            assert!(Directive::of(line).is_err(), "{line}");
        }
    }
}
