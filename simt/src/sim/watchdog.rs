//! A thread of the host that signals the others when a round of a block takes long, so that they examine accesses.
//!
//! The signal is one flag per thread of the host. A simulated access reads that flag and nothing else, so the watchdog
//! adds nothing to its cost; a count of accesses in place of the flag cost three times as much as the access.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The interval of the watchdog. Accesses in a round that takes longer are examined.
const TICK: Duration = Duration::from_millis(2);

/// Ticks without a launch after which the watchdog sleeps until there is one.
const PATIENCE: u32 = 100;

/// The signals between the watchdog and a thread of the host that runs blocks.
struct Signal {
    /// Whether every access is examined; always set outside of kernels.
    look: AtomicBool,
    /// Rounds that the thread has begun.
    rounds: AtomicU64,
}

thread_local! {
    static SIGNAL: Signal = const { Signal { look: AtomicBool::new(true), rounds: AtomicU64::new(0) } };
}

/// Whether the calling thread's accesses are examined.
#[inline(always)]
pub(super) fn looks() -> bool {
    SIGNAL.with(|signal| signal.look.load(Relaxed))
}

/// Sets that.
#[inline(always)]
pub(super) fn look(look: bool) {
    SIGNAL.with(|signal| signal.look.store(look, Relaxed));
}

/// The calling thread begins a round.
#[inline(always)]
pub(super) fn round() {
    SIGNAL.with(|signal| signal.rounds.store(signal.rounds.load(Relaxed).wrapping_add(1), Relaxed));
}

/// A thread of the host that is watched, and the round in which it was last seen.
struct Watched {
    signal: *const Signal,
    seen: Option<u64>,
}

// SAFETY: the signal is made of atomics, and [`Leash`] takes the entry out before the signal's thread ends.
unsafe impl Send for Watched {}

/// The watchdog's list, and whether it has been started and is awake.
struct Kennel {
    watched: Vec<Watched>,
    started: bool,
    awake: bool,
}

static KENNEL: Mutex<Kennel> = Mutex::new(Kennel { watched: Vec::new(), started: false, awake: false });
static WORK: Condvar = Condvar::new();

fn kennel() -> MutexGuard<'static, Kennel> {
    KENNEL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it lives, the watchdog watches the thread of the host that made it. It cannot be sent to another.
pub(super) struct Leash(*const Signal);

impl Leash {
    /// # Errors
    /// If the host has no room for the watchdog's thread.
    pub(super) fn new() -> std::io::Result<Self> {
        let signal = SIGNAL.with(std::ptr::from_ref);
        let mut kennel = kennel();
        if !kennel.started {
            std::thread::Builder::new().name("simt watchdog".into()).stack_size(64 << 10).spawn(watch)?;
            (kennel.started, kennel.awake) = (true, true);
        }
        kennel.watched.push(Watched { signal, seen: None });
        if !kennel.awake {
            kennel.awake = true;
            WORK.notify_one();
        }
        Ok(Self(signal))
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        look(true);
        kennel().watched.retain(|watched| watched.signal != self.0);
    }
}

fn watch() {
    let mut idle = 0;
    loop {
        std::thread::sleep(TICK);
        let mut kennel = kennel();
        idle = if kennel.watched.is_empty() { idle + 1 } else { 0 };
        if idle > PATIENCE {
            kennel.awake = false;
            while !kennel.awake {
                kennel = WORK.wait(kennel).unwrap_or_else(PoisonError::into_inner);
            }
        }
        for watched in &mut kennel.watched {
            // SAFETY: the entry's thread lives, see `Leash`.
            let signal = unsafe { &*watched.signal };
            let rounds = Some(signal.rounds.load(Relaxed));
            if watched.seen == rounds {
                signal.look.store(true, Relaxed);
            }
            watched.seen = rounds;
        }
    }
}
