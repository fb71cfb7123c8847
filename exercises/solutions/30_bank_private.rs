//! # 30 · A bank for each lane
//!
//! Additions to the same key at the same time are serialised, and real keys repeat. Give each lane
//! its own table, and no two lanes use one counter: you do not even need an atomic addition.
//!
//! But lanes also wait for each other when they use different words of one bank, and word w of shared memory lies in
//! bank w % 32. So the tables must lie such that all words of lane k are in bank k, whatever the keys are.
//!
//! At the end each lane adds up one bin over all 32 tables. There too, in each step the lanes should use different
//! banks: they may begin with different tables.
//!
//! The kernel is right, but costs too much. Change the layout, `place`, and the order of the last loop.
//!
//! **Rung.** gpu/histogram/src/r4_bank_private.rs

use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel, shared};

/// Counters, one for each lane. All keys are smaller.
pub const BINS: u32 = 32;

/// Blocks of one warp each, for any number of keys.
pub const GRID: u32 = 2;

shared!(TABLES: [u32; BINS * WARP]);

/// Where the counter of a bin lies in the table of a lane.
const fn place(bin: u32, lane: u32) -> u32 {
    //[
    //| lane * BINS + bin // Change this,
    bin * WARP + lane
    //]
}

/// Adds the number of each key in `keys` to its counter in `counts`.
#[kernel]
pub fn histogram(keys: Global<u32>, counts: Global<u32>) {
    let (lane, tables) = (warp::lane_id(), TABLES::view());
    for bin in 0..BINS {
        tables.set(place(bin, lane), 0);
    }
    let mut i = simt::thread::index_1d();
    while i < keys.len() {
        let counter = place(keys.get(i), lane);
        tables.set(counter, tables.get(counter) + 1);
        i += GRID * WARP;
    }
    // All tables are complete before a lane reads those of others.
    warp::sync_warp(FULL);
    let mut sum = 0;
    for k in 0..WARP {
        //[
        //| let table = k; // and this.
        let table = (k + lane) % WARP;
        //]
        sum += tables.get(place(lane, table));
    }
    counts.fetch_add(lane, sum, Relaxed, Scope::Device);
}

//? The lane is multiplied by 32, so in which bank is its counter, and what does that depend on? What should it depend
//?   on alone?
//? With the bin multiplied by 32 and the lane added, each lane keeps to its own bank. But in the last loop each lane
//?   adds up its own bin over all tables, and all would read one bank in each step: each lane has to begin with another
//?   table and go round.
//? `bin * WARP + lane`, and `let table = (k + lane) % WARP;`.
