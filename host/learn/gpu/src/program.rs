//! The program: each answer in it on a GPU, and what was said of it.

use crate::{ANSWERS, Answer, OnEngine};
use clap::{Arg, Command, value_parser};
use rungs::engine::DeviceChoice;
use rungs::{Error, Result};
use rungs_exercises::{Compared, compare};
use std::io::Write;
use std::process::ExitCode;

/// The exit code where a GPU cannot say anything about an answer: there is none, or it lacks what the kernels need.
const NOT_RUN: u8 = 3;

/// Compares the reader's answer, or all solutions. The exit code is 0 if all are right, 1 if one is wrong, and 3 if
/// nothing was run.
pub fn main() -> ExitCode {
    let matches = Command::new("rungs-learn-gpu")
        .about("Answers to the exercises on a GPU, compared with what their checks expect")
        .after_help("Exit codes: 0 all are right, 1 one is wrong, 3 there is no GPU or it lacks what the kernels need.")
        .arg(
            Arg::new("device")
                .long("device")
                .value_name("DEVICE")
                .help("cuda, cuda:N (GPU N), or sim, the simulator in its place")
                .default_value("cuda")
                .value_parser(value_parser!(DeviceChoice)),
        )
        .get_matches();
    match compare_all(matches.get_one("device").copied().unwrap_or_default()) {
        Ok(code) => code,
        Err(error) => {
            if !error.is_silent() {
                // Where nobody can be told, the exit code says it.
                let _ = writeln!(std::io::stderr(), "error: {error}");
            }
            ExitCode::from(error.exit_code())
        }
    }
}

fn compare_all(device: DeviceChoice) -> Result<ExitCode> {
    let machine = OnEngine::open(device)?;
    // One answer is the reader's, who knows its name.
    let named = |name: &str| if ANSWERS.len() == 1 { String::new() } else { format!("{name}: ") };
    let (mut compared_any, mut wrong, mut lacking) = (false, 0, 0);
    for Answer { name, exercise, .. } in ANSWERS.iter().filter(|answer| ["answers", "solutions"].contains(&answer.kind))
    {
        let compared = compare(exercise, &machine);
        compared_any |= !matches!(compared, Compared::Lacking(_));
        wrong += u32::from(matches!(compared, Compared::Wrong { .. }));
        lacking += u32::from(matches!(compared, Compared::Lacking(_)));
        let line = format!("{}{}\n", named(name), in_words(machine.name(), &compared));
        let mut out = std::io::stdout().lock();
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).map_err(|e| Error::printing(&e))?;
        // Where a kernel was ended, nothing runs any more.
        if let Compared::Wrong { what: "fault", .. } = compared {
            break;
        }
    }
    Ok(match wrong {
        0 if lacking > 0 && !compared_any => ExitCode::from(NOT_RUN),
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// What was said of an answer on a machine.
fn in_words(machine: &str, compared: &Compared) -> String {
    match compared {
        Compared::Equal { runs, launches } => format!("also on {machine}: {launches} launches in {runs} runs, equal"),
        Compared::Wrong { what, text } => format!("wrong on {machine}\n\n{what}: {text}"),
        Compared::Lacking(why) => format!("{machine} lacks what the kernel needs: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_names_the_machine() {
        let say = |compared| in_words("NVIDIA H200", &compared);
        assert_eq!(say(Compared::Equal { runs: 3, launches: 6 }), "also on NVIDIA H200: 6 launches in 3 runs, equal");
        let wrong = say(Compared::Wrong { what: "different", text: "y[1] is 2 and should be 3".into() });
        assert_eq!(wrong, "wrong on NVIDIA H200\n\ndifferent: y[1] is 2 and should be 3");
        assert!(say(Compared::Lacking("no kernel x".into())).starts_with("NVIDIA H200 lacks"));
    }
}
