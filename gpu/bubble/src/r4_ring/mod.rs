//! # Bubble sort, a ring of cells and movers
//!
//! **Idea.** In odd-even transposition, at any time half of the keys move up and half move down, one place per phase.
//! Call those that move up *cells* and the others *movers*. A cell meets the movers in sequence: it keeps the larger of
//! the two keys, and the mover takes the smaller one to the next cell. At either end of the array a key turns round:
//! cell and mover exchange their keys, whatever they are. So cells can stay in registers, while movers travel twice
//! round a ring of all lanes. That is the whole network of n phases, in a skewed order.
//!
//! **Changed from the rung before.** One network over all n keys in place of passes over windows. A pass does all
//! phases of its window, even where no key moves that far; the network needs half the compare-exchanges. There is one
//! launch, and keys leave the registers only between warps.
//!
//! **Bottleneck.** The minimum and the maximum of each compare-exchange: n² operations on 64 lanes per SM and cycle,
//! 16.4 ms for 524,288 keys on an H200. Only a sort that compares less is faster: see `bitonic` and `odd-even`.
//!
//! **Cost.** n²/2 + 256·n compare-exchanges for n a multiple of 1024, none of which is done twice: W = ⌈n/1024⌉ warps
//! take 2·W + 1 steps in which 512 movers meet 512 cells. One launch and the clearing of the links. Per mover and warp,
//! a word of 8 bytes is read and written (two words for keys of 8 bytes); per mover and lane there is a shuffle.
//!
//! **Threads.** A warp has 512 cells, 16 per lane, and 512 movers, which pass its lanes in groups of eight, from the
//! last lane to the first, and then continue in the warp before. Four warps per block, one for each scheduler; up to 16
//! if the SMs have fewer schedulers than there are warps.
//!
//! **Limits.** Any n up to 16,384 keys per SM. All warps have to run at the same time, so there is at most one block
//! per SM, and the launch is cooperative. Absent cells hold the largest key, absent movers the smallest, and neither
//! changes a key. If a warp waits for some seconds, the kernel ends with an error.
//!
//! **Source.** N. Habermann, "Parallel neighbor-sort (or the glory of the induction principle)" (1972), for the
//! network; the forum course "CUDA 程式設計 (9): 泡泡龍 part 2" (2008), for bubble sort on a whole chip. Our own: cells and
//! movers.

mod comes;

use super::{Key, key_or_last, set_if_inside};
use comes::{Comes, Place};
use rungs_common::state::{publish, words};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Shared, kernel, shared, thread, unroll};

/// Cells of a lane.
const CELLS: usize = 16;
/// Movers that a lane holds, a token.
const MOVERS: usize = 8;
/// Cells of a warp, and movers of a bundle, which one warp passes to the next.
const BUNDLE: u32 = WARP * CELLS as u32;
/// Keys that a warp sorts.
pub const WARP_KEYS: u32 = 2 * BUNDLE;
/// Tokens of a bundle.
const TOKENS: u32 = BUNDLE / MOVERS as u32;
/// Keys that a warp takes from a link at a time, two per lane, and tokens of such a batch.
const BATCH: u32 = 2 * WARP;
const BATCH_TOKENS: u32 = BATCH / MOVERS as u32;
/// Batches of a bundle.
const BATCHES: u32 = BUNDLE / BATCH;
/// Batches that a bundle leaves later than it comes: a token takes 32 turns from the last lane to behind the first.
const DELAY: u32 = (WARP - 1).div_ceil(BATCH_TOKENS);
/// Turns written out in a loop.
const UNROLL: u32 = 2;
const _: () = assert!(BATCH_TOKENS.is_multiple_of(UNROLL) && WARP.is_multiple_of(2 * BATCH_TOKENS));
// A batch that leaves is read while the next goes to the other half of the stage. Only that one's last token goes to
// the half that was read, after the barrier in `Comes::stage`.
const _: () = assert!(DELAY.is_multiple_of(2));

/// Fewest and most warps of a block: one for each scheduler, and as many as there are registers for.
const WARPS: (u32, u32) = (4, 16);
/// Most threads per block.
pub const BLOCK: u32 = WARPS.1 * WARP;

shared!(
    /// For each warp two batches that come and two that leave; room for keys of 8 bytes.
    STAGES: [u64; WARPS.1 * 4 * BATCH]
);

