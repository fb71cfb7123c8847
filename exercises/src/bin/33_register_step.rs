//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/33_register_step.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/33_register_step.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
