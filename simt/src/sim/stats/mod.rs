//! What the hardware would do: requests and sectors of global memory, wavefronts and bank conflicts of shared memory,
//! turns of atomic operations, barriers, by launch and by line of the source.
//!
//! ```
//! use simt::sim::stats::{Instruction, statistics};
//! use simt::sim::{Gpu, HostMemory};
//! use simt::launcher::{Launcher, Memory};
//! use simt::{Geometry, Global, kernel, thread};
//!
//! #[kernel]
//! fn every_second(data: Global<u32>) {
//!     let i = thread::index_1d();
//!     data.set(2 * i, i);
//! }
//!
//! let memory = HostMemory::new(64 * 4);
//! // SAFETY: the memory has 64 words and outlives the launch.
//! let data = unsafe { Global::from_raw(memory.address().cast(), 64) };
//! let gpu = Gpu::default();
//! let gpu: &dyn Launcher = &gpu;
//! let (result, statistics) = statistics(|| gpu.launch(every_second, Geometry::linear(1, 32), (data,)));
//! result.unwrap();
//! let line = &statistics.launches[0].lines[0];
//! assert_eq!(line.instruction, Instruction::GlobalStore);
//! // One request of a warp; 32 words, every second one, lie in 8 sectors of 32 bytes.
//! assert_eq!((line.counts.requests, line.counts.sectors), (1, 8));
//! ```
//!
//! Exact, as far as lanes do the same: what each request moves. Threads run one at a time here, so the requests are
//! put together afterwards (align.rs says how); where lanes of a warp went different ways in a loop, the result is an
//! estimate. Absent is whatever the compiler or the caches do: accesses that are merged, done ahead of a loop, or not
//! done at all because the value is known; hits and misses; the time.

mod align;
mod collect;
mod cost;
mod counts;

pub use counts::{Counts, Instruction, Launch, Line, Request, Statistics};

pub(super) use collect::{Collector, What};
pub(super) use counts::{atomic, plain};

use crate::Dim3;
use counts::merged;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs `work` and counts what the kernels do that it launches from this thread.
///
/// # Panics
/// If this thread's launches are being counted already.
pub fn statistics<R>(work: impl FnOnce() -> R) -> (R, Statistics) {
    /// Ends the count also when `work` panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            LAUNCHES.set(None);
        }
    }
    let before = LAUNCHES.replace(Some(vec![]));
    let _guard = Guard;
    assert!(before.is_none(), "this thread's launches are being counted already");
    let result = work();
    let launches = LAUNCHES.take().unwrap_or_default();
    (result, Statistics { launches })
}

thread_local! {
    /// The launches of this thread, while they are counted.
    static LAUNCHES: RefCell<Option<Vec<Launch>>> = const { RefCell::new(None) };
}

/// The count of a launch that is running, over the threads of the host that run its blocks.
pub(super) struct Count(Arc<Mutex<Vec<Line>>>);

impl Count {
    /// A count, if the launches of this thread are counted.
    pub fn begin() -> Option<Self> {
        LAUNCHES.with_borrow(Option::is_some).then(|| Self(Arc::default()))
    }

    /// Adds what one thread of the host has counted.
    pub fn add(&self, collector: Collector) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(collector.lines());
    }

    /// The launch has ended, with or without a fault.
    pub fn end(self, kernel: &'static str, grid: Dim3, block: Dim3) {
        let lines = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let launch = Launch { kernel, grid, block, lines: merged(lines) };
        LAUNCHES.with_borrow_mut(|launches| {
            if let Some(launches) = launches {
                launches.push(launch);
            }
        });
    }
}
