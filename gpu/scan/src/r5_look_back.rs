//! # Scan in one pass, looking back
//!
//! **Idea.** A block scans its tile and publishes the tile's sum. Then it looks back over the tiles before: it adds
//! their sums, beginning with the nearest, until it meets a tile whose prefix (the sum up to the end of that tile) is
//! known. Then it publishes its own prefix. So a tile waits only for tiles that are being scanned at the same time.
//!
//! **Changed from the rung before.** One kernel reads and writes each element once. Blocks get the sums of other tiles
//! inside the launch. (A small kernel before it clears the states of the last scan.)
//!
//! **Bottleneck.** A block loads, then waits for other blocks, then stores. While it waits, only other blocks on the
//! same SM move data: for 2²⁸ words on an H200, ncu shows memory at 52 % of its peak and no unit of the SM above 29 %.
//! In the next rung loading, waiting and storing overlap.
//!
//! **Cost.** About 2·n additions; 8 bytes of global memory per word, and a state of 8 or 16 bytes per tile; 5 barriers
//! per tile; 2 launches.
//!
//! **Threads.** One block per tile of [`BLOCK`] × [`ITEMS`] elements. Threads load and store in stripes, so that a warp
//! uses neighbouring elements; each thread scans [`ITEMS`] consecutive ones. ITEMS is odd: a stride without bank
//! conflicts.
//!
//! **Limits.** Any n and any alignment. Floats: the order of the additions between tiles depends on how far a block has
//! to look back, so the last bits may differ from run to run.
//!
//! **Source.** D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016). Changed:
//! tags and values in one word, or in two with the same tag, in place of fences.

use super::{add_warps, get_or_identity, set_within};
use rungs_common::operator::{Max, Min, Operator, Sum, warp_exclusive_of, warp_scan_inclusive};
use rungs_common::state::{self, look, publish};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, Shared, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Elements per thread.
pub const ITEMS: usize = 15;

/// Elements of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Warps of a block.
const WARPS: usize = (BLOCK / WARP) as usize;

/// Tag of a state that holds the tile's own sum.
const SUM: u32 = 1;
/// Tag of a state that holds the tile's prefix: the sum of everything up to the tile's end.
const PREFIX: u32 = 2;

/// Where the states begin in the workspace: 128 bytes after the ticket counter, which all blocks increment.
const STATES: u32 = 16;

shared!(
    /// The number of the block's tile.
    NUMBER: [u32; 1]
);
shared!(
    /// The sum of each warp; room for elements of 8 bytes.
    WARP_SUMS: [u64; WARPS]
);
shared!(
    /// The sum before the tile.
    BEFORE: [u64; 1]
);

/// Blocks for `n` elements, one per tile.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Bytes of dynamic shared memory: the tile.
pub const fn shared_bytes<T>() -> u32 {
    TILE * size_of::<T>() as u32
}

/// Words of the workspace for `n` elements of type `T`: the ticket counter and a state per tile.
pub const fn workspace<T>(n: u32) -> u32 {
    STATES + grid(n) * state::words::<T>()
}

/// Blocks that clear a workspace of `words` words.
pub const fn clear_grid(words: u32) -> u32 {
    words.div_ceil(BLOCK)
}

/// Clears the workspace before every scan.
#[kernel(max_threads = BLOCK)]
pub fn scan_look_back_clear(workspace: Global<u64>) {
    set_within(workspace, thread::index_1d(), state::NOTHING as u64);
}

/// Scans `input` into `output`; `workspace` has been cleared.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max]))]
pub fn scan_look_back<T: Scalar, O: Operator<T>>(
    input: Global<T>,
    output: Global<T>,
    workspace: Global<u64>,
    exclusive: u32,
) {
    let (t, elements) = (thread::thread_idx_x(), Shared::<T>::dynamic(0, TILE));
    let states = workspace.slice(STATES, workspace.len() - STATES);
    if t == 0 {
        // Tiles are numbered in the order in which blocks start. So a block waits only for blocks that have started,
        // and nothing keeps those from ending.
        NUMBER::view().set(0, workspace.fetch_add(0, 1, Relaxed, Device) as u32);
    }
    thread::sync_threads(); // the number is written before all threads read it
    let number = NUMBER::view().get(0);
    let start = number * TILE;
    let len = (input.len() - start).min(TILE);
    let (input, output) = (input.slice(start, len), output.slice(start, len));

    if len == TILE {
        load::<T, O, true>(elements, input, t)
    } else {
        load::<T, O, false>(elements, input, t)
    }
    thread::sync_threads(); // the stripes are stored before threads take consecutive elements
    let mut items = [O::IDENTITY; ITEMS];
    simt::unroll::<ITEMS>(|i| items[i] = elements.get(t * ITEMS as u32 + i as u32));
    let mut sum = O::IDENTITY;
    simt::unroll::<ITEMS>(|i| sum = O::combine(sum, items[i]));
    let inclusive = warp_scan_inclusive::<O, T>(sum);
    let (in_warp, warp_sums) = (warp_exclusive_of::<O, T>(inclusive), WARP_SUMS::view().cast::<T>());
    if warp::lane_id() == WARP - 1 {
        warp_sums.set(t / WARP, inclusive);
    }
    thread::sync_threads(); // the sums of all warps are written before they are read
    let (in_tile, total) = add_warps::<T, O, WARPS>(warp_sums, t / WARP);
    if t < WARP {
        let before = look_back::<T, O>(states, number, total);
        if t == 0 {
            BEFORE::view().cast::<T>().set(0, before);
        }
    }
    thread::sync_threads(); // the sum before the tile is written before all threads read it
    let mut sum = O::combine(O::combine(BEFORE::view().cast::<T>().get(0), in_tile), in_warp);
    simt::unroll::<ITEMS>(|i| {
        let next = O::combine(sum, items[i]);
        // No other thread reads or writes this thread's elements between the barriers.
        elements.set(t * ITEMS as u32 + i as u32, if exclusive != 0 { sum } else { next });
        sum = next;
    });
    thread::sync_threads(); // all elements are scanned before they leave in stripes
    if len == TILE { store::<T, true>(output, elements, t) } else { store::<T, false>(output, elements, t) }
}

