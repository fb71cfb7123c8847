//! A fast thread goes on, and fills the slot again and again; a slow one waits for a phase that is long past.
//!
//! **Finding.** deadlock

use simt::mbarrier::{self, Mbarrier};
use simt::{Global, Shared, bulk, kernel, shared, thread};

/// Threads per block, and elements of a tile.
pub const TILE: u32 = 64;

/// Tiles in shared memory.
pub const SLOTS: u32 = 2;

shared!(RING: [u32; SLOTS * TILE]);
shared!(BARRIERS: [u64; SLOTS]);

/// Reverses each tile of `input`; there are whole tiles. A block has every tile whose number it reaches in steps of the
/// number of blocks.
#[kernel(sm_90)]
pub fn reverse_tiles(input: Global<u32>, output: Global<u32>) {
    let (t, blocks, tiles) = (thread::thread_idx_x(), thread::grid_dim_x(), input.len() / TILE);
    let mut tile = thread::block_idx_x();
    if t == 0 {
        for slot in 0..SLOTS {
            // A phase takes the bytes of one copy, and one arrival: of thread 0, which announces them.
            barrier(slot).init(1);
        }
        // The copy engine knows of the barriers.
        mbarrier::fence_init();
        if tile < tiles {
            start(input, tile, 0);
        }
    }
    // The barriers exist before any thread waits at one.
    thread::sync_threads();
    let mut round = 0;
    while tile < tiles {
        let slot = round % SLOTS;
        if t == 0 && tile + blocks < tiles {
            start(input, tile + blocks, (round + 1) % SLOTS);
        }
        barrier(slot).wait(round / SLOTS % 2);
        output.set(tile * TILE + t, words(slot).get(TILE - 1 - t));
        tile += blocks;
        round += 1;
    }
}

/// The words of a slot.
#[inline(always)]
fn words(slot: u32) -> Shared<u32> {
    RING::view().slice(slot * TILE, TILE)
}

/// The barrier of a slot.
#[inline(always)]
fn barrier(slot: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), slot)
}

/// Starts to copy a tile to a slot. One thread does it.
#[inline(always)]
fn start(input: Global<u32>, tile: u32, slot: u32) {
    barrier(slot).arrive_expecting(4 * TILE);
    bulk::load(words(slot), input.slice(tile * TILE, TILE), barrier(slot));
}
