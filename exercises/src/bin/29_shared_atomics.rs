//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/29_shared_atomics.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/29_shared_atomics.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
