//! # 43 · One thread releases for all
//!
//! As in exercise 21, the last block finishes, and it knows itself by its ticket. But here all threads of a block write
//! values, and all threads of the last block read values of others. Only thread 0 takes a ticket: one for the block.
//!
//! Its release covers what *it* wrote, and more: whatever it knows of. Behind a barrier of the block it knows what all
//! threads of the block did before. So an order is handed on: writes of all threads, a barrier, the ticket of thread 0
//! (release), the ticket of another block's thread 0 (acquire), a barrier there, reads of all its threads. Where one
//! link is missing, nothing orders a write and its read. PTX calls the chain causality order.
//!
//! Thread 0 tells the others of its block through `LAST` in shared memory whether their block is the last.
//!
//! **Rung.** gpu/histogram/src/r4_bank_private.rs

use simt::atomic::{Order::AcqRel, Scope};
use simt::{Global, kernel, shared, thread};

/// Threads per block, and columns.
pub const BLOCK: u32 = 64;

// 1 if this block has the last ticket, or else 0.
shared!(LAST: [u32; 1]);

/// Adds up the squares of each column of `input`, whose rows have [`BLOCK`] elements, and writes the sums to `output`.
/// Each block has a row, and a row of `values`. `ticket` is one word, 0.
#[kernel]
pub fn columns(input: Global<u32>, output: Global<u32>, values: Global<u32>, ticket: Global<u32>) {
    let (i, t, blocks) = (thread::index_1d(), thread::thread_idx_x(), thread::grid_dim_x());
    let element = if i < input.len() { input.get(i) } else { 0 };
    values.set(i, element.wrapping_mul(element));
    //[
    //| // Write this part: thread 0 takes the ticket of the block, and all threads learn whether it is the last.
    //| let is_last = false;
    thread::sync_threads(); // the values of all threads are written before the ticket releases them
    if t == 0 {
        let number = ticket.fetch_add(0, 1, AcqRel, Scope::Device);
        LAST::view().set(0, (number == blocks - 1) as u32);
    }
    thread::sync_threads(); // all threads know what thread 0 does: its answer, and the values of the other blocks
    let is_last = LAST::view().get(0) == 1;
    //]
    if is_last {
        let mut sum = 0u32;
        for row in 0..blocks {
            sum = sum.wrapping_add(values.get(row * BLOCK + t));
        }
        output.set(t, sum);
    }
}

//? Through which barriers and tickets does the write of one block's thread 40 get to the read of another's thread 40?
//? A barrier before the ticket: then thread 0 knows of all writes of the block, and releases them. A barrier behind it:
//?   then all threads know what thread 0 has acquired, and its answer.
//? `thread::sync_threads();`, then thread 0: `let number = ticket.fetch_add(0, 1, AcqRel, Scope::Device);` and
//?   `LAST::view().set(0, (number == blocks - 1) as u32);`, then `thread::sync_threads();` and
//?   `let is_last = LAST::view().get(0) == 1;`.
