//! # Exchange
//!
//! A kernel that copies from the memory of several GPUs at once. In each round of an exchange, every GPU of a group
//! pulls the pieces that its peers send it by one launch.
//!
//! **Why not copy engines.** Copies out of one GPU run one at a time, in the order in which its peers enqueued them. So
//! with several peers a GPU waits for the copies of others.
//!
//! **Bottleneck.** The latency of a load from a peer. To hide it, a block has up to 64 KiB in flight: [`LOADS`] loads
//! of 16 bytes per thread. A few blocks saturate the link and leave the other SMs to the kernels of the algorithm.
//!
//! **All peers at once.** Every block copies a part of every piece, and starts with another piece than its neighbour.
//! So pieces may differ in length, and all blocks finish at about the same time.
//!
//! **Alignment.** All loads have 16 bytes, except for at most six words at the ends of a piece. Stores have 16 bytes if
//! both ends of the piece have the same offset within 16 bytes, and 4 bytes otherwise.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod frequent;

#[cfg(not(target_os = "cuda"))]
use simt::Geometry;
use simt::{Global, Scalar, four, kernel, thread, unroll};

/// Threads per block.
pub const THREADS: u32 = 1024;

/// Most blocks.
pub const BLOCKS: u32 = 24;

/// Most pieces of a launch.
pub const PIECES: usize = 7;

/// Loads that a thread has in flight.
pub const LOADS: usize = 4;

/// Packs that a block copies per iteration.
const STEP: u32 = LOADS as u32 * THREADS;

/// Words of a pack.
const PACK: u32 = <u32 as Scalar>::PACK;

/// A piece: its source and its destination, of the same length.
pub type Piece = (Global<u32>, Global<u32>);

/// Copies pieces. Empty ones come last, and no two overlap.
// Two blocks per SM limit a thread to 32 registers: half of an SM's registers stay free for blocks of other kernels.
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
#[simt::device]
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
    // The views begin at the thread's next pack, so that the indices of its loads are constants: fewer registers.
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

/// Geometry and arguments of a launch of [`exchange_pull`]. Empty pieces may be anywhere.
///
/// # Panics
/// If there are none or more than [`PIECES`], or the views of a piece have different lengths.
#[cfg(not(target_os = "cuda"))]
pub fn pull(pieces: &[Piece]) -> (Geometry, <exchange_pull as simt::Kernel>::Args) {
    assert!(pieces.iter().all(|(from, to)| from.len() == to.len()), "a piece has as many words at both ends");
    let mut there = pieces.iter().filter(|(from, _)| !from.is_empty());
    let longest = there.clone().map(|(from, _)| from.len()).max().unwrap_or(0);
    let none = pieces[0].0.slice(0, 0);
    let [a, b, c, d, e, f, g] = [(); PIECES].map(|()| there.next().copied().unwrap_or((none, none)));
    assert!(there.next().is_none(), "{} pieces are too many for a launch", pieces.len());
    let blocks = longest.div_ceil(THREADS * PACK).min(BLOCKS);
    let args = (a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1, e.0, e.1, f.0, f.1, g.0, g.1);
    (Geometry::linear(blocks, THREADS), args)
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = {
    use simt::Instances;
    &[
        <exchange_pull as Instances>::NAMES,
        <frequent::exchange_sift as Instances>::NAMES,
        <frequent::exchange_fill as Instances>::NAMES,
    ]
};
