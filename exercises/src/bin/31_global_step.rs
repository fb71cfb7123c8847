//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/31_global_step.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/31_global_step.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
