//! # Scan in one pass, looking ahead
//!
//! **Idea.** A block stays for the whole scan and takes one tile after another, several at once, like an assembly line.
//! One thread has tiles copied to a ring in shared memory and back; four warps add up a tile and publish its sum; one
//! warp adds up the tiles before it; four warps scan it in place. Each stage is ahead of the next by some tiles.
//!
//! **Changed from the rung before.** Loading, waiting and storing go on at the same time in each block, and the copies
//! need no threads. Tiles publish only their own sums, so no block waits for a chain of prefixes: a block keeps the sum
//! up to its last tile and adds the sums published since. Tags count launches, so nothing is cleared.
//!
//! **Bottleneck.** The bandwidth of global memory: 86 % of its peak at 2²⁸ words (ncu, H200).
//!
//! **Cost.** About 2.75·n additions (2.5·n for elements of 8 bytes); 8 bytes of global memory per word, and 8 or 16
//! bytes of state per tile and block; 1 barrier per block, and per tile 1 for the four warps that add; one launch. A
//! block has 184.5 KiB of shared memory, so there is one block per multiprocessor.
//!
//! **Threads.** Warps 0 to 3 add, 4 to 7 scan, the first lane of warp 8 moves tiles, warp 9 looks ahead. In a tile each
//! of 128 threads has 11 consecutive packs of 16 bytes, an odd number: a stride without bank conflicts.
//!
//! **Limits.** Any n and any alignment; compute capability 9.0. Fast if input and output are equally far from a
//! multiple of 16 bytes; else the scanning warps store. Tiles begin at a multiple of 16 bytes. Order of additions: a
//! pack in pairs, packs one by one, lanes by doubling, warps one by one; tiles in groups of 32 by a butterfly, groups
//! one by one, then the incomplete group. It is the same on every device and in every run with the same n and the same
//! alignment of the input.
//!
//! **Source.** CCCL (CUB), pull request 6811, for the idea of looking ahead. The kernel is our own.

mod mover;
mod packs;
mod ring;

use mover::Mover;
use packs::{scan_packs, sum_of_packs};
use ring::{Job, done, init_barriers, ready};
use rungs_common::operator::{Max, Min, Operator, Sum, warp_exclusive_of, warp_reduce, warp_scan_inclusive};
use rungs_common::ring::Place;
use rungs_common::state::{self, look, publish};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, bulk, kernel, shared, thread};

/// Warps that add, and warps that scan.
const WARPS: u32 = 4;
/// Threads that add, and threads that scan.
const SQUAD: u32 = WARPS * WARP;
/// Packs of 16 bytes per thread and tile.
const VECTORS: usize = 11;
/// The thread that has tiles copied.
const MOVER: u32 = 2 * SQUAD;
/// Tiles in the ring.
const STAGES: u32 = 8;
/// Groups of 32 states that the look-ahead loads at once: enough for 132 blocks, whichever state of a group comes
/// first.
const GROUPS: usize = 6;

/// Threads per block: two squads, the warp that moves tiles, the warp that looks ahead.
pub const BLOCK: u32 = 2 * SQUAD + 2 * WARP;
/// Bytes of dynamic shared memory: the ring.
pub const SHARED_BYTES: u32 = STAGES * TILE_BYTES;
/// Bytes of a tile.
const TILE_BYTES: u32 = SQUAD * VECTORS as u32 * 16;
/// Where the states begin in the workspace: 128 bytes after the control word, from which all blocks draw tiles.
const STATES: u32 = 16;

/// Elements of a tile.
pub const fn tile<T>() -> u32 {
    TILE_BYTES / size_of::<T>() as u32
}

/// Most tiles for `n` elements: the first tile may begin up to one pack before the input.
const fn most_tiles<T>(n: u32) -> u32 {
    (n as u64 + 16 / size_of::<T>() as u64 - 1).div_ceil(tile::<T>() as u64) as u32
}

/// Blocks for `n` elements: one per multiprocessor, or one per tile if there are fewer tiles.
pub const fn grid<T>(n: u32, multiprocessors: u32) -> u32 {
    let tiles = if n == 0 { 0 } else { most_tiles::<T>(n) };
    if tiles < multiprocessors { tiles } else { multiprocessors }
}

/// Words of the workspace for up to `n` elements of type `T`. It is zero before the first scan. After that only scans,
/// of any type and size, one at a time, use it.
pub const fn workspace<T>(n: u32) -> u32 {
    STATES + most_tiles::<T>(n) * state::words::<T>()
}

