//! The commands as a reader meets them, on a copy of the exercises: from the stub to the solution.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Time for a verdict, the first of which compiles the simulator.
const PATIENCE: Duration = Duration::from_secs(300);

/// A copy of the exercises, in which answers can be written.
struct Copy(tempfile::TempDir);

impl Copy {
    /// None where this package is alone, without the repository around it.
    fn new() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
        let from = root.join("exercises");
        if !from.join("solutions").is_dir() {
            eprintln!("skipped: there are no exercises around this package");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("exercises");
        for part in ["src", "src/bin", "checks", "solutions", "wrong", "proof", "proof/src"] {
            fs::create_dir_all(to.join(part)).unwrap();
            for entry in fs::read_dir(from.join(part)).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_file() {
                    fs::copy(&entry, to.join(part).join(entry.file_name().unwrap())).unwrap();
                }
            }
        }
        let starts = "host/beat/kernels/src/starts";
        fs::create_dir_all(folder.path().join(starts)).unwrap();
        fs::copy(root.join(starts).join("scan.rs"), folder.path().join(starts).join("scan.rs")).unwrap();
        fs::copy(from.join("Cargo.lock"), to.join("Cargo.lock")).unwrap();
        fs::copy(root.join("rust-toolchain.toml"), to.join("rust-toolchain.toml")).unwrap();
        let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
        let simt = format!("\"{}\"", root.join("simt").display());
        fs::write(to.join("Cargo.toml"), manifest.replace("\"../simt\"", &simt)).unwrap();
        let proof = fs::read_to_string(from.join("proof/Cargo.toml")).unwrap();
        let source = format!("\"{}\"", root.join("host/learn/source").display());
        let proof = proof.replace("\"../../simt\"", &simt).replace("\"../../host/learn/source\"", &source);
        fs::write(to.join("proof/Cargo.toml"), proof).unwrap();
        Some(Self(folder))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_rungs-learn"));
        let target = program.ancestors().nth(2).unwrap().join("learn-test");
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.0.path()).env("CARGO_TARGET_DIR", target);
        command
    }

    /// Exit code, standard output and standard error.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().expect("ended by a signal"), text(stdout), text(stderr))
    }

    fn answer(&self, name: &str) -> PathBuf {
        self.0.path().join("exercises/answers").join(format!("{name}.rs"))
    }

    /// Makes the solution the answer.
    fn solve(&self, name: &str) {
        let source = fs::read_to_string(self.0.path().join("exercises/solutions").join(format!("{name}.rs"))).unwrap();
        fs::write(self.answer(name), rungs_learn::Source::parse(&source).unwrap().solution).unwrap();
    }
}

#[test]
fn from_the_stub_to_the_solution() {
    // One after the other on one copy: two copies would build programs of the same name in one folder.
    let Some(copy) = Copy::new() else { return };
    commands(&copy);
    watching(&copy);
}

fn commands(copy: &Copy) {
    let (code, text, _) = copy.run(&[]);
    assert!(code == 0 && text.contains("# 1 · ") && text.contains("exercises/answers/01_index.rs"), "{text}");
    assert!(text.contains("`cargo learn check` judges it") && text.contains("`cargo learn hint` helps"), "{text}");

    // The stub is judged and fails; what is said names the reader's file.
    let (code, text, errors) = copy.run(&["check", "2"]);
    assert!(code == 1 && text.starts_with("02_guard: not yet"), "{text}{errors}");
    assert!(text.contains("out-of-bounds") && text.contains("at exercises/answers/02_guard.rs:"), "{text}");
    assert!(text.contains("input: n = 1, seed 0"), "the smallest with an element: {text}");
    let (code, _, errors) = copy.run(&["diff", "guard"]);
    assert!(code == 2 && errors.contains("once your answer has passed"), "{errors}");

    // What does not compile is told as the compiler tells it.
    fs::write(copy.answer("02_guard"), "pub fn nothing() {").unwrap();
    let (code, text, _) = copy.run(&["check", "02_guard"]);
    assert!(
        code == 1 && text.contains("does not compile") && text.contains("--> exercises/answers/02_guard.rs:1:"),
        "{text}"
    );

    // A loop that accesses no memory, which the simulator does not get back from, is told by what came before it.
    copy.solve("02_guard");
    let endless = fs::read_to_string(copy.answer("02_guard")).unwrap();
    let endless = endless.replace("data.set(i, 2 * data.get(i));", "data.set(i, 7);\nloop { std::hint::spin_loop() }");
    fs::write(copy.answer("02_guard"), &endless).unwrap();
    let line = 1 + endless.lines().position(|line| line.contains("data.set(i, 7)")).unwrap();
    let (code, text, _) = copy.run(&["check", "2"]);
    assert!(code == 1 && text.starts_with("02_guard: not yet\n\nno-end: "), "{text}");
    assert!(text.contains(&format!("at exercises/answers/02_guard.rs:{line}:")), "{text}");

    // Hints one by one, all of them at the end.
    for i in 1..=3 {
        let (code, text, _) = copy.run(&["hint", "2"]);
        assert!(code == 0 && text.starts_with(&format!("{i} of 3: ")), "{text}");
    }
    assert!(copy.run(&["hint", "2"]).1.contains("2 of 3: "));

    copy.solve("02_guard");
    // That nothing ran on a GPU is said once: there is none, or the copy lacks the program for it.
    let (code, text, _) = copy.run(&["check", "2"]);
    assert!(code == 0 && text.starts_with("02_guard: passed") && text.contains("\nNot run on "), "{text}");
    assert!(text.contains("`cargo learn diff 02_guard` shows"), "{text}");
    let is_there = text.contains("Not run on the GPU");
    let (code, text, _) = copy.run(&["check", "2"]);
    assert!(code == 0 && text.contains("Not run on ") == is_there, "{text}");
    let (_, text, _) = copy.run(&["diff", "2"]);
    assert!(text.starts_with("Your answer is the solution.\n\nWhy the solution is as it is: "), "{text}");
    assert!(text.contains("\n  out-of-bounds: Threads without an element access memory.\n"), "{text}");
    // What was left out comes last.
    assert!(copy.run(&["check", "2"]).1.contains("\nNext: 3 · "));
    let (_, text, _) = copy.run(&["list"]);
    assert!(text.lines().any(|line| line.starts_with("02_guard") && line.contains("passed")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("01_index") && line.contains("open")), "{text}");

    // The verdict is the exit code too, and is kept: a reader that has gone changes neither.
    assert_eq!(copy.run(&["reset", "2"]).0, 0);
    assert_eq!(unread(copy, &["check", "2"]), 1);
    copy.solve("02_guard");
    assert_eq!(unread(copy, &["check", "2"]), 0);
    assert_eq!(copy.run(&["diff", "2"]).0, 0, "it has passed");
    fs::remove_file(copy.answer("02_guard").with_file_name("02_guard.1.backup")).unwrap();

    // A new beginning keeps the answer.
    let solved = fs::read(copy.answer("02_guard")).unwrap();
    for backup in ["02_guard.1.backup", "02_guard.2.backup"] {
        let before = fs::read(copy.answer("02_guard")).unwrap();
        assert_eq!(copy.run(&["reset", "2"]).0, 0);
        assert_eq!(fs::read(copy.answer("02_guard").with_file_name(backup)).unwrap(), before);
        assert_ne!(fs::read(copy.answer("02_guard")).unwrap(), solved);
    }
    assert!(!fs::read_to_string(copy.answer("progress").with_extension("txt")).unwrap().contains("passed 3"));

    let (code, _, errors) = copy.run(&["check", "nothing"]);
    assert!(code == 2 && errors.contains("there is no exercise 'nothing'") && errors.contains("01_index"), "{errors}");
    // Two exercises have this name.
    let (code, _, errors) = copy.run(&["check", "one_block"]);
    assert!(code == 2 && errors.contains("'one_block' may be 07_one_block, 11_one_block"), "{errors}");
}

