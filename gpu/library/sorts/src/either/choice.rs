//! Which way many keys go: by a sample of them, and once they are counted.

#[cfg(not(target_os = "cuda"))]
use crate::learned::common_keys;
use crate::learned::each_common;
#[cfg(not(target_os = "cuda"))]
use crate::msd::BUCKET_MAX;
use crate::msd::{
    Buckets, COUNT_THREADS, EACH, Halves, Key, Mapping, SAMPLE, STARTS_THREADS, clear, clear_sample, count_repeats,
    count_sample, differing_bits, each_word, halves,
};
use simt::{Global, Shared, shared, thread, unroll, warp};

/// Most warps of a block that decides.
const WARPS: u32 = COUNT_THREADS / warp::WARP;

/// With two partitions, keys go from the last digit if one key in four is in a bucket that is too large.
#[cfg(not(target_os = "cuda"))]
const SHARE: u32 = 4;

/// Keys go to buckets nevertheless if at most 16 buckets have keys: each is split once, or is of one value.
#[cfg(not(target_os = "cuda"))]
const FEW: u32 = 16;

/// The limits that decide whether keys go to buckets.
#[simt::argument]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Keys go from the last digit if this number of them or more are in buckets that are too large,
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

/// The keys of a sample that have to be in buckets that are too large, in addition to the limit's; and how many keys of
/// one bucket may be an accident. If keys are uniform in 2048 buckets or more, a counter has one on average. By
/// accident some counters have more than [`SEEN`]; together they have less than a hundredth of the sample.
const MARGIN: u32 = SAMPLE / 16;
#[cfg(not(target_os = "cuda"))]
const SEEN: u32 = 5;

/// When a map is worth its while for keys whose top bits do not spread them.
#[simt::argument]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// Not if the keys of a sample differ in no more digits than this: so few passes from the last one are faster.
    pub digits: u32,
    /// Not if this number of keys of a sample repeat others: the keys of one value would be too many for a bucket.
    pub repeats: u32,
    /// A bucket by the map is too large if it has more of the keys that every block sees.
    pub bucket: u32,
    /// Not if more of those keys are in buckets that are too large by the map.
    pub crowded: u32,
}

impl Worth {
    /// One key in eight may be in buckets that are too large by the map, or one in 32 if keys may go from the last
    /// digit: to split such buckets takes longer than passes, but less than to split what top bits do not spread.
    #[cfg(not(target_os = "cuda"))]
    const SHARES: [u32; 2] = [8, 32];

    /// For `n` keys, which may go `from_last`: half as many repetitions as there are if each value of the keys fills a
    /// bucket, and what is hardly an accident in a bucket that fits a block.
    #[cfg(not(target_os = "cuda"))]
    pub fn new<W: Key>(n: u32, from_last: bool) -> Self {
        let of = |keys: u64| keys * u64::from(BUCKET_MAX) / u64::from(n.max(1));
        let repeats = of(u64::from(SAMPLE * SAMPLE / 4)).min(u64::from(SAMPLE / 4)) as u32;
        let full = of(common_keys::<W>().into()).min(common_keys::<W>().into()) as u32;
        let crowded = common_keys::<W>() / Self::SHARES[usize::from(from_last)];
        Self { digits: if from_last { 2 } else { 0 }, repeats, bucket: full + 2 * full.isqrt() + 2, crowded }
    }

    /// Whether the keys of a `sample`, in whose buckets by the top bits is what was `found`, are worth a map. `any`:
    /// one of the keys. The counters of the sample are not zero behind that. `slots`: memory for `SAMPLE` keys.
    #[simt::device]
    #[track_caller]
    pub fn is_worth<W: Key>(self, sample: [W; EACH], found: Found, any: W, slots: Shared<W>) -> bool {
        if !found.is_crowded() {
            return false;
        }
        clear_sample();
        let mut differ = 0;
        unroll::<EACH>(|j| differ |= sample[j].bits() ^ any.bits());
        let differ = differing_bits::<W>(differ);
        let mut digits = 0;
        unroll::<8>(|d| digits += (differ >> (8 * d) & 0xff != 0) as u32);
        digits > self.digits && count_repeats(sample, slots) < self.repeats
    }

    /// Whether the map spreads the keys that every block sees, in a block with `counters` of 16 bits, one per bucket.
    /// They are zero before and after.
    #[simt::device]
    #[track_caller]
    #[rustfmt::skip]
    pub fn spreads<W: Key, M: Mapping>(
        self, keys: Global<W>, order: u32, counters: Shared<u32>, map: impl Buckets<W>,
    ) -> bool {
        each_common::<W, M>(keys, order, |key| Halves(counters).add(map.bucket(key)));
        thread::sync_threads(); // every key is counted before the counters are read
        let if_large = |keys: u32| if keys > self.bucket { keys } else { 0 };
        let crowded = each_word(counters, |_, pair| if_large(halves(pair)[0]) + if_large(halves(pair)[1]));
        clear(counters); // those that this thread has read
        let found = Found { crowded, ..Found::default() }.of_block::<COUNT_THREADS>();
        found.crowded <= self.crowded
    }
}

/// What the buckets of a `histogram` have. All threads of a block of [`STARTS_THREADS`] call it, and get the
/// same.
#[simt::device]
#[track_caller]
pub fn found_in(histogram: Global<u32>, choice: Choice) -> Found {
    let mut found = Found::default();
    let mut i = thread::thread_idx_x();
    while i < histogram.len() / 4 {
        let four = histogram.get_pack(i);
        unroll::<4>(|j| found.see(four[j], choice));
        i += STARTS_THREADS;
    }
    found.of_block::<STARTS_THREADS>()
}

/// What a sample shows of the buckets of all keys. All threads of a block of `COUNT_THREADS`, which has cleared the
/// counters of the sample, call it, and get the same; so do all blocks.
#[simt::device]
#[track_caller]
pub fn found_in_sample<W: Key>(sample: [W; EACH], buckets: impl Buckets<W>, choice: Choice) -> Found {
    let bins = count_sample(sample, |key| buckets.bucket(key), |_| ());
    thread::sync_threads(); // all keys of the sample are counted before the counters are read
    let mut found = Found::default();
    unroll::<EACH>(|j| found.see(bins.get(j as u32 * COUNT_THREADS + thread::thread_idx_x()), choice));
    found.of_block::<COUNT_THREADS>()
}

shared!(FOUND: [u32; 3 * WARPS]);

/// What has been seen of buckets: the keys in those that are too large, the most keys of one, and how many have keys.
#[derive(Clone, Copy, Default)]
pub struct Found {
    crowded: u32,
    largest: u32,
    used: u32,
}

impl Found {
    #[simt::device]
    fn see(&mut self, keys: u32, choice: Choice) {
        self.crowded += if keys > choice.bucket { keys } else { 0 };
        self.largest = self.largest.max(keys);
        self.used += (keys != 0) as u32;
    }

    /// Whether a sample has shown more keys in buckets that are too large than may be an accident.
    #[simt::device]
    pub fn is_crowded(self) -> bool {
        self.crowded >= MARGIN
    }

    /// Whether keys go from the last digit by that.
    #[simt::device]
    pub fn from_last(self, choice: Choice) -> bool {
        let Self { crowded, largest, used } = self;
        crowded > 0 && crowded >= choice.least && (used > choice.few || largest > choice.most)
    }

    /// What all threads of a block of `THREADS` have seen. Between two calls is a barrier.
    #[simt::device]
    #[track_caller]
    fn of_block<const THREADS: u32>(self) -> Self {
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
        Self { crowded, largest, used }
    }
}
