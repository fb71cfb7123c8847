//! Behind the last key there are zeros, which push the largest keys out of the window.
//!
//! **Finding.** different

use simt::launcher::{Launcher, Result};
use simt::{Geometry, Global, kernel, shared, thread};

/// Threads per block: one for each pair.
pub const BLOCK: u32 = 16;

/// Keys of a window.
pub const WINDOW: u32 = 2 * BLOCK;

shared!(KEYS: [u32; WINDOW]);

/// Sorts each window of `keys`; the first window begins at `offset`.
#[kernel]
pub fn sort_windows(keys: Global<u32>, offset: u32) {
    let (t, window) = (thread::thread_idx_x(), KEYS::view());
    let begin = offset + thread::block_idx_x() * WINDOW;
    for i in [t, t + BLOCK] {
        window.set(i, if begin + i < keys.len() { keys.get(begin + i) } else { 0 });
    }
    // All keys are there before a thread compares those that others loaded.
    thread::sync_threads();
    for phase in 0..WINDOW {
        let i = 2 * t + phase % 2;
        if i + 1 < WINDOW {
            let (a, b) = (window.get(i), window.get(i + 1));
            if a > b {
                window.set(i, b);
                window.set(i + 1, a);
            }
        }
        // The phase is complete before the next one compares what it placed.
        thread::sync_threads();
    }
    for i in [t, t + BLOCK] {
        if begin + i < keys.len() {
            keys.set(begin + i, window.get(i));
        }
    }
}

/// Sorts the keys.
///
/// # Errors
/// Those of the launches.
pub fn launches(on: &dyn Launcher, keys: Global<u32>) -> Result {
    for pass in 0..keys.len().div_ceil(WINDOW / 2) {
        let offset = pass % 2 * (WINDOW / 2);
        let windows = (keys.len() - offset).div_ceil(WINDOW);
        on.launch(sort_windows, Geometry::linear(windows, BLOCK), (keys, offset))?;
    }
    Ok(())
}
