//! The commands of the exercises, for `rungs learn` and `cargo learn`: which exercise is next, its verdict, its hints.
//!
//! The reader edits `exercises/answers/NN_name.rs`, which is a copy of the stub. A check compiles that file with the
//! exercise's check and runs it on the simulator; `exercises/src` judges it. Where there is a GPU, an answer that has
//! passed is compiled for that too, and runs there on the same input.

mod beat;
mod diff;
mod error;
mod folder;
mod gpu;
mod program;
mod progress;
mod verdict;

pub use error::{Error, Result};
pub use folder::{Exercise, Folder, names};
pub use progress::{Progress, State};
pub use rungs_learn_source::{HINTS, Source};

use beat::Contest;
use clap::{Arg, ArgAction, ArgMatches, Command};
use gpu::OnGpu;
use program::Built;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, thread};

/// Time between two looks at the file that is watched.
const POLL: Duration = Duration::from_millis(150);

/// The command line.
pub fn command() -> Command {
    let name = || Arg::new("exercise").value_name("EXERCISE").help("Number or name [default: the next open one]");
    let only_build = |help: &'static str| Arg::new("build").long("build").action(ArgAction::SetTrue).help(help);
    Command::new("learn")
        .about("Exercises: kernels for you to write, judged on the simulator")
        .after_help("Without a subcommand: the next exercise. Your answers are in exercises/answers.")
        .subcommand(Command::new("list").about("All exercises, and which have passed"))
        .subcommand(Command::new("next").about("The text of the next open exercise"))
        .subcommand(
            Command::new("check")
                .about("Judge your answer on the simulator; where there is a GPU, run it there too and compare")
                .arg(name())
                .arg(only_build("Only build the program that runs your answer on a GPU, for a machine without Rust")),
        )
        .subcommand(Command::new("watch").about("Judge your answer each time you save it").arg(name()))
        .subcommand(Command::new("hint").about("One more hint of three; all of them once you have passed").arg(name()))
        .subcommand(
            Command::new("diff")
                .about("Your answer next to the solution, with the reasons; once you have passed")
                .arg(name()),
        )
        .subcommand(Command::new("reset").about("Begin an exercise again; keeps a backup").arg(name().required(true)))
        .subcommand(
            Command::new("beat")
                .about("Your own kernels against a rung, on a GPU: checked, verified, timed in turns on new input")
                .arg(Arg::new("rung").required(true).value_name("FAMILY/RUNG").help("The rung, as scan/look-ahead"))
                .arg(only_build(
                    "Only build the program of the contest, for a machine that has neither Rust nor a clone",
                )),
        )
}

/// Runs a command, of the program that the reader calls `call`. False if an answer was judged and did not pass.
///
/// # Errors
/// [`Error::Usage`] for an exercise that does not exist, [`Error::File`] for files that cannot be read or written.
pub fn run(call: &'static str, matches: &ArgMatches) -> Result<bool> {
    let here = env::current_dir().map_err(|e| Error::reading(Path::new("the folder of the call"), &e))?;
    let mut course = Course::open(call, &here)?;
    let Some((command, arguments)) = matches.subcommand() else { return course.next() };
    let exercise = |course: &Course| {
        let name = arguments.try_get_one::<String>("exercise").ok().flatten();
        name.map_or_else(|| course.current(), |name| course.named(name))
    };
    match command {
        "list" => course.list(),
        "check" if arguments.get_flag("build") => exercise(&course).and_then(|exercise| course.build(&exercise)),
        "check" => exercise(&course).and_then(|exercise| course.check(&exercise)),
        "watch" => exercise(&course).and_then(|exercise| course.watch(exercise)),
        "hint" => exercise(&course).and_then(|exercise| course.hint(&exercise)),
        "diff" => exercise(&course).and_then(|exercise| course.diff(&exercise)),
        "beat" => course.beat(arguments.get_one::<String>("rung").expect("required"), arguments.get_flag("build")),
        "reset" => exercise(&course).and_then(|exercise| course.reset(&exercise)),
        _ => course.next(),
    }
}

