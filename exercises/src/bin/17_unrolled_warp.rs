//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/17_unrolled_warp.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/17_unrolled_warp.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
