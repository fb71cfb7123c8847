//! Errors of the commands.

use std::fmt;
use std::io;
use std::path::Path;

/// The result of a command.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// An error, with the program's exit code.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The call is unusable.
    Usage(String),
    /// A file could not be read or written, or a program did not start.
    File(String),
}

impl Error {
    /// The exit code, as the program `rungs` has it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::File(_) => 4,
        }
    }

    /// An operation on a file failed.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Self::File(format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::File(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}
