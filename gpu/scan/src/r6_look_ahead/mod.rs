//! # Scan in one pass, warps with fixed roles and bulk copies
//!
//! **Idea.** A persistent block works on several tiles at once, like an assembly line. One thread copies tiles to a
//! ring in shared memory and back. Four warps add up a tile and publish its sum. One warp adds up the sums of the tiles
//! before it. Four warps scan the tile in place. Each stage is some tiles ahead of the next one.
//!
//! **Changed from the rung before.** Loading, waiting and storing overlap in each block, and bulk copies need no
//! threads. Tiles publish only their own sums, so no block waits for a chain of prefixes. A block keeps the sum up to
//! its last tile and adds the sums of the tiles since. Tags count launches, so nothing is cleared.
//!
//! **Bottleneck.** The bandwidth of global memory: 86 % of its peak at 2²⁸ words (ncu, H200).
//!
//! **Cost.** About 2.75·n additions (2.5·n for elements of 8 bytes); 8 bytes of global memory per word, and 8 or 16
//! bytes of state per tile and block; 1 barrier per block, and per tile 1 for the four warps that add; one launch. A
//! tile that lies partly outside the input takes 2 more. A block has 184.4 KiB of shared memory: one fits an SM.
//!
//! **Threads.** Warps 0 to 3 add, 4 to 7 scan, the first lane of warp 8 copies tiles, warp 9 looks ahead. In a tile
//! each of 128 threads has 11 consecutive packs of 16 bytes, an odd number: a stride without bank conflicts.
//!
//! **Limits.** Any n and any alignment; compute capability 9.0. It is fast if input and output are equally far from a
//! multiple of 16 bytes; otherwise the scanning warps store. Tiles begin at a multiple of 16 bytes. Additions have the
//! same order on every device, for one n and one alignment of the input: a pack in pairs, packs one by one, lanes by
//! doubling, warps one by one; tiles in groups of 32 by a butterfly, groups one by one, then the incomplete group.
//!
//! **Source.** CCCL (CUB), pull request 6811, for the idea of looking ahead. The kernel is our own.

mod ring;

use super::add_warps;
use ring::{copy_tiles, next_tile, past_pack};
use rungs_common::operator::{Max, Min, Operator, Sum, warp_exclusive_of, warp_scan_inclusive};
use rungs_common::ring::Place;
use rungs_common::state::{NOTHING, look, publish};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::mbarrier::{self, Mbarrier};
use simt::warp::{self, WARP};
use simt::{Global, Scalar, bulk, kernel, shared, thread, unroll};

/// Warps that add, and warps that scan.
const WARPS: usize = 4;
/// Threads that add, and threads that scan.
const SQUAD: u32 = WARPS as u32 * WARP;
/// Packs of 16 bytes per thread and tile.
const VECTORS: usize = 11;
/// The thread that copies tiles.
const COPIER: u32 = 2 * SQUAD;
/// Tiles in the ring.
const STAGES: u32 = 8;
/// Groups of 32 states that the look-ahead loads at once: enough for 132 blocks, wherever a group begins.
const GROUPS: usize = 6;

/// Threads per block: two squads, the warp that copies tiles, the warp that looks ahead.
pub const BLOCK: u32 = 2 * SQUAD + 2 * WARP;
/// Bytes of a tile.
const TILE_BYTES: u32 = SQUAD * VECTORS as u32 * 16;
/// Where the states begin in the workspace: 128 bytes after the control word, from which all blocks draw tiles.
const STATES: u32 = 16;

/// Elements of a tile.
pub const fn tile<T>() -> u32 {
    TILE_BYTES / size_of::<T>() as u32
}

// Each stage of the ring has a barrier for each phase of its tile. The tile is first full (its number and the elements
// copied in bulk are there), then ready (the sum before each thread's elements is known), then done (it is scanned).
shared!(FULL: [u64; STAGES]);
shared!(READY: [u64; STAGES]);
shared!(DONE: [u64; STAGES]);
// The word drawn for each stage: the launch's number above the tile's. A tile past the last one ends the work.
shared!(DRAWN: [u64; STAGES]);
// For each stage the sum of the elements before each thread's own in the tile; room for elements of 8 bytes.
shared!(OFFSETS: [u64; STAGES * SQUAD]);
// For each stage the sum of each adding warp.
shared!(WARP_SUMS: [u64; STAGES * WARPS as u32]);
// For each stage the sum of all tiles before its tile.
shared!(BEFORE: [u64; STAGES]);

/// Scans `input` into `output`. `workspace` has at least [`launches::workspace`] words.
#[kernel(sm_90, max_threads = BLOCK, min_blocks = 1, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
pub fn scan_look_ahead<T: Scalar, O: Operator<T>>(
    input: Global<T>,
    output: Global<T>,
    workspace: Global<u64>,
    exclusive: u32,
) {
    scan_by::<T, O>(input, output, workspace, exclusive)
}

