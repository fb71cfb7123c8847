//! # Scan of one block, without bank conflicts
//!
//! **Idea.** The tree of the rung before, with one unused word after every 32. Nodes that were a multiple of 32 places
//! apart, all in one bank, are now in different banks.
//!
//! **Changed from the rung before.** Every place `i` of the tree becomes `i + i / 32`, nothing else.
//!
//! **Bottleneck.** Barriers and idle threads: all threads of the block work at the lowest level, one thread at the top.
//! Also, one block uses only one SM; the next rung uses all SMs.
//!
//! **Cost.** As before: 2·(n - 1) additions for the 1024 places of the block, and one more per place if inclusive; 8
//! bytes of global memory per word; 21 barriers; one launch. The tree has no bank conflicts if elements have 4 bytes.
//!
//! **Threads.** As before: one block, two elements per thread.
//!
//! **Limits.** At most [`CAPACITY`] elements: one block. Floats are added in the order of the tree.
//!
//! **Source.** M. Harris, S. Sengupta and J. D. Owens, "Parallel prefix sum (scan) with CUDA", GPU Gems 3 (2007).
//! Changed: inclusive scans, other types and operators.

use super::{get_or_identity, set_within};
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar, Shared, kernel, shared, thread};

/// Threads of the block: half the elements, as many as the lowest level of the tree has nodes.
pub const BLOCK: u32 = 512;

/// Elements that can be scanned.
pub const CAPACITY: u32 = 2 * BLOCK;

/// Levels of the tree above the leaves.
const LEVELS: u32 = CAPACITY.ilog2();

/// Banks of shared memory, each a 32-bit word wide.
const BANKS: u32 = 32;

shared!(
    /// The tree in place, padded: see [`place`]. Room for elements of 8 bytes.
    TREE: [u64; place(CAPACITY)]
);

/// Blocks for `n` elements: one, or none if there is nothing to do.
pub const fn grid(n: u32) -> u32 {
    (n > 0) as u32
}

/// Scans the elements of `input` into `output`, at most [`CAPACITY`].
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
pub fn scan_blelloch_padded<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>, exclusive: u32) {
    scan_block::<T, O>(input, output, exclusive);
}

/// Scans the elements of one block; the next rung's blocks do the same. Contains barriers: all threads of the block
/// call it.
///
/// Returns the sum of all elements in thread 0, the identity in the others.
#[simt::device]
pub(super) fn scan_block<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>, exclusive: u32) -> T {
    let (t, tree) = (thread::thread_idx_x(), TREE::view().cast::<T>());
    let (low, high) = (get_or_identity::<T, O>(input, t), get_or_identity::<T, O>(input, t + BLOCK));
    tree.set(place(t), low);
    tree.set(place(t + BLOCK), high);
    let (mut level, mut sum) = (0, O::IDENTITY);
    while level < LEVELS {
        thread::sync_threads(); // the level below is complete before it is added up
        up::<T, O>(tree, t, level);
        level += 1;
    }
    if t == 0 {
        // No barrier: thread 0 itself wrote the root, at the top level.
        sum = tree.get(place(CAPACITY - 1));
        tree.set(place(CAPACITY - 1), O::IDENTITY);
    }
    while level > 0 {
        level -= 1;
        thread::sync_threads(); // the level above has handed its values down
        down::<T, O>(tree, t, level);
    }
    thread::sync_threads(); // all leaves have their sums
    let (before_low, before_high) = (tree.get(place(t)), tree.get(place(t + BLOCK)));
    let inclusive = exclusive == 0;
    set_within(output, t, if inclusive { O::combine(before_low, low) } else { before_low });
    set_within(output, t + BLOCK, if inclusive { O::combine(before_high, high) } else { before_high });
    sum
}

/// The place of element `i` of the tree: one word is left out after every [`BANKS`] words.
const fn place(i: u32) -> u32 {
    i + i / BANKS
}

/// The places of the children of node `t` of a level; the right child's is the node's own.
#[simt::device]
fn children(t: u32, level: u32) -> (u32, u32) {
    let width = 2 << level;
    (place(width * t + width / 2 - 1), place(width * t + width - 1))
}

/// Up one level: each node becomes the sum of its children.
#[simt::device]
fn up<T: Scalar, O: Operator<T>>(tree: Shared<T>, t: u32, level: u32) {
    if t < BLOCK >> level {
        let (left, right) = children(t, level);
        tree.set(right, O::combine(tree.get(left), tree.get(right)));
    }
}

/// Down one level: the left child gets the sum before the node, the right child that sum combined with the left
/// child's.
#[simt::device]
fn down<T: Scalar, O: Operator<T>>(tree: Shared<T>, t: u32, level: u32) {
    if t < BLOCK >> level {
        let (left, right) = children(t, level);
        let (sum, before) = (tree.get(left), tree.get(right));
        tree.set(left, before);
        tree.set(right, O::combine(before, sum));
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one block.

    use super::*;
    use rungs_common::ladder::scan::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Scan> =
        rung!("r3_blelloch_padded.rs", [scan_blelloch_padded]).with_capacity(CAPACITY as u64).run_by(&BlellochPadded);

    struct BlellochPadded;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for BlellochPadded
    where
        scan_blelloch_padded<T, O>: Kernel<Args = (Global<T>, Global<T>, u32)>,
    {
        type Memory = ();

        fn scratch(&self, _: &dyn Launcher, _: u32) -> Result {
            Ok(())
        }

        fn run(on: &dyn Launcher, Elements { input, output, exclusive }: Elements<T>, (): &mut ()) -> Result {
            let geometry = Geometry::linear(grid(input.len()), BLOCK);
            on.launch(scan_blelloch_padded::<T, O>::default(), geometry, (input, output, exclusive as u32))
        }
    }
}
