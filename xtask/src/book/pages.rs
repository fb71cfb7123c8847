//! The pages as they are written, and what each has to have.
//!
//! mdBook says nothing of a listing without lines, a dead link or a part that was forgotten. Everything that it passes
//! over is looked for here.

use super::directive::{Directive, UP};
use crate::tables;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The table of contents.
pub const SUMMARY: &str = "SUMMARY.md";

/// The parts of a chapter, in order, each with what has to stand in it.
const PARTS: &[(&str, &[Has])] = &[
    ("The idea", &[]),
    ("The picture", &[Has::Picture]),
    ("The code", &[Has::Listing]),
    ("What it costs", &[Has::Cost]),
    ("What was measured", &[Has::Counts, Has::Measured]),
    ("What goes wrong", &[Has::Bug]),
    ("Exercises", &[Has::Exercise]),
    (SOURCE, &[]),
    ("Three questions", &[Has::Questions]),
];

/// The part that quotes figures of others.
const SOURCE: &str = "Where it comes from";

/// What a part has to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Picture,
    Listing,
    Cost,
    Counts,
    Measured,
    Bug,
    Exercise,
    Questions,
}

/// The fewest words of a part, without its directives.
const WORDS: usize = 12;

/// Questions of a chapter.
const QUESTIONS: usize = 3;

/// Units of what is measured: a number in front of one is typed by hand.
const UNITS: &[&str] = &["ns", "µs", "ms", "GB/s", "TB/s", "GFLOP/s", "TFLOP/s", "keys/s", "Mkeys/s", "Gkeys/s"];

/// A page.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// Its file's name in the folder.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Its directives in order.
    pub directives: Vec<Directive>,
}

impl Page {
    /// Reads the directives of a page.
    pub fn new(name: &str, text: &str) -> Result<Self> {
        let mut directives = vec![];
        for (_, line, code) in lines(text) {
            if !code {
                directives.extend(Directive::of(line).with_context(|| name.to_string())?);
            }
        }
        Ok(Self { name: name.into(), text: text.into(), directives })
    }

    /// Whether it has to have all parts: chapters are numbered, appendices are not.
    fn is_chapter(&self) -> bool {
        self.name.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// The pages in a folder.
pub fn pages(folder: &Path) -> Result<Vec<Page>> {
    let mut pages = vec![];
    for name in tables::entries(folder)?.into_iter().filter(|name| name.ends_with(".md")) {
        let text = tables::read(&folder.join(&name))?.unwrap_or_default();
        pages.push(Page::new(&name, &text)?);
    }
    Ok(pages)
}

/// Everything that is wrong with the pages, each with its place.
pub fn defects(root: &Path, pages: &[Page]) -> Vec<String> {
    let mut defects = vec![];
    let headings: BTreeMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|page| (page.name.as_str(), headings(&page.text).into_iter().map(|h| slug(&h)).collect()))
        .collect();
    let summary = pages.iter().find(|page| page.name == SUMMARY);
    let listed: Vec<String> =
        summary.map_or(vec![], |page| links(&page.text).into_iter().map(|(_, link)| link).collect());
    for page in pages {
        let of_page = |what: String| format!("{}: {what}", page.name);
        if page.name != SUMMARY && listed.iter().filter(|link| **link == page.name).count() != 1 {
            defects.push(of_page(format!("is not once in {SUMMARY}")));
        }
        if page.is_chapter() {
            defects.extend(parts(page).into_iter().map(of_page));
        }
        for (line, link) in links(&page.text) {
            if let Err(why) = leads(root, &headings, &page.name, &link) {
                defects.push(format!("{}:{line}: the link to {link}: {why}", page.name));
            }
        }
        defects.extend(typed(&page.text).into_iter().map(|(line, what)| {
            format!("{}:{line}: {what} is typed by hand; a directive shows what was measured", page.name)
        }));
    }
    defects
}

/// The lines with their numbers, and whether each belongs to a block of code.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str, bool)> {
    let mut code = false;
    text.lines().enumerate().map(move |(i, line)| {
        let fence = line.starts_with("```");
        let inside = code || fence;
        code ^= fence;
        (i + 1, line, inside)
    })
}

/// The text of the headings.
fn headings(text: &str) -> Vec<String> {
    let heading = |line: &str| line.starts_with('#').then(|| line.trim_start_matches('#').trim().to_string());
    lines(text).filter(|(_, _, code)| !code).filter_map(|(_, line, _)| heading(line)).collect()
}

