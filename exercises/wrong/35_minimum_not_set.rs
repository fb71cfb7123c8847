//! The shared word is not set before the first round.
//!
//! **Finding.** uninitialised-shared

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread};

/// Columns, and threads of the block.
pub const COLUMNS: u32 = 64;

shared!(LEAST: [u32; 1]);
shared!(PLACED: [u32; 1]);

/// Merges the columns into `output`. There is one block.
#[kernel]
pub fn merge(columns: Global<u32>, output: Global<u32>) {
    let (c, n) = (thread::thread_idx_x(), columns.len());
    let (least, placed) = (LEAST::view(), PLACED::view());
    if c == 0 {
        placed.set(0, 0);
    }
    // Where the thread's head is.
    let mut head = c;
    let mut done = 0;
    while done < n {
        thread::sync_threads();
        if head < n {
            least.fetch_min(0, columns.get(head), Relaxed, Scope::Block);
        }
        thread::sync_threads(); // all heads have come before a thread reads the minimum
        if head < n && columns.get(head) == least.get(0) {
            output.set(placed.fetch_add(0, 1, Relaxed, Scope::Block), columns.get(head));
            head += COLUMNS;
        }
        // All threads have read the minimum before it is set anew, and all places are counted before they are read.
        thread::sync_threads();
        done = placed.get(0);
        if c == 0 {
            least.set(0, u32::MAX);
        }
    }
}
