//! Every answer that the project knows, each compiled with the check of its exercise.

#![allow(clippy::duplicate_mod, reason = "an exercise has one check for all of its answers")]

pub use rungs_exercises::Answer;

include!(concat!(env!("OUT_DIR"), "/answers.rs"));
