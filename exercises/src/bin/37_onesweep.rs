//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/37_onesweep.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/37_onesweep.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
