//! All errors, each with one message and one exit code.

use crate::data::Room;
use crate::engine::cuda::{CudaError, Status};
use simt::launcher::Failed;
use simt::sim::{LaunchError, plural};
use std::io;

/// How the simulator begins a refusal for want of memory.
const NO_ROOM: &str = "the host has no room for ";

/// The result of a function of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// An error. The message names the cause and the remedy in one or two lines; [`exit_code`](Error::exit_code) is the
/// program's exit code.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The call is unusable: its arguments do not fit together, or exceed a limit.
    #[error("{0}")]
    Usage(String),
    /// There is no such device.
    #[error("{0}")]
    NoDevice(String),
    /// A file or the standard input could not be read, or does not hold what was expected.
    #[error("cannot read {path}: {what}")]
    Read {
        /// The file as the user named it, or "standard input".
        path: String,
        /// The cause and the remedy.
        what: String,
    },
    /// A file or the standard output could not be written. A file that was there before is unchanged, unless it could
    /// not be replaced and was written in place.
    #[error("cannot write {path}: {what}")]
    Write {
        /// The file as the user named it, or "standard output".
        path: String,
        /// The cause and the remedy.
        what: String,
    },
    /// The reader of standard output (or of a named pipe) closed it. Exit code 4, like every other output that was not
    /// written whole: "done and verified" would be false.
    #[error("the reader of {path} closed it before everything was written")]
    ClosedPipe {
        /// "standard output" or the pipe as the user named it.
        path: String,
    },
    /// The simulator refused a launch or ended it.
    #[error("{0}")]
    Launch(#[from] LaunchError),
    /// A call of the CUDA driver failed; the text names the call and the driver's reason, and
    /// [`status`](Error::status) has the driver's code.
    #[error("{0}")]
    Cuda(CudaError),
    /// More memory was requested than is free.
    #[error("{what} would take {}, {}: ask for fewer elements", bytes(*.asked), room_text(*.have))]
    OutOfMemory {
        /// The purpose of the memory, as "268435456 keys of u32".
        what: String,
        /// Bytes requested; `u64::MAX` stands for any larger number too.
        asked: u64,
        /// What is free; `None` if the system refused memory that its figures promise.
        have: Option<Room>,
    },
    /// Some of the results of one call differ from their oracles, or rungs failed; each was reported.
    #[error("{}", wrong_text(*.wrong, *.failed, *.of, .first))]
    Wrong {
        /// The number of wrong results.
        wrong: usize,
        /// The number of runs that failed, and so have no result.
        failed: usize,
        /// The number of all results.
        of: usize,
        /// The message of the first of them: rung, element, result and expected value.
        first: String,
    },
    /// A check of the simulator found something; each finding was reported.
    #[error("{}", found_text(*.count))]
    Found {
        /// How many findings.
        count: usize,
    },
    /// Another member of a group of devices failed, or did not answer in time.
    #[error("{0}")]
    Group(String),
    /// A result differs from its oracle.
    #[error("{family} {rung} is wrong at n = {n}: element {index}: got {got}, expected {want}")]
    Mismatch {
        /// The family.
        family: String,
        /// The rung.
        rung: String,
        /// The number of elements, or the side of a matrix.
        n: u64,
        /// The index of the first difference.
        index: u64,
        /// The expected value there.
        want: String,
        /// The rung's value there.
        got: String,
    },
}

impl From<CudaError> for Error {
    fn from(error: CudaError) -> Self {
        match error {
            CudaError::NoDriver(_)
            | CudaError::NoDevice { .. }
            | CudaError::NoPtx { .. }
            | CudaError::OldDriver { .. } => Self::NoDevice(error.to_string()),
            CudaError::OutOfMemory { asked, free } => {
                let have = Some(Room { bytes: free, of: "the GPU's memory" });
                Self::OutOfMemory { what: "this".into(), asked, have }
            }
            other => Self::Cuda(other),
        }
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unsuitable(why) => Self::Usage(why),
            // An engine of this library returns its own errors, and the simulator itself a launch's; that of another
            // machine is passed on as text.
            Failed::Machine(error) => match error.downcast::<Self>() {
                Ok(error) => *error,
                Err(error) => match error.downcast::<LaunchError>() {
                    Ok(error) => Self::Launch(*error),
                    Err(error) => Self::Usage(error.to_string()),
                },
            },
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        match error {
            Error::Usage(why) => Self::Unsuitable(why),
            other => Self::Machine(other.into()),
        }
    }
}

fn room_text(have: Option<Room>) -> String {
    match have {
        Some(Room { bytes: have, of }) => format!("but {} are free of {of}", bytes(have)),
        None => "which the system refuses".into(),
    }
}

fn found_text(count: usize) -> String {
    format!("the check found {count} {}", plural(count as u64, "mistake"))
}

