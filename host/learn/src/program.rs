//! The programs that cargo builds from the reader's files.

use crate::error::{Error, Result};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A build: the command, to which options can be added.
pub(crate) struct Build(Command);

/// What became of a build.
pub(crate) enum Built {
    /// The program's file.
    Program(PathBuf),
    /// It does not compile; what the compiler said, if that was kept.
    Not(String),
}

impl Build {
    /// A build in `folder` into `target`, or where `CARGO_TARGET_DIR` says.
    ///
    /// # Errors
    /// [`Error::File`] if there is no current folder that a relative path could begin at.
    pub fn new(folder: &Path, target: PathBuf, options: &[&str]) -> Result<Self> {
        let target = self::target(target);
        // Both cargo and the program that it builds start in another folder than this process.
        let target = std::path::absolute(&target).map_err(|e| Error::reading(&target, &e))?;
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--locked", "--message-format", "json-render-diagnostics"]);
        cargo.args(options).arg("--target-dir").arg(target).current_dir(folder).stdin(Stdio::null());
        Ok(Self(cargo))
    }

    /// Sets a variable of the build's environment.
    pub fn env(mut self, name: &str, value: &Path) -> Self {
        self.0.env(name, value);
        self
    }

    /// Builds, and keeps what the compiler says.
    ///
    /// # Errors
    /// [`Error::Start`] if cargo cannot be started, or names no program.
    pub fn quietly(mut self) -> Result<Built> {
        self.0.stderr(Stdio::piped());
        self.run()
    }

    /// Builds, and lets the compiler write to the terminal.
    ///
    /// # Errors
    /// As for [`Build::quietly`].
    pub fn run(mut self) -> Result<Built> {
        let output = self.0.stdout(Stdio::piped()).spawn().and_then(|child| child.wait_with_output());
        let output = output.map_err(|e| Error::Start(format!("cargo did not start: {e}")))?;
        if !output.status.success() {
            return Ok(Built::Not(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let named = executable(&String::from_utf8_lossy(&output.stdout));
        named.map(Built::Program).ok_or_else(|| Error::Start("cargo built no program".into()))
    }
}

/// Where cargo builds what it would build in `target`.
pub(crate) fn target(target: PathBuf) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or(target, PathBuf::from)
}

/// The program that cargo's messages name last. Its place depends on the reader's configuration of cargo, which may
/// name another target.
fn executable(messages: &str) -> Option<PathBuf> {
    let of = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    };
    messages.lines().rev().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_where_cargo_says() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"/t/x86_64-unknown-linux-musl/debug/a\"}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some("/t/x86_64-unknown-linux-musl/debug/a".into()));
        assert_eq!(executable("{\"executable\":null}\nno message\n"), None);
    }
}
