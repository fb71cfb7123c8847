//! mdBook, which makes pages of the chapters.

use crate::{project, shell};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The version that is used, and no other: another one may make other pages.
const VERSION: &str = "0.5.4";

/// mdBook with these arguments, the command first, on the pages in a folder; installed if it is missing or has no such
/// command.
pub fn mdbook(args: &[&str], pages: &Path) -> Result<Command> {
    let program = project::tools().join("bin/mdbook");
    let mut version = Command::new(&program);
    let found = version.arg("--version").output().is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.trim().trim_start_matches("mdbook v") == VERSION
    });
    let mut help = Command::new(&program);
    help.args(args.first()).arg("--help");
    if !found || !shell::succeeds(help) {
        install(args.first() == Some(&"serve")).with_context(|| format!("mdBook {VERSION} cannot be installed"))?;
    }
    let mut command = shell::command(program, args);
    command.env("MDBOOK_BOOK__SRC", pages);
    Ok(command)
}

/// Without its server it has half as many dependencies, and without optimisation it is built sooner than it saves.
fn install(server: bool) -> Result<()> {
    println!("installing mdBook {VERSION}");
    let mut install = shell::cargo(&["install", "mdbook", "--locked", "--debug", "--force", "--root"]);
    let features = if server { "search,serve,watch" } else { "search" };
    install.arg(project::tools()).args(["--version", VERSION, "--no-default-features", "--features", features]);
    shell::run(install)
}

/// Writes a file, and makes its folder.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
