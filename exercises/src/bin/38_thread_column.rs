//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/38_thread_column.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/38_thread_column.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
