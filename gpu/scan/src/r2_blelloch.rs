//! # Scan of one block, a tree of sums
//!
//! **Idea.** Up the tree: pairs are added, then pairs of pairs, until the root is the sum of all. Down the tree: the
//! root becomes the identity. Each node gives its own value to its left child. Its right child gets that value combined
//! with the old value of the left child. In the end each leaf holds the sum of all leaves before it.
//!
//! **Changed from the rung before.** 2·(n - 1) additions instead of about n·log₂n; two elements per thread.
//!
//! **Bottleneck.** Bank conflicts: the nodes of one level are a power of two apart, so up to 32 lanes of a warp want
//! the same bank of shared memory. The next rung moves the nodes to different banks.
//!
//! **Cost.** 2·(n - 1) additions for the 1024 places of the block, and one more per place if inclusive; 8 bytes of
//! global memory per word; 21 barriers; one launch.
//!
//! **Threads.** One block; thread t loads elements t and t + 512. At a level with k nodes, the first k threads work.
//!
//! **Limits.** At most [`CAPACITY`] elements: one block. Floats are added in the order of the tree.
//!
//! **Source.** G. E. Blelloch, "Prefix sums and their applications" (1990), and Moscow Aviation Institute, "Parallel
//! data processing", lab 3 (2020). Changed: any n up to the capacity, inclusive scans, other types and operators.

use super::{get_or_identity, set_within};
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar, Shared, kernel, shared, thread};

/// Threads of the block: half the elements, as many as the lowest level of the tree has nodes.
pub const BLOCK: u32 = 512;

/// Elements that can be scanned.
pub const CAPACITY: u32 = 2 * BLOCK;

/// Levels of the tree above the leaves.
const LEVELS: u32 = CAPACITY.ilog2();

shared!(
    /// The tree in place: a node has the place of the last leaf below it. Room for elements of 8 bytes.
    TREE: [u64; CAPACITY]
);

/// Blocks for `n` elements: one, or none if there is nothing to do.
pub const fn grid(n: u32) -> u32 {
    (n > 0) as u32
}

/// Scans the elements of `input` into `output`, at most [`CAPACITY`].
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
pub fn scan_blelloch<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>, exclusive: u32) {
    let (t, tree) = (thread::thread_idx_x(), TREE::view().cast::<T>());
    let (low, high) = (get_or_identity::<T, O>(input, t), get_or_identity::<T, O>(input, t + BLOCK));
    tree.set(t, low);
    tree.set(t + BLOCK, high);
    let mut level = 0;
    while level < LEVELS {
        thread::sync_threads(); // the level below is complete before it is added up
        up::<T, O>(tree, t, level);
        level += 1;
    }
    if t == 0 {
        // No barrier: thread 0 itself wrote the root, at the top level.
        tree.set(CAPACITY - 1, O::IDENTITY);
    }
    while level > 0 {
        level -= 1;
        thread::sync_threads(); // the level above has handed its values down
        down::<T, O>(tree, t, level);
    }
    thread::sync_threads(); // all leaves have their sums
    let (before_low, before_high) = (tree.get(t), tree.get(t + BLOCK));
    let inclusive = exclusive == 0;
    set_within(output, t, if inclusive { O::combine(before_low, low) } else { before_low });
    set_within(output, t + BLOCK, if inclusive { O::combine(before_high, high) } else { before_high });
}

/// The places of the children of node `t` of a level; the right child's is the node's own.
#[simt::device]
fn children(t: u32, level: u32) -> (u32, u32) {
    let width = 2 << level;
    (width * t + width / 2 - 1, width * t + width - 1)
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
        rung!("r2_blelloch.rs", [scan_blelloch]).with_capacity(CAPACITY as u64).run_by(&Blelloch);

    struct Blelloch;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for Blelloch
    where
        scan_blelloch<T, O>: Kernel<Args = (Global<T>, Global<T>, u32)>,
    {
        type Memory = ();

        fn scratch(&self, _: &dyn Launcher, _: u32) -> Result {
            Ok(())
        }

        fn run(on: &dyn Launcher, Elements { input, output, exclusive }: Elements<T>, (): &mut ()) -> Result {
            let geometry = Geometry::linear(grid(input.len()), BLOCK);
            on.launch(scan_blelloch::<T, O>::default(), geometry, (input, output, exclusive as u32))
        }
    }
}
