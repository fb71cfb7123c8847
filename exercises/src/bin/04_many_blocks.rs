//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/04_many_blocks.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/04_many_blocks.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
