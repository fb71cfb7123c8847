//! The program of a contest, around the reader's launches.

use super::{Round, Verdict, YOURS, checked, checked_sizes, compared, family, floor_ms, judge, rounds};
use crate::algorithms::{Family, Kind, Size};
use crate::bench::machine;
use crate::report::print;
use crate::streams;
use clap::{Arg, Command, value_parser};
use rungs::engine::{DeviceChoice, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::ladder::Answer;
use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;

/// Bytes that a run moves at least: many times what a cache holds, so that the memory's bandwidth is a limit.
const BYTES: u64 = 1 << 30;

/// The program: its answer, its kernels' PTX as a build script leaves it, and why there is none.
pub fn main(answer: Answer, ptx: &'static [(&'static str, &'static str)], missing: &str) -> ExitCode {
    let matches = Command::new("rungs-beat")
        .about("A reader's kernels against a rung, on a GPU")
        .arg(Arg::new("rung").required(true).value_name("FAMILY/RUNG").help("The rung to beat, as scan/look-ahead"))
        .arg(
            Arg::new("device")
                .long("device")
                .value_name("DEVICE")
                .help("cuda, cuda:N (GPU N), or sim: only the checks on the simulator")
                .default_value("cuda")
                .value_parser(value_parser!(DeviceChoice)),
        )
        .arg(Arg::new("n").long("n").value_name("N").help("Elements").value_parser(value_parser!(u64).range(1..)))
        .get_matches();
    let name = matches.get_one::<String>("rung").expect("required");
    let device = matches.get_one("device").copied().unwrap_or_default();
    match contest(answer, (ptx, missing), name, device, matches.get_one("n").copied()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            if !error.is_silent() {
                streams::tell(&format!("error: {error}"));
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// Whether the answer is right, and faster where it is timed.
fn contest(
    answer: Answer,
    (ptx, missing): (&'static [(&'static str, &'static str)], &str),
    name: &str,
    device: DeviceChoice,
    n: Option<u64>,
) -> Result<bool> {
    let family = family(answer, name)?;
    // Before the checks: who has no GPU learns it at once.
    let engine = Engine::open(device)?;
    if !engine.is_simulator() {
        if ptx.is_empty() {
            return Err(Error::NoDevice(format!("the program has no PTX of the answer: {missing}")));
        }
        engine.add_kernels(ptx)?;
    }
    for n in checked_sizes(family) {
        let checked = checked(family, n)?;
        if !checked.is_clean() {
            print(&format!("On the simulator, {n} elements:\n{}\n", checked.text()))?;
            return Ok(false);
        }
    }
    print(&format!("On the simulator: right for {} sizes, and nothing was found.\n", checked_sizes(family).count()))?;
    if engine.is_simulator() {
        return Ok(true);
    }
    checked_sizes(family).try_for_each(|n| compared(&engine, family, n))?;
    print(&format!("On {}: the same output for the same inputs.\n", engine.info().name))?;
    timed(&engine, family, name, n)
}

/// The contest itself.
fn timed(engine: &Engine, family: &'static Family, name: &str, n: Option<u64>) -> Result<bool> {
    let size = n.map_or_else(|| size(engine, family), |n| Ok(Size::Elements(n)))?;
    let peak = engine.as_cuda().map_or(0.0, |cuda| cuda.properties().memory_bandwidth_gbs);
    let copy = if peak > 0.0 { 0.0 } else { machine::limits(engine)?.copy_gbs };
    print(&format!("\n{} elements, in turns, new input each round; milliseconds:\n", size.n()))?;
    print(&format!("{:>7} {YOURS:>10} {:>10}\n", "round", family.rungs[0].name))?;
    let tell =
        |number: u64, Round { yours, theirs }: Round| print(&format!("{number:>7} {yours:>10.4} {theirs:>10.4}\n"));
    // Another one each time: no output can be known before.
    let seed = RandomState::new().hash_one(name);
    let (rounds, bytes) = rounds(engine, family, size, seed, &mut engine.clone(), tell)?;
    let verdict = judge(&rounds, floor_ms(bytes, peak, copy));
    print(&format!("\n{}\n", in_words(name, verdict)))?;
    Ok(matches!(verdict, Verdict::Faster(_)))
}

/// The size of a contest: so large that caches do not matter, or the most that the rung takes.
fn size(engine: &Engine, family: &'static Family) -> Result<Size> {
    let n = family.default_size(engine, family.rungs[0]).elements()?;
    Ok(Size::Elements(match family.kind {
        Kind::Scan => n.max(BYTES / 8),
        Kind::Reduce => n.max(BYTES / 4),
        // Sorts are far from that limit, and the others of their own size are larger.
        _ => n,
    }))
}

/// A verdict in words.
fn in_words(name: &str, verdict: Verdict) -> String {
    match verdict {
        Verdict::Faster(Round { yours, theirs }) => {
            format!("You beat {name}: {yours:.4} ms for {theirs:.4}, {:.2} times as fast.", theirs / yours)
        }
        Verdict::NotFaster(Round { yours, theirs }) => {
            format!("Not yet: {yours:.4} ms, and {name} takes {theirs:.4}: {:.2} times as long.", yours / theirs)
        }
        Verdict::BelowFloor { ms, floor } => format!(
            "Nothing counts: a run took {ms:.4} ms, and reading the input and writing the output once takes at least \
             {floor:.4} ms at the bandwidth of this GPU's memory."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_name_both_times() {
        let times = Round { yours: 0.5, theirs: 1.0 };
        assert!(in_words("scan/a", Verdict::Faster(times)).contains("0.5000 ms for 1.0000, 2.00 times as fast"));
        let times = Round { yours: 1.5, theirs: 1.0 };
        assert!(in_words("scan/a", Verdict::NotFaster(times)).contains("1.50 times as long"));
        let below = in_words("scan/a", Verdict::BelowFloor { ms: 0.1, floor: 0.2 });
        assert!(below.starts_with("Nothing counts") && below.contains("0.1000") && below.contains("0.2000"));
    }
}
