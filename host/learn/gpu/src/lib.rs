//! Answers to the exercises on an engine: a GPU, or the simulator in its place.
//!
//! `cargo learn check` builds the program around the reader's file. Built without that, it has all answers that the
//! project knows: solutions, stubs and wrong answers. In both cases it carries its PTX and can be copied to a machine
//! with a GPU and without Rust.

#![allow(clippy::duplicate_mod, reason = "an exercise has one check for all of its answers")]

mod machine;
mod program;

pub use machine::OnEngine;
pub use program::main;

pub use rungs_exercises::Answer;

/// The kernels' PTX, as the build script left it.
#[allow(dead_code, reason = "what compiled it is not printed")]
mod ptx {
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}
pub use ptx::{PTX, PTX_MISSING};

/// All answers in this program.
pub static ANSWERS: &[Answer] = &include!(concat!(env!("OUT_DIR"), "/answers.rs"));
