//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/12_shared_block.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/12_shared_block.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
