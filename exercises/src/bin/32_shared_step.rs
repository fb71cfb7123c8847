//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/32_shared_step.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/32_shared_step.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
