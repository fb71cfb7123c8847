//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/40_radix_select.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/40_radix_select.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
