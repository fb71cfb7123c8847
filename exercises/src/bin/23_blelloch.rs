//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/23_blelloch.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/23_blelloch.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
