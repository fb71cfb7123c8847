//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/35_columns_atomic_min.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/35_columns_atomic_min.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
