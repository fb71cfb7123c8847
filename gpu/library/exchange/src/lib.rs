//! # Exchange
//!
//! What a device of a group runs to fetch what several others send it: one kernel that copies from the memory of all
//! of them at once.
//!
//! **Why not the copy engines.** Between two GPUs they are faster. Copies out of one GPU run one after the other,
//! however, in the order in which its peers have asked for them: with three peers and more each waits for the others.
//!
//! **What bounds it.** A load from a peer takes microseconds, so that many bytes have to be under way. A block has up to
//! 64 KiB: [`LOADS`] loads of 16 bytes in each thread. Few blocks are enough for the connection, and the others
//! of the device have the rest of the SMs.
//!
//! **All peers at once.** Every block copies a part of every piece, and begins with another piece than the block before
//! it. So pieces of different lengths take no longer than others with as many bytes, and all blocks end together.
//!
//! **Alignment.** Loads have 16 bytes, except for at most six words at the ends of a piece. Stores have 16 bytes where
//! the piece keeps its place within 16 bytes, and four otherwise.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

#[cfg(not(target_os = "cuda"))]
use simt::Geometry;
use simt::{Global, Scalar, four, kernel, thread, unroll};

/// Threads per block.
pub const THREADS: u32 = 1024;

/// Most blocks.
pub const BLOCKS: u32 = 24;

/// Most pieces of a launch.
pub const PIECES: usize = 7;

/// Loads that a thread has under way.
pub const LOADS: usize = 4;

/// Packs from one load of a thread's to that behind its last.
const STEP: u32 = LOADS as u32 * THREADS;

/// Words of a pack.
const PACK: u32 = <u32 as Scalar>::PACK;

/// A piece: where its words are, and where they go to. Both views have the same length.
pub type Piece = (Global<u32>, Global<u32>);

/// Copies pieces, each from the first view of its two to the second. Those that are not empty come first, and no two
/// overlap.
// The blocks of another kernel have half of the registers.
#[kernel(max_threads = THREADS, min_blocks = 2)]
#[allow(clippy::too_many_arguments, reason = "two views for each piece")]
pub fn exchange_pull(
    from_0: Global<u32>,
    to_0: Global<u32>,
    from_1: Global<u32>,
    to_1: Global<u32>,
    from_2: Global<u32>,
    to_2: Global<u32>,
    from_3: Global<u32>,
    to_3: Global<u32>,
    from_4: Global<u32>,
    to_4: Global<u32>,
    from_5: Global<u32>,
    to_5: Global<u32>,
    from_6: Global<u32>,
    to_6: Global<u32>,
) {
    let is_there = |from: Global<u32>| !from.is_empty() as u32;
    let pieces = is_there(from_0)
        + is_there(from_1)
        + is_there(from_2)
        + is_there(from_3)
        + is_there(from_4)
        + is_there(from_5)
        + is_there(from_6);
    if pieces == 0 {
        return;
    }
    let mut piece = thread::block_idx_x() % pieces;
    let mut left = pieces;
    while left > 0 {
        let (from, to) = match piece {
            0 => (from_0, to_0),
            1 => (from_1, to_1),
            2 => (from_2, to_2),
            3 => (from_3, to_3),
            4 => (from_4, to_4),
            5 => (from_5, to_5),
            _ => (from_6, to_6),
        };
        copy_part(from, to);
        piece = if piece + 1 == pieces { 0 } else { piece + 1 };
        left -= 1;
    }
}

/// Copies this block's part of a piece.
#[inline(always)]
fn copy_part(from: Global<u32>, to: Global<u32>) {
    let (block, blocks, thread) = (thread::block_idx_x(), thread::grid_dim_x(), thread::thread_idx_x());
    let past = from.as_ptr() as usize as u32 / 4 % PACK;
    let head = ((PACK - past) % PACK).min(from.len());
    let packs = (from.len() - head) / PACK;
    // The last block has the shortest part of the packs.
    if block == blocks - 1 && thread < from.len() - packs * PACK {
        let at = if thread < head { thread } else { thread + packs * PACK };
        to.set(at, from.get(at));
    }
    let part = packs.div_ceil(blocks);
    let first = part * block + thread;
    let end = (part * (block + 1)).min(packs);
    if first >= end {
        return;
    }
    // What is left for this thread begins at its next pack, so that the places of its loads are constants.
    let rest = |of: Global<u32>, skipped: u32, packs: u32| of.slice(skipped, packs * PACK);
    let mut left = end - first;
    let (mut from, mut to) = (rest(from, head + first * PACK, left), rest(to, head + first * PACK, left));
    let keeps_place = (to.as_ptr() as usize as u32).is_multiple_of(4 * PACK);
    loop {
        let at = |i: usize| i as u32 * THREADS;
        // All loads are issued before the first store waits for its value.
        let values = four(|i| from.get_pack_read_only_or(at(i), at(i) < left, [0; PACK as usize]));
        unroll::<LOADS>(|i| {
            if at(i) < left {
                if keeps_place {
                    to.set_pack(at(i), values[i]);
                } else {
                    unroll::<{ PACK as usize }>(|word| to.set(at(i) * PACK + word as u32, values[i][word]));
                }
            }
        });
        if left <= STEP {
            return;
        }
        left -= STEP;
        (from, to) = (rest(from, STEP * PACK, left), rest(to, STEP * PACK, left));
    }
}

/// The geometry and the arguments of a launch of [`exchange_pull`]. Empty pieces are left out.
///
/// # Panics
/// If there are more than [`PIECES`], or the views of a piece have different lengths.
#[cfg(not(target_os = "cuda"))]
pub fn pull(pieces: &[Piece]) -> (Geometry, <exchange_pull as simt::Kernel>::Args) {
    assert!(pieces.iter().all(|(from, to)| from.len() == to.len()), "a piece has as many words at both ends");
    let there = || pieces.iter().copied().filter(|(from, _)| !from.is_empty());
    assert!(there().count() <= PIECES, "{} pieces are too many for a launch", there().count());
    let longest = there().map(|(from, _)| from.len()).max().unwrap_or(0);
    let blocks = longest.div_ceil(THREADS * PACK).min(BLOCKS);
    // SAFETY: nothing is accessed through a view of no elements.
    let none = || unsafe { Global::from_raw(std::ptr::dangling_mut(), 0) };
    let mut all = there().chain(std::iter::repeat_with(|| (none(), none())));
    let [a, b, c, d, e, f, g] = std::array::from_fn(|_| all.next().unwrap_or_else(|| (none(), none())));
    let args = (a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1, e.0, e.1, f.0, f.1, g.0, g.1);
    (Geometry::linear(blocks, THREADS), args)
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = &[<exchange_pull as simt::Instances>::NAMES];
