//! What tiles hand on, as the blocks of a look-ahead exchange it: each tile publishes what it adds, once per launch.

use super::GROUPS;
use crate::look_back::{Carry, Runs, halves, whole};
use rungs_common::operator::Operator;
use rungs_common::state::{self, NOTHING, look, publish};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, unroll};

/// What a tile hands on. The tags of states count launches, so that nothing is cleared between them.
pub trait Hands: Carry {
    /// Words of 64 bits in a state.
    const STATE_WORDS: u32;
    /// How many tags there are, from 1; launches take them in turn.
    const TAGS: u32;

    /// Writes the state of a tile.
    fn publish_own(self, states: Global<u64>, tile: u32, tag: u32);
    /// Reads it; the tag is another while it is missing or only partly written.
    fn look_at(states: Global<u64>, tile: u32) -> (u32, Self);
    /// What consecutive tiles have together: lane l has seen tile 32 g + l as `seen[g]`, and [`Carry::NOTHING`] from
    /// tile `len` on. Lane 0 gets the result; all lanes call it.
    fn gather(seen: [(u32, Self); GROUPS], len: u32) -> Self;
}

/// A number of items.
impl Hands for u32 {
    const STATE_WORDS: u32 = 1;
    // Launches are numbered up to 2³² - 3.
    const TAGS: u32 = u32::MAX - 1;

    #[simt::device]
    fn publish_own(self, states: Global<u64>, tile: u32, tag: u32) {
        publish(states, tile, tag, self);
    }

    #[simt::device]
    fn look_at(states: Global<u64>, tile: u32) -> (u32, Self) {
        look(states, tile)
    }

    #[simt::device]
    fn gather(seen: [(u32, Self); GROUPS], _: u32) -> Self {
        let mut own = 0;
        unroll::<GROUPS>(|g| own += seen[g].1);
        warp::reduce_add(FULL, own)
    }
}

/// A number of runs, at most the items of a tile, and the values since the last began. A word of the state has a tag of
/// 16 bits, the number, and half of a value, so that one load is enough for values of 4 bytes.
impl<V: Scalar, O: Operator<V>> Hands for Runs<V, O> {
    const STATE_WORDS: u32 = state::words::<V>();
    const TAGS: u32 = u16::MAX as u32;

    #[simt::device]
    fn publish_own(self, states: Global<u64>, tile: u32, tag: u32) {
        let head = (tag << 16 | self.count) as u64;
        let words = halves(self.sum);
        unroll::<2>(|i| {
            if (i as u32) < Self::STATE_WORDS {
                states.store(tile * Self::STATE_WORDS + i as u32, head << 32 | words[i] as u64, Relaxed, Device);
            }
        });
    }

    #[simt::device]
    fn look_at(states: Global<u64>, tile: u32) -> (u32, Self) {
        let low = states.load(tile * Self::STATE_WORDS, Relaxed, Device);
        let is_double = Self::STATE_WORDS == 2;
        let high = if is_double { states.load(tile * 2 + 1, Relaxed, Device) } else { low };
        let head = (low >> 32) as u32;
        let tag = if head == (high >> 32) as u32 { head >> 16 } else { NOTHING };
        (tag, Self::new(head & u16::MAX as u32, whole(low as u32, high as u32)))
    }

    #[simt::device]
    fn gather(seen: [(u32, Self); GROUPS], len: u32) -> Self {
        let (mut count, mut begins) = (0, [0; GROUPS]);
        unroll::<GROUPS>(|g| {
            count += seen[g].1.count;
            begins[g] = warp::ballot(FULL, seen[g].1.count > 0);
        });
        let mut sum = O::IDENTITY;
        unroll::<GROUPS>(|g| {
            let mut is_last = g as u32 * WARP < len;
            unroll::<GROUPS>(|later| is_last &= later <= g || begins[later] == 0);
            // Only what follows the last beginning of a run counts: most often that is one group.
            if is_last {
                let first = (WARP - 1).wrapping_sub(begins[g].leading_zeros());
                let is_of_last = begins[g] == 0 || warp::lane_id() >= first;
                let part = O::combine_warp(if is_of_last { seen[g].1.sum } else { O::IDENTITY });
                sum = if begins[g] != 0 { part } else { O::combine(sum, part) };
            }
        });
        Self::new(warp::reduce_add(FULL, count), sum)
    }
}