/// The exit code of a command whose output nobody reads; it has to end without a word.
fn unread(copy: &Copy, arguments: &[&str]) -> i32 {
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    let output = copy.command(arguments).stdout(write).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    output.status.code().expect("ended by a signal")
}

/// A watched answer is judged when it changes.
fn watching(copy: &Copy) {
    let mut watch = copy.command(&["watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let (said, heard) = mpsc::channel();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| said.send(line)));
    let until = |what: &str| loop {
        let line = heard.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{what}: {e}"));
        if line.contains(what) {
            break;
        }
    };
    until("01_index: not yet");
    copy.solve("01_index");
    until("01_index: passed");
    until("Watching exercises/answers/02_guard.rs");
    until("02_guard: not yet");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn a_contest_needs_a_rung_and_a_gpu() {
    let Some(copy) = Copy::new() else { return };
    for (rung, says) in [("scan", "write family and rung"), ("matmul/naive", "there is no contest for 'matmul'")] {
        let (code, text, errors) = copy.run(&["beat", rung]);
        assert!(code == 2 && text.is_empty() && errors.contains(says) && errors.lines().count() == 1, "{errors}");
    }
    if Path::new("/dev/nvidiactl").exists() {
        eprintln!("skipped: there is a GPU");
        return;
    }
    let (code, text, errors) = copy.run(&["beat", "scan/look-ahead"]);
    assert!(code == 3 && text.starts_with("exercises/answers/beat_scan.rs has something to begin with"), "{text}");
    assert!(errors.starts_with("error: a contest needs a GPU, and ") && errors.lines().count() == 1, "{errors}");
    // The reader's file is left alone from then on.
    fs::write(copy.answer("beat_scan"), "mine").unwrap();
    let (code, text, _) = copy.run(&["beat", "scan/look-ahead"]);
    assert!(code == 3 && text.is_empty(), "{text}");
    assert_eq!(fs::read(copy.answer("beat_scan")).unwrap(), b"mine");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let Some(copy) = Copy::new() else { return };
    let answers = copy.0.path().join("exercises/answers");
    fs::write(&answers, "").unwrap();
    let (code, text, errors) = copy.run(&["list"]);
    assert!(code == 4 && text.is_empty() && errors.lines().count() == 1, "{errors}");
    assert!(errors.contains("exercises/answers cannot be written: a file has the place of a folder"), "{errors}");
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let Some(copy) = Copy::new() else { return };
    assert_eq!(unread(&copy, &["list"]), 4);
}

#[test]
fn an_error_that_cannot_be_told_is_the_exit_code() {
    let Some(copy) = Copy::new() else { return };
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(copy.command(&["check", "nothing"]).stderr(full).status().unwrap().code(), Some(2));
}

#[test]
fn outside_of_a_clone_it_says_so() {
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rungs-learn"));
    let output = command.current_dir(nowhere.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there are no exercises at or above"));
}
