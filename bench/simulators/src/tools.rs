//! The other tools, as programs.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The folder of this package.
pub fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Python that numba is installed for.
pub fn python() -> PathBuf {
    std::env::var_os("RUNGS_PYTHON").map_or("python3".into(), PathBuf::from)
}

/// The output of a program, both streams; None if it is not there, or did not end in time.
pub fn output(command: &mut Command, limit: Duration) -> Option<String> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let (mut out, mut err) = (child.stdout.take()?, child.stderr.take()?);
    let read = |stream: &mut dyn Read| {
        let mut text = vec![];
        let _ = stream.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    std::thread::scope(|scope| {
        let errors = scope.spawn(|| read(&mut err));
        let watch = scope.spawn(|| {
            let start = Instant::now();
            while start.elapsed() < limit {
                if let Ok(Some(_)) = child.try_wait() {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
            false
        });
        let text = read(&mut out);
        let errors = errors.join().unwrap_or_default();
        watch.join().ok().filter(|ended| *ended).map(|_| text + &errors)
    })
}

/// The first line that a program says about its version.
pub fn version(program: &Path, arguments: &[&str]) -> Option<String> {
    let text = output(Command::new(program).args(arguments), Duration::from_secs(60))?;
    let says = |line: &&str| line.chars().any(|c| c.is_ascii_digit());
    text.lines().find(says).map(|line| line.trim().to_owned())
}

/// Time of the processor that this process and those that it has waited for use.
pub struct Clock(f64);

impl Clock {
    pub fn start() -> Self {
        Self(used())
    }

    pub fn seconds(&self) -> f64 {
        used() - self.0
    }
}

fn used() -> f64 {
    let of = |who| {
        // SAFETY: all zeros are a value of this struct of numbers, and the call fills it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the struct is this function's own.
        unsafe { libc::getrusage(who, &mut usage) };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}
