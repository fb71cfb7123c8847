//! Counters of 16 bits, two in a word of shared memory, for more bins than words would fit.

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Shared, warp};

/// A counter that has come so far is relieved of so much: the rest of its bits is for what others add meanwhile.
pub(super) const RELIEF: u32 = 1 << 15;

/// From so many lanes with one bin on, a warp counts that bin apart.
const CROWD: u32 = 4;

/// The counters.
#[derive(Clone, Copy)]
pub(super) struct Halves(pub Shared<u32>);

/// The two counters of a word.
#[inline(always)]
pub(super) fn halves(word: u32) -> [u32; 2] {
    [word & 0xffff, word >> 16]
}

/// Whether many lanes have the `hot` bin, or the first lane's, by a `sample` of each: atomics of many lanes on one counter
/// would wait for each other.
#[inline(always)]
#[track_caller]
pub(super) fn is_crowd(hot: u32, sample: u32) -> bool {
    let like = |hot: u32| warp::ballot(warp::FULL, sample == hot).count_ones();
    like(hot) >= CROWD || like(warp::shuffle(warp::FULL, sample, 0)) >= CROWD
}

impl Halves {
    /// The counter of a bin.
    #[inline(always)]
    pub fn get(self, bin: u32) -> u32 {
        self.0.get(bin >> 1) >> ((bin & 1) * 16) & 0xffff
    }

    /// Counts a key. A carry is for the caller to find.
    #[inline(always)]
    pub fn add(self, bin: u32) {
        self.0.fetch_add(bin >> 1, if bin & 1 == 0 { 1 } else { 1 << 16 }, Relaxed, Scope::Block);
    }

    /// Counts up to 128 keys. From `limit` on, which is [`RELIEF`] or `u32::MAX` for never, calls `relieved` when it took
    /// [`RELIEF`] off the counter. While all threads count so, no counter overflows: each of them takes the relief
    /// before it adds again.
    #[inline(always)]
    pub fn add_checked(self, bin: u32, count: u32, limit: u32, relieved: impl FnOnce()) {
        let shift = (bin & 1) * 16;
        let before = self.0.fetch_add(bin >> 1, count << shift, Relaxed, Scope::Block) >> shift & 0xffff;
        let bit = RELIEF << shift;
        // Of all who see the bit set, the one who clears it takes the relief.
        if before + count >= limit && self.0.fetch_and(bin >> 1, !bit, Relaxed, Scope::Block) & bit != 0 {
            relieved();
        }
    }

    /// Counts the keys of a whole warp, the same number a lane. One bin is counted apart, without an atomic a key: the
    /// one that the warp remembers as `hot`, or a lane's if that has become rare.
    #[inline(always)]
    #[track_caller]
    #[rustfmt::skip]
    pub fn add_crowded<const N: usize>(
        self, hot: &mut u32, bins: [u32; N], n: usize, limit: u32, relieved: impl Fn(u32),
    ) {
        if warp::ballot(warp::FULL, bins[0] == *hot).count_ones() < CROWD {
            *hot = warp::shuffle(warp::FULL, bins[0], 0);
        }
        let mut hot_keys = 0;
        simt::unroll::<N>(|j| {
            if j < n {
                if bins[j] == *hot {
                    hot_keys += 1;
                } else {
                    self.add_checked(bins[j], 1, limit, || relieved(bins[j]));
                }
            }
        });
        let sum = warp::reduce_add(warp::FULL, hot_keys);
        if warp::lane_id() == 0 {
            self.add_checked(*hot, sum, limit, || relieved(*hot));
        }
    }
}
