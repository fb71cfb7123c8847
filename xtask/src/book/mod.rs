//! `book`: renders the book, and checks that nothing in it is stale, missing or typed by hand.

mod cost;
mod directive;
mod fragment;
mod glossary;
mod listing;
mod pages;
mod picture;
mod tool;
mod tree;

use crate::{browser, project, tables};
use anyhow::{Context, Result, ensure};
use fragment::{Program, Said, Sources};
use pages::Page;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use tree::Files;

/// Where the book is, from the root; its pages as they are written; and as they are read.
const BOOK: &str = "book";
const PAGES: &str = "book/src";
const READ: &str = "book/read";

/// The page that holds all chapters.
const PRINT: &str = "print.html";

/// How long `--serve` waits before it looks at the pages again.
const PAUSE: Duration = Duration::from_millis(500);

/// The options of `book`.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing; fail if something is stale, missing or dead, and open the pages in a browser if there is one
    #[arg(long, conflicts_with_all = ["serve", "pdf"])]
    check: bool,
    /// Show the book at a local address, and render it again when a page changes
    #[arg(long)]
    serve: bool,
    /// Also print the book to target/book/rungs.pdf, with a browser
    #[arg(long)]
    pdf: bool,
}

/// Renders, serves, prints or checks the book.
pub fn run(args: &Args) -> Result<()> {
    if args.check {
        return check();
    }
    let (program, mut said) = (Program::build()?, Said::new());
    let pages = pages::pages(&project::root().join(PAGES))?;
    for file in update(&pages, &program, &mut said)? {
        println!("{READ}/{file}");
    }
    refuse(pages::defects(project::root(), &pages))?;
    if args.serve {
        return serve(pages, &program, said);
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
    let mut defects = pages::defects(root, &pages);
    let files = rendered(&pages, &Program::build()?, &mut Said::new())?;
    let stale = tree::differing(&root.join(READ), &files)?.into_iter();
    defects.extend(stale.map(|file| format!("{READ}/{file} is stale; run cargo xtask book")));
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

/// The rendered pages. The program is asked for what it has not said yet.
fn rendered(pages: &[Page], program: &Program, said: &mut Said) -> Result<Files> {
    for page in pages {
        for directive in &page.directives {
            if !said.contains_key(directive)
                && let Some(text) = program.fragment(directive).with_context(|| page.name.clone())?
            {
                said.insert(directive.clone(), text);
            }
        }
    }
    tree::rendered(pages, &Sources::new(project::root())?, said)
}

/// Renders the pages into their folder; says which files changed.
fn update(pages: &[Page], program: &Program, said: &mut Said) -> Result<Vec<String>> {
    tree::update(&project::root().join(READ), &rendered(pages, program, said)?)
}

/// Runs mdBook's server, and renders the pages again when one is written.
fn serve(mut pages: Vec<Page>, program: &Program, mut said: Said) -> Result<()> {
    prepare()?;
    let mut server = tool::mdbook(&["serve", BOOK], &mdbook_pages())?.spawn().context("mdbook does not start")?;
    while server.try_wait()?.is_none() {
        thread::sleep(PAUSE);
        let again = || {
            let now = pages::pages(&project::root().join(PAGES))?;
            if now != pages {
                pages = now;
                update(&pages, program, &mut said)?;
                prepare()?;
            }
            Ok(())
        };
        let outcome: Result<()> = { again }();
        if let Err(error) = outcome {
            eprintln!("error: {error:#}");
        }
    }
    Ok(())
}

/// The folder that mdBook reads.
fn mdbook_pages() -> PathBuf {
    project::target().join("book-pages")
}

/// Puts the rendered pages where mdBook reads them.
fn prepare() -> Result<()> {
    let root = project::root();
    let summary = tables::read(&root.join(PAGES).join(pages::SUMMARY))?.context("the book has a table of contents")?;
    let files = tree::stored(&root.join(READ))?;
    tree::update(&mdbook_pages(), &tree::for_mdbook(root, &summary, &files)?).map(drop)
}

/// Makes HTML of the rendered pages with mdBook and returns its folder. What mdBook only warns of is an error.
pub fn build() -> Result<PathBuf> {
    prepare()?;
    let out = project::target().join("book");
    let mut mdbook = tool::mdbook(&["build", BOOK, "--dest-dir"], &mdbook_pages())?;
    let output = mdbook.arg(&out).output().context("mdbook does not start")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let complains = said.lines().any(|line| ["WARN", "ERROR"].iter().any(|word| line.contains(word)));
    ensure!(output.status.success() && !complains, "mdbook build: {said}");
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_has_no_defect_that_needs_no_program() {
        let pages = pages::pages(&project::root().join(PAGES)).unwrap();
        assert_eq!(pages::defects(project::root(), &pages), Vec::<String>::new());
    }
}
