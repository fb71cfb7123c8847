//! An answer on a GPU: the program for that is built around the reader's file, and run.

use crate::error::Result;
use crate::folder::Folder;
use crate::program::{Build, Built, target};
use crate::verdict::{LIMIT, ended};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The package of the program, which is its name too, and that of the kernels.
const PACKAGE: &str = "rungs-learn-gpu";
const KERNELS: &str = "rungs-learn-gpu-kernels";

/// What a GPU said of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OnGpu {
    /// It is right there too.
    Equal(String),
    /// It is wrong there.
    Wrong(String),
    /// Nothing: the GPU or the compiler for it lacks something that the file needs.
    NotRun(String),
}

/// Why there is no GPU to run on, if so.
pub(crate) fn missing() -> Option<String> {
    // Asking takes a moment, and a watch asks often.
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let ask = || {
        let missing = cuda_driver::load().err().map(|missing| missing.to_string());
        missing.or_else(|| cuda_driver::init().err().map(|status| format!("the CUDA driver does not start: {status}")))
    };
    MISSING.get_or_init(ask).clone()
}

/// The root of the project, where the program is built.
fn root(folder: &Folder) -> PathBuf {
    folder.path().parent().unwrap_or(Path::new("/")).to_path_buf()
}

/// Whether the program has been built before: then the next build takes seconds.
pub(crate) fn is_built(folder: &Folder) -> bool {
    target(root(folder).join("target")).join("release").join(PACKAGE).exists()
}

/// Builds the program with the reader's answer and its PTX in it.
///
/// # Errors
/// As for [`Build::quietly`].
pub(crate) fn build(folder: &Folder, name: &str) -> Result<Built> {
    let root = root(folder);
    let target = root.join("target");
    let build = Build::new(&root, target, &["--quiet", "--release", "--package", PACKAGE])?;
    build.env("RUNGS_LEARN_ANSWER", &folder.answer(name)).quietly()
}

/// Compiles an answer for the GPU and runs it there.
///
/// # Errors
/// As for [`build`]; [`Error::Start`](crate::Error::Start) if the program does not start.
pub(crate) fn judge(folder: &Folder, name: &str) -> Result<OnGpu> {
    Ok(match build(folder, name)? {
        Built::Program(program) => said(ended(&mut Command::new(program))?),
        Built::Not(said) => not_built(&said),
    })
}

/// What the program said, by its exit code.
fn said(ended: Option<(Option<i32>, String)>) -> OnGpu {
    let Some((code, said)) = ended else {
        let seconds = LIMIT.as_secs();
        return OnGpu::Wrong(format!("On the GPU it did not end in {seconds} s: does a thread wait for ever?"));
    };
    let said = said.trim().trim_start_matches("error: ").to_string();
    match code {
        Some(0) => OnGpu::Equal(said),
        Some(3) => OnGpu::NotRun(said),
        _ => OnGpu::Wrong(said),
    }
}

/// Why there is no program. That an answer does not compile for a GPU is not held against it: launches next to its
/// kernels may have a `Vec`, and for a GPU the file is compiled as a whole.
fn not_built(said: &str) -> OnGpu {
    // What a build script says has its package before each line.
    let of_script =
        |line: &str| Some(line.strip_prefix("error: ")?.strip_prefix(PACKAGE)?.split_once(": ")?.1.to_string());
    let (mut of_gpu, mut others) = (String::new(), String::new());
    for line in said.trim().lines() {
        match of_script(line) {
            Some(line) => of_gpu += &format!("{line}\n"),
            None => others += &format!("{line}\n"),
        }
    }
    let kernels = format!("could not compile `{KERNELS}`");
    // If both compilers refuse it, the second says the same again.
    let (refused, said) = match others.contains(&kernels) {
        true => (true, others),
        false => (of_gpu.contains(&kernels), of_gpu + &others),
    };
    let why = match refused {
        true => "the file does not compile for one, where there is no `std`: no `Vec`, no `println!`",
        false => "its program was not built",
    };
    OnGpu::NotRun(format!("{why}\n\n{}", said.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_says_what_the_gpu_said() {
        let ended = |code| said(Some((code, "text\n".into())));
        assert_eq!(ended(Some(0)), OnGpu::Equal("text".into()));
        assert_eq!(ended(Some(1)), OnGpu::Wrong("text".into()));
        assert_eq!(ended(Some(3)), OnGpu::NotRun("text".into()));
        assert_eq!(said(Some((Some(3), "error: no PTX\n".into()))), OnGpu::NotRun("no PTX".into()));
        // Ended by a signal.
        assert_eq!(ended(None), OnGpu::Wrong("text".into()));
        assert!(matches!(said(None), OnGpu::Wrong(text) if text.contains("did not end in 60 s")));
    }

    #[test]
    fn what_does_not_compile_is_told_once() {
        let why = |said: &str| match not_built(said) {
            OnGpu::NotRun(why) => why,
            other => panic!("{other:?}"),
        };
        let own = "error[E0425]: cannot find type `Vec`\nerror: could not compile `rungs-learn-gpu-kernels` (lib)";
        let script = own.lines().map(|line| format!("error: rungs-learn-gpu@0.1.0: {line}\n")).collect::<String>();
        let none = "the file does not compile for one, where there is no `std`: no `Vec`, no `println!`";
        for said in [own.to_string(), script.clone(), format!("{own}\n{script}")] {
            let why = why(&said);
            assert!(why.starts_with(none) && why.matches("cannot find type").count() == 1, "{why}");
            assert!(!why.contains("rungs-learn-gpu@"), "{why}");
        }
        let other = why("error: no matching package named `clap`");
        assert_eq!(other, "its program was not built\n\nerror: no matching package named `clap`");
    }
}
