//! Answers as programs carry them that have several.

use crate::Exercise;

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
    /// What a wrong answer's head says is found.
    pub fn finding(&self) -> Option<&'static str> {
        self.text.lines().find_map(|line| line.strip_prefix("//! **Finding.** "))
    }
}