/// A single result needs no count.
fn wrong_text(wrong: usize, failed: usize, of: usize, first: &str) -> String {
    let runs = plural(failed as u64, "run");
    match (wrong, failed) {
        _ if of == 1 => first.into(),
        (1, 0) => format!("1 of {of} results is wrong: {first}"),
        (_, 0) => format!("{wrong} of {of} results are wrong; the first: {first}"),
        (0, 1) => format!("1 of {of} runs failed: {first}"),
        (0, _) => format!("{failed} of {of} runs failed; the first: {first}"),
        _ => format!(
            "of {of} results {wrong} {} wrong, and {failed} {runs} failed; the first: {first}",
            if wrong == 1 { "is" } else { "are" }
        ),
    }
}

impl Error {
    /// Reports that some of `of` results are wrong, or that runs failed; `messages` has one for each of them.
    ///
    /// # Errors
    /// [`Error::Wrong`] unless `messages` is empty.
    pub fn wrong<'a>(messages: impl IntoIterator<Item = &'a str>, of: usize) -> Result<()> {
        let messages: Vec<&str> = messages.into_iter().collect();
        let Some(first) = messages.first().map(|first| String::from(*first)) else { return Ok(()) };
        let wrong = messages.iter().filter(|message| Self::is_mismatch(message)).count();
        Err(Self::Wrong { wrong, failed: messages.len() - wrong, of, first })
    }

    /// Whether this is the message of an [`Error::Mismatch`]. A run that failed has no result that could be wrong.
    pub fn is_mismatch(message: &str) -> bool {
        message.contains(" is wrong at ")
    }

    /// The program's exit code: 1 a result was wrong, 2 the call was unusable, 3 no such device, 4 a file could not be
    /// read or written, 5 another member of a group failed or did not answer. (0 is done and verified.)
    ///
    /// A failing launch and a failing driver call are 1: a broken kernel fails so. A launch that the simulator has no
    /// memory for is 2.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Launch(LaunchError::Refused { why, .. }) if why.starts_with(NO_ROOM) => 2,
            Self::Mismatch { .. } | Self::Wrong { .. } | Self::Found { .. } | Self::Launch(_) | Self::Cuda(_) => 1,
            Self::Usage(_) | Self::OutOfMemory { .. } => 2,
            Self::NoDevice(_) => 3,
            Self::Read { .. } | Self::Write { .. } | Self::ClosedPipe { .. } => 4,
            Self::Group(_) => 5,
        }
    }

    /// The code with which the CUDA driver refused a call or reported a fault, if that is the cause.
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Cuda(error) => error.status(),
            _ => None,
        }
    }

    /// Whether nobody is left to be told.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::ClosedPipe { .. })
    }

    /// The error for a failed read of `path`.
    pub fn reading(path: impl ToString, error: &io::Error) -> Self {
        Self::Read { path: path.to_string(), what: plain(error) }
    }

    /// The error for a failed write to `path`: [`Error::ClosedPipe`] or [`Error::Write`].
    pub fn writing(path: impl ToString, error: &io::Error) -> Self {
        let path = path.to_string();
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ClosedPipe { path },
            _ => Self::Write { path, what: plain(error) },
        }
    }

    /// The error for a failed write to the standard output. (`println!` panics there: write with `writeln!` and map.)
    pub fn printing(error: &io::Error) -> Self {
        Self::writing("standard output", error)
    }

    /// The error for a name that is not among `known`: suggests the near ones, or lists the first if none is near.
    /// `what` is the kind of thing in the singular, as "rung of bitonic".
    pub fn unknown(what: &str, name: &str, known: &[&str]) -> Self {
        /// As many as a reader looks through.
        const LISTED: usize = 32;
        let lower = name.to_lowercase();
        let is_near = |candidate: &&&str| {
            let contains = lower.len() > 2 && (candidate.contains(&lower) || lower.contains(**candidate));
            contains || strsim::damerau_levenshtein(candidate, &lower) <= 1 + candidate.len() / 4
        };
        // A typed name may be long, and the time to compute the distance is proportional to its length.
        let near: Vec<&str> =
            if name.len() > 100 { Vec::new() } else { known.iter().filter(is_near).copied().collect() };
        let name: String = name.chars().take(100).flat_map(char::escape_debug).collect();
        Self::Usage(match near.as_slice() {
            [] => {
                let (first, rest) = known.split_at(known.len().min(LISTED));
                let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
                format!("there is no {what} called '{name}'; there are: {}{more}", first.join(", "))
            }
            near => format!("there is no {what} called '{name}'; did you mean {}?", near.join(" or ")),
        })
    }
}

