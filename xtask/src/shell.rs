//! Runs other programs.

use crate::project;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

/// A program, to be run in the workspace's folder.
pub fn command(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(project::root());
    command
}

/// The cargo that runs this program.
pub fn cargo(args: &[&str]) -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args)
}

/// For a build of the program elsewhere than in cargo's usual folder, of which nothing runs PTX: it takes the PTX that
/// is there, if any is, and compiles none.
pub fn reuse_ptx(command: &mut Command) {
    const PTX_DIR: &str = "RUNGS_PTX_DIR";
    if env::var_os(PTX_DIR).is_none() && project::ptx().is_dir() {
        command.env(PTX_DIR, project::ptx());
    }
}

/// Runs it with this program's output streams.
pub fn run(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{} did not start", text(&command)))?;
    ensure!(status.success(), "`{}` failed ({status})", text(&command));
    Ok(())
}

/// As [`run`], after printing the command line, and followed by the time that it took.
pub fn run_shown(command: Command) -> Result<()> {
    let line = text(&command);
    println!("\n$ {line}");
    let started = Instant::now();
    run(command)?;
    println!("{:.1} s: {line}", started.elapsed().as_secs_f64());
    Ok(())
}

/// Runs it and returns its standard output; its standard error is this program's.
pub fn capture(mut command: Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{} did not start", text(&command)))?;
    ensure!(output.status.success(), "`{}` failed ({})", text(&command), output.status);
    String::from_utf8(output.stdout).with_context(|| format!("the output of `{}` is not text", text(&command)))
}

/// Whether it runs and succeeds; its output is discarded.
pub fn succeeds(mut command: Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// As [`run`], but ends it when it takes longer than `limit`.
pub fn run_within(limit: Duration, mut command: Command) -> Result<()> {
    let started = Instant::now();
    let mut child =
        command.stdin(Stdio::null()).spawn().with_context(|| format!("{} did not start", text(&command)))?;
    loop {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "`{}` failed ({status})", text(&command));
            return Ok(());
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("`{}` was not done after {} s", text(&command), limit.as_secs());
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The path of a program that is in PATH.
pub fn which(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The command line, with the program by its name alone.
pub fn text(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words: Vec<_> = [name].into_iter().chain(command.get_args()).map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