/// The kernel for any operator, which need not be commutative, and elements of 4 or 8 bytes.
#[simt::device]
pub fn scan_by<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>, workspace: Global<u64>, exclusive: u32) {
    let (t, warp) = (thread::thread_idx_x(), thread::thread_idx_x() / WARP);
    let (control, states) = (workspace.slice(0, 1), workspace.slice(STATES, workspace.len() - STATES));
    let mut drawn = 0;
    if t == COPIER {
        drawn = control.fetch_add(0, 1, Relaxed, Device); // in flight while the barriers are made
        for stage in 0..STAGES {
            Mbarrier::at(FULL::view(), stage).init(1); // the copier, and the bytes that it announces
            Mbarrier::at(READY::view(), stage).init(SQUAD + 1); // the threads that add, and the look-ahead
            Mbarrier::at(DONE::view(), stage).init(SQUAD); // the threads that scan
        }
        mbarrier::fence_init();
        bulk::fence(); // bulk copies see the barriers too
    }
    thread::sync_threads(); // the barriers are made before any thread uses them
    if warp < SQUAD / WARP {
        add::<T, O>(input, states, t);
    } else if warp < 2 * SQUAD / WARP {
        scan::<T, O>(input, output, exclusive != 0, t - SQUAD);
    } else if t == COPIER {
        copy_tiles(input, output, control, states, drawn);
    } else if warp > COPIER / WARP {
        look_ahead::<T, O>(input, states);
    }
}

/// Adds up tile after tile, publishes the sums, and stores the sum before each thread's elements.
#[simt::device]
fn add<T: Scalar, O: Operator<T>>(input: Global<T>, states: Global<u64>, t: u32) {
    let (offsets, mut place) = (OFFSETS::view().cast::<T>(), Place::FIRST);
    while let Some(tile) = next_tile(input, place) {
        let (stage, mut sum) = (place.stage, O::IDENTITY);
        if !tile.is_whole() {
            tile.complete(input, t, O::IDENTITY);
            thread::barrier(1, SQUAD); // the tile is complete before threads read elements that others stored
        }
        unroll::<VECTORS>(|v| {
            let pack = tile.elements.get_pack(t * VECTORS as u32 + v as u32);
            let p = pack.as_ref();
            let pair = O::combine(p[0], p[1]);
            // Elements of 4 bytes in two pairs, so that fewer additions wait for each other.
            sum = O::combine(sum, if p.len() == 4 { O::combine(pair, O::combine(p[2], p[3])) } else { pair });
        });
        let warp_sums = WARP_SUMS::view().cast::<T>().slice(stage * WARPS as u32, WARPS as u32);
        let inclusive = warp_scan_inclusive::<O, T>(sum);
        if warp::lane_id() == WARP - 1 {
            warp_sums.set(t / WARP, inclusive);
        }
        thread::barrier(1, SQUAD); // the sums of all four warps are written before they are read
        let (before, total) = add_warps::<T, O, WARPS>(warp_sums, t / WARP);
        if t == 0 {
            publish(states, tile.number, tile.tag, total);
        }
        offsets.set(stage * SQUAD + t, O::combine(before, warp_exclusive_of::<O, T>(inclusive)));
        // Every thread arrives for itself, so that the threads that wait see its own write.
        Mbarrier::at(READY::view(), stage).arrive();
        place = place.next(STAGES);
    }
}

/// Finds the sum before tile after tile: that of all complete groups of 32 tiles, which it keeps, and that of the
/// incomplete group.
#[simt::device]
fn look_ahead<T: Scalar, O: Operator<T>>(input: Global<T>, states: Global<u64>) {
    let (mut place, mut groups, mut end) = (Place::FIRST, O::IDENTITY, 0);
    while let Some(tile) = next_tile(input, place) {
        let (mut incomplete, mut group) = (O::IDENTITY, end);
        // One round is enough unless this block has fallen far behind the others.
        while group < tile.number {
            let (mut seen, mut looked) = ([(NOTHING, O::IDENTITY); GROUPS], true);
            let number = move |g: usize| group + g as u32 * WARP + warp::lane_id();
            // What is not there counts as seen. LLVM 7 would make a loop for each group if the loop tested for the end.
            unroll::<GROUPS>(|g| seen[g].0 = if number(g) < tile.number { NOTHING } else { tile.tag });
            while looked {
                looked = false;
                // All loads are issued before the next round uses their results.
                unroll::<GROUPS>(|g| {
                    if seen[g].0 != tile.tag {
                        (seen[g], looked) = (look(states, number(g)), true);
                    }
                });
            }
            unroll::<GROUPS>(|g| {
                if group < tile.number {
                    let sum = O::combine_warp(seen[g].1);
                    if group + WARP <= tile.number {
                        (groups, end) = (O::combine(groups, sum), group + WARP);
                    } else {
                        incomplete = sum;
                    }
                    group += WARP;
                }
            });
        }
        warp::sync_warp(warp::FULL); // all lanes have read the stage's number before it can change
        if warp::lane_id() == 0 {
            BEFORE::view().cast::<T>().set(place.stage, O::combine(groups, incomplete));
            Mbarrier::at(READY::view(), place.stage).arrive();
        }
        place = place.next(STAGES);
    }
}

