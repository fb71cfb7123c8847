//! # 39 · Places by a vote
//!
//! Keep the items below a pivot, in their order, one behind the other. Where an item goes depends on all items before
//! it, so the question is how a lane learns how many of them are kept.
//!
//! One warp walks over the input in rows of 32 items. In a row each lane has one item and knows whether it is kept. A
//! vote tells all lanes at once: `warp::ballot(FULL, is_kept)` is a word whose bit i says what lane i voted. The bits
//! below a lane's own are the items of the row before it, and `count_ones` counts them.
//!
//! `place` is where the row's first kept item goes. All lanes have it, so no lane needs an atomic, and nothing waits.
//! All lanes of the warp have to vote, also those past the end of the input.
//!
//! **Rung.** gpu/select/src/r2_warp_aggregated.rs

use simt::warp::{self, FULL, WARP};
use simt::{Global, kernel};

/// Threads of the only block: a warp.
pub const BLOCK: u32 = WARP;

/// Writes the items below `pivot` to the front of `output`, in their order, and their number to `count`.
#[kernel]
pub fn select(input: Global<u32>, output: Global<u32>, count: Global<u32>, pivot: u32) {
    let (lane, mut place, mut first) = (warp::lane_id(), 0, 0);
    while first < input.len() {
        let i = first + lane;
        let item = if i < input.len() { input.get(i) } else { 0 };
        let is_kept = i < input.len() && item < pivot;
        //[
        //| // Write this part: store the item if it is kept, and move `place` on by the kept items of the row.
        let kept = warp::ballot(FULL, is_kept);
        if is_kept {
            let before = kept & ((1 << lane) - 1);
            output.set(place + before.count_ones(), item);
        }
        place += kept.count_ones();
        //]
        first += WARP;
    }
    if lane == 0 {
        count.set(0, place);
    }
}

//? A lane knows its own item. What does it need to know of the others to find its place, and which call tells it?
//? All lanes vote, whether their item is kept or not. A lane masks the word to the bits below its own and counts them;
//?   the number of all bits is how far `place` moves.
//? `let kept = warp::ballot(FULL, is_kept);`; if it is kept, `let before = kept & ((1 << lane) - 1);` and
//?   `output.set(place + before.count_ones(), item);`; then `place += kept.count_ones();`.
