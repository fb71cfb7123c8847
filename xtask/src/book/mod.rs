//! `book`: builds the book, and checks that nothing in it is stale, missing or typed by hand.

mod cost;
mod directive;
mod fragment;
mod listing;
mod pages;
mod picture;
mod tool;

use crate::{browser, project, shell, tables};
use anyhow::{Context, Result, ensure};
use directive::Directive;
use fragment::{Program, Sources};
use pages::Page;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where the book is, from the root; and its pages.
const BOOK: &str = "book";
const PAGES: &str = "book/src";

/// The page that holds all chapters.
const PRINT: &str = "print.html";

/// The options of `book`.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail if something is stale, missing or dead, and open the pages in a browser if there is one
    #[arg(long, conflicts_with_all = ["serve", "pdf"])]
    check: bool,
    /// Show the book at a local address, and build it again when a page changes
    #[arg(long)]
    serve: bool,
    /// Also print the book to target/book/rungs.pdf, with a browser
    #[arg(long)]
    pdf: bool,
    /// What book.toml tells mdBook to call: fill in the directives of the pages on standard input
    #[arg(long, hide = true)]
    preprocess: bool,
    /// What mdBook asks: supports RENDERER
    #[arg(hide = true, requires = "preprocess")]
    question: Vec<String>,
}

/// Builds, serves, prints or checks the book.
pub fn run(args: &Args) -> Result<()> {
    if args.preprocess {
        // mdBook asks whether a renderer is supported: every one is.
        return if args.question.is_empty() { preprocess() } else { Ok(()) };
    }
    if args.check {
        return check();
    }
    let root = project::root();
    let pages = pages::pages(&root.join(PAGES))?;
    for (file, text) in differing(root, &make(&pages, &Program::build()?)?)? {
        let path = generated(root).join(&file);
        match text {
            Some(text) => tool::write(&path, &text)?,
            None => fs::remove_file(&path).with_context(|| format!("{file} cannot be removed"))?,
        }
        println!("{PAGES}/{}/{file}", pages::GENERATED);
    }
    refuse(pages::defects(&pages))?;
    if args.serve {
        return shell::run(tool::mdbook(&["serve", BOOK])?);
    }
    let out = build()?;
    if args.pdf {
        let browser = browser::find_or_install().context("a browser prints the book")?;
        browser::print(&browser, &out.join(PRINT), &out.join("rungs.pdf"))?;
    }
    println!("{}", project::short(&out.join("index.html")));
    Ok(())
}

/// Fails if anything is stale, missing, dead or typed by hand.
pub fn check() -> Result<()> {
    let root = project::root();
    let pages = pages::pages(&root.join(PAGES))?;
    let mut defects = pages::defects(&pages);
    let sources = Sources::new(root)?;
    let made = make(&pages, &Program::build()?)?;
    for page in &pages {
        defects.extend(page.directives.iter().filter_map(|directive| {
            let why = sources.shown(directive, &made).err()?;
            Some(format!("{}: {why:#}", page.name))
        }));
    }
    let stale = differing(root, &made)?.into_iter();
    defects
        .extend(stale.map(|(file, _)| format!("{PAGES}/{}/{file} is stale; run cargo xtask book", pages::GENERATED)));
    refuse(defects)?;
    let out = build()?;
    let browser = match browser::find_or_install() {
        Ok(browser) => browser,
        Err(why) => {
            println!("the pages are opened in no browser: {why:#}");
            return Ok(());
        }
    };
    for file in tables::entries(&out)?.into_iter().filter(|name| name.ends_with(".html")) {
        let errors = browser::open(&browser, &out.join(&file))?;
        ensure!(errors.is_empty(), "{file} in a browser: {}", errors.join("\n"));
    }
    Ok(())
}

fn refuse(defects: Vec<String>) -> Result<()> {
    ensure!(defects.is_empty(), "the book has {} defects:\n  {}", defects.len(), defects.join("\n  "));
    Ok(())
}

/// Files in the folder of what is generated, with their contents.
type Files = BTreeMap<String, String>;

fn generated(root: &Path) -> PathBuf {
    root.join(PAGES).join(pages::GENERATED)
}

/// The files of all directives that need the program.
fn make(pages: &[Page], program: &Program) -> Result<Files> {
    let mut owners: BTreeMap<String, &Directive> = BTreeMap::new();
    let mut files = Files::new();
    for page in pages {
        for directive in &page.directives {
            let Some(file) = directive.file() else { continue };
            if let Some(other) = owners.insert(file.clone(), directive) {
                ensure!(other == directive, "{}: two directives would have the file {file}", page.name);
                continue;
            }
            let text = program.fragment(directive).with_context(|| page.name.clone())?;
            files.insert(file, text.context("a directive with a file comes from the program")?);
        }
    }
    Ok(files)
}

/// Files that differ from those in the folder, with what they should be; those that no directive has, without.
fn differing(root: &Path, made: &Files) -> Result<Vec<(String, Option<String>)>> {
    let there = stored(root)?;
    let stale = made.iter().filter(|(name, text)| there.get(*name) != Some(text));
    let left = there.keys().filter(|name| !made.contains_key(*name));
    let stale = stale.map(|(name, text)| (name.clone(), Some(text.clone())));
    Ok(stale.chain(left.map(|name| (name.clone(), None))).collect())
}

/// The files in the folder of what is generated.
fn stored(root: &Path) -> Result<Files> {
    let folder = generated(root);
    let file = |name: String| Ok((name.clone(), tables::read(&folder.join(name))?.unwrap_or_default()));
    tables::entries(&folder)?.into_iter().map(file).collect()
}

