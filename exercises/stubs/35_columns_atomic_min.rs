//! # 35 · The smallest head
//!
//! Each thread of the block has a sorted column: thread c has the keys c, c + COLUMNS, c + 2·COLUMNS … of `columns`,
//! and its head is the first key that has not been output. To merge all columns, the threads find the smallest head,
//! output it and repeat, until all keys have a place.
//!
//! `LEAST::view().fetch_min(0, key, …)` replaces a shared word by the smaller of the word and the key. When all threads
//! have called it, the word is the smallest head. `PLACED` counts the keys that have a place.
//!
//! A round has three parts: the word is set to a value that no head exceeds; all heads go into it; each thread whose
//! head is the minimum takes a place, by `PLACED::view().fetch_add(0, 1, …)`, and moves on to the next key of its
//! column. No part may begin while a thread is still in the previous one. Several columns can have the same key. A key
//! can be the largest number there is. A column can have no keys left, or none at all.
//!
//! The blog post that this kernel comes from made five mistakes here. The check has an input for each of them.
//!
//! **Rung.** gpu/radix/src/r2_columns_atomic_min.rs

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
        // Write this part. All threads need the same `done`, the number of keys that have a place.
        done = n;
    }
}
