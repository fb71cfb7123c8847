//! A contest of a reader's kernels with a rung. `cargo learn beat` builds it around the reader's file; it carries the
//! PTX and needs nothing else, so it can be copied to a machine with a GPU and without Rust.

use rungs_beat_kernels::answer::launches::ANSWER;
use std::process::ExitCode;

/// The kernels' PTX, as the build script left it.
#[allow(dead_code, reason = "what compiled it is not printed")]
mod ptx {
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}

fn main() -> ExitCode {
    rungs_cli::contest::main(ANSWER, ptx::PTX, ptx::PTX_MISSING)
}