/// Warps for `n` keys.
pub const fn warps(n: u32) -> u32 {
    n.div_ceil(WARP_KEYS)
}

/// Most keys: all warps run at the same time, one block on each SM.
pub const fn capacity(multiprocessors: u32) -> u32 {
    multiprocessors.saturating_mul(WARPS.1 * WARP_KEYS)
}

/// Blocks and threads per block for `n` keys.
pub const fn geometry(n: u32, multiprocessors: u32) -> (u32, u32) {
    let per_block = warps(n).div_ceil(multiprocessors);
    let per_block = if per_block < WARPS.0 { WARPS.0 } else { per_block };
    (warps(n).div_ceil(per_block), per_block * WARP)
}

/// Words of the links between warps, for `n` keys of type `T`.
pub const fn link_words<T>(n: u32) -> u32 {
    warps(n) * BUNDLE * words::<T>()
}

/// Bytes per thread of spilled registers, as ptxas needs them for compute capability 8.0 and keys of 8 bytes.
const MAX_SPILLS: u32 = 32;

/// Sorts `keys`. `links` are zero. All blocks run at the same time.
#[kernel(max_threads = BLOCK, min_blocks = 1, max_spills = MAX_SPILLS, instances(
    bubble_ring: <u32>, bubble_ring_u64: <u64>,
))]
pub fn bubble_ring<T: Key>(keys: Global<T>, links: Global<u64>) {
    let (in_block, lane, all) = (thread::thread_idx_x() / WARP, warp::lane_id(), warps(keys.len()));
    // Neighbours of the ring are in different blocks, and so the last, which has less to do, is nowhere alone.
    let number = in_block * thread::grid_dim_x() + thread::block_idx_x();
    if number >= all {
        return; // the whole warp
    }
    let first = number * WARP_KEYS;
    let mut cells = [T::LAST; CELLS];
    unroll::<CELLS>(|i| cells[i] = key_or_last(keys, first + i as u32 * WARP + lane));
    let mut lane_of = Lane { cells, movers: [T::default(); MOVERS], lane };
    let stage = STAGES::view().cast::<T>().slice(in_block * 4 * BATCH, 4 * BATCH);
    let mut comes = Comes::new(keys, links, stage, number, all);
    let mut leaves = Place::new(number);

    comes.fetch();
    comes.stage(0);
    if lane == WARP - 1 {
        lane_of.movers = token(stage, 0);
    }
    // The step in which keys turn round in this warp's cells, as the first turn of it and the first after all of it.
    let turning = TOKENS * (2 * (all - 1 - number) + 1);
    let turned = turning + TOKENS + WARP;
    let mut batch = 0;
    while batch < BATCHES * (2 * all + 1) + DELAY {
        let turn = batch * BATCH_TOKENS;
        if turn < turning || turn >= turned {
            let mut i = 0;
            while i < BATCH_TOKENS {
                if i == BATCH_TOKENS - UNROLL {
                    comes.stage(batch + 1);
                }
                unroll::<{ UNROLL as usize }>(|j| lane_of.turn::<false>(stage, turn + i + j as u32, 0));
                i += UNROLL;
            }
        } else {
            let mut i = 0;
            while i < BATCH_TOKENS {
                if i == BATCH_TOKENS - 1 {
                    comes.stage(batch + 1);
                }
                lane_of.turn::<true>(stage, turn + i, turning);
                i += 1;
            }
        }
        warp::sync_warp(FULL); // the first lane has stored the tokens that leave
        if batch >= DELAY {
            let from = 2 * BATCH + (batch - DELAY) % 2 * BATCH + lane;
            let (a, b) = (stage.get(from), stage.get(from + WARP));
            let at = leaves.batch * BATCH + lane;
            if leaves.step == 2 * all {
                set_if_inside(keys, first + at, a);
                set_if_inside(keys, first + at + WARP, b);
            } else {
                // The tag is the step in which the next warp meets the bundle.
                publish(links, leaves.bundle * BUNDLE + at, leaves.step + 1, a);
                publish(links, leaves.bundle * BUNDLE + at + WARP, leaves.step + 1, b);
            }
            leaves.next(all);
        }
        batch += 1;
    }
    unroll::<CELLS>(|i| set_if_inside(keys, first + BUNDLE + lane * CELLS as u32 + i as u32, lane_of.cells[i]));
}

