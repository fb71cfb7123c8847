//! Cases as data, and the list of all.

use crate::{gpuverify, indigo, indigo3, oclgrind};
use rungs_gallery::Trial;
use simt::launcher::Result;
use std::boxed::Box;
use std::format;
use std::string::String;
use std::vec::Vec;

/// What a suite says is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Two accesses that nothing orders, one of them a write.
    Race,
    /// An access outside of its array.
    OutOfBounds,
    /// A read of words that nobody has written.
    Uninitialised,
    /// An access at an address that its type does not allow.
    Misaligned,
    /// A barrier that not all of its threads reach.
    Divergence,
    /// An asynchronous copy that the block does not wait for.
    NotAwaited,
}

impl What {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 6] =
        [Self::Race, Self::OutOfBounds, Self::Misaligned, Self::Uninitialised, Self::Divergence, Self::NotAwaited];

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Race => "race",
            Self::OutOfBounds => "out of bounds",
            Self::Uninitialised => "uninitialised",
            Self::Misaligned => "misaligned",
            Self::Divergence => "divergence",
            Self::NotAwaited => "copy not awaited",
        }
    }
}

/// A bug that a suite planted, and the lines of the file that have it here.
pub struct Bug {
    /// What is wrong.
    pub what: What,
    /// The lines, counted from 1.
    pub lines: Vec<u32>,
}

impl Bug {
    /// The lines are those of `text` that say `[mark]` in a comment.
    pub(crate) fn marked(what: What, text: &str, mark: &str) -> Self {
        let mark = format!("// [{mark}]");
        let lines = (1..).zip(text.lines()).filter(|(_, line)| line.ends_with(&mark)).map(|(n, _)| n).collect();
        Self { what, lines }
    }
}

/// Launches a case.
type Run = dyn Fn(&Trial) -> Result;

/// A program of a suite.
pub struct Case {
    /// The suite's name for it.
    pub name: String,
    /// None where the suite says that it is right.
    pub bugs: Vec<Bug>,
    /// The file here that has its kernel.
    pub file: &'static str,
    /// Whether the suite lets threads write one value to one word.
    pub same_value: bool,
    /// Launches it.
    ///
    /// # Errors
    /// As for [`Trial::launch`]: a launch that a finding ends is one.
    pub run: Box<Run>,
}

/// A suite: its name in the table, and its cases.
pub type Suite = (&'static str, fn() -> Vec<Case>);

/// All suites.
pub const SUITES: [Suite; 4] = [
    (gpuverify::SUITE, gpuverify::cases),
    (indigo::SUITE, indigo::cases),
    (indigo3::SUITE, indigo3::cases),
    (oclgrind::SUITE, oclgrind::cases),
];

/// A graph: where the neighbours of each vertex begin, and all neighbours. The first vertex and the last have none, and
/// several vertices begin and end with the same neighbour, which has a higher number.
pub(crate) fn graph() -> (Vec<u32>, Vec<u32>) {
    const NEIGHBOURS: [&[u32]; 12] =
        [&[], &[9, 3, 10], &[9, 10], &[9, 1, 10], &[2, 9], &[10], &[5, 7], &[6, 10], &[9], &[1, 2, 10], &[9, 1], &[]];
    let ends = NEIGHBOURS.iter().scan(0, |end, next| {
        *end += next.len() as u32;
        Some(*end)
    });
    (std::iter::once(0).chain(ends).collect(), NEIGHBOURS.concat())
}
