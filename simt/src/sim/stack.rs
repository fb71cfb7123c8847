//! The stacks of simulated threads, kept from launch to launch.

use corosensei::stack::{DefaultStack, StackPointer};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of stack per thread. Kernels need a few hundred; pages that are not touched cost nothing.
pub(super) const STACK: usize = 128 << 10;

/// Stacks begin at [`PLACES`] different places of a page, [`APART`] bytes apart. If all began at the same place, the
/// lines that threads use would share a few sets of the processor's cache, which have room for a dozen threads.
const PLACES: usize = 32;
const APART: usize = 128;

/// The stack of one thread.
pub(super) struct Stack {
    whole: DefaultStack,
    /// Bytes at its upper end that are not used.
    unused: usize,
    _counted: Counted,
}

/// Stacks that there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// One of [`COUNT`].
struct Counted;

impl Counted {
    fn new() -> std::io::Result<Self> {
        let counted = Self;
        match COUNT.fetch_add(1, Relaxed) {
            MOST.. => Err(std::io::Error::other(format!("a process has room for {MOST} at one time"))),
            _ => Ok(counted),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Relaxed);
    }
}

impl Stack {
    fn new() -> std::io::Result<Self> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let counted = Counted::new()?;
        let unused = MADE.fetch_add(1, Relaxed) % PLACES * APART;
        Ok(Self { whole: DefaultStack::new(STACK + PLACES * APART)?, unused, _counted: counted })
    }
}

// SAFETY: a part of a stack that has a guard page below; what is left above it is large enough, and its upper end is as
// aligned as the whole's.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.whole.base().get() - self.unused).expect("a stack lies nowhere near address 0")
    }

    fn limit(&self) -> StackPointer {
        self.whole.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> corosensei::stack::StackTebFields {
        self.whole.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.whole.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

/// Stacks of finished launches, kept for the next: mapping a thousand of them takes milliseconds.
static STACKS: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

/// Stacks that are kept at most; the rest is unmapped.
const KEPT: usize = 4096;

/// Stacks of all launches at one time. Each is two mappings of memory, of which Linux allows a process 65,530; where
/// there are no more, other memory cannot be mapped or unmapped either.
const MOST: usize = 28 << 10;

/// Takes `n` stacks.
///
/// # Errors
/// If the host has no room for them, or the process would have more than [`MOST`].
pub(super) fn take_stacks(n: usize) -> std::io::Result<Vec<Stack>> {
    let mut stacks = {
        let mut pool = STACKS.lock().unwrap();
        let rest = pool.len().saturating_sub(n);
        pool.split_off(rest)
    };
    while stacks.len() < n {
        stacks.push(Stack::new()?);
    }
    Ok(stacks)
}

/// Keeps stacks for the next launch.
pub(super) fn give_stacks_back(mut stacks: Vec<Stack>) {
    let mut pool = STACKS.lock().unwrap();
    let room = KEPT.saturating_sub(pool.len());
    stacks.truncate(room);
    pool.append(&mut stacks);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)] // it maps no stacks
    fn there_are_fewer_stacks_than_a_process_may_have() {
        let refused = take_stacks(MOST + 1).err().unwrap().to_string();
        assert_eq!(refused, "a process has room for 28672 at one time");
        let stacks = take_stacks(1024).unwrap();
        assert_eq!(stacks.len(), 1024);
        give_stacks_back(stacks);
    }
}