/// A token of the batches that come.
#[simt::device]
fn token<T: Key>(stage: Shared<T>, turn: u32) -> [T; MOVERS] {
    let mut movers = [T::default(); MOVERS];
    let first = turn % (2 * BATCH_TOKENS) * (MOVERS as u32 / T::PACK);
    unroll::<MOVERS>(|i| {
        if (i as u32).is_multiple_of(T::PACK) {
            let pack = stage.get_pack(first + i as u32 / T::PACK);
            unroll::<4>(|j| {
                if j < T::PACK as usize {
                    movers[i + j] = pack.as_ref()[j];
                }
            });
        }
    });
    movers
}

/// What a lane holds.
struct Lane<T> {
    cells: [T; CELLS],
    movers: [T; MOVERS],
    lane: u32,
}

impl<T: Key> Lane<T> {
    /// The lane's movers meet its cells, from the last to the first, and go on to the lane below; the last lane takes a
    /// token from the stage, the first lane puts one there. `TURNING`: some of them turn round, in the step that began
    /// with the turn `turning`.
    #[simt::device]
    fn turn<const TURNING: bool>(&mut self, stage: Shared<T>, turn: u32, turning: u32) {
        let comes = token(stage, turn + 1);
        // Of 32 tokens between a token that comes and the one that leaves, both have the same place in their stages.
        let leaves = 2 * BATCH + (turn + 1) % (2 * BATCH_TOKENS) * MOVERS as u32;
        // In the step in which keys turn round, mover m of the bundle exchanges with cell BUNDLE - 1 - m of the warp:
        // the token, counted from the first that does so in this lane.
        let behind = (WARP - 1 - self.lane) * (1 + (CELLS / MOVERS) as u32);
        let token = turn.wrapping_sub(turning).wrapping_sub(behind);
        unroll::<{ CELLS + MOVERS - 1 }>(|diagonal| {
            unroll::<MOVERS>(|m| {
                if m <= diagonal && diagonal - m < CELLS {
                    let c = CELLS - 1 - (diagonal - m);
                    let (cell, mover) = (self.cells[c], self.movers[m]);
                    let (small, large) = (cell.min(mover), cell.max(mover));
                    let can_turn = m + c < CELLS && (CELLS - 1 - m - c).is_multiple_of(MOVERS);
                    let turns = TURNING && can_turn && token == ((CELLS - 1 - m - c) / MOVERS) as u32;
                    (self.cells[c], self.movers[m]) = if turns { (mover, cell) } else { (large, small) };
                }
            });
            if diagonal >= CELLS - 1 {
                // This mover has met all cells of the lane.
                let m = diagonal + 1 - CELLS;
                if self.lane == 0 {
                    stage.set(leaves + m as u32, self.movers[m]);
                }
                let above = warp::shuffle_down(FULL, self.movers[m], 1);
                self.movers[m] = if self.lane == WARP - 1 { comes[m] } else { above };
            }
        });
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one kernel, on links that hold nothing.

    use super::*;
    use rungs_common::ladder::sort::{Sort, Width, Words};
    use rungs_common::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("mod.rs", [bubble_ring])
        .with_tiles(&[WARP_KEYS as u64])
        .refusing(refuses)
        .run_by(Sort::both(&Words { scratch: scratch::<u32>, sort }, &Words { scratch: scratch::<u64>, sort }));

    fn refuses(ask: &Ask) -> Option<String> {
        let (n, most) = (ask.n, capacity(ask.device.multiprocessors));
        (n > most.into()).then(|| format!("{n} keys do not fit the registers of all SMs; {most} do"))
    }

    /// The links, to sort `n` keys.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn scratch<W: Width>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Scratch<u64>> {
        on.scratch(link_words::<W>(n))
    }

    /// Sorts `keys` in place: one launch.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, links: &mut Scratch<u64>) -> Result
    where
        bubble_ring<W>: Kernel<Args = (Global<W>, Global<u64>)>,
    {
        let (blocks, threads) = geometry(keys.len(), on.device().multiprocessors);
        let geometry = Geometry::linear(blocks, threads).together();
        on.clear(links.view())?;
        on.launch(bubble_ring::<W>::default(), geometry, (keys, links.view()))
    }
}
