//! The program's commands, one file each.

mod all;
mod bench;
mod bugs;
mod check;
mod completions;
mod devices;
mod doctor;
mod explain;
mod family;
mod fidelity;
mod gpus;
mod lab;
mod ladder;
mod learn;
mod list;
mod litmus;
mod profile;
mod progress;
mod sort;
mod sweep;
mod trace;

use crate::algorithms::{FAMILIES, Family};
use crate::checks;
use crate::measure::Row;
use crate::report::{self, Format};
use crate::streams;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use rungs::engine::{DeviceChoice, Engine, NO_CHECKS};
use rungs::error::{Error, Result};
use simt::sim::Check;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// The default seed.
const SEED: u64 = 1;

/// In the words of docs/program.md.
const EXIT_CODES: &str = "\
Exit codes:
  0  done and verified
  1  a result was wrong, a check found something, or a launch or a call of the driver failed
  2  the arguments are invalid, or the run needs more memory than is free
  3  no such device
  4  a file could not be read or written, or the reader of the output closed it
  5  another rank of a group failed, or did not answer in time";

/// The most seconds that an option takes: 30 years.
const LONGEST: f64 = 1e9;

/// A number of seconds, which may have a fraction.
fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let number = text.parse().ok().filter(|seconds: &f64| (0.0..=LONGEST).contains(seconds));
    number.map(Duration::from_secs_f64).ok_or_else(|| format!("a number of seconds from 0 to {LONGEST:e} is needed"))
}

/// Whether the user gave an option.
fn given(matches: &ArgMatches, name: &str) -> bool {
    matches.ids().any(|id| id == name) && matches.value_source(name) == Some(ValueSource::CommandLine)
}

/// Refuses options that would do nothing, for this reason.
///
/// # Errors
/// [`Error::Usage`] for the first that the user gave.
fn refuse_unused(matches: &ArgMatches, names: &[&str], why: &str) -> Result<()> {
    let unused = names.iter().find(|name| given(matches, name));
    unused.map_or(Ok(()), |name| Err(Error::Usage(format!("--{name} does nothing here: {why}"))))
}

/// Refuses those of the options of all commands that this command has no use for.
fn refuse_common(command: &str, matches: &ArgMatches) -> Result<()> {
    let drawn = |names: &[&str]| refuse_unused(matches, names, &format!("rungs {command} draws no input"));
    match command {
        "list" | "devices" | "doctor" | "learn" | "explain" => {
            if let Some(DeviceChoice::Cuda(_)) = matches.get_one("device") {
                return Err(Error::Usage(format!("rungs {command} runs nothing on a GPU: leave out --device")));
            }
        }
        _ => {}
    }
    match command {
        "list" | "devices" | "doctor" | "sort" | "bugs" => drawn(&["seed"]),
        "lab" => drawn(&["seed"])
            .and_then(|()| refuse_unused(matches, &["format"], "rungs lab writes the integers, and no report")),
        "learn" => drawn(&["seed"]).and_then(|()| refuse_unused(matches, &["format"], "rungs learn prints text")),
        _ => Ok(()),
    }
}

