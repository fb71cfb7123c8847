//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/13_block_sum.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/13_block_sum.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
