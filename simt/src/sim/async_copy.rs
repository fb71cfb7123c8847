//! Asynchronous copies of the threads of a block.
//!
//! A copy is made as late as may be: when its thread waits for its group. A kernel that reads too early, or that never
//! waits, thus sees what was there before.

use super::memory;
use std::cell::RefCell;
use std::collections::VecDeque;

/// A copy that has been started.
#[derive(Clone, Copy)]
pub(super) struct Copy {
    pub(super) to: u32,
    pub(super) from: *const u8,
    /// Bytes to write, and how many of them are read; the others become zero.
    pub(super) bytes: u32,
    pub(super) there: u32,
}

impl Copy {
    /// The words to write: those that are there, then zeros.
    ///
    /// # Safety
    /// The source has the bytes that are there, and is aligned to 4.
    pub(super) unsafe fn words(self) -> impl Iterator<Item = u32> {
        (0..self.bytes).step_by(4).map(move |at| {
            // SAFETY: promised by the caller, for the word that begins there and for each of its bytes.
            unsafe {
                match self.there.saturating_sub(at) {
                    4.. => memory::load(self.from.add(at as usize).cast()),
                    there => (0..there)
                        .fold(0, |word, i| word | u32::from(memory::load(self.from.add((at + i) as usize))) << (8 * i)),
                }
            }
        })
    }
}

/// The copies of one thread: the open group, and those that are closed, oldest first.
#[derive(Default)]
struct Thread {
    open: Vec<Copy>,
    closed: VecDeque<Vec<Copy>>,
}

/// The copies of a block's threads.
pub(super) struct Copies(RefCell<Vec<Thread>>);

impl Copies {
    pub(super) fn new(threads: usize) -> Self {
        Self(RefCell::new((0..threads).map(|_| Thread::default()).collect()))
    }

    /// Forgets those of the block before.
    pub(super) fn reset(&self) {
        for thread in self.0.borrow_mut().iter_mut() {
            thread.open.clear();
            thread.closed.clear();
        }
    }

    pub(super) fn start(&self, thread: usize, copy: Copy) {
        self.0.borrow_mut()[thread].open.push(copy);
    }

    pub(super) fn commit(&self, thread: usize) {
        let thread = &mut self.0.borrow_mut()[thread];
        let group = std::mem::take(&mut thread.open);
        thread.closed.push_back(group);
    }

    /// The oldest group of the thread, if it has more than `most` closed ones.
    pub(super) fn due(&self, thread: usize, most: u32) -> Option<Vec<Copy>> {
        let closed = &mut self.0.borrow_mut()[thread].closed;
        if closed.len() > most as usize { closed.pop_front() } else { None }
    }
}