/// Scans tile after tile in place.
#[simt::device]
fn scan<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>, exclusive: bool, t: u32) {
    let (before, offsets) = (BEFORE::view().cast::<T>(), OFFSETS::view().cast::<T>());
    let (first, mut place) = (t * VECTORS as u32, Place::FIRST);
    while let Some(tile) = next_tile(input, place) {
        let stage = place.stage;
        Mbarrier::at(READY::view(), stage).wait(place.parity);
        let mut sum = O::combine(before.get(stage), offsets.get(stage * SQUAD + t));
        // All packs are read before any is written: the compiler would not move a load before a store.
        let mut packs = [T::Pack::default(); VECTORS];
        unroll::<VECTORS>(|v| packs[v] = tile.elements.get_pack(first + v as u32));
        unroll::<VECTORS>(|v| {
            let (p, before) = (packs[v].as_mut(), sum);
            // First inside the pack, then with the sum before it: one addition per pack waits for the pack before.
            unroll::<3>(|i| {
                if i + 1 < p.len() {
                    p[i + 1] = O::combine(p[i], p[i + 1]);
                }
            });
            unroll::<4>(|i| {
                if i < p.len() {
                    let next = O::combine(before, p[i]);
                    p[i] = if exclusive { sum } else { next };
                    sum = next;
                }
            });
            tile.elements.set_pack(first + v as u32, packs[v]);
        });
        if !tile.is_whole() || past_pack(input) != past_pack(output) {
            // No bulk copy can store the tile.
            thread::barrier(2, SQUAD); // the whole tile is scanned before threads store elements of others
            tile.store(output, t);
        }
        bulk::fence(); // this thread's accesses come before the copy to the output, and the next copy to the stage
        Mbarrier::at(DONE::view(), stage).arrive();
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

    /// Bytes of dynamic shared memory: the ring.
    pub const SHARED_BYTES: u32 = STAGES * TILE_BYTES;

    /// Most tiles for `n` elements: the first tile may begin up to one pack before the input.
    const fn most_tiles<T>(n: u32) -> u32 {
        (n as u64 + 16 / size_of::<T>() as u64 - 1).div_ceil(tile::<T>() as u64) as u32
    }

    /// Blocks for `n` elements: one per SM, or one per tile if there are fewer tiles.
    pub const fn grid<T>(n: u32, sms: u32) -> u32 {
        let tiles = if n == 0 { 0 } else { most_tiles::<T>(n) };
        if tiles < sms { tiles } else { sms }
    }

    /// Words of the workspace for up to `n` elements of type `T`. It is zero before the first scan. After that only
    /// scans, of any type and size, one at a time, use it.
    pub const fn workspace<T>(n: u32) -> u32 {
        STATES + most_tiles::<T>(n) * rungs_common::state::words::<T>()
    }

    /// Bytes of shared memory that a device must give a block: the ring, and room for the static arrays.
    const NEEDED: u32 = SHARED_BYTES + (16 << 10);

    fn refuses(ask: &Ask) -> Option<String> {
        let ((major, minor), shared_per_block) = (ask.device.compute_capability, ask.device.shared_per_block);
        if major < 9 {
            let why = "look-ahead needs a GPU and PTX of compute capability 9.0; here one is of";
            return Some(format!("{why} {major}.{minor}; look-back runs on it"));
        }
        (shared_per_block < NEEDED).then(|| {
            let why = format!("look-ahead needs {NEEDED} bytes of shared memory per block, and this GPU gives");
            format!("{why} {shared_per_block}; look-back runs on it")
        })
    }

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for LookAhead
    where
        scan_look_ahead<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<u64>, u32)>,
    {
        type Memory = Scratch<u64>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Scratch<u64>> {
            // Cleared once: each launch leaves the workspace ready for the next.
            on.zeros(workspace::<T>(n))
        }

        fn run(on: &dyn Launcher, of: Elements<T>, workspace: &mut Scratch<u64>) -> Result {
            let blocks = grid::<T>(of.input.len(), on.device().multiprocessors);
            let args = (of.input, of.output, workspace.view(), of.exclusive as u32);
            on.launch(scan_look_ahead::<T, O>::default(), Geometry::linear(blocks, BLOCK).shared(SHARED_BYTES), args)
        }
    }
}