/// Runs the program with these arguments.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    // All commands print, and what goes nowhere is refused before the work and not after it.
    if let Err(e) = streams::output() {
        return failed(&Error::printing(&e));
    }
    // Rayon panics at its first use where the system gives no thread; it can do with this one.
    if std::thread::Builder::new().spawn(|| ()).is_err() {
        // It is made once, so this does not fail.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    }
    let matches = match command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(e) => {
            // Help and version go to standard output with exit code 0; everything else is a usage error, 2.
            return match e.print().and_then(|()| std::io::stdout().flush()) {
                Err(why) if !e.use_stderr() => failed(&Error::printing(&why)),
                _ => ExitCode::from(e.exit_code() as u8),
            };
        }
    };
    let Some((name, arguments)) = matches.subcommand() else {
        return failed(&Error::Usage("no command was given; rungs --help lists them".into()));
    };
    if let Err(e) = refuse_common(name, arguments) {
        return failed(&e);
    }
    if name == "learn" {
        return learn::main(arguments);
    }
    let common = Common::from(arguments);
    let outcome = match name {
        "all" => all::run(arguments, &common),
        "bugs" => bugs::run(arguments, &common),
        "bench" => bench::run(arguments, &common),
        "list" => list::run(&common),
        "litmus" => litmus::run(arguments, &common),
        "explain" => explain::run(arguments, &common),
        "ladder" => ladder::run(arguments, &common),
        "check" => check::run(arguments, &common),
        "lab" => lab::run(&common),
        "devices" => devices::run(&common),
        "doctor" => doctor::run(&common),
        "sort" => sort::run(arguments, &common),
        "profile" => profile::run(arguments, &common),
        "sweep" => sweep::run(arguments, &common),
        "fidelity" => fidelity::run(arguments, &common),
        "trace" => trace::run(arguments, &common),
        "completions" => completions::run(arguments),
        _ => match crate::algorithms::family(name) {
            Some(family) => family::run(family, arguments, &common),
            None => Err(Error::Usage(format!("there is no command '{name}'; rungs --help lists them"))),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => failed(&e),
    }
}

/// Tells of an error.
fn failed(error: &Error) -> ExitCode {
    if !error.is_silent() {
        streams::tell(&format!("rungs: {error}"));
    }
    ExitCode::from(error.exit_code())
}

/// The whole command line.
pub fn command() -> Command {
    let top = Command::new("rungs")
        .about("GPU algorithms in Rust, from the textbook to library speed, on a GPU or on a simulator")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args(common_arguments())
        .subcommand(all::command())
        .subcommand(bench::command())
        .subcommand(list::command())
        .subcommand(litmus::command())
        .subcommand(explain::command())
        .subcommand(ladder::command())
        .subcommand(sort::command())
        .subcommand(lab::command())
        .subcommand(devices::command())
        .subcommand(doctor::command())
        .subcommand(bugs::command())
        .subcommand(rungs_learn::command())
        .subcommand(check::command())
        .subcommand(trace::command())
        .subcommand(profile::command())
        .subcommand(sweep::command())
        .subcommand(fidelity::command())
        .subcommand(completions::command());
    let top = FAMILIES.iter().fold(top, |top, family| top.subcommand(family::command(family)));
    // A negative number is the wrong value of its option, not an option of its own.
    let takes_negative = |arg: Arg| match arg.get_long().is_some() && arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    top.mut_args(takes_negative).mut_subcommands(|command| command.mut_args(takes_negative))
}

/// The options that every command takes.
pub(crate) struct Common {
    device: DeviceChoice,
    /// The seed of drawn input.
    pub seed: u64,
    /// Format of the report.
    pub format: Format,
    quiet: bool,
    /// What `--check` asks for, of the commands that have it.
    check: Option<Check>,
}

fn common_arguments() -> [Arg; 4] {
    [
        Arg::new("device")
            .long("device")
            .value_name("DEVICE")
            .help("Where to run: auto, cuda, cuda:N (GPU N), sim, or sim:N (as on N SMs)")
            .default_value("auto")
            .value_parser(value_parser!(DeviceChoice))
            .global(true),
        Arg::new("seed")
            .long("seed")
            .value_name("SEED")
            .help("Seed of drawn input [default: 1]")
            .value_parser(value_parser!(u64))
            .global(true),
        Arg::new("format")
            .long("format")
            .value_name("FORMAT")
            .help("Format of the report: text, json or csv")
            .default_value("text")
            .value_parser(value_parser!(Format))
            .global(true),
        Arg::new("quiet")
            .long("quiet")
            .short('q')
            .help("No notes on standard error")
            .action(ArgAction::SetTrue)
            .global(true),
    ]
}

/// `--check`, for the commands that run rungs: [`Common::engine`] gives an engine that checks them.
fn check_argument() -> Arg {
    Arg::new("check")
        .long("check")
        .value_name("SCHEDULES")
        .help("On the simulator, check the kernels too: races, barriers, unwritten memory [default: 8 schedules]")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value("8")
        .value_parser(value_parser!(u32).range(1..))
        .global(true)
}