/// The exercises with the reader's answers and progress.
struct Course {
    /// What the reader types before a command.
    call: &'static str,
    here: PathBuf,
    folder: Folder,
    exercises: Vec<Exercise>,
    progress: Progress,
}

impl Course {
    /// Opens the exercises at or above a folder. An exercise without an answer gets its stub.
    fn open(call: &'static str, here: &Path) -> Result<Self> {
        let folder = Folder::above(here)?;
        let exercises = folder.exercises()?;
        fs::create_dir_all(folder.answers()).map_err(|e| Error::writing(&folder.answers(), &e))?;
        let progress = Progress::read(&folder.answers())?;
        let course = Self { call, here: here.into(), folder, exercises, progress };
        for exercise in course.exercises.iter().filter(|exercise| !course.folder.answer(&exercise.name).exists()) {
            course.write_stub(exercise)?;
        }
        Ok(course)
    }

    fn write_stub(&self, exercise: &Exercise) -> Result {
        let to = self.folder.answer(&exercise.name);
        fs::write(&to, &exercise.source.stub).map_err(|e| Error::writing(&to, &e))
    }

    /// A path as the reader would type it.
    fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.here).unwrap_or(path).display().to_string()
    }

    /// The first exercise that is open; the last one if none is.
    fn current(&self) -> Result<Exercise> {
        let open = self.exercises.iter().find(|exercise| !self.progress.of(&exercise.name).passed);
        let current = open.or(self.exercises.last()).cloned();
        current.ok_or_else(|| Error::File(format!("{}: no exercises", self.folder.path().display())))
    }

    /// The first open exercise after one, from the beginning if there is none; the last one if none is open.
    fn after(&self, exercise: &Exercise) -> Result<Exercise> {
        let mut behind = self.exercises.iter().skip_while(|other| other.name != exercise.name);
        let open = behind.find(|other| !self.progress.of(&other.name).passed).cloned();
        open.map_or_else(|| self.current(), Ok)
    }

    fn is_done(&self) -> bool {
        self.exercises.iter().all(|exercise| self.progress.of(&exercise.name).passed)
    }

    /// The exercise of a number or name.
    fn named(&self, name: &str) -> Result<Exercise> {
        let is_it = |exercise: &&Exercise| {
            let (number, idea) = exercise.name.split_once('_').unwrap_or((&exercise.name, ""));
            name == exercise.name || name == idea || name.parse::<u32>().is_ok_and(|n| number.parse() == Ok(n))
        };
        let listed = |exercises: &[&Exercise]| {
            let names: Vec<_> = exercises.iter().map(|exercise| exercise.name.as_str()).collect();
            names.join(", ")
        };
        let all: Vec<&Exercise> = self.exercises.iter().collect();
        match &all.iter().copied().filter(is_it).collect::<Vec<_>>()[..] {
            [] => Err(Error::Usage(format!("there is no exercise '{name}'; there are {}", listed(&all)))),
            [one] => Ok((*one).clone()),
            several => Err(Error::Usage(format!("'{name}' may be {}", listed(several)))),
        }
    }

    fn list(&self) -> Result<bool> {
        let mut text = String::new();
        for Exercise { name, source } in &self.exercises {
            let State { passed, hints } = self.progress.of(name);
            let state = if passed { "passed" } else { "open" };
            let hints = if hints > 0 { format!(", {hints} of {HINTS} hints seen") } else { String::new() };
            let title = source.title.split_once("· ").map_or(&*source.title, |(_, idea)| idea);
            text += &format!("{name:<22} {state:<8} {title}{hints}\n");
        }
        print(&text)
    }

    fn next(&self) -> Result<bool> {
        if self.is_done() {
            return print(&format!("All {} exercises have passed.\n", self.exercises.len()));
        }
        let exercise = self.current()?;
        let passed = self.exercises.iter().filter(|exercise| self.progress.of(&exercise.name).passed).count();
        let (call, file) = (self.call, self.short(&self.folder.answer(&exercise.name)));
        print(&format!(
            "{}\nEdit {file}. `{call} check` judges it, `{call} watch` each time that you save it, and `{call} hint` \
             helps. ({passed} of {} exercises have passed.)\n",
            exercise.source.text(),
            self.exercises.len()
        ))
    }

    /// Judges an answer and prints the verdict; whether it passed. That stands although nobody reads it to its end.
    fn judge(&mut self, exercise: &Exercise) -> Result<bool> {
        let name = &exercise.name;
        let verdict = verdict::judge(&self.folder, name)?;
        // As the reader knows the file, not as the compiler came to it.
        let answers = format!("{}/", self.short(&self.folder.answers()));
        let missing = verdict.passed.then(gpu::missing).flatten();
        let is_first = !self.exercises.iter().any(|exercise| self.progress.of(&exercise.name).passed);
        let mut text = verdict.text.replace("src/bin/../../answers/", &answers);
        if verdict.passed && missing.is_none() {
            text = text.replacen(": passed\n", ": passed on the simulator\n", 1);
        }
        add(&format!("{}\n", text.trim_end()))?;
        // What a GPU says is the last word; that there is none is news only once.
        let passed = match &missing {
            _ if !verdict.passed => false,
            None => self.judge_on_gpu(exercise)?,
            Some(why) => {
                if is_first {
                    add(&format!("Not run on a GPU: {why}.\n"))?;
                }
                true
            }
        };
        if passed {
            self.progress.change(name, |state| state.passed = true)?;
            let (call, rung) = (self.call, &exercise.source.rung);
            add(&format!("\n`{call} diff {name}` shows the solution next to your answer. In the ladders: {rung}\n"))?;
        }
        Ok(passed)
    }

    /// Runs an answer that has passed on the simulator on the GPU; whether nothing speaks against it there.
    fn judge_on_gpu(&self, exercise: &Exercise) -> Result<bool> {
        let name = &exercise.name;
        if !gpu::is_built(&self.folder) {
            add("Compiling for the GPU; the first time takes some minutes.\n")?;
        }
        let (passed, said) = match gpu::judge(&self.folder, name)? {
            OnGpu::Equal(said) => (true, format!("{said}\n")),
            OnGpu::NotRun(why) => (true, format!("Not run on the GPU: {why}\n")),
            OnGpu::Wrong(said) => (false, format!("\n{name}: not yet\n\n{said}\n")),
        };
        add(&said)?;
        Ok(passed)
    }

    /// Builds the program that runs an answer on a GPU.
    fn build(&self, exercise: &Exercise) -> Result<bool> {
        match gpu::build(&self.folder, &exercise.name)? {
            Built::Program(program) => print(&format!(
                "{} has your answer in it and needs no other file. On a machine with a GPU: ./{}\n",
                self.short(&program),
                program.file_name().unwrap_or_default().to_string_lossy()
            )),
            Built::Not(said) => print(&format!("{said}\n")).map(|_| false),
        }
    }

    fn check(&mut self, exercise: &Exercise) -> Result<bool> {
        let passed = self.judge(exercise)?;
        if passed && !self.is_done() {
            add(&format!("Next: {}\n", self.after(exercise)?.source.title))?;
        }
        Ok(passed)
    }

    /// Judges one answer whenever its file changes, and goes on to the next once it has passed.
    fn watch(&mut self, mut exercise: Exercise) -> Result<bool> {
        loop {
            let file = self.folder.answer(&exercise.name);
            print(&format!("{}\nWatching {}\n\n", exercise.source.text(), self.short(&file)))?;
            // Its text, not the time of its last change: some editors write a file twice for one save.
            let mut seen = None;
            loop {
                let text = fs::read(&file).ok();
                if text.is_some() && text != seen {
                    seen = text;
                    if self.judge(&exercise)? {
                        break;
                    }
                    print("\n")?;
                }
                thread::sleep(POLL);
            }
            if self.is_done() {
                return self.next();
            }
            exercise = self.after(&exercise)?;
        }
    }

    fn hint(&mut self, exercise: &Exercise) -> Result<bool> {
        let Exercise { name, source } = exercise;
        let state = self.progress.of(name);
        let (first, last) = match state {
            State { passed: true, .. } => (0, HINTS),
            State { hints, .. } if hints >= HINTS => (0, HINTS),
            State { hints, .. } => (hints, hints + 1),
        };
        let hints = (first..last).map(|i| format!("{} of {HINTS}: {}\n", i + 1, source.hints[i]));
        print(&hints.collect::<String>())?;
        self.progress.change(name, |state| state.hints = state.hints.max(last))?;
        Ok(true)
    }

    fn diff(&self, exercise: &Exercise) -> Result<bool> {
        let State { passed, hints } = self.progress.of(&exercise.name);
        if !passed && hints < HINTS {
            return Err(Error::Usage(format!(
                "{}: the solution is shown once your answer has passed, or after {HINTS} hints",
                exercise.name
            )));
        }
        let file = self.folder.answer(&exercise.name);
        let answer = fs::read_to_string(&file).map_err(|e| Error::reading(&file, &e))?;
        let lines = diff::lines(&answer, &exercise.source.solution);
        let mut text = if lines.is_empty() { "Your answer is the solution.\n".into() } else { lines };
        let wrong = self.folder.wrong(exercise)?;
        if !wrong.is_empty() {
            text += "\nWhy the solution is as it is: what these mistakes lead to.\n";
        }
        text.extend(wrong.iter().map(|wrong| format!("  {}: {}\n", wrong.finding, wrong.told)));
        print(&text)
    }

    fn beat(&self, rung: &str, only_build: bool) -> Result<bool> {
        let contest = Contest::with(&self.folder, rung)?;
        let file = self.short(&contest.answer);
        if !contest.answer.exists() {
            fs::copy(&contest.start, &contest.answer).map_err(|e| Error::writing(&contest.answer, &e))?;
            print(&format!("{file} has something to begin with: it is right, and slow. Edit it.\n"))?;
        }
        if let Some(why) = gpu::missing().filter(|_| !only_build) {
            let elsewhere = "with --build you get a program for a machine that has one";
            return Err(Error::NoDevice(format!("a contest needs a GPU, and {why}; {elsewhere}")));
        }
        let Some(program) = contest.build()? else { return Ok(false) };
        if !only_build {
            return contest.run(&program);
        }
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        print(&format!(
            "{} has your kernels in it and needs no other file. On a machine with a GPU: ./{name} {rung}\n",
            self.short(&program)
        ))
    }

    fn reset(&mut self, exercise: &Exercise) -> Result<bool> {
        let (name, file) = (&exercise.name, self.folder.answer(&exercise.name));
        let backups = (1..).map(|i| self.folder.answers().join(format!("{name}.{i}.backup")));
        let backup = backups.into_iter().find(|path| !path.exists()).expect("numbers do not end");
        fs::rename(&file, &backup).map_err(|e| Error::writing(&backup, &e))?;
        self.write_stub(exercise)?;
        self.progress.change(name, |state| *state = State::default())?;
        print(&format!("{name} begins again. Your answer is kept in {}\n", self.short(&backup)))
    }
}

/// Prints a part of a verdict, if somebody still reads it.
fn add(text: &str) -> Result {
    match print(text) {
        Err(Error::ClosedPipe) => Ok(()),
        other => other.map(drop),
    }
}

/// Prints at once, also where the output is no terminal.
fn print(text: &str) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Error::printing(&e))?;
    Ok(true)
}
