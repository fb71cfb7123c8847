//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/07_one_block.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/07_one_block.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
