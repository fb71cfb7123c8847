//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/15_sequential.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/15_sequential.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
