//! # 26 · Looking back
//!
//! The scan of exercise 25 reads and writes its elements twice, because blocks meet only at the end of a launch. Here
//! one launch is enough: a block publishes the sum of its tile, and reads what the tiles before it have published.
//!
//! Each tile has a word in `states`, 0 at first. The block writes `SUM` and the sum of its tile, as soon as it knows
//! it. Then it looks back: from the tile before its own on, it adds up the sums. If a state is still 0, it looks again.
//! If a tile has published `PREFIX`, with the sum of everything up to the end of that tile, the walk ends there: all
//! earlier tiles are contained in it. At the end the block publishes its own prefix. Without it all later blocks
//! would walk to the beginning.
//!
//! A block may wait only for blocks that are running. Blocks may start in any order, so a tile's number is not the
//! index of its block. It is a ticket: `ticket.fetch_add(0, 1, …)` gives the number of tickets taken before. Then all
//! tiles before it belong to blocks that have started.
//!
//! A state is one word of 64 bits with tag and value, written and read as one, so no block sees one without the
//! other: `states.store(k, PREFIX | u64::from(value), Relaxed, Scope::Device)`, `states.load(k, Relaxed, …)`.
//!
//! **Rung.** gpu/scan/src/r5_look_back.rs

use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL};
use simt::{Global, kernel};

/// Elements of a tile, and threads per block: one warp.
pub const TILE: u32 = 32;

/// The tag of a state that holds the sum of its tile alone.
pub const SUM: u64 = 1 << 32;

/// The tag of a state that holds the sum of everything up to the end of its tile.
pub const PREFIX: u64 = 2 << 32;

/// Writes the running sums of `input` to `output`. `states` has a word for each tile, and `ticket` one; all are 0.
#[kernel]
pub fn scan(input: Global<u32>, output: Global<u32>, states: Global<u64>, ticket: Global<u32>) {
    let lane = warp::lane_id();
    //[
    //| // Write this part: lane 0 takes a ticket, and all lanes get its number.
    //| let tile = 0;
    let taken = if lane == 0 { ticket.fetch_add(0, 1, Relaxed, Scope::Device) } else { 0 };
    let tile = warp::shuffle(FULL, taken, 0);
    //]
    let i = tile * TILE + lane;
    // The running sums of the tile; the last lane has the sum of all of it.
    let mut running = if i < input.len() { input.get(i) } else { 0 };
    for step in 0..5 {
        let below = warp::shuffle_up(FULL, running, 1 << step);
        running += if lane >= 1 << step { below } else { 0 };
    }
    let sum = warp::shuffle(FULL, running, TILE - 1);
    let mut before = 0;
    if lane == 0 {
        //[
        //| // Write this part: the sum of all tiles before this one into `before`; both states of this tile.
        states.store(tile, SUM | u64::from(sum), Relaxed, Scope::Device);
        let mut k = tile;
        while k > 0 {
            let state = states.load(k - 1, Relaxed, Scope::Device);
            if state != 0 {
                before += state as u32;
                k = if state < PREFIX { k - 1 } else { 0 };
            }
        }
        states.store(tile, PREFIX | u64::from(before + sum), Relaxed, Scope::Device);
        //]
    }
    let before = warp::shuffle(FULL, before, 0);
    if i < output.len() {
        output.set(i, before + running);
    }
}

//? A block waits for tiles before its own. Why must its tile follow from a ticket, not from the block's number? And
//?   what can it do with the state of a tile: none yet, a sum, a prefix?
//? Lane 0 takes the ticket and shuffles it to all. It publishes its own sum at once, so that others need not wait. Then
//?   it walks back from the tile before: no state, look again; a sum, add it and go on; a prefix, add it and stop. Last
//?   it publishes its own prefix.
//? `let taken = if lane == 0 { ticket.fetch_add(0, 1, Relaxed, Scope::Device) } else { 0 };`,
//?   `let tile = warp::shuffle(FULL, taken, 0);`. Store `SUM | u64::from(sum)`; `let mut k = tile;`; `while k > 0`,
//?   load state `k - 1`, and if it is not 0, `before += state as u32;` and
//?   `k = if state < PREFIX { k - 1 } else { 0 };`. Store `PREFIX | u64::from(before + sum)`.
