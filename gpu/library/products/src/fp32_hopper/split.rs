//! A tile of C by the blocks of a cluster: each multiplies a part of k, and then adds up a part of the tile. A tile of
//! half as many rows has two groups of warps per block, which take turns along K.

use super::multiply::{ACROSS, ALONG, PACKS, Sums, Walk, pack_of, to_pack};
use super::ring::{Producer, STAGE};
use super::work::{Units, Work};
use super::{MULTIPLIERS, STAGES};
use crate::Output;
use crate::operand::Source;
use simt::cluster::{self, Remote};
use simt::{Shared, grid, thread, unroll};

/// Packs that a thread reads of each block before it adds the first: the number of loads in flight.
const AT_ONCE: usize = 4;
/// The named barrier of the warps that multiply.
const MULTIPLIED: u32 = 1;

/// The number of blocks that share a tile of C.
pub trait Parts {
    /// The blocks of a cluster.
    const BLOCKS: u32;
    /// Groups of warps in a block.
    const GROUPS: u32;

    /// The producer's part: one thread fills the ring.
    fn produce(a: Source, b: Source, work: Work);

    /// The part of the warps that multiply.
    fn multiply(c: Output, work: Work);
}

/// `BLOCKS` blocks with `PARTS` groups of warps in all.
pub struct By<const BLOCKS: usize, const PARTS: usize = BLOCKS>;

impl<const BLOCKS: usize, const PARTS: usize> Parts for By<BLOCKS, PARTS> {
    const BLOCKS: u32 = BLOCKS as u32;
    const GROUPS: u32 = (PARTS / BLOCKS) as u32;

    #[simt::device]
    fn produce(a: Source, b: Source, work: Work) {
        if thread::thread_idx_x() == MULTIPLIERS {
            // For A and B; and for C, which is written after the first `cluster::sync`.
            grid::wait_for_previous();
            if Self::GROUPS == 1 {
                Producer::<1>::run(a, b, Self::units(work));
            } else {
                Producer::<2>::run(a, b, Self::units(work));
            }
        }
        cluster::sync(); // all sums are there
        cluster::sync(); // no block ends before the others have read its sums
    }

    #[simt::device]
    fn multiply(c: Output, work: Work) {
        let mut sums = Sums::default();
        let (row, column) = if Self::GROUPS == 1 {
            Self::walk(Walk::<1>::new(), work, &mut sums)
        } else {
            Self::walk(Walk::<2>::new(), work, &mut sums)
        };
        let own = Shared::<f32>::dynamic(0, STAGES * STAGE);
        // All warps have read what is in the ring. The sums are written over it.
        thread::barrier(MULTIPLIED, MULTIPLIERS);
        leave_row(own, 0, &sums[0]);
        leave_row(own, 1, &sums[1]);
        leave_row(own, 2, &sums[2]);
        leave_row(own, 3, &sums[3]);
        leave_row(own, 4, &sums[4]);
        leave_row(own, 5, &sums[5]);
        leave_row(own, 6, &sums[6]);
        leave_row(own, 7, &sums[7]);
        cluster::sync(); // all sums are there
        let (first, first_column) = work.place(thread::block_idx_x() / Self::BLOCKS);
        Self::add_up(own, c, first + row, first_column + column);
        cluster::sync(); // no block ends before the others have read its sums
    }
}

impl<const BLOCKS: usize, const PARTS: usize> By<BLOCKS, PARTS> {
    /// Adds the products of the group's steps. Returns the first row and column of the thread in the tile.
    #[simt::device]
    fn walk<const GROUPS: u32>(mut walk: Walk<GROUPS>, work: Work, sums: &mut Sums) -> (u32, u32) {
        if let Some(unit) = Self::units(work).next() {
            walk.begin();
            // The first group has one more if the steps are odd in number.
            let group = thread::thread_idx_x() / (MULTIPLIERS / GROUPS);
            walk.add((unit.steps + GROUPS - 1 - group) / GROUPS, sums);
        }
        (walk.row, walk.column)
    }

    /// The steps of the block.
    #[simt::device]
    fn units(work: Work) -> Units {
        let blocks = BLOCKS as u32;
        Units::of_part(work, thread::block_idx_x() / blocks, (cluster::rank(), blocks))
    }

    /// Writes the block's packs of the tile: the sums of all blocks, in the order of their rank. A thread has the same
    /// places in all blocks, and the elements from (`row`, `column`) on are its own.
    #[simt::device]
    fn add_up(own: Shared<f32>, c: Output, row: u32, column: u32) {
        let (parts, groups, has_packs) = (PARTS as u32, Self::GROUPS, c.matrix.has_packs());
        // Threads of all groups that have the same elements add up different packs of them.
        let threads = MULTIPLIERS / groups;
        let (group, thread) = (thread::thread_idx_x() / threads, thread::thread_idx_x() % threads);
        let part = cluster::rank() * groups + group;
        let (mut first, end) = (part * PACKS / parts, (part + 1) * PACKS / parts);
        while first < end {
            let mut parts = [[[0.0; 4]; PARTS]; AT_ONCE];
            unroll::<AT_ONCE>(|i| {
                // One pack more often than needed rather than a branch.
                let pack = (first + i as u32).min(end - 1);
                unroll::<PARTS>(|of| {
                    let (block, group) = (of as u32 / groups, of as u32 % groups);
                    parts[i][of] = Remote::of(own, block).get_pack(pack * MULTIPLIERS + group * threads + thread);
                });
            });
            unroll::<AT_ONCE>(|i| {
                let pack = first + i as u32;
                if pack < end {
                    let mut all = parts[i][0];
                    unroll::<PARTS>(|of| {
                        if of > 0 {
                            all = [0, 1, 2, 3].map(|e| all[e] + parts[i][of][e]);
                        }
                    });
                    let (down, along) = to_pack(pack);
                    c.set_4(row + down, column + along, all, has_packs);
                }
            });
            first += AT_ONCE as u32;
        }
    }
}

/// Writes a row of the thread's sums: neighbouring threads have neighbouring places for a pack. Like
/// [`super::multiply`], not all rows in a closure.
#[simt::device]
fn leave_row(own: Shared<f32>, row: u32, sums: &[f32; ALONG]) {
    unroll::<{ ACROSS as usize }>(|j| {
        own.set_pack((row * ACROSS + j as u32) * MULTIPLIERS + thread::thread_idx_x(), pack_of(sums, j));
    });
}
