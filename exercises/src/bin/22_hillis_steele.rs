//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/22_hillis_steele.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/22_hillis_steele.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
