//! # 12 · Windows and their seams
//!
//! Blocks cannot wait for each other inside a launch, so each block sorts its own window of 32 keys, by the phases of
//! exercise 11. No key can cross the boundary between two windows. But in the next launch the windows can
//! begin half a window further on, and in the one after that at the old places again.
//!
//! On a larger scale these are the phases of exercise 11 again, with half windows in place of keys: as many launches as
//! there are half windows sort everything. n is any number, so the last window may be short. The half window before
//! the first shifted window needs nothing done to it.
//!
//! `sort_windows` lacks the loads, and `launches` the loop over its launches.
//!
//! **Rung.** gpu/bubble/src/r2_shared_block.rs

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
        //[
        //| // Write this part: word i of the window, which is `u32::MAX` behind the last key.
        window.set(i, if begin + i < keys.len() { keys.get(begin + i) } else { u32::MAX });
        //]
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
    //[
    //| // Write this part. One launch, with the windows at their first places, is:
    //| on.launch(sort_windows, Geometry::linear(keys.len().div_ceil(WINDOW), BLOCK), (keys, 0))?;
    for pass in 0..keys.len().div_ceil(WINDOW / 2) {
        let offset = pass % 2 * (WINDOW / 2);
        let windows = (keys.len() - offset).div_ceil(WINDOW);
        on.launch(sort_windows, Geometry::linear(windows, BLOCK), (keys, offset))?;
    }
    //]
    Ok(())
}

//? Which value should fill a window after the last key, so that it stays? And how many passes does a key need that
//?   moves half a window in each?
//? Words without a key hold the largest number. There are as many launches as half windows; in every other one the
//?   windows begin half a window later, and the grid has a block for each window from there on.
//? The word is `if begin + i < keys.len() { keys.get(begin + i) } else { u32::MAX }`. The launches:
//?   `for pass in 0..keys.len().div_ceil(WINDOW / 2)`, with `let offset = pass % 2 * (WINDOW / 2);` and
//?   `(keys.len() - offset).div_ceil(WINDOW)` blocks.