/// An operating system's error as a clause, with advice if there is any.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder; check the name".into(),
        io::ErrorKind::PermissionDenied => "permission denied; check the file's and its folder's permissions".into(),
        io::ErrorKind::IsADirectory => "it is a folder; name a file".into(),
        io::ErrorKind::NotADirectory => "a part of its path is a file, not a folder; check the name".into(),
        io::ErrorKind::StorageFull => "no space is left on the device; free some or write elsewhere".into(),
        _ => error.to_string(),
    }
}

/// A number of bytes with a suitable unit.
fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n == u64::MAX {
        return "more than 16 EiB".into();
    }
    if n < 1024 {
        return format!("{n} bytes");
    }
    let unit = (n.ilog2() / 10) as usize;
    format!("{:.1} {}", n as f64 / (1_u64 << (10 * unit)) as f64, UNITS[unit - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_codes() {
        let mismatch = Error::Mismatch {
            family: "bitonic".into(),
            rung: "global-step".into(),
            n: 4,
            index: 2,
            want: "7".into(),
            got: "9".into(),
        };
        assert_eq!(mismatch.to_string(), "bitonic global-step is wrong at n = 4: element 2: got 9, expected 7");
        assert_eq!(mismatch.exit_code(), 1);
        let text = mismatch.to_string();
        let wrong = |wrong: usize, of| Error::wrong(std::iter::repeat_n(text.as_str(), wrong), of).unwrap_err();
        assert!(Error::wrong([], 3).is_ok());
        assert_eq!(wrong(1, 1).to_string(), text, "the only result needs no count");
        assert_eq!(wrong(1, 3).to_string(), format!("1 of 3 results is wrong: {text}"));
        assert_eq!(wrong(2, 3).to_string(), format!("2 of 3 results are wrong; the first: {text}"));
        assert_eq!(wrong(2, 3).exit_code(), 1);
        let of = |messages: &[&str]| Error::wrong(messages.iter().copied(), 75).unwrap_err().to_string();
        assert_eq!(of(&["a b failed: c"]), "1 of 75 runs failed: a b failed: c");
        assert_eq!(of(&["a b failed: c", "d e failed: c"]), "2 of 75 runs failed; the first: a b failed: c");
        let both = of(&["a b failed: c", &text, "d e failed: c"]);
        assert_eq!(both, "of 75 results 1 is wrong, and 2 runs failed; the first: a b failed: c");
        let memory = |have| Error::OutOfMemory { what: "3 keys of u32".into(), asked: 3 << 30, have };
        let refused = "3 keys of u32 would take 3.0 GiB, which the system refuses: ask for fewer elements";
        assert_eq!(memory(None).to_string(), refused);
        let memory = memory(Some(Room { bytes: 12, of: "the machine's memory" }));
        assert_eq!(
            memory.to_string(),
            "3 keys of u32 would take 3.0 GiB, but 12 bytes are free of the machine's memory: ask for fewer elements"
        );
        assert_eq!(memory.exit_code(), 2);
        let refused = |why: &str| Error::Launch(LaunchError::Refused { kernel: "k", why: why.into() }).exit_code();
        assert_eq!((refused("the host has no room for 1024 simulated threads: x"), refused("2000 threads")), (2, 1));
        assert_eq!(Error::NoDevice(String::new()).exit_code(), 3);
        assert_eq!(Error::reading("a", &io::ErrorKind::NotFound.into()).exit_code(), 4);
        assert!(matches!(Error::printing(&io::ErrorKind::BrokenPipe.into()), Error::ClosedPipe { .. }));
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(u64::MAX - 1), "16.0 EiB");
    }

    #[test]
    fn the_drivers_code_is_kept() {
        let fault = CudaError::Fault { kernel: "bubble", launches: 1, status: Status::from_code(700) };
        let error = Error::from(fault.clone());
        assert_eq!((error.to_string(), error.exit_code()), (fault.to_string(), 1));
        assert_eq!(error.status().map(Status::code), Some(700));
        // Through the launch of an algorithm, too.
        assert_eq!(Error::from(Failed::from(error)).status().map(Status::code), Some(700));
        assert_eq!(Error::Cuda("nothing was captured".into()).status(), None);
        assert_eq!(Error::Usage(String::new()).status(), None);
    }

    #[test]
    fn near_names() {
        let known = ["global-step", "shared-block", "register"];
        let message = |name| Error::unknown("rung of bitonic", name, &known).to_string();
        assert_eq!(message("globl-step"), "there is no rung of bitonic called 'globl-step'; did you mean global-step?");
        assert_eq!(message("shared"), "there is no rung of bitonic called 'shared'; did you mean shared-block?");
        assert_eq!(
            message("x\n"),
            "there is no rung of bitonic called 'x\\n'; there are: global-step, shared-block, register"
        );
    }
}
