//! Counters of 16 bits, two per word of shared memory, for more bins than words would fit.

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Shared, thread, warp};

/// At this value a counter is reduced by it; its other bits are room for what other threads add meanwhile.
pub const RELIEF: u32 = 1 << 15;

/// From this many lanes with the same bin on, a warp counts that bin apart.
const CROWD: u32 = 4;

/// The counters.
#[derive(Clone, Copy)]
pub struct Halves(pub Shared<u32>);

/// The two counters of a word.
#[simt::device]
pub fn halves(word: u32) -> [u32; 2] {
    [word & 0xffff, word >> 16]
}

/// Zeroes words, a multiple of four of them, by all `THREADS` threads of the block.
#[simt::device]
pub fn clear_packs<const THREADS: u32>(words: Shared<u32>) {
    let mut i = thread::thread_idx_x();
    while i < words.len() / 4 {
        words.set_pack(i, [0; 4]);
        i += THREADS;
    }
}

/// Whether many lanes have the `hot` bin or that of the first lane, by one `sample` per lane: atomics of many lanes on
/// one counter would wait for each other.
#[simt::device]
#[track_caller]
pub fn is_crowd(hot: u32, sample: u32) -> bool {
    let like = |hot: u32| warp::ballot(warp::FULL, sample == hot).count_ones();
    like(hot) >= CROWD || like(warp::shuffle(warp::FULL, sample, 0)) >= CROWD
}

impl Halves {
    /// The counter of a bin, while other threads count.
    #[simt::device]
    pub fn peek(self, bin: u32) -> u32 {
        self.0.load(bin >> 1, Relaxed, Scope::Block) >> ((bin & 1) * 16) & 0xffff
    }

    /// Counts a key. The caller has to detect a carry.
    #[simt::device]
    pub fn add(self, bin: u32) {
        self.0.fetch_add(bin >> 1, if bin & 1 == 0 { 1 } else { 1 << 16 }, Relaxed, Scope::Block);
    }

    /// Counts up to 128 keys. Once the counter is at `limit`, which is [`RELIEF`] or `u32::MAX` for never, takes
    /// [`RELIEF`] off it and calls `relieved`. While all threads count in this way, no counter overflows: each thread
    /// takes the relief before it adds again.
    #[simt::device]
    pub fn add_checked(self, bin: u32, count: u32, limit: u32, relieved: impl FnOnce()) {
        let shift = (bin & 1) * 16;
        let before = self.0.fetch_add(bin >> 1, count << shift, Relaxed, Scope::Block) >> shift & 0xffff;
        let bit = RELIEF << shift;
        // Of all threads that see the bit set, the one that clears it takes the relief.
        if before + count >= limit && self.0.fetch_and(bin >> 1, !bit, Relaxed, Scope::Block) & bit != 0 {
            relieved();
        }
    }

    /// Counts the keys of a whole warp, the same number per lane. One bin is counted apart, without one atomic per key:
    /// the bin that the warp remembers as `hot`, or that of the first lane once `hot` has become rare.
    #[simt::device]
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

/// The sum of the two counters in a word.
#[simt::device]
pub fn pair_sum(word: u32) -> u32 {
    let [low, high] = halves(word);
    low + high
}
