//! The files of the exercises, for the commands of the reader and for the build scripts that compile all answers.

mod answers;
mod source;
mod wrong;

pub use answers::{Answer, answers, names};
pub use source::{HINTS, Source};
pub use wrong::{Wrong, wrong_answers};
