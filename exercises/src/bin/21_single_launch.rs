//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/21_single_launch.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/21_single_launch.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