/// Loads the tile into shared memory in stripes; `WHOLE`: all of it is inside the input.
#[simt::device]
fn load<T: Scalar, O: Operator<T>, const WHOLE: bool>(elements: Shared<T>, input: Global<T>, t: u32) {
    let mut items = [O::IDENTITY; ITEMS];
    simt::unroll::<ITEMS>(|i| {
        let at = i as u32 * BLOCK + t;
        items[i] = if WHOLE { input.get(at) } else { get_or_identity::<T, O>(input, at) };
    });
    // Stored after all loads have been issued, so that the loads overlap.
    simt::unroll::<ITEMS>(|i| elements.set(i as u32 * BLOCK + t, items[i]));
}

/// Stores the tile from shared memory in stripes.
#[simt::device]
fn store<T: Scalar, const WHOLE: bool>(output: Global<T>, elements: Shared<T>, t: u32) {
    simt::unroll::<ITEMS>(|i| {
        let at = i as u32 * BLOCK + t;
        if WHOLE { output.set(at, elements.get(at)) } else { set_within(output, at, elements.get(at)) }
    });
}

/// The sum of all tiles before tile `number`, found by one warp, which publishes the tile's own sum and then its
/// prefix.
#[simt::device]
fn look_back<T: Scalar, O: Operator<T>>(states: Global<u64>, number: u32, total: T) -> T {
    let (lane, mut before, mut end) = (warp::lane_id(), O::IDENTITY, number);
    if lane == 0 && number > 0 {
        publish(states, number, SUM, total);
    }
    loop {
        // Lane 0 looks at the tile just before `end`, the other lanes at the tiles before that one. The first tile
        // always has a prefix.
        let (tag, value) = if lane < end { wait::<T>(states, end - 1 - lane) } else { (PREFIX, O::IDENTITY) };
        let prefixes = warp::ballot(FULL, tag == PREFIX);
        let nearest = prefixes.trailing_zeros();
        // The nearest prefix contains all tiles before it.
        let part = O::combine_warp(if lane <= nearest { value } else { O::IDENTITY });
        before = O::combine(part, before);
        if prefixes != 0 {
            break;
        }
        end -= WARP;
    }
    if lane == 0 {
        publish(states, number, PREFIX, O::combine(before, total));
    }
    before
}

/// The state of a tile; waits until there is one.
#[simt::device]
fn wait<T: Scalar>(states: Global<u64>, tile: u32) -> (u32, T) {
    loop {
        let state = look(states, tile);
        if state.0 != state::NOTHING {
            return state;
        }
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the states cleared, then one pass.

    use super::*;
    use rungs_common::ladder::scan::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Scan> =
        rung!("r5_look_back.rs", [scan_look_back_clear, scan_look_back]).with_tiles(&[TILE as u64]).run_by(&LookBack);

    struct LookBack;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for LookBack
    where
        scan_look_back<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<u64>, u32)>,
    {
        /// The states of the tiles.
        type Memory = Scratch<u64>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Scratch<u64>> {
            on.scratch(workspace::<T>(n))
        }

        fn run(on: &dyn Launcher, elements: Elements<T>, states: &mut Scratch<u64>) -> Result {
            let (Elements { input, output, exclusive }, states) = (elements, states.view());
            on.launch(scan_look_back_clear, Geometry::linear(clear_grid(states.len()), BLOCK), (states,))?;
            let geometry = Geometry::linear(grid(input.len()), BLOCK).shared(shared_bytes::<T>());
            on.launch(scan_look_back::<T, O>::default(), geometry, (input, output, states, exclusive as u32))
        }
    }
}