/// Builds the pages with mdBook and returns their folder. What mdBook only warns of is an error.
pub fn build() -> Result<PathBuf> {
    let out = project::target().join("book");
    let output = tool::mdbook(&["build", BOOK, "--dest-dir"])?.arg(&out).output().context("mdbook does not start")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let complains = said.lines().any(|line| ["WARN", "ERROR"].iter().any(|word| line.contains(word)));
    ensure!(output.status.success() && !complains, "mdbook build: {said}");
    Ok(out)
}

/// Reads mdBook's book from standard input and writes it with all directives filled in.
fn preprocess() -> Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let (_, mut book): (Value, Value) =
        serde_json::from_str(&text).context("mdBook writes its context and its book")?;
    let root = project::root();
    let (sources, files) = (Sources::new(root)?, stored(root)?);
    fill(&mut book, &|text| filled(text, &sources, &files))?;
    println!("{book}");
    Ok(())
}

/// Replaces the text of each chapter.
fn fill(value: &mut Value, with: &dyn Fn(&str) -> Result<String>) -> Result<()> {
    match value {
        Value::Array(all) => all.iter_mut().try_for_each(|value| fill(value, with)),
        Value::Object(all) => all.iter_mut().try_for_each(|(key, value)| match (key.as_str(), &mut *value) {
            ("content", Value::String(text)) => {
                *text = with(text)?;
                Ok(())
            }
            _ => fill(value, with),
        }),
        _ => Ok(()),
    }
}

/// A page's text with its directives replaced.
fn filled(text: &str, sources: &Sources, files: &Files) -> Result<String> {
    let page = Page::new("page", text)?;
    let mut directives = page.directives.iter();
    let mut filled = String::new();
    for (_, line, code) in pages::lines(text) {
        let directive = (!code && Directive::of(line)?.is_some()).then(|| directives.next()).flatten();
        match directive {
            Some(directive) => filled += &sources.shown(directive, files)?,
            None => filled += line,
        }
        if let Some(number) = pages::exercise(line).filter(|_| !code) {
            filled += &sources.exercise(number)?;
        }
        filled.push('\n');
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with one rung and one file that is generated.
    fn repository() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| tool::write(&root.path().join(path), text).unwrap();
        write("gpu/sort/src/r1_one.rs", "//! # Sort, one step\n//!\n//! **Cost.** Much.\n\nfn f() {}\n");
        write("exercises/stubs/07_one.rs", "");
        write("book/src/generated/run-list.md", "```text\n$ rungs list\na\n```\n");
        root
    }

    #[test]
    fn exercises_are_followed_by_their_command() {
        let root = repository();
        let (sources, files) = (Sources::new(root.path()).unwrap(), stored(root.path()).unwrap());
        let text = filled("# T\n\n- **7** one.\n- **8** another.\n", &sources, &files).unwrap();
        assert_eq!(text, "# T\n\n- **7** one. `cargo learn check 7`\n- **8** another. (planned)\n");
    }

    #[test]
    fn directives_are_replaced_and_code_is_not() {
        let root = repository();
        let (sources, files) = (Sources::new(root.path()).unwrap(), stored(root.path()).unwrap());
        let text = "# T\n\n{{#listing gpu/sort/src/r1_one.rs | f}}\n\n{{#head sort/one | Cost}}\n\n{{#run list}}\n\n\
                    ```text\n{{#run list}}\n```\n";
        let filled = filled(text, &sources, &files).unwrap();
        assert!(filled.contains("```rust\nfn f() {}\n```") && filled.contains("> Much."), "{filled}");
        assert!(filled.contains("$ rungs list\na\n") && filled.contains("```text\n{{#run list}}\n```"), "{filled}");
        for gone in [
            "{{#listing gpu/sort/src/r1_one.rs | g}}",
            "{{#listing gpu/sort/src/r2.rs | f}}",
            "{{#head sort/one | Limits}}",
            "{{#head sort/two | Cost}}",
            "{{#run bugs}}",
            "{{#picture sort | A sort.}}",
            "{{#measured sort}}",
            "{{#plot gone.svg | A plot.}}",
        ] {
            assert!(super::filled(gone, &sources, &files).is_err(), "{gone}");
        }
    }

    #[test]
    fn stale_and_left_over_files_are_found() {
        let root = repository();
        let made = |text: &str, name: &str| Files::from([(name.to_string(), text.to_string())]);
        let found = |files: &Files| differing(root.path(), files).unwrap();
        let right = "```text\n$ rungs list\na\n```\n";
        assert_eq!(found(&made(right, "run-list.md")), []);
        assert_eq!(found(&made("b", "run-list.md")), [("run-list.md".into(), Some("b".into()))]);
        let moved = found(&made(right, "run-all.md"));
        assert_eq!(moved, [("run-all.md".into(), Some(right.into())), ("run-list.md".into(), None)]);
    }

    #[test]
    fn chapters_of_mdbook_are_filled_at_any_depth() {
        let mut book = serde_json::json!({"items": [{"Chapter": {"content": "a", "name": "a",
            "sub_items": [{"Chapter": {"content": "b"}}]}}, "Separator"]});
        fill(&mut book, &|text| Ok(text.to_uppercase())).unwrap();
        let text = book.to_string();
        assert!(
            text.contains(r#""content":"A""#) && text.contains(r#""content":"B""#) && text.contains(r#""name":"a""#)
        );
    }

    /// The preprocessor and the check read pages in the same way.
    #[test]
    fn the_book_has_no_defect_that_needs_no_program() {
        let pages = pages::pages(&project::root().join(PAGES)).unwrap();
        assert_eq!(pages::defects(&pages), Vec::<String>::new());
    }
}
