//! # 10 · Find the bug: a barrier for all
//!
//! `thread::sync_threads()` waits for all threads of the block, even those without work, and all of them have to
//! reach the same call. A thread that has exited, or that waits at another call, never arrives: on a GPU the block
//! then hangs, or continues with wrong values.
//!
//! The kernel writes how much each element differs from the one before it in its block; the first element of a block
//! is written as it is. n is any number. There is a barrier wherever one is needed, and the kernel still has two
//! mistakes. Read the verdict, fix one, read the next.
//!
//! **Rung.** gpu/cubes/src/r5_block_sum.rs

use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

shared!(TILE: [u32; BLOCK]);

/// Writes the difference of each element of `input` from the one before it in its block.
#[kernel]
pub fn differences(input: Global<u32>, output: Global<u32>) {
    let (i, t, tile) = (thread::index_1d(), thread::thread_idx_x(), TILE::view());
    //[
    //| if i >= input.len() {
    //|     return;
    //| }
    //| tile.set(t, input.get(i));
    //| if t > 0 {
    //|     thread::sync_threads();
    //|     output.set(i, tile.get(t).wrapping_sub(tile.get(t - 1)));
    //| } else {
    //|     thread::sync_threads();
    //|     output.set(i, tile.get(t));
    //| }
    let inside = i < input.len();
    if inside {
        tile.set(t, input.get(i));
    }
    thread::sync_threads(); // every element is stored before a neighbour reads it
    if inside {
        let before = if t > 0 { tile.get(t - 1) } else { 0 };
        output.set(i, tile.get(t).wrapping_sub(before));
    }
    //]
}

//? Which threads reach a barrier at all? And are two calls in two branches one barrier?
//? A thread that has returned reaches no barrier, and two calls are two barriers, although they look the same. One
//?   call, outside of any `if`, has to be reached by all threads: what comes before it and what comes after it get an
//?   `if` each.
//? `let inside = i < input.len();`, `if inside { tile.set(t, input.get(i)); }`, `thread::sync_threads();`, and
//?   `if inside { … }` around the line that writes the output, with `tile.get(t - 1)` only if `t > 0`.
