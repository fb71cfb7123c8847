//! Judges the reader's answer. Cut by `cargo xtask exercises`.

#[allow(unused)]
#[path = "../../answers/39_ballot_places.rs"]
#[rustfmt::skip]
mod answer;
#[path = "../../checks/39_ballot_places.rs"]
mod check;

fn main() -> std::process::ExitCode {
    rungs_exercises::main(&check::EXERCISE)
}
