//! The status of a failed driver call.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::ptr;

unsafe extern "C" {
    fn cuGetErrorName(code: u32, name: *mut *const c_char) -> u32;
    fn cuGetErrorString(code: u32, text: *mut *const c_char) -> u32;
}

/// The code that a driver call returned in place of success.
///
/// cust's own error type knows the codes of CUDA 11.4 and turns every later one into "unknown"; this keeps them all,
/// and takes names and texts from the driver that returned them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status(u32);

impl Status {
    /// A value or a range that the call does not accept.
    pub const INVALID_VALUE: Self = Self(1);
    /// The device has less free memory than requested.
    pub const OUT_OF_MEMORY: Self = Self(2);
    /// No driver is loaded, or it is too old to have the function, or the library found is the toolkit's stub.
    pub const STUB_LIBRARY: Self = Self(34);
    /// There is a driver, and no device that it can use.
    pub const NO_DEVICE: Self = Self(100);
    /// Not a context, or one that has been destroyed.
    pub const INVALID_CONTEXT: Self = Self(201);
    /// The devices have no way to each other.
    pub const PEER_ACCESS_UNSUPPORTED: Self = Self(217);
    /// A name, of a kernel say, that is not there.
    pub const NOT_FOUND: Self = Self(500);
    /// What was asked about has not ended yet.
    pub const NOT_READY: Self = Self(600);
    /// The context can reach that peer's memory already.
    pub const PEER_ACCESS_ALREADY_ENABLED: Self = Self(704);

    /// An earlier call on the stream was not one that a graph can capture, and the capture is lost.
    pub const STREAM_CAPTURE_INVALIDATED: Self = Self(901);

    /// A failure that the driver does not name. cust takes any code for it that is newer than cust.
    pub const UNKNOWN: Self = Self(999);

    /// A status from the code of a call that did not return 0.
    pub const fn from_code(code: u32) -> Self {
        Self(code)
    }

    /// The driver's number for it (`CUresult`).
    pub const fn code(self) -> u32 {
        self.0
    }

    /// Success for 0, this status for every other code.
    pub(crate) fn check(code: u32) -> Result<(), Self> {
        if code == 0 { Ok(()) } else { Err(Self(code)) }
    }

    /// Whether it reports a failure of earlier work on the device, usually of a kernel. The device's context is then
    /// lost, and every later call in it returns the same status.
    pub const fn is_fault(self) -> bool {
        matches!(self.0, 214 | 220 | 226 | 700 | 702 | 710 | 714..=719 | 721 | 911 | 999)
    }

    /// The driver's name for it, for example `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub fn name(self) -> &'static str {
        match self {
            Self::STUB_LIBRARY => "CUDA_ERROR_STUB_LIBRARY",
            _ => self.ask(cuGetErrorName).unwrap_or("an error without a name"),
        }
    }

    /// The driver's text for it, for example `an illegal memory access was encountered`.
    pub fn text(self) -> &'static str {
        match self {
            // The driver's own text for it is about linking, which is not the cause here.
            Self::STUB_LIBRARY => "no CUDA driver, or one that is too old to have the function",
            _ => self.ask(cuGetErrorString).unwrap_or("the driver has no words for it"),
        }
    }

    fn ask(self, question: unsafe extern "C" fn(u32, *mut *const c_char) -> u32) -> Option<&'static str> {
        let mut answer = ptr::null();
        // SAFETY: both functions take any code, need no initialisation, and write one pointer.
        let code = unsafe { question(self.0, &mut answer) };
        if code != 0 || answer.is_null() {
            return None;
        }
        // SAFETY: on success the pointer is to a C string in the driver's own constants, and the driver stays open.
        unsafe { CStr::from_ptr(answer) }.to_str().ok()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name(), self.0, self.text())
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn a_status_prints_with_and_without_a_driver() {
        let said = Status::STUB_LIBRARY.to_string();
        assert_eq!(said, "CUDA_ERROR_STUB_LIBRARY (34): no CUDA driver, or one that is too old to have the function");
        assert!(Status::from_code(700).to_string().contains("(700)"));
    }

    #[test]
    fn faults_are_what_a_running_kernel_can_cause() {
        let fault = |code| Status::from_code(code).is_fault();
        assert!([700, 702, 710, 715, 716, 719].into_iter().all(fault));
        assert!(![1, 2, 34, 100, 500, 600, 701, 720, 912].into_iter().any(fault));
    }
}
