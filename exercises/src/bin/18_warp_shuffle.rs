//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/18_warp_shuffle.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/18_warp_shuffle.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
