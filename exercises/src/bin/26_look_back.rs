//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/26_look_back.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/26_look_back.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
