//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/10_barriers.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/10_barriers.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
