//! The verdict on the reader's answer: compiled with its check, and run.

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::program::{Build, Built, target};
use std::io::{IsTerminal, Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time for one answer to be judged. A program on the simulator gives up by itself before that.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// What was said.
pub(crate) struct Verdict {
    pub passed: bool,
    pub text: String,
}

/// Compiles and judges the answer to an exercise.
///
/// # Errors
/// [`Error::Start`] if cargo or the program that it built cannot be started; [`Error::File`] if there is no current
/// folder.
pub(crate) fn judge(folder: &Folder, name: &str) -> Result<Verdict> {
    let folder = folder.path();
    let color = if std::io::stdout().is_terminal() { "always" } else { "never" };
    // A folder of its own: an editor's compiler does not hold the lock.
    let own = folder.join("target/learn");
    if !target(own.clone()).exists() {
        // On standard error, because it is no part of the verdict; and nobody need read it.
        let _ = writeln!(std::io::stderr(), "Compiling the simulator; the first time takes a minute or two.");
    }
    let build = Build::new(folder, own, &["--quiet", "--color", color, "--bin", name])?;
    let program = match build.quietly()? {
        Built::Program(program) => program,
        Built::Not(said) => {
            return Ok(Verdict { passed: false, text: format!("{name}: does not compile\n\n{said}") });
        }
    };
    Ok(match ended(Command::new(&program).current_dir(folder))? {
        Some((code, said)) => Verdict { passed: code == Some(0), text: said },
        None => {
            let text = format!("{name}: not yet\n\nIt did not end in {} s: does every loop end?", LIMIT.as_secs());
            Verdict { passed: false, text }
        }
    })
}

/// Runs a program: its exit code, if it ended by itself, and what it printed. None if it did not end in time.
///
/// # Errors
/// [`Error::Start`] if it cannot be started.
pub(crate) fn ended(program: &mut Command) -> Result<Option<(Option<i32>, String)>> {
    let name = program.get_program().to_string_lossy().into_owned();
    let failed = |e: std::io::Error| Error::Start(format!("{name}: {e}"));
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().map_err(failed)?;
    // Read while waiting: what is printed could fill a pipe.
    let readers = [child.stdout.take().map(reader), child.stderr.take().map(reader)];
    let started = Instant::now();
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break Some(status),
            None if started.elapsed() > LIMIT => {
                child.kill().and_then(|()| child.wait()).map_err(failed)?;
                break None;
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let said: String = readers.into_iter().flatten().filter_map(|reader| reader.join().ok()).collect();
    Ok(status.map(|status| (status.code(), said)))
}

/// Reads all that a program prints.
fn reader(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = vec![];
        // What was read before an error still helps.
        let _ = from.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}
