//! Events. cust's can be recorded on streams of cust's own alone.

use crate::{Status, Stream};
use std::ffi::c_void;
use std::ptr;

unsafe extern "C" {
    fn cuEventCreate(event: *mut *mut c_void, flags: u32) -> u32;
    fn cuEventDestroy_v2(event: *mut c_void) -> u32;
    fn cuEventElapsedTime(ms: *mut f32, from: *mut c_void, to: *mut c_void) -> u32;
    fn cuEventRecord(event: *mut c_void, stream: Stream) -> u32;
    fn cuEventSynchronize(event: *mut c_void) -> u32;
    fn cuStreamWaitEvent(stream: Stream, event: *mut c_void, flags: u32) -> u32;
}

/// A point in the work of a stream, destroyed when dropped. A context must be current on the calling thread.
pub struct Event(*mut c_void);

// SAFETY: a handle is a name to the driver, and the driver's functions may be called from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; the handle itself is never written through.
unsafe impl Sync for Event {}

impl Event {
    /// An event of the current context that has not been recorded.
    ///
    /// # Errors
    /// The driver's status.
    pub fn new() -> Result<Self, Status> {
        let mut event = ptr::null_mut();
        // SAFETY: the call writes one handle; 0 asks for an event that measures time.
        Status::check(unsafe { cuEventCreate(&mut event, 0) })?;
        Ok(Self(event))
    }

    /// Makes this the point between what was enqueued on `stream` before and what is enqueued after.
    ///
    /// # Errors
    /// The driver's status: of this call, or of a kernel that failed before it.
    ///
    /// # Safety
    /// `stream` is a stream that has not been destroyed.
    pub unsafe fn record(&self, stream: Stream) -> Result<(), Status> {
        // SAFETY: the event is alive; the stream is as the caller says.
        Status::check(unsafe { cuEventRecord(self.0, stream) })
    }

    /// Has what is enqueued on `stream` from now on wait until the GPU has passed the point.
    ///
    /// # Errors
    /// The driver's status: of this call, or of a kernel that failed before it.
    ///
    /// # Safety
    /// `stream` is a stream that has not been destroyed.
    pub unsafe fn hold(&self, stream: Stream) -> Result<(), Status> {
        // SAFETY: the event is alive; the stream is as the caller says; 0 is the flag of events outside of graphs.
        Status::check(unsafe { cuStreamWaitEvent(stream, self.0, 0) })
    }

    /// Waits until the GPU has passed the point.
    ///
    /// # Errors
    /// The driver's status, usually of a kernel that failed.
    pub fn synchronize(&self) -> Result<(), Status> {
        // SAFETY: the event is alive.
        Status::check(unsafe { cuEventSynchronize(self.0) })
    }

    /// Milliseconds from this point to another, both of which the GPU has passed.
    ///
    /// # Errors
    /// The driver's status, in particular for events of two GPUs.
    pub fn elapsed_ms(&self, to: &Self) -> Result<f32, Status> {
        let mut ms = 0.0;
        // SAFETY: both events are alive; the call writes one number.
        Status::check(unsafe { cuEventElapsedTime(&mut ms, self.0, to.0) })?;
        Ok(ms)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is alive, and nothing uses it afterwards. A failure cannot be reported here.
        let _ = unsafe { cuEventDestroy_v2(self.0) };
    }
}
