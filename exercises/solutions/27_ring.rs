//! # 27 · A ring that is filled in advance
//!
//! A block that loads a tile, works on it and loads the next one waits for memory each time. TMA (compute
//! capability 9.0) copies while the threads work: the block has two slots in shared memory, and the tile of the next
//! round comes into one while this round uses the other. In round r the tile is in slot `r % SLOTS`.
//!
//! Thread 0 starts a copy with `start(input, tile, slot)`. It tells the slot's *mbarrier*, a barrier in shared memory,
//! how many bytes will arrive. An mbarrier counts bytes in phases: a phase completes when all its bytes have arrived.
//! All threads wait for that by `barrier(slot).wait(parity)`, with the parity of the phase: 0 for the first use of the
//! slot, 1 for the second, 0 for the third.
//!
//! A slot is filled again two rounds later, and a copy does not wait for the threads that still read the slot. So all
//! threads have to finish with it first: that takes a `thread::sync_threads()`. The barrier orders what threads do, but
//! TMA reaches shared memory on another way, another *proxy*: before the barrier each thread calls `bulk::fence()`,
//! which orders its reads before later copies.
//!
//! The kernel writes each tile with its elements in reverse. The copy for the first round has been started. Write the
//! body of the loop: the copy for the next round if there is one (its tile is `tile + blocks`), the wait for this
//! round's tile, the output, the fence, and the barrier of the block.
//!
//! **Rung.** gpu/scan/src/r6_look_ahead/ring.rs

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
        // TMA knows of the barriers.
        mbarrier::fence_init();
        if tile < tiles {
            start(input, tile, 0);
        }
    }
    // The barriers exist before any thread waits at one.
    thread::sync_threads();
    let mut round = 0;
    while tile < tiles {
        //[
        //| // Write this part.
        let slot = round % SLOTS;
        if t == 0 && tile + blocks < tiles {
            start(input, tile + blocks, (round + 1) % SLOTS);
        }
        barrier(slot).wait(round / SLOTS % 2);
        output.set(tile * TILE + t, words(slot).get(TILE - 1 - t));
        // The copy that fills this slot again comes after what this thread has read.
        bulk::fence();
        // All threads are done with this slot before the next round fills it again.
        thread::sync_threads();
        //]
        tile += blocks;
        round += 1;
    }
}

/// The words of a slot.
#[simt::device]
fn words(slot: u32) -> Shared<u32> {
    RING::view().slice(slot * TILE, TILE)
}

/// The barrier of a slot.
#[simt::device]
fn barrier(slot: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), slot)
}

/// Starts to copy a tile to a slot. One thread does it.
#[simt::device]
fn start(input: Global<u32>, tile: u32, slot: u32) {
    barrier(slot).arrive_expecting(4 * TILE);
    bulk::load(words(slot), input.slice(tile * TILE, TILE), barrier(slot));
}

//? Which slot holds the tile of this round, and which one is free for the next copy meanwhile? How often has a slot
//?   been used before round r?
//? The slots are used in turn. One thread starts the copy of the next round, if there is one, then all wait for this
//?   round's. The parity to wait for is that of the slot's uses so far. No slot may be filled again while a thread
//?   still reads it, and copies see the order of threads only behind a fence.
//? `let slot = round % SLOTS;`,
//?   `if t == 0 && tile + blocks < tiles { start(input, tile + blocks, (round + 1) % SLOTS); }`,
//?   `barrier(slot).wait(round / SLOTS % 2);`, `output.set(tile * TILE + t, words(slot).get(TILE - 1 - t));`,
//?   `bulk::fence();`, `thread::sync_threads();`.
