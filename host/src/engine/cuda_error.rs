//! The errors of a GPU, with advice.

use cuda_driver::{Missing, Status};

/// The reason why a call of [`Cuda`](super::Cuda) failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// There is no driver on this machine.
    #[error(transparent)]
    NoDriver(#[from] Missing),

    /// There is a driver, and it has no device with this number.
    #[error("there is no CUDA device {ordinal}: the driver knows of {}", devices(*.count))]
    NoDevice {
        /// The requested number; the first device is 0.
        ordinal: u32,
        /// The number of devices.
        count: u32,
    },

    /// None of the PTX in the program runs on the device.
    #[error(
        "no PTX for compute capability {}.{}: this program carries {}; `cargo xtask build-ptx --arch sm_{}{}` makes it",
        .compute_capability.0, .compute_capability.1, listed(.have), .compute_capability.0, .compute_capability.1
    )]
    NoPtx {
        /// The device's compute capability.
        compute_capability: (u32, u32),
        /// The architectures that there is PTX for.
        have: Vec<String>,
    },

    /// The driver is older than all PTX in the program that runs on the device.
    #[error(
        "the driver is one for CUDA {driver}, and the PTX for {arch} needs one for CUDA {}.{} or later: update the \
         driver, or use the simulator (--device sim)",
        .least.0, .least.1
    )]
    OldDriver {
        /// The CUDA version of the driver.
        driver: String,
        /// The architecture of the PTX that needs the oldest driver.
        arch: String,
        /// The CUDA version of that driver.
        least: (u32, u32),
    },

    /// The driver is there and cannot be initialised.
    #[error(
        "the CUDA driver is there and does not start: {status}; {}, or use the simulator (--device sim)",
        remedy(*.status)
    )]
    NotStarted {
        /// The driver's status.
        status: Status,
    },

    /// The driver's compiler refused the PTX.
    #[error(
        "the driver could not load the PTX for {arch}: {status}{}{}", age(*.status), after_newline(.log)
    )]
    Ptx {
        /// The architecture of the PTX.
        arch: String,
        /// The driver's status.
        status: Status,
        /// The compiler's log; empty if it wrote none.
        log: String,
    },

    /// The PTX has no kernel with this name.
    #[error("there is no kernel {kernel} in the PTX for {arch}")]
    NoKernel {
        /// The name.
        kernel: String,
        /// The architecture of the PTX.
        arch: String,
    },

    /// An added kernel has the name of a kernel that exists.
    #[error("there is a kernel {kernel} already; all PTX of an engine shares one space of names, so rename yours")]
    Doubled {
        /// The name.
        kernel: String,
    },

    /// The device has less free memory than requested.
    #[error("out of GPU memory: {asked} bytes were asked for, {free} are free")]
    OutOfMemory {
        /// Bytes requested.
        asked: u64,
        /// Bytes free at that time, perhaps not in one piece.
        free: u64,
    },

    /// A range of device memory that is not inside one live allocation.
    #[error("{bytes} bytes at {address:#x} are not inside an allocation of this device")]
    Address {
        /// The begin of the range.
        address: u64,
        /// Its length.
        bytes: u64,
    },

    /// A copy whose source and destination overlap, but are not the same.
    #[error("a copy of {bytes} bytes from {from:#x} to {to:#x} overlaps itself")]
    Overlap {
        /// The begin of the destination.
        to: u64,
        /// The begin of the source.
        from: u64,
        /// The length of both.
        bytes: u64,
    },

    /// The launch exceeds a limit of the device; nothing ran.
    #[error("{kernel}: {why}")]
    Refused {
        /// The kernel.
        kernel: &'static str,
        /// The request and the limit.
        why: String,
    },

    /// A kernel failed on the device. The device's context is lost: every later call fails in the same way.
    #[error(
        "{} went wrong on the GPU: {status}; on the simulator (--device sim) the same input tells where",
        culprit(.kernel, *.launches)
    )]
    Fault {
        /// The last kernel launched since the stream was last known to have no fault.
        kernel: &'static str,
        /// The number of kernels launched since then; one of them failed.
        launches: u64,
        /// The driver's status.
        status: Status,
    },

    /// Any other call that the driver refused.
    #[error("{what}: {status}")]
    Driver {
        /// The operation.
        what: String,
        /// The driver's status: code, name and text.
        status: Status,
    },

    /// A failure that another library has put into words.
    #[error("{0}")]
    Other(String),
}

impl From<String> for CudaError {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<&str> for CudaError {
    fn from(text: &str) -> Self {
        Self::Other(text.into())
    }
}

impl CudaError {
    /// The driver's code, if a call of the driver returned one.
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::NotStarted { status }
            | Self::Ptx { status, .. }
            | Self::Fault { status, .. }
            | Self::Driver { status, .. } => Some(*status),
            Self::OutOfMemory { .. } => Some(Status::OUT_OF_MEMORY),
            _ => None,
        }
    }

    /// A call that failed while `what` was done.
    pub(super) fn driver(what: impl Into<String>, status: Status) -> Self {
        Self::Driver { what: what.into(), status }
    }
}

/// What helps where the driver does not start.
fn remedy(status: Status) -> &'static str {
    match status.code() {
        802 => "a service of the driver does not run yet: wait, or start nvidia-fabricmanager",
        803 => "its library and the kernel's module are of two versions: reboot, or install one version of both",
        804 => {
            "its library is the one for forward compatibility, which this GPU does not have: take its folder (compat) \
             out of LD_LIBRARY_PATH"
        }
        _ => "see what nvidia-smi says, reload the driver's modules or reboot",
    }
}

/// What helps where the driver's compiler is older than the PTX.
fn age(status: Status) -> &'static str {
    if status.code() == 222 {
        ": the driver is older than this PTX; update it, or use the simulator (--device sim)"
    } else {
        ""
    }
}

fn devices(count: u32) -> String {
    match count {
        0 => "none".into(),
        1 => "one, device 0".into(),
        _ => format!("{count}, 0 to {}", count - 1),
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

fn after_newline(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{log}") }
}

fn culprit(kernel: &str, launches: u64) -> String {
    match launches {
        1 => kernel.into(),
        _ => format!("one of the last {launches} kernels, the last of them {kernel},"),
    }
}
