//! Observation of kernels: every access to memory, every barrier and every launch as an event.
//!
//! Code that draws a kernel's steps, or counts its accesses, observes here. Without an observer, accesses come here
//! only while the simulator examines them for spins (spin.rs).

use crate::Dim3;
use crate::scalar::{Scalar, to_bits};
use std::cell::RefCell;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An event of a kernel. Between two [`Event::Barrier`]s of a block its threads appear in sequence, each in the
/// order of its program, unless one waits for another in a loop or makes millions of accesses; observed blocks run one
/// after the other, and those of a cluster take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A launch begins.
    Launch {
        /// The kernel's name.
        kernel: &'static str,
        /// Blocks.
        grid: Dim3,
        /// Threads per block.
        block: Dim3,
    },
    /// A thread read or wrote memory.
    Access(Access),
    /// All threads that a barrier waits for have arrived. That of a cluster is one of each of its blocks.
    Barrier {
        /// The block, counted along x, then y, then z.
        block: u32,
        /// 0 for the barrier of the whole block, otherwise the number of the named barrier.
        id: u32,
        /// The line of the thread that came last.
        site: &'static Location<'static>,
    },
    /// All threads of a block have ended.
    BlockEnd {
        /// The block.
        block: u32,
    },
    /// A launch has ended without a fault.
    LaunchEnd,
}

/// One access to memory. Accesses of 16 bytes appear as four of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The block, counted along x, then y, then z.
    pub block: u32,
    /// The thread in its block, counted likewise.
    pub thread: u32,
    /// The kind of memory.
    pub space: Space,
    /// The kind of access.
    pub kind: AccessKind,
    /// Bytes: 1, 2, 4 or 8.
    pub bytes: u32,
    /// The address; in shared memory from the start of the block's.
    pub address: u64,
    /// The value there afterwards, as bits.
    pub value: u64,
    /// The line that made it.
    pub site: &'static Location<'static>,
}

/// The memory that an access went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Global memory, which all blocks see.
    Global,
    /// The block's shared memory.
    Shared,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// It read.
    Read,
    /// It wrote.
    Write,
    /// It read and may have written, in one.
    Atomic,
}

type Observer = Box<dyn FnMut(Event)>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// The number of observers in all threads of the host: nearly always 0, so that the test is cheap.
static OBSERVERS: AtomicUsize = AtomicUsize::new(0);

/// Runs `work`, and reports the events of the kernels that it launches from this thread to `observer`. The kernels run
/// on this thread too, block after block.
///
/// # Panics
/// If this thread is being observed already.
pub fn observe<R>(observer: impl FnMut(Event) + 'static, work: impl FnOnce() -> R) -> R {
    /// Ends the observation also when `work` panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            OBSERVERS.fetch_sub(1, Relaxed);
            OBSERVER.set(None);
        }
    }
    let before = OBSERVER.replace(Some(Box::new(observer)));
    OBSERVERS.fetch_add(1, Relaxed);
    let _guard = Guard;
    assert!(before.is_none(), "this thread is being observed already");
    work()
}

/// Whether any thread has an observer.
#[inline(always)]
pub(super) fn watched() -> bool {
    OBSERVERS.load(Relaxed) != 0
}

/// Whether this thread has an observer.
pub(super) fn active() -> bool {
    watched() && OBSERVER.with_borrow(Option::is_some)
}

/// Reports an event to the observer, if there is one.
#[inline(always)]
pub(super) fn tell(event: impl FnOnce() -> Event) {
    if watched() {
        tell_it(event());
    }
}

#[cold]
fn tell_it(event: Event) {
    OBSERVER.with_borrow_mut(|observer| {
        if let Some(observer) = observer {
            observer(event);
        }
    });
}

/// Reports an access by a thread, which is named by its block and its number there.
#[inline(always)]
pub(super) fn access<T: Scalar>(
    (block, thread): (u32, u32),
    space: Space,
    kind: AccessKind,
    address: u64,
    value: T,
    site: &'static Location<'static>,
) {
    let (bytes, value) = (size_of::<T>() as u32, to_bits(value));
    tell(|| Event::Access(Access { block, thread, space, kind, bytes, address, value, site }));
}
