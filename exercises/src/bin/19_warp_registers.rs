//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/19_warp_registers.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/19_warp_registers.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