shared!(
    /// Sum of the elements before each thread's own in the tile, for each stage; room for elements of 8 bytes.
    OFFSETS: [u64; STAGES * SQUAD]
);
shared!(
    /// Sum of each adding warp, for each stage.
    WARP_SUMS: [u64; STAGES * WARPS]
);
shared!(
    /// Sum of all tiles before the one in each stage.
    BEFORE: [u64; STAGES]
);

/// Scans `input` into `output`. `workspace` has at least [`workspace`] words.
#[kernel(sm_90, max_threads = BLOCK, min_blocks = 1, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
pub fn scan_look_ahead<T: Scalar, O: Operator<T>>(
    input: Global<T>,
    output: Global<T>,
    workspace: Global<u64>,
    exclusive: u32,
) {
    let job = Job::new(input, output, workspace, exclusive);
    let (t, role) = (thread::thread_idx_x(), thread::thread_idx_x() / WARP);
    let mut drawn = 0;
    if t == MOVER {
        // The atomic is in flight while the barriers are made.
        drawn = job.draw();
        init_barriers();
    }
    thread::sync_threads(); // the barriers exist before any thread uses them
    if role < WARPS {
        add::<T, O>(job, t);
    } else if role < 2 * WARPS {
        scan::<T, O>(job, t - SQUAD);
    } else if t == MOVER {
        Mover::new(job, drawn).run::<O>();
    } else if role == 2 * WARPS + 1 {
        look_ahead::<T, O>(job);
    }
}

/// Adds up tile after tile, publishes the sums, and stores the sum before each thread's elements.
#[inline(always)]
fn add<T: Scalar, O: Operator<T>>(job: Job<T>, t: u32) {
    let (warp_sums, offsets) = (WARP_SUMS::view().cast::<T>(), OFFSETS::view().cast::<T>());
    let mut place = Place::FIRST;
    while let Some(number) = job.next_tile(place) {
        let (stage, span) = (place.stage, job.span(number));
        let first = t * VECTORS as u32;
        let sum = if span.whole::<T>() {
            sum_of_packs::<T, O>(job.elements(stage), first, VECTORS as u32)
        } else {
            sum_of_packs::<T, O>(job.elements(stage), first, span.all_packs::<T>().saturating_sub(first))
        };
        let inclusive = warp_scan_inclusive::<O, T>(sum);
        if warp::lane_id() == WARP - 1 {
            warp_sums.set(stage * WARPS + t / WARP, inclusive);
        }
        thread::barrier(1, SQUAD); // the sums of all four warps are written before they are read
        let (mut before, mut total) = (O::IDENTITY, O::IDENTITY);
        simt::unroll::<{ WARPS as usize }>(|w| {
            if w as u32 == t / WARP {
                before = total;
            }
            total = O::combine(total, warp_sums.get(stage * WARPS + w as u32));
        });
        if t == 0 {
            publish(job.states, number, job.tag(), total);
        }
        offsets.set(stage * SQUAD + t, O::combine(before, warp_exclusive_of::<O, T>(inclusive)));
        // Every thread arrives for itself, so that the threads that wait see its own write.
        ready(stage).arrive();
        place = place.next(STAGES);
    }
}

/// Finds the sum before tile after tile: that of all complete groups of 32 tiles, which it keeps, and that of the
/// incomplete group.
#[inline(always)]
fn look_ahead<T: Scalar, O: Operator<T>>(job: Job<T>) {
    let lane = warp::lane_id();
    let (mut place, mut groups, mut end) = (Place::FIRST, O::IDENTITY, 0);
    while let Some(number) = job.next_tile(place) {
        let (tag, mut rest) = (job.tag(), O::IDENTITY);
        // One round is enough unless this block has fallen far behind the others.
        while end < number {
            let seen = wait_for_groups::<T, O>(job.states, tag, end + lane, number);
            let first = end;
            simt::unroll::<GROUPS>(|g| {
                let group = first + g as u32 * WARP;
                if group < number {
                    let sum = warp_reduce::<O, T>(seen[g]);
                    if group + WARP <= number {
                        (groups, end) = (O::combine(groups, sum), group + WARP);
                    } else {
                        rest = sum;
                    }
                }
            });
            if number - first <= GROUPS as u32 * WARP {
                break;
            }
        }
        warp::sync_warp(FULL); // all lanes have read the stage's number before it can change
        if lane == 0 {
            BEFORE::view().cast::<T>().set(place.stage, O::combine(groups, rest));
            ready(place.stage).arrive();
        }
        place = place.next(STAGES);
    }
}