/// A heading's anchor, as mdBook makes it.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// Where the links and pictures of a page lead, with their lines.
pub fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = vec![];
    for (number, line, _) in lines(text).filter(|(_, _, code)| !code) {
        // What stands between two ` is code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let after = prose.split("](").skip(1).chain(prose.split("href=\"").skip(1));
        links.extend(after.filter_map(|rest| Some((number, rest.split([')', '"']).next()?.to_string()))));
    }
    links
}

/// Whether a link leads to a page and a heading of the book, or to a file of the repository.
fn leads(root: &Path, pages: &BTreeMap<&str, BTreeSet<String>>, from: &str, link: &str) -> Result<(), String> {
    if let Some(file) = link.strip_prefix(UP) {
        return root.join(file).exists().then_some(()).ok_or("there is no such file".into());
    }
    if link.contains("://") {
        return Err("leaves the book, which works without a network".into());
    }
    let (page, heading) = link.split_once('#').map_or((link, None), |(page, heading)| (page, Some(heading)));
    let page = if page.is_empty() { from } else { page };
    let headings = pages.get(page).ok_or("there is no such page")?;
    match heading {
        Some(heading) if !headings.contains(heading) => Err("the page has no such heading".into()),
        _ => Ok(()),
    }
}

/// What a chapter leaves out.
fn parts(page: &Page) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = vec![];
    for (_, line, code) in lines(&page.text) {
        match (line.strip_prefix("## "), found.last_mut()) {
            (Some(name), _) if !code => found.push((name.trim(), vec![])),
            (_, Some((_, inside))) => inside.push(line),
            _ => {}
        }
    }
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    let wanted: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
    if names != wanted {
        return vec![format!("its parts should be {wanted:?} and are {names:?}")];
    }
    let mut missing = vec![];
    for ((name, has), (_, inside)) in PARTS.iter().zip(found) {
        let prose = inside.iter().filter(|line| !line.starts_with("{{#"));
        let words: usize = prose.map(|line| line.split_whitespace().count()).sum();
        if words < WORDS {
            missing.push(format!("{name} has {words} words; {WORDS} are the least"));
        }
        for has in has.iter().filter(|has| !stands(**has, &inside)) {
            missing.push(format!("{name} has no {has:?}"));
        }
    }
    missing
}

/// Whether that stands in these lines.
fn stands(has: Has, lines: &[&str]) -> bool {
    let directive = |wanted: fn(&Directive) -> bool| {
        lines.iter().any(|line| Directive::of(line).ok().flatten().is_some_and(|directive| wanted(&directive)))
    };
    match has {
        Has::Picture => directive(|d| matches!(d, Directive::Picture { .. } | Directive::Figure { .. })),
        Has::Listing => directive(|d| matches!(d, Directive::Listing { .. })),
        Has::Cost => directive(|d| matches!(d, Directive::Cost { .. })),
        Has::Counts => directive(|d| matches!(d, Directive::Counts { .. })),
        Has::Measured => directive(|d| matches!(d, Directive::Measured { .. })),
        Has::Bug => directive(|d| matches!(d, Directive::Bug { .. })),
        Has::Exercise => lines.iter().any(|line| exercise(line).is_some()),
        Has::Questions => {
            let questions =
                lines.iter().filter(|line| line.starts_with("<details><summary>Why") && line.ends_with("?</summary>"));
            let closed = lines.iter().filter(|line| **line == "</details>").count();
            questions.count() == QUESTIONS && closed == QUESTIONS
        }
    }
}

/// The number in a line of a list of exercises: "- **7** one-block: …".
pub fn exercise(line: &str) -> Option<u32> {
    line.strip_prefix("- **")?.split_once("**")?.0.parse().ok()
}

