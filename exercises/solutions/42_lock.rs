//! # 42 · A lock
//!
//! An atomic operation changes one word. Here two words belong together: `record` holds the largest element so far and
//! its index, and a block that finds a larger one has to change both before another block looks at either.
//!
//! A lock keeps the others out: a word that is 0 while nobody has it. A thread takes it with
//! `lock.compare_exchange(0, 0, 1, order, Scope::Device)`, which writes 1 to word 0 if that is 0, and returns what was
//! there before. If it was 1, another thread has the lock: try again. `lock.store(0, 0, order, Scope::Device)` gives it
//! back.
//!
//! That alone keeps threads apart, and orders nothing: the record is plain memory, and the next holder may see the
//! former one's words late, or one of the two. Taking the lock has to *acquire* what the holder before knew, and giving
//! it back has to *release* what this one has written.
//!
//! A block's threads find their largest element by themselves. Only lane 0 takes the lock: lanes of one warp that wait
//! for each other in a loop are not sure to get on.
//!
//! **Rung.** gpu/reduce/src/r7_single_launch.rs

use simt::atomic::{
    Order::{Acquire, Release},
    Scope,
};
use simt::{Global, kernel, thread, warp};

/// Threads per block: one warp.
pub const BLOCK: u32 = 32;

/// Writes the largest element of `input` and its index to `record`, which holds an element that is smaller than all.
/// `lock` is one word, 0.
#[kernel]
pub fn largest(input: Global<u32>, record: Global<u32>, lock: Global<u32>) {
    let (i, lane) = (thread::index_1d(), warp::lane_id());
    let own = if i < input.len() { input.get(i) } else { 0 };
    let most = warp::reduce_max(warp::FULL, own);
    let index = i + warp::ballot(warp::FULL, own == most).trailing_zeros();
    if lane == 0 {
        // Word 0 is the element, word 1 its index.
        //[
        //| // Write this part.
        while lock.compare_exchange(0, 0, 1, Acquire, Scope::Device) != 0 {}
        if most > record.get(0) {
            record.set(0, most);
            record.set(1, index);
        }
        lock.store(0, 0, Release, Scope::Device);
        //]
    }
}

//? Which accesses have to lie between taking the lock and giving it back? What does the next holder have to see?
//? The comparison reads the record, so it stands behind the lock as the writes do. The exchange that takes the lock
//?   acquires, the store that gives it back releases.
//? `while lock.compare_exchange(0, 0, 1, Acquire, Scope::Device) != 0 {}`, then
//?   `if most > record.get(0) { record.set(0, most); record.set(1, index); }`, then
//?   `lock.store(0, 0, Release, Scope::Device);`.
