//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/24_blelloch_padded.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/24_blelloch_padded.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
