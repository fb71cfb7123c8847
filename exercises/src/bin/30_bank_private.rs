//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/30_bank_private.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/30_bank_private.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
