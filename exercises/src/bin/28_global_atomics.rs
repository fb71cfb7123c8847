//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/28_global_atomics.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/28_global_atomics.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
