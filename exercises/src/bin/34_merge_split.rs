//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/34_merge_split.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/34_merge_split.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
