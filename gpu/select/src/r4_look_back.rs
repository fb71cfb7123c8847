//! # Select, one pass that looks back
//!
//! **Idea.** The scan of the counts runs inside the launch, as in scan's `look-back`. A block counts the selected items
//! of its tile, publishes the count, and looks back over the earlier tiles until it reaches one whose prefix is known.
//! Meanwhile it compacts the selected items in shared memory, from where it stores them in order.
//!
//! **Changed from the rung before.** One kernel reads each item once. Items are compacted in shared memory first, so
//! that neighbouring threads store neighbouring items, whichever were selected.
//!
//! **Bottleneck.** A block loads, waits for the earlier tiles, then stores. Meanwhile only the other blocks of the SM
//! use memory. Warps with fixed roles, as in scan's `look-ahead`, would do all three at once.
//!
//! **Cost.** One read of each item and one write of each selected one; a state of 8 bytes per tile; 3 barriers per
//! tile; one launch, and the clearing of the count and the states before it.
//!
//! **Threads.** One block per tile of [`BLOCK`] × [`ITEMS`] items. A warp has a contiguous piece of the tile and reads
//! it in rows of 32. Neighbouring threads of the block store neighbouring items.
//!
//! **Limits.** Any n and any alignment. The tile is in shared memory: 16 KiB of words, 32 of items of 8 bytes.
//!
//! **Source.** D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016). Changed:
//! selected items are counted in place of a sum; ranks by ballot; tag and count in one word in place of fences.