/// Numbers with a unit of measurement in the prose, with their lines; what a source of old measured may be quoted.
fn typed(text: &str) -> Vec<(usize, String)> {
    let mut found = vec![];
    let mut quotes = false;
    for (number, line, code) in lines(text) {
        if let Some(heading) = line.strip_prefix("## ") {
            quotes = heading.trim() == SOURCE;
        }
        if code || quotes || line.starts_with("{{#") {
            continue;
        }
        let words: Vec<&str> = line.split([' ', ';', '(', ')']).collect();
        for pair in words.windows(2) {
            let unit = pair[1].trim_end_matches(['.', ',', ':', '?', '*']);
            let digit = pair[0].trim_start_matches('*').starts_with(|c: char| c.is_ascii_digit());
            if digit && UNITS.contains(&unit) {
                found.push((number, format!("{} {unit}", pair[0])));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chapter with all parts.
    fn chapter() -> String {
        let words = "Twelve words and more are here so that the part is not empty. ".to_string();
        let part = |name: &str, more: &str| format!("## {name}\n\n{words}\n\n{more}\n\n");
        let question = "<details><summary>Why is it so?</summary>\n\nBecause.\n\n</details>\n\n".repeat(3);
        "# A chapter\n\n".to_string()
            + &part("The idea", "See [the code](#the-code) and [the next](b.md).")
            + &part("The picture", "{{#picture scan --n 8 | A scan.}}")
            + &part("The code", "{{#listing a.rs | f}}")
            + &part("What it costs", "{{#cost a/b n=8 | barriers = 0}}")
            + &part("What was measured", "{{#counts a --n 8}}\n\n{{#measured a}}")
            + &part("What goes wrong", "{{#bug n}}")
            + &part("Exercises", "- **7** do it")
            + &part(SOURCE, "It took 3 ms then.")
            + &part("Three questions", &question)
    }

    fn defects_of(text: &str) -> Vec<String> {
        let summary = "# Summary\n\n- [A](1-a.md)\n- [B](b.md)\n";
        let pages = [("1-a.md", text), ("b.md", "# B\n"), (SUMMARY, summary)];
        let pages: Vec<Page> = pages.iter().map(|(name, text)| Page::new(name, text).unwrap()).collect();
        defects(Path::new(env!("CARGO_MANIFEST_DIR")), &pages)
    }

    #[test]
    fn a_chapter_with_all_parts_has_no_defect() {
        assert_eq!(defects_of(&chapter()), Vec::<String>::new());
    }

    #[test]
    fn each_part_that_is_left_out_is_named() {
        for (gone, says) in [
            ("## The idea", "its parts should be"),
            ("{{#picture scan --n 8 | A scan.}}", "The picture has no Picture"),
            ("{{#listing a.rs | f}}", "The code has no Listing"),
            ("{{#cost a/b n=8 | barriers = 0}}", "What it costs has no Cost"),
            ("{{#counts a --n 8}}", "What was measured has no Counts"),
            ("{{#measured a}}", "What was measured has no Measured"),
            ("{{#bug n}}", "What goes wrong has no Bug"),
            ("- **7** do it", "Exercises has no Exercise"),
            ("It took 3 ms then.\n", ""),
            ("<details><summary>Why is it so?</summary>\n\nBecause.\n\n</details>", "Three questions has no Questions"),
        ] {
            let defects = defects_of(&chapter().replacen(gone, "", 1));
            let all = defects.join("\n");
            assert_eq!(defects.is_empty(), says.is_empty(), "{gone}: {all}");
            assert!(all.contains(says), "{gone}: {all}");
        }
        let short = chapter().replacen("Twelve words and more are here so that the part is not empty. ", "Few.", 1);
        assert!(defects_of(&short)[0].contains("The idea has 7 words"), "{:?}", defects_of(&short));
    }

    #[test]
    fn dead_links_are_found() {
        for (from, to, says) in [
            ("b.md)", "c.md)", "1-a.md:7: the link to c.md: there is no such page"),
            ("#the-code", "#the-cod", "1-a.md:7: the link to #the-cod: the page has no such heading"),
            ("b.md)", "https://example.org)", "leaves the book"),
            ("b.md)", "../../src/gone.rs)", "there is no such file"),
        ] {
            let defects = defects_of(&chapter().replacen(from, to, 1));
            assert!(defects.len() == 1 && defects[0].contains(says), "{defects:?}");
        }
        assert_eq!(defects_of(&chapter().replacen("b.md)", "../../src/main.rs)", 1)), Vec::<String>::new());
        // Code is no link.
        assert_eq!(defects_of(&chapter().replacen("See", "`[a](gone.md)` See", 1)), Vec::<String>::new());
    }

    #[test]
    fn pages_that_no_reader_can_reach_are_found() {
        let page = |name: &str, text: &str| Page::new(name, text).unwrap();
        let found = defects(Path::new(""), &[page("b.md", "# B\n"), page(SUMMARY, "# Summary\n\n- [C](c.md)\n")]);
        assert_eq!(found, ["b.md: is not once in SUMMARY.md", "SUMMARY.md:3: the link to c.md: there is no such page"]);
    }

    #[test]
    fn figures_that_are_typed_by_hand_are_found() {
        let typed = |text: &str| defects_of(&chapter().replacen("See", text, 1));
        assert!(typed("It takes 3.5 ms. See")[0].contains("3.5 ms is typed by hand"));
        assert!(typed("It moves **4200 GB/s**, see")[0].contains("GB/s"));
        assert_eq!(typed("Of 256 threads and 32 lanes see"), Vec::<String>::new());
    }
}
