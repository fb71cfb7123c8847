//! Builds, checks and packs the project: `cargo xtask --help`.

mod backend;
mod book;
mod browser;
mod build_ptx;
mod check_ptx;
mod deny;
mod dist;
mod exercises;
mod families;
mod fuzz;
mod miri;
mod mutants;
mod own_kernel;
mod packages;
mod program;
mod project;
mod ptxas;
mod registry;
mod rust_cuda;
mod setup;
mod shell;
mod systems;
mod table;
mod tables;
mod test;
mod test_rung;
mod watch;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Builds, checks and packs Rungs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Find the tools that the other tasks need, and install the missing ones
    Setup(setup::Args),
    /// Compile the kernels, or those of a package of your own, to PTX, into target/ptx
    BuildPtx(build_ptx::Args),
    /// Assemble the PTX in target/ptx and compare it with the list of rungs
    CheckPtx(check_ptx::Args),
    /// Make the README's tables, docs/ladders.md, docs/losses.md, and the tables and plots in bench/results
    Tables(tables::Args),
    /// Cut the exercises' stubs out of their solutions
    Exercises(exercises::Args),
    /// Make everything that the book shows, and build the book into target/book
    Book(book::Args),
    /// Run what a change needs: format, lints, PTX, tests; all that CI proves; or the tests of the named rungs
    Test(test::Args),
    /// Run a program of tests if it is of one of these packages: what cargo runs in a short run
    #[command(hide = true)]
    RunTest(test::Program),
    /// Run the tests of the named rungs again and again, whenever a kernel changes
    Watch(watch::Args),
    /// Run the fuzz targets of the readers of foreign bytes for some seconds
    Fuzz(fuzz::Args),
    /// Run the tests of unsafe code that Miri can run under it, if rustup has a nightly with Miri
    Miri(miri::Args),
    /// Pack one folder for a GPU machine without Rust
    Dist(dist::Args),
}

fn main() -> ExitCode {
    // Whoever reads the output may close it early, as `head` does: that ends the program and is no panic.
    #[cfg(unix)]
    // SAFETY: no thread has been started, and no handler of another kind is set.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Setup(args) => setup::run(&args),
        Task::BuildPtx(args) => build_ptx::run(&args),
        Task::CheckPtx(args) => check_ptx::run(&args),
        Task::Tables(args) => tables::run(&args),
        Task::Exercises(args) => exercises::run(&args),
        Task::Book(args) => book::run(&args),
        Task::Test(args) => test::run(&args),
        Task::RunTest(program) => program.run(),
        Task::Watch(args) => watch::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Miri(args) => miri::run(&args),
        Task::Dist(args) => dist::run(&args),
    }
}
