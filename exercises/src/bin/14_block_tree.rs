//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/14_block_tree.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/14_block_tree.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
