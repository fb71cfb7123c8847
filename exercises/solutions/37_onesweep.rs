//! # 37 · One pass for each digit
//!
//! The pass of exercise 36 reads the keys twice, because a tile has to know how many keys of each digit the tiles
//! before it have. It can look back at them instead, as in exercise 26: then a pass is one launch.
//!
//! The start of each digit in the output does not depend on the order of the keys, so it is known in advance:
//! `starts[d]`. Only `before` is missing, the number of keys of the digit in earlier tiles. Each digit has its own
//! chain: the state of digit d of tile k is word `k * DIGITS + d` of `states`. There are 32 digits, so lane d of a warp
//! looks back for digit d, all lanes at the same time, each as far as it has to.
//!
//! The ticket is taken, the digits are counted and ranked. In lane d, `count` is how many keys of digit d the tile has.
//! Write how the lane publishes `SUM | count`, looks back for its digit into `before`, and publishes
//! `PREFIX | (before + count)`.
//!
//! **Rung.** gpu/radix/src/r7_onesweep/mod.rs

use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL};
use simt::{Global, kernel};

/// Keys of a tile, and threads per block: one warp.
pub const TILE: u32 = 32;

/// Values of a digit, the key's last five bits: one for each lane.
pub const DIGITS: u32 = 32;

/// The tag of a state that holds the count of its tile alone.
pub const SUM: u64 = 1 << 32;

/// The tag of a state that holds the count of all keys up to the end of its tile.
pub const PREFIX: u64 = 2 << 32;

/// Copies each key of `input` to its place in `output`. `states` has `DIGITS` words for each tile, and `ticket` one;
/// all are 0.
#[kernel]
pub fn pass(input: Global<u32>, output: Global<u32>, starts: Global<u32>, states: Global<u64>, ticket: Global<u32>) {
    let lane = warp::lane_id();
    let taken = if lane == 0 { ticket.fetch_add(0, 1, Relaxed, Scope::Device) } else { 0 };
    let tile = warp::shuffle(FULL, taken, 0);
    let i = tile * TILE + lane;
    let key = if i < input.len() { input.get(i) } else { 0 };
    let digit = if i < input.len() { key % DIGITS } else { DIGITS };
    let rank = (warp::match_any(FULL, digit) & ((1 << lane) - 1)).count_ones();
    let mut count = 0;
    for d in 0..DIGITS {
        let lanes = warp::ballot(FULL, digit == d);
        count = if lane == d { lanes.count_ones() } else { count };
    }
    let mut before = 0;
    //[
    //| // Write this part.
    states.store(tile * DIGITS + lane, SUM | u64::from(count), Relaxed, Scope::Device);
    let mut k = tile;
    while k > 0 {
        let state = states.load((k - 1) * DIGITS + lane, Relaxed, Scope::Device);
        if state != 0 {
            before += state as u32;
            k = if state < PREFIX { k - 1 } else { 0 };
        }
    }
    states.store(tile * DIGITS + lane, PREFIX | u64::from(before + count), Relaxed, Scope::Device);
    //]
    // The lane of a digit knows where the tile's keys of that digit begin.
    let begin = warp::shuffle(FULL, starts.get(lane) + before, digit % DIGITS);
    if i < input.len() {
        output.set(begin + rank, key);
    }
}

//? How many walks back does a tile make, if each digit has states of its own? Which lane makes which?
//? The walk is that of exercise 26, with `count` in place of `sum`, and by every lane for its own digit. The state of
//?   tile k and the lane's digit is word `k * DIGITS + lane`.
//? Store `SUM | u64::from(count)` in `tile * DIGITS + lane`; `let mut k = tile;`; `while k > 0`, load word
//?   `(k - 1) * DIGITS + lane`, and if it is not 0, `before += state as u32;` and
//?   `k = if state < PREFIX { k - 1 } else { 0 };`. Store `PREFIX | u64::from(before + count)`.
