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
    /// There is no GPU, which the command needs.
    NoDevice(String),
    /// A file could not be read or written.
    File(String),
    /// The reader of standard output closed it.
    ClosedPipe,
    /// A program did not start.
    Start(String),
    /// The program of a contest ended with this exit code, and has said why.
    Contest(u8),
}

impl Error {
    /// The exit code, as the program `rungs` has it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::NoDevice(_) => 3,
            Self::File(_) | Self::ClosedPipe | Self::Start(_) => 4,
            Self::Contest(code) => *code,
        }
    }

    /// Whether the user has been told already, or cannot be.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::ClosedPipe | Self::Contest(_))
    }

    /// A file could not be read.
    pub(crate) fn reading(path: &Path, error: &io::Error) -> Self {
        Self::File(format!("{} cannot be read: {}", path.display(), plain(error)))
    }

    /// A file or folder could not be written.
    pub(crate) fn writing(path: &Path, error: &io::Error) -> Self {
        Self::File(format!("{} cannot be written: {}", path.display(), plain(error)))
    }

    /// Standard output could not be written.
    pub(crate) fn printing(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe,
            _ => Self::writing(Path::new("standard output"), error),
        }
    }
}

/// An operating system's error as a clause.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "permission denied; check the folder's permissions".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only; clone the repository elsewhere".into(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => "a file has the place of a folder".into(),
        _ => error.to_string(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::NoDevice(text) | Self::File(text) | Self::Start(text) => f.write_str(text),
            Self::ClosedPipe => f.write_str("the reader of the output closed it"),
            Self::Contest(_) => f.write_str("there was no contest"),
        }
    }
}

impl std::error::Error for Error {}
