//! The errors of a launch.

use super::finding::{Kind, Side, Site};
use crate::Dim3;
use crate::launcher::Call;
use std::fmt;
use std::time::Duration;

/// The reason why a launch did not run, or did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaunchError {
    /// The launch exceeds a limit of compute capability 9.0, or a view's memory is gone; nothing ran.
    Refused {
        /// The kernel.
        kernel: &'static str,
        /// The request and the limit, or the view.
        why: String,
    },
    /// The time that [`within`](super::within) allowed is over; some blocks did not run.
    OutOfTime {
        /// The kernel.
        kernel: &'static str,
        /// The time.
        allowed: Duration,
    },
    /// A thread did what a GPU leaves undefined; the launch ended there.
    Fault(Box<Fault>),
}

impl LaunchError {
    /// Refuses a launch with views of memory that is gone. An observer is the user's code, which may free memory:
    /// behind each call of one, blocks that have not begun are asked for again.
    pub(super) fn refuse_freed(call: &dyn Call) -> Result<(), Self> {
        call.parameters().refusal().map_or(Ok(()), |why| Err(Self::Refused { kernel: call.name(), why }))
    }
}

/// The place and the cause of a kernel's failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kernel.
    pub kernel: &'static str,
    /// The thread's block.
    pub block: Dim3,
    /// The thread in its block.
    pub thread: Dim3,
    /// The call, where it is known.
    pub site: Option<Site>,
    /// The thread's warp in its block.
    pub warp: u32,
    /// What kind of mistake it is.
    pub kind: Kind,
    /// The cause.
    pub what: String,
    /// If all threads wait for ever: other threads, one for each thing that is waited for.
    pub waits: Vec<Side>,
}

impl Fault {
    /// Source file and line of the call, as `file:line`.
    pub fn location(&self) -> String {
        match &self.site {
            Some(Site { file, line, .. }) => format!("{file}:{line}"),
            None => "an unknown line".into(),
        }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { kernel, why } => write!(f, "{kernel}: {why}"),
            Self::OutOfTime { kernel, allowed } => {
                write!(f, "{kernel}: not done on the simulator within {} s", allowed.as_secs_f64())
            }
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, block, thread, what, .. } = self;
        write!(f, "{kernel}, block {block}, thread {thread}, at {}: {what}", self.location())?;
        self.waits.iter().try_for_each(|Side { what, site, block, thread, .. }| {
            write!(f, "; block {block}, thread {thread} {what}")?;
            site.as_ref().map_or(Ok(()), |Site { file, line, .. }| write!(f, " at {file}:{line}"))
        })
    }
}

impl std::error::Error for LaunchError {}
impl std::error::Error for Fault {}