/// The sums of the tiles `first`, `first` + 32 … in [`GROUPS`] groups, and the identity for tiles from `end` on. Waits
/// until all are there.
#[inline(always)]
fn wait_for_groups<T: Scalar, O: Operator<T>>(states: Global<u64>, tag: u32, first: u32, end: u32) -> [T; GROUPS] {
    let (mut tags, mut sums) = ([tag; GROUPS], [O::IDENTITY; GROUPS]);
    // All loads are issued before any result is used.
    simt::unroll::<GROUPS>(|g| {
        let number = first + g as u32 * WARP;
        if number < end {
            (tags[g], sums[g]) = look(states, number);
        }
    });
    loop {
        let mut missing = false;
        simt::unroll::<GROUPS>(|g| {
            if tags[g] != tag {
                (tags[g], sums[g]) = look(states, first + g as u32 * WARP);
                missing = true;
            }
        });
        if !missing {
            return sums;
        }
    }
}

/// Scans tile after tile in place.
#[inline(always)]
fn scan<T: Scalar, O: Operator<T>>(job: Job<T>, t: u32) {
    let (before, offsets) = (BEFORE::view().cast::<T>(), OFFSETS::view().cast::<T>());
    let mut place = Place::FIRST;
    while let Some(number) = job.next_tile(place) {
        let (stage, span) = (place.stage, job.span(number));
        ready(stage).wait(place.parity);
        let (elements, first) = (job.elements(stage), t * VECTORS as u32);
        let sum = O::combine(before.get(stage), offsets.get(stage * SQUAD + t));
        // Two copies of the loop for each case: for whole tiles all loads can go first.
        let count = if span.whole::<T>() { VECTORS as u32 } else { span.all_packs::<T>().saturating_sub(first) };
        match (job.exclusive, span.whole::<T>()) {
            (false, true) => scan_packs::<T, O, false>(elements, first, VECTORS as u32, sum),
            (true, true) => scan_packs::<T, O, true>(elements, first, VECTORS as u32, sum),
            (false, false) => scan_packs::<T, O, false>(elements, first, count, sum),
            (true, false) => scan_packs::<T, O, true>(elements, first, count, sum),
        }
        if !job.direct {
            thread::barrier(2, SQUAD); // the whole tile is scanned before threads store elements of others
            job.store_by_threads(stage, span, t);
        }
        bulk::fence(); // the copy to the output sees what this thread wrote
        // Every thread arrives for itself, so that the mover, which stores the edges, sees what the thread wrote.
        done(stage).arrive();
        place = place.next(STAGES);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: one pass.

    use super::*;
    use rungs_common::ladder::scan::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Scan> =
        rung!("mod.rs", [scan_look_ahead]).with_tiles(&[TILE]).refusing(refuses).run_by(&LookAhead);

    struct LookAhead;

    const TILE: u64 = tile::<u32>() as u64;

    /// Bytes of shared memory that a device must give a block: the ring, and room for the static arrays.
    const NEEDED: u32 = SHARED_BYTES + (16 << 10);

    fn refuses(ask: &Ask) -> Option<String> {
        let Device { compute_capability: (major, minor), shared_per_block, .. } = ask.device;
        if major < 9 {
            let why =
                format!("look-ahead needs a GPU and PTX of compute capability 9.0; here one is of {major}.{minor}");
            return Some(format!("{why}; look-back runs on it"));
        }
        (shared_per_block < NEEDED).then(|| {
            let why = format!("look-ahead needs {NEEDED} bytes of shared memory per block, and this GPU gives");
            format!("{why} {shared_per_block}; look-back runs on it")
        })
    }

    impl<T: Scalar, O: Operator<T>> ScansWith<T, O> for LookAhead
    where
        scan_look_ahead<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<u64>, u32)>,
    {
        fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Elements<T>>> {
            let geometry = Geometry::linear(grid::<T>(n, on.device().multiprocessors), BLOCK).shared(SHARED_BYTES);
            // Cleared once: each launch leaves the workspace ready for the next.
            let workspace = on.zeros::<u64>(workspace::<T>(n))?;
            Ok(Box::new(move |on, Elements { input, output, exclusive }| {
                let args = (input, output, workspace.view(), exclusive as u32);
                on.launch(scan_look_ahead::<T, O>::default(), geometry, args)
            }))
        }
    }
}
