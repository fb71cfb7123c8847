//! Litmus tests of PTX's memory model: what it allows, and what the simulator shows.

mod model;
mod parse;
mod relation;
mod run;
mod test;
mod traces;
mod write;

pub use model::{Allowed, allowed};
pub use parse::tests;
pub use run::{Shown, counted, simulated};
pub use test::{
    Asks, Change, Condition, How, Location, Operand, Outcome, Question, Step, Term, Test, Thread, Variable,
};

/// A set of tests, and the text that holds them.
pub const SETS: [(&str, &str); 8] = [
    ("passing", include_str!("sets/passing.litmus")),
    ("scopes", include_str!("sets/scopes.litmus")),
    ("barriers", include_str!("sets/barriers.litmus")),
    ("buffering", include_str!("sets/buffering.litmus")),
    ("coherence", include_str!("sets/coherence.litmus")),
    ("three", include_str!("sets/three.litmus")),
    ("sequences", include_str!("sets/sequences.litmus")),
    ("updates", include_str!("sets/updates.litmus")),
];
