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
        //[
        //| // Write this part. All threads need the same `done`, the number of keys that have a place.
        //| done = n;
        if c == 0 {
            least.set(0, u32::MAX);
        }
        thread::sync_threads(); // the word is set before the first head comes
        if head < n {
            least.fetch_min(0, columns.get(head), Relaxed, Scope::Block);
        }
        thread::sync_threads(); // all heads have come before a thread reads the minimum
        if head < n && columns.get(head) == least.get(0) {
            output.set(placed.fetch_add(0, 1, Relaxed, Scope::Block), columns.get(head));
            head += COLUMNS;
        }
        // All threads have read the minimum before it is set again, and all places are counted before they are read.
        thread::sync_threads();
        done = placed.get(0);
        //]
    }
}

//? A round sets the shared word, lowers it, and reads it. Which of these parts may a thread begin while another one is
//?   still in the part before? And which number tells all threads alike that the loop is over?
//? None: a barrier stands between each two parts, and one at the end of the round, each outside of any `if`. One thread
//?   sets the word; every thread that has a head lowers it atomically; each whose head is the minimum takes the next
//?   place, atomically, since several may have it. The loop ends by the count of places, not by the value of a key.
//? `if c == 0 { least.set(0, u32::MAX); }`, barrier;
//?   `if head < n { least.fetch_min(0, columns.get(head), Relaxed, Scope::Block); }`, barrier;
//?   `if head < n && columns.get(head) == least.get(0) {
//?   output.set(placed.fetch_add(0, 1, Relaxed, Scope::Block), columns.get(head)); head += COLUMNS; }`, barrier;
//?   `done = placed.get(0);`.
