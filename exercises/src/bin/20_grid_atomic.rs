//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/20_grid_atomic.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/20_grid_atomic.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
