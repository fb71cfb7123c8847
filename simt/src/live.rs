//! Memory that lives, for views: a view is copied freely and may outlive its memory.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Marks memory as live until it is dropped. The simulator refuses views that were made with a mark
/// ([`Global::of_live`](crate::Global::of_live)) once the mark is gone.
///
/// A mark belongs to its thread of the host, which a launch blocks; launches of other threads have no hold on the
/// memory and are refused. Code that runs during the launch can still reach what the thread owns: a kernel that drops a
/// mark, by a `thread_local` say, ends with an error before the memory is freed, and a launch whose observer does so
/// ends.
pub struct Live {
    number: u64,
    this_thread: PhantomData<*const ()>,
}

/// The number of views whose maker keeps the memory by other means; no mark has it.
pub(crate) const UNMARKED: u64 = 0;

/// The number of the next mark, over all threads. A number is used once: 2⁶⁴ are enough for ever.
static NEXT: AtomicU64 = AtomicU64::new(UNMARKED + 1);

thread_local! {
    /// The marks of this thread.
    static MARKS: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
}

impl Live {
    /// A mark for memory that lives from now on.
    #[allow(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        let number = NEXT.fetch_add(1, Relaxed);
        MARKS.with_borrow_mut(|marks| marks.insert(number));
        Self { number, this_thread: PhantomData }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

/// What is called when a mark is gone, before its memory is freed: the simulator ends the kernel that drops it.
static BEFORE_FREE: OnceLock<fn()> = OnceLock::new();

/// From now on `before_free` is called when a mark is dropped. It need not return.
#[cfg(not(feature = "rust-cuda"))] // where there is no simulator, which asks
pub(crate) fn guard(before_free: fn()) {
    BEFORE_FREE.get_or_init(|| before_free);
}

impl Drop for Live {
    fn drop(&mut self) {
        // Where the thread ends, the set of its marks may be gone before the last of them.
        let _ = MARKS.try_with(|marks| marks.borrow_mut().remove(&self.number));
        if let Some(before_free) = BEFORE_FREE.get() {
            before_free();
        }
    }
}

/// Whether views with the number may be used by this thread's launches.
pub(crate) fn is_live(number: u64) -> bool {
    number == UNMARKED || MARKS.with_borrow(|marks| marks.contains(&number))
}

/// The refusal of a view whose memory is gone.
pub(crate) const GONE: &str =
    "memory that was freed before the launch, or that another thread of the host holds; keep its owner until then";
