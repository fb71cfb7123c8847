//! Which way many keys go, once they are counted by their top bits.

#[cfg(not(target_os = "cuda"))]
use crate::msd::BUCKET_MAX;
use crate::msd::{COUNT_THREADS, Mapping, SAMPLE, STARTS_THREADS, take_sample};
use simt::{Global, shared, thread, unroll, warp};

/// Most warps of a block that decides.
const WARPS: u32 = COUNT_THREADS / warp::WARP;

/// With two partitions, keys go from the last digit if one key in so many is in a bucket that is too large.
#[cfg(not(target_os = "cuda"))]
const SHARE: u32 = 4;

/// Keys go to buckets nevertheless if so few buckets have keys: each is split once, or is of one value.
#[cfg(not(target_os = "cuda"))]
const FEW: u32 = 16;

/// The limits that the choice goes by.
#[simt::argument]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Keys go from the last digit if so many are in buckets that are too large,
    pub least: u32,
    /// unless no more buckets than this have keys,
    pub few: u32,
    /// none of them more keys than this.
    pub most: u32,
    /// A bucket is too large if it has more keys than this.
    pub bucket: u32,
}

#[cfg(not(target_os = "cuda"))]
impl Choice {
    /// For `n` keys. With one partition, of few keys, to split a single bucket takes as long as all passes.
    pub const fn new(n: u32, two_partitions: bool) -> Self {
        if two_partitions {
            Self { least: n / SHARE, few: FEW, most: n - n / SHARE, bucket: BUCKET_MAX }
        } else {
            Self { least: 1, few: 0, most: 0, bucket: BUCKET_MAX }
        }
    }

    /// The limits for a sample of `n` keys. They are so much higher that, if a sample reaches them, all keys nearly
    /// certainly reach theirs. A sample that does not shows nothing.
    pub fn of_sample(self, n: u32) -> Self {
        let of_sample =
            |keys: u32| (u64::from(keys) * u64::from(SAMPLE) / u64::from(n.max(1))).min(SAMPLE.into()) as u32;
        Self {
            least: of_sample(self.least) + MARGIN,
            few: self.few,
            most: of_sample(self.most) + MARGIN,
            bucket: (2 * of_sample(self.bucket)).max(SEEN),
        }
    }
}

/// How many keys of a sample have to be in buckets that are too large, beside as many as the limit says; and how many
/// keys of one bucket may be an accident. Of uniform keys in 2048 buckets or more, a counter has one on average. By
/// accident some counters have more than [`SEEN`]; together they have less than a hundredth of the sample.
#[cfg(not(target_os = "cuda"))]
const MARGIN: u32 = SAMPLE / 16;
#[cfg(not(target_os = "cuda"))]
const SEEN: u32 = 5;

shared!(FOUND: [u32; 3 * WARPS]);

/// Whether keys go from the last digit, by the numbers of keys in all buckets. All threads of a block of
/// [`STARTS_THREADS`] call it, and get the same.
#[inline(always)]
#[track_caller]
pub fn goes_from_last(histogram: Global<u32>, choice: Choice) -> bool {
    let mut found = Found::default();
    let mut i = thread::thread_idx_x();
    while i < histogram.len() / 4 {
        let four = histogram.get_pack(i);
        unroll::<4>(|j| found.see(four[j], choice));
        i += STARTS_THREADS;
    }
    found.decide::<STARTS_THREADS>(choice)
}

/// Whether a sample shows that keys go from the last digit. All threads of a block of [`COUNT_THREADS`], which has
/// cleared the counters of the sample, call it, and get the same; so do all blocks.
#[inline(always)]
#[track_caller]
pub fn sample_goes_from_last<M: Mapping>(keys: Global<u32>, order: u32, top_bits: u32, choice: Choice) -> bool {
    let bins = take_sample::<M>(keys, order, top_bits, |_| ());
    thread::sync_threads(); // all keys of the sample are counted before the counters are read
    let mut found = Found::default();
    unroll::<{ (SAMPLE / COUNT_THREADS) as usize }>(|j| {
        found.see(bins.get(j as u32 * COUNT_THREADS + thread::thread_idx_x()), choice);
    });
    found.decide::<COUNT_THREADS>(choice)
}

/// What a thread has seen of the buckets: the keys in those that are too large, the most keys of one, and how many have
/// keys.
#[derive(Clone, Copy, Default)]
struct Found {
    crowded: u32,
    largest: u32,
    used: u32,
}

impl Found {
    #[inline(always)]
    fn see(&mut self, keys: u32, choice: Choice) {
        self.crowded += if keys > choice.bucket { keys } else { 0 };
        self.largest = self.largest.max(keys);
        self.used += (keys != 0) as u32;
    }

    /// The choice by what all threads of a block of `THREADS` have seen. A block makes one.
    #[inline(always)]
    #[track_caller]
    fn decide<const THREADS: u32>(self, choice: Choice) -> bool {
        let (lane, w) = (warp::lane_id(), thread::thread_idx_x() / warp::WARP);
        let together = |of: [u32; 3]| {
            let [crowded, largest, used] = of;
            [
                warp::reduce_add(warp::FULL, crowded),
                warp::reduce_max(warp::FULL, largest),
                warp::reduce_add(warp::FULL, used),
            ]
        };
        let of_warp = together([self.crowded, self.largest, self.used]);
        if lane == 0 {
            unroll::<3>(|k| FOUND::view().set(k as u32 * WARPS + w, of_warp[k]));
        }
        thread::sync_threads(); // what every warp has found is there before it is put together
        let found = |k: u32| if lane < THREADS / warp::WARP { FOUND::view().get(k * WARPS + lane) } else { 0 };
        let [crowded, largest, used] = together([found(0), found(1), found(2)]);
        crowded > 0 && crowded >= choice.least && (used > choice.few || largest > choice.most)
    }
}
