//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/43_one_for_all.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/43_one_for_all.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
