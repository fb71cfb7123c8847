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

use rungs_exercises::Exercise;

/// The kernels' PTX, as the build script left it.
#[allow(dead_code, reason = "what compiled it is not printed")]
mod ptx {
    include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
}
pub use ptx::{PTX, PTX_MISSING};

/// An answer to an exercise.
pub struct Answer {
    /// The folder that it is in: `answers`, `solutions`, `stubs` or `wrong`.
    pub kind: &'static str,
    /// Its file's name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The exercise, with this answer in it.
    pub exercise: &'static Exercise,
}

impl Answer {
    /// What a wrong answer's head says that the simulator finds.
    pub fn finding(&self) -> Option<&'static str> {
        self.text.lines().find_map(|line| line.strip_prefix("//! **Finding.** "))
    }
}

/// All answers in this program.
pub static ANSWERS: &[Answer] = &include!(concat!(env!("OUT_DIR"), "/answers.rs"));
