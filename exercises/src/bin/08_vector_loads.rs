//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/08_vector_loads.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/08_vector_loads.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
