//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/25_three_kernels.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/25_three_kernels.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
