//! A time limit for the launches of a thread: what would take hours here ends with an error.

use super::error::LaunchError;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A limit, from when it was set.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    since: Instant,
    allowed: Duration,
}

thread_local! {
    static LIMIT: Cell<Option<Limit>> = const { Cell::new(None) };
}

/// Runs `work`. After the time `allowed`, the kernels that it launches from this thread end with
/// [`LaunchError::OutOfTime`] instead of starting another block; a block that runs is not interrupted,
/// except in a cluster or under a [`check`](super::check()).
pub fn within<R>(allowed: Duration, work: impl FnOnce() -> R) -> R {
    /// Sets the limit from before again, also when `work` panics.
    struct Guard(Option<Limit>);
    impl Drop for Guard {
        fn drop(&mut self) {
            LIMIT.set(self.0);
        }
    }
    let _guard = Guard(LIMIT.replace(Some(Limit { since: Instant::now(), allowed })));
    work()
}

/// The limit of this thread's launches, for the threads that run their blocks.
pub(super) fn of_this_thread() -> Option<Limit> {
    LIMIT.get()
}

impl Limit {
    /// # Errors
    /// [`LaunchError::OutOfTime`] if the time is up.
    pub(super) fn check(self, kernel: &'static str) -> Result<(), LaunchError> {
        let Self { since, allowed } = self;
        if since.elapsed() > allowed { Err(LaunchError::OutOfTime { kernel, allowed }) } else { Ok(()) }
    }
}
