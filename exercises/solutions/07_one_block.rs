//! # 7 · Neighbours read neighbours
//!
//! Every 32 threads of a block are a warp. Their reads by one instruction form one request to memory. Memory answers
//! in sectors of 32 bytes, which is 8 elements of 4 bytes. If the threads of a warp read 32 elements in a row, the
//! request takes 4 sectors; if each thread reads from a different sector, it takes 32, and seven eighths of the bytes
//! are wasted.
//!
//! The kernel below gives each thread a chunk of the input, as you would on a CPU. The result is right, but it costs
//! too much. Let the threads of the block share the input another way: which thread takes which element is up to you,
//! as long as the sums of all threads together are the sum of all elements.
//!
//! **Rung.** gpu/cubes/src/r3_one_block.rs

use simt::{Global, kernel, thread};

/// Threads of the block.
pub const BLOCK: u32 = 64;

/// Writes to `sums`, for each thread, the sum of its share of `values`.
#[kernel]
pub fn add_up(values: Global<u32>, sums: Global<u32>) {
    let t = thread::thread_idx_x();
    let mut sum = 0;
    //[
    let mut i = t;
    while i < values.len() {
        sum += values.get(i);
        i += BLOCK;
    }
    //| let chunk = values.len().div_ceil(BLOCK);
    //| let mut i = t * chunk;
    //| while i < values.len() && i < (t + 1) * chunk {
    //|     sum += values.get(i);
    //|     i += 1;
    //| }
    //]
    sums.set(t, sum);
}

//? In the first round of the loop, thread 0 reads element 0. Which element should thread 1 read in that round?
//? Thread t begins with element t, so a warp reads 32 elements in a row. In each round the block reads `BLOCK` elements
//?   in a row: that is how far it is to the thread's next element.
//? `let mut i = t;`, then `while i < values.len() { sum += values.get(i); i += BLOCK; }`