/// `--check` for a command that does not check: taken, so that [`Common::without_check`] can say what does.
fn no_check_argument() -> Arg {
    check_argument().hide(true)
}

impl Common {
    fn from(matches: &ArgMatches) -> Self {
        Self {
            device: matches.get_one("device").copied().unwrap_or_default(),
            seed: matches.get_one("seed").copied().unwrap_or(SEED),
            format: matches.get_one("format").copied().unwrap_or_default(),
            quiet: matches.get_flag("quiet"),
            check: matches
                .try_get_one("check")
                .ok()
                .flatten()
                .map(|&schedules| Check { schedules, ..Check::default() }),
        }
    }

    /// Opens the device, and notes on standard error if it is the simulator for want of a GPU.
    ///
    /// # Errors
    /// As for [`Engine::open`].
    pub fn engine(&self) -> Result<Engine> {
        if let (Some(_), DeviceChoice::Cuda(_)) = (self.check, self.device) {
            return Err(Error::Usage(NO_CHECKS.into()));
        }
        let engine = Engine::open(self.device)?;
        if let Some(why) = &engine.info().note {
            self.note(&format!("using the simulator: {why}"));
        }
        self.check.map_or(Ok(engine.clone()), |check| engine.checked(check))
    }

    /// The simulator, for commands that need it: as `--device` describes it, also where there is a GPU.
    pub fn simulator(&self) -> Engine {
        match self.device {
            DeviceChoice::SimulatorOf(multiprocessors) => Engine::simulator_with(multiprocessors.get()),
            _ => Engine::simulator(),
        }
    }

    /// Refuses a GPU for a command that needs the simulator.
    ///
    /// # Errors
    /// [`Error::Usage`] if the user asked for a GPU.
    pub fn on_simulator(&self, command: &str) -> Result<()> {
        match self.device {
            DeviceChoice::Auto | DeviceChoice::Simulator | DeviceChoice::SimulatorOf(_) => Ok(()),
            DeviceChoice::Cuda(_) => Err(Error::Usage(format!("{command} is the simulator's: leave out --device"))),
        }
    }

    /// Refuses a row with an error; what a check found is printed first.
    ///
    /// # Errors
    /// [`Error::Wrong`] with the row's error; [`Error::Write`] if the system refuses what is printed.
    pub fn refuse(&self, engine: &Engine, row: &Row) -> Result<()> {
        let rows = std::slice::from_ref(row);
        if row.checked.as_ref().is_some_and(|checked| !checked.is_clean()) {
            report::runs(self.format, engine.info(), self.seed, rows)?;
        }
        all::verdict(rows)
    }

    /// Refuses `--check` for a command that does not check: why, and what does.
    ///
    /// # Errors
    /// [`Error::Usage`] if the user asked for a check.
    pub fn without_check(&self, why: &str) -> Result<()> {
        self.check.map_or(Ok(()), |_| Err(Error::Usage(why.into())))
    }

    /// Makes the check that `--check` asks for of what `work` runs on the simulator, for a command whose report has no
    /// place for what it finds: that goes to standard error.
    ///
    /// # Errors
    /// [`Error::Found`] if something was found; else what `work` says.
    pub fn vet(&self, work: impl FnMut() -> Result<()>) -> Result<()> {
        let Some(options) = self.check else { return Ok(()) };
        let checked = checks::check(options, work, None)?;
        if checked.is_clean() {
            self.note(checked.text().trim_end());
            return Ok(());
        }
        streams::tell(checked.text().trim_end());
        Err(Error::Found { count: checked.mistakes() })
    }

    /// Prints a line on standard error, unless `--quiet` is given.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            streams::tell(&format!("rungs: {text}"));
        }
    }
}

/// The family argument of commands that work on one.
pub(crate) fn family_named(name: &str) -> Result<&'static Family> {
    crate::algorithms::family(name).ok_or_else(|| {
        let names: Vec<_> = FAMILIES.iter().map(|f| f.name).collect();
        Error::unknown("family", name, &names)
    })
}
