//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/16_first_add.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/16_first_add.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