use super::{items, lanes_before};
use rungs_common::state::{self, look, publish};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::warp::{self, FULL, WARP};
use simt::{Argument, Global, Scalar, Shared, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Items per thread: rows of a warp.
pub const ITEMS: usize = 16;

/// Items of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Warps of a block.
const WARPS: usize = (BLOCK / WARP) as usize;

/// Tag of a state that holds the tile's own count.
const COUNT: u32 = 1;
/// Tag of a state that holds the tile's prefix: the selected items up to the tile's end.
const PREFIX: u32 = 2;

/// Where the states begin in the workspace: 128 bytes after the ticket counter, which all blocks increment.
const STATES: u32 = 16;

shared!(
    /// The number of the block's tile.
    NUMBER: [u32; 1]
);
shared!(
    /// The selected items of each warp.
    SELECTED: [u32; WARPS]
);
shared!(
    /// The selected items before the tile.
    BEFORE: [u32; 1]
);

/// Blocks for `n` items, one per tile.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Bytes of dynamic shared memory: the selected items of the tile.
pub const fn shared_bytes<T>() -> u32 {
    TILE * size_of::<T>() as u32
}

/// Words of the workspace for `n` items: the ticket counter and a state per tile.
pub const fn workspace(n: u32) -> u32 {
    STATES + grid(n) * state::words::<u32>()
}

/// Writes the items below the pivot to `output` in their order, and their number to `count`; `workspace` is zero
/// before.
#[kernel(max_threads = BLOCK, instances([u32, i32, f32, u64, i64, f64]))]
pub fn select_look_back<T: Scalar + Argument>(
    input: Global<T>,
    output: Global<T>,
    count: Global<u32>,
    workspace: Global<u64>,
    pivot: T,
) {
    let (t, lane, staged) = (thread::thread_idx_x(), warp::lane_id(), Shared::<T>::dynamic(0, TILE));
    let states = workspace.slice(STATES, workspace.len() - STATES);
    if t == 0 {
        // Tiles are numbered in the order in which blocks start. So a block waits only for blocks that have started,
        // and nothing keeps those from ending.
        NUMBER::view().set(0, workspace.fetch_add(0, 1, Relaxed, Device) as u32);
    }
    thread::sync_threads(); // the number is written before all threads read it
    let number = NUMBER::view().get(0);
    let start = number * TILE;
    let tile = input.slice(start, (input.len() - start).min(TILE));

    let items: [T; ITEMS] = items(tile, t, TILE, pivot);
    // Of each row, the lanes whose items are selected.
    let (mut masks, mut in_warp) = ([0; ITEMS], 0);
    simt::unroll::<ITEMS>(|i| {
        masks[i] = warp::ballot(FULL, items[i] < pivot);
        in_warp += masks[i].count_ones();
    });
    if lane == 0 {
        SELECTED::view().set(t / WARP, in_warp);
    }
    thread::sync_threads(); // the numbers of all warps are written before they are added
    let (mut place, mut total) = (0, 0);
    simt::unroll::<WARPS>(|w| {
        let selected = SELECTED::view().get(w as u32);
        place += if (w as u32) < t / WARP { selected } else { 0 };
        total += selected;
    });
    if t < WARP {
        let before = look_back(states, number, total);
        if t == 0 {
            BEFORE::view().set(0, before);
        }
    }
    simt::unroll::<ITEMS>(|i| {
        if masks[i] >> lane & 1 != 0 {
            staged.set(place + lanes_before(masks[i], lane), items[i]);
        }
        place += masks[i].count_ones();
    });
    thread::sync_threads(); // the selected items and the number before the tile are written before they are read
    let before = BEFORE::view().get(0);
    let mut i = t;
    while i < total {
        output.set(before + i, staged.get(i));
        i += BLOCK;
    }
    if t == 0 && number == thread::grid_dim_x() - 1 {
        count.set(0, before + total);
    }
}

/// The selected items of all tiles before tile `number`, found by one warp, which publishes the tile's own count and
/// then its prefix.
#[simt::device]
fn look_back(states: Global<u64>, number: u32, total: u32) -> u32 {
    let (lane, mut before, mut end) = (warp::lane_id(), 0, number);
    if lane == 0 && number > 0 {
        publish(states, number, COUNT, total);
    }
    loop {
        // Lane 0 looks at the tile just before `end`, the other lanes at the tiles before that one. The first tile
        // always has a prefix.
        let (tag, value) = if lane < end { wait(states, end - 1 - lane) } else { (PREFIX, 0) };
        let prefixes = warp::ballot(FULL, tag == PREFIX);
        // The nearest prefix contains all tiles before it.
        before += warp::reduce_add(FULL, if lane <= prefixes.trailing_zeros() { value } else { 0 });
        if prefixes != 0 {
            break;
        }
        end -= WARP;
    }
    if lane == 0 {
        publish(states, number, PREFIX, before + total);
    }
    before
}

/// The state of a tile; waits until there is one.
#[simt::device]
fn wait(states: Global<u64>, tile: u32) -> (u32, u32) {
    loop {
        let state = look(states, tile);
        if state.0 != state::NOTHING {
            return state;
        }
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: count and states cleared, then one pass.

    use super::*;
    use rungs_common::ladder::select::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Select> =
        rung!("r4_look_back.rs", [select_look_back]).with_tiles(&[TILE as u64]).run_by(&LookBack);

    struct LookBack;

    impl Select for LookBack {
        fn is_stable(&self) -> bool {
            true
        }
    }

    impl<T: Scalar + Argument> Serves<Items<T>> for LookBack
    where
        select_look_back<T>: Kernel<Args = (Global<T>, Global<T>, Global<u32>, Global<u64>, T)>,
    {
        /// The states of the tiles.
        type Memory = Scratch<u64>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Scratch<u64>> {
            on.scratch(workspace(n))
        }

        fn run(on: &dyn Launcher, items: Items<T>, states: &mut Scratch<u64>) -> Result {
            let (Items { input, output, count, pivot }, states) = (items, states.view());
            // Without items there is no tile whose block would write the count.
            on.clear(count)?;
            on.clear(states)?;
            let geometry = Geometry::linear(grid(input.len()), BLOCK).shared(shared_bytes::<T>());
            on.launch(select_look_back::<T>::default(), geometry, (input, output, count, states, pivot))
        }
    }
}
