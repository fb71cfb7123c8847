//! # 24 · Padding against bank conflicts
//!
//! Shared memory has 32 banks: word w lies in bank w % 32. Lanes of a warp that use different words of one bank at
//! the same time are served one at a time. In the tree of the previous exercise, the nodes of a level lie 2, 4, 8 …
//! words apart, so from some level on all lanes use one bank: a *bank conflict*.
//!
//! The tree below is the same, but the function `place` maps each index. Let it leave gaps, so that words that lie a
//! multiple of 32 apart get different banks: one unused word after every 32 is enough. No two indices may map to the
//! same word.
//!
//! **Rung.** gpu/scan/src/r3_blelloch_padded.rs

use simt::{Global, kernel, shared, thread};

/// Threads of the block.
pub const BLOCK: u32 = 512;

/// Elements of the block.
pub const CAPACITY: u32 = 2 * BLOCK;

shared!(TREE: [u32; place(CAPACITY)]);

/// The word of shared memory in which place `i` of the tree lies.
const fn place(i: u32) -> u32 {
    i // Leave gaps.
}

/// Writes the sum of all elements before each element of `input` to `output`. There is one block, and at most
/// `CAPACITY` elements.
#[kernel]
pub fn scan(input: Global<u32>, output: Global<u32>) {
    let (t, tree) = (thread::thread_idx_x(), TREE::view());
    for i in [t, t + BLOCK] {
        tree.set(place(i), if i < input.len() { input.get(i) } else { 0 });
    }
    let mut nodes = BLOCK;
    while nodes > 0 {
        thread::sync_threads(); // the level below is complete
        if t < nodes {
            let (left, right) = children(t, nodes);
            tree.set(right, tree.get(left) + tree.get(right));
        }
        nodes /= 2;
    }
    if t == 0 {
        tree.set(place(CAPACITY - 1), 0);
    }
    nodes = 1;
    while nodes <= BLOCK {
        thread::sync_threads(); // the level above has handed down
        if t < nodes {
            let (left, right) = children(t, nodes);
            let (sum, before) = (tree.get(left), tree.get(right));
            tree.set(left, before);
            tree.set(right, before + sum);
        }
        nodes *= 2;
    }
    thread::sync_threads(); // all elements have their sums
    for i in [t, t + BLOCK] {
        if i < output.len() {
            output.set(i, tree.get(place(i)));
        }
    }
}

/// The places of the two children of node `t` on the level with the given number of nodes.
#[simt::device]
fn children(t: u32, nodes: u32) -> (u32, u32) {
    let width = CAPACITY / nodes;
    (place(width * t + width / 2 - 1), place(width * t + width - 1))
}
