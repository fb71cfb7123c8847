//! Checks of kernels, while the simulator runs them: races, memory that nobody wrote, barriers and warp operations used
//! wrongly, copies that nobody waited for.
//!
//! Races are judged by meaning, not by what a schedule happened to do. Two accesses to a word, one of them a write, are
//! in order only if something orders them: a barrier of the block, [`sync_warp`](crate::warp::sync_warp) for the lanes
//! of its mask, a release and an acquire whose scopes reach each other, a barrier in shared memory, the end of a launch
//! (clock.rs). So a race is found although this run gave the right result. Whether a thread comes to an access can
//! depend on the schedule, though, and so can the result of atomic operations: that is why a check runs several
//! schedules, some of them hostile (schedule.rs).
//!
//! What lies outside of the model is not modelled ([`NOT_MODELLED`]), and never called right.

mod carried;
mod clock;
mod fault;
mod groups;
mod missing;
mod report;
mod schedule;
mod session;
mod shadow;
mod sites;
mod state;
mod sync;

pub use report::{Check, Checked, NOT_MODELLED, Report};

pub(super) use session::{Session, Touch, Use};
pub(super) use state::BlockState;
pub(super) use sync::{Half, Moved};

use crate::{Global, Scalar};
use std::cell::Cell;

thread_local! {
    /// The check that this thread of the host makes; null where it makes none.
    static SESSION: Cell<*mut Session> = const { Cell::new(std::ptr::null_mut()) };
}

/// Runs `work` under a check. Returns the session of the check, too.
///
/// # Panics
/// If this thread makes a check already.
pub(super) fn within<R>(options: Check, work: impl FnOnce() -> R) -> (R, Box<Session>) {
    /// Ends the check also when `work` panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            SESSION.set(std::ptr::null_mut());
        }
    }
    assert!(SESSION.get().is_null(), "this thread makes a check already");
    let session = Box::into_raw(Box::new(Session::new(options)));
    SESSION.set(session);
    let guard = Guard;
    let result = work();
    drop(guard);
    // SAFETY: made above; nobody else knows the pointer any more.
    (result, unsafe { Box::from_raw(session) })
}

/// The running check of this thread.
#[inline]
pub(super) fn active() -> Option<&'static mut Session> {
    // SAFETY: the session lives while the pointer is set. All of this runs on one thread, and no function that is given
    // the reference suspends a thread of a block or calls the user's code while it holds it.
    unsafe { SESSION.get().as_mut() }
}

/// Tells the check, if there is one, that the host has written the bytes of a view.
pub fn host_wrote(address: *const u8, bytes: usize) {
    if let Some(session) = active() {
        session.overwritten(address as u64, bytes as u64, shadow::HOST);
    }
}

/// Tells the check, if there is one, that bytes were set between launches, which counts as what launches do
/// ([`expect_written`]).
pub fn host_cleared(address: *const u8, bytes: usize) {
    if let Some(session) = active() {
        session.overwritten(address as u64, bytes as u64, session::LAUNCHER);
    }
}

/// Memory begins to exist.
pub(super) fn allocated(address: *const u8, bytes: usize) {
    if let Some(session) = active() {
        session.allocated(address as u64, bytes as u64);
    }
}

/// Memory ceases to exist.
pub(super) fn freed(address: *const u8) {
    if let Some(session) = active() {
        session.freed(address as u64);
    }
}

/// Tells the check, if there is one, that the launches so far should have written all elements of a view: each element
/// that they did not write is a finding ([`Kind::Unwritten`](super::Kind::Unwritten)). What the host wrote before does
/// not count; what the launcher cleared does.
pub fn expect_written<T: Scalar>(view: Global<T>) {
    if let Some(session) = active() {
        session.expect_written(view.as_ptr() as u64, view.len(), size_of::<T>() as u32);
    }
}
