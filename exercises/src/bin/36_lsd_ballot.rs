//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/36_lsd_ballot.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/36_lsd_ballot.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
