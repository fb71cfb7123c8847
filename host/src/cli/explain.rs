//! `rungs explain FAMILY [--rung R]`: prints the heads of the rungs' source files.

use super::{Common, family_named};
use crate::algorithms::Rung;
use crate::error::Result;
use crate::report::{self, Format, Grid};
use clap::{Arg, ArgMatches, Command};
use serde::Serialize;

/// Columns of the text, for a page that is easy to read.
const WIDTH: usize = 96;

pub(super) fn command() -> Command {
    Command::new("explain").about("Print the head of a rung's source: idea, bottleneck, cost, threads, limits").args([
        Arg::new("family").value_name("FAMILY").required(true),
        Arg::new("rung").long("rung").value_name("RUNG").help("Only this rung [default: all, in teaching order]"),
    ])
}

/// A rung's head, for JSON.
#[derive(Serialize)]
struct Explained {
    rung: &'static str,
    file: String,
    title: String,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    name: String,
    text: String,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    family: &'static str,
    about: &'static str,
    rungs: Vec<Explained>,
}

impl From<&'static Rung> for Explained {
    fn from(rung: &'static Rung) -> Self {
        let head = rung.head();
        let parts = head.parts.into_iter().map(|(name, text)| Part { name, text }).collect();
        Self { rung: rung.name, file: rung.path(), title: head.title, parts }
    }
}

pub(super) fn run(matches: &ArgMatches, common: &Common) -> Result<()> {
    let family = family_named(matches.get_one::<String>("family").map_or("", String::as_str))?;
    let rungs: Vec<Explained> = match matches.get_one::<String>("rung") {
        Some(name) => vec![family.rung(name)?.into()],
        None => family.rungs.iter().copied().map(Explained::from).collect(),
    };
    match common.format {
        Format::Json => {
            report::json(&Report { schema: report::SCHEMA, family: family.name, about: family.about, rungs })
        }
        Format::Csv => {
            let mut grid = Grid::new(&["family", "rung", "part", "text"], &[]);
            for rung in &rungs {
                rung.parts.iter().for_each(|part| grid.row([family.name, rung.rung, &part.name, &part.text]));
            }
            grid.print_csv()
        }
        Format::Text => {
            let texts: Vec<String> = rungs.iter().map(|rung| text(family.name, rung)).collect();
            report::print(&texts.join("\n\n"))
        }
    }
}

/// A rung's head as a page.
fn text(family: &str, rung: &Explained) -> String {
    let mut page = format!("{family} {} · {}\n{}\n", rung.rung, rung.title, rung.file);
    for part in &rung.parts {
        page += &format!("\n{}\n", part.name);
        for paragraph in part.text.lines() {
            page += &wrapped(paragraph);
        }
    }
    page
}

/// A paragraph in indented lines of at most [`WIDTH`] columns, but for words that are longer by themselves.
fn wrapped(paragraph: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in paragraph.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH - 2 {
            lines += &format!("  {line}\n");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &format!("  {line}\n").replace("  \n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::FAMILIES;

    #[test]
    fn pages_hold_every_word_of_the_head() {
        for family in FAMILIES.iter() {
            for rung in family.rungs.iter().copied() {
                let page = text(family.name, &rung.into());
                let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                let head = rung.head();
                let parts = head.parts.iter().flat_map(|(name, text)| words(name).into_iter().chain(words(text)));
                let want: Vec<String> =
                    words(&format!("{} {} · {} {}", family.name, rung.name, head.title, rung.path()))
                        .into_iter()
                        .chain(parts)
                        .collect();
                assert_eq!(words(&page), want, "{}", rung.path());
                assert_eq!(head.parts.len(), 7, "{}", rung.path());
            }
        }
    }

    #[test]
    fn lines_are_no_wider_than_a_page() {
        let text = wrapped(&"word and ".repeat(60));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH && line.starts_with("  ")));
        assert_eq!(text.split_whitespace().count(), 120);
        assert_eq!(wrapped("·".repeat(200).as_str()).lines().count(), 1);
    }
}
