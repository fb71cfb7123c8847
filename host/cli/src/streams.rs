//! The standard streams. A note that cannot be written is not worth the work that it tells of, and a stream that was
//! closed before the program began is not an empty file.

use std::io::{self, StdinLock, StdoutLock, Write};
use std::sync::atomic::{AtomicU8, Ordering};

/// Bit i is set if descriptor i was closed when the process began.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Run by the loader: before `main`, Rust's runtime opens /dev/null for each stream that is closed, and then nobody can
/// tell that output goes nowhere.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        for descriptor in 0..3 {
            // SAFETY: asks for the flags of a descriptor, and takes any number.
            if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
                CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
            }
        }
    }
    look
};

fn open<T>(descriptor: u8, stream: impl FnOnce() -> T) -> io::Result<T> {
    match CLOSED.load(Ordering::Relaxed) >> descriptor & 1 {
        0 => Ok(stream()),
        _ => Err(io::Error::other("it is closed")),
    }
}

/// Standard input.
///
/// # Errors
/// If it was closed before the program began.
pub fn input() -> io::Result<StdinLock<'static>> {
    open(0, || io::stdin().lock())
}

/// Standard output.
///
/// # Errors
/// If it was closed before the program began.
pub fn output() -> io::Result<StdoutLock<'static>> {
    open(1, || io::stdout().lock())
}

/// Writes a line to standard error, if anybody is there to take it.
pub fn tell(line: &str) {
    // The place for notes is the place where it could be told that this failed.
    let _ = writeln!(io::stderr(), "{line}");
}
