//! # 23 · A tree up and down
//!
//! The scan of the previous exercise adds at every place in every step. This one needs only about two additions per
//! element. It is exclusive: a, b, c, d becomes 0, a, a+b, a+b+c.
//!
//! Up the tree: pairs are added, then pairs of pairs, until the last word has the sum of all. A node of the tree is
//! stored at the place of the last element below it; `children` gives a node's two places, and the right one is the
//! node's own.
//!
//! Down the tree: the last word becomes 0, because no element comes before the whole array. Then each node, which now
//! holds the sum of all elements before it, passes values down: its left child gets the same sum, and its right child
//! gets that sum plus the left child's old value.
//!
//! The way up is given. Write the way down.
//!
//! **Rung.** gpu/scan/src/r2_blelloch.rs

use simt::{Global, kernel, shared, thread};

/// Threads of the block.
pub const BLOCK: u32 = 64;

/// Elements of the block.
pub const CAPACITY: u32 = 2 * BLOCK;

shared!(TREE: [u32; CAPACITY]);

/// Writes the sum of all elements before each element of `input` to `output`. There is one block, and at most
/// `CAPACITY` elements.
#[kernel]
pub fn scan(input: Global<u32>, output: Global<u32>) {
    let (t, tree) = (thread::thread_idx_x(), TREE::view());
    for i in [t, t + BLOCK] {
        tree.set(i, if i < input.len() { input.get(i) } else { 0 });
    }
    // A level has as many nodes: 64, 32, …, 1.
    let mut nodes = BLOCK;
    while nodes > 0 {
        thread::sync_threads(); // the level below is complete
        if t < nodes {
            let (left, right) = children(t, nodes);
            tree.set(right, tree.get(left) + tree.get(right));
        }
        nodes /= 2;
    }
    // Write this part.
    thread::sync_threads(); // all elements have their sums
    for i in [t, t + BLOCK] {
        if i < output.len() {
            output.set(i, tree.get(i));
        }
    }
}

/// The places of the two children of node `t` on the level with the given number of nodes.
#[simt::device]
fn children(t: u32, nodes: u32) -> (u32, u32) {
    let width = CAPACITY / nodes;
    (width * t + width / 2 - 1, width * t + width - 1)
}
