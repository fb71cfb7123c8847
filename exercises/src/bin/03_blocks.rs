//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/03_blocks.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/03_blocks.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
