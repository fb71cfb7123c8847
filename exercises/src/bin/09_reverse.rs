//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/09_reverse.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/09_reverse.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
