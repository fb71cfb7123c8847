//! Counts the values of the top bits.

use super::halves::{Halves, RELIEF, halves, is_crowd};
use super::{Key, Mapping, each_in_pack};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, opaque, shared, thread, unroll, warp};

/// Threads per block.
pub const COUNT_THREADS: u32 = 1024;

/// 16-byte loads in flight per thread.
pub(super) const IN_FLIGHT: u32 = 4;

/// Reliefs that a block can note before it checks that no counter has overflowed.
pub(super) const NOTES: u32 = 1024;
/// Keys that a block counts before that check: more reliefs cannot come of them.
const MAX_ROUND: u32 = NOTES * RELIEF;

shared!(LOST: [u32; 1]);
shared!(NOTED: [u32; 1]);
shared!(RELIEVED: [u32; NOTES]);

/// Bytes of static shared memory.
pub const COUNT_STATIC: u32 = 4 * NOTES + 2 * 16;

/// How a count finds the bucket of a key.
pub trait Buckets<W>: Copy {
    /// The number of the key's bucket.
    fn bucket(self, key: W) -> u32;
    /// The same in a form that hides from the compiler that it is the same.
    fn hidden(self) -> Self;

    /// Whether to find a bucket takes longer than to note it.
    #[simt::device]
    fn takes_long(self) -> bool {
        false
    }
}

/// Buckets by the top bits.
#[derive(Clone, Copy)]
pub struct TopBits {
    shift: u32,
}

impl TopBits {
    /// So many of them, at least one.
    #[simt::device]
    pub fn new(bits: u32) -> Self {
        Self { shift: 32 - bits }
    }
}

impl<W: Key> Buckets<W> for TopBits {
    #[simt::device]
    fn bucket(self, key: W) -> u32 {
        key.top() >> self.shift
    }

    #[simt::device]
    fn hidden(self) -> Self {
        Self { shift: opaque(self.shift) }
    }
}

/// Adds the number of keys of each of `1 << bits` buckets to `histogram`, which was zero. All threads of the grid call
/// it, in blocks of [`COUNT_THREADS`] with counters of 16 bits, one per bucket, in dynamic shared memory. `zeroed`:
/// words that the first block sets to zero for later kernels. `find` is called once the grid before has ended and says
/// how buckets are found; if it returns `None`, the same for all threads of a block, nothing is counted.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn count_buckets<W: Key, M: Mapping, B: Buckets<W>>(
    keys: Global<W>, order: u32, bits: u32, histogram: Global<u32>, zeroed: Global<u32>,
    find: impl FnOnce() -> Option<B>,
) {
    begin_count(bits, zeroed);
    if let Some(buckets) = find() {
        count_cleared::<W, M>(keys, order, bits, histogram, buckets);
    }
}

/// Begins [`count_buckets`]: the counters are zero, and the grid before has ended.
#[simt::device]
#[track_caller]
pub fn begin_count(bits: u32, zeroed: Global<u32>) {
    let t = thread::thread_idx_x();
    grid::let_next_start();
    clear(counters(bits));
    grid::wait_for_previous(); // the histogram was zeroed, and keys may have been written, by grids before
    if thread::block_idx_x() == 0 && t < zeroed.len() {
        zeroed.set(t, 0);
    }
}

/// The counters of `1 << bits` buckets.
#[simt::device]
pub fn counters(bits: u32) -> Shared<u32> {
    Shared::dynamic(0, 1 << (bits - 1))
}

/// [`count_buckets`] once the counters are zero.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn count_cleared<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, bits: u32, histogram: Global<u32>, buckets: impl Buckets<W>,
) {
    let (t, counters) = (thread::thread_idx_x(), counters(bits));
    count_rest::<W, M>(keys, order, buckets, histogram);
    let packs = keys.len() / W::PACK;
    // In rounds as long as the notes allow, nearly always one; after an overflow in rounds too short for another one.
    let (block, stride) = (thread::block_idx_x() * COUNT_THREADS, thread::grid_threads_1d());
    let round_of = |keys: u32| (IN_FLIGHT * stride).saturating_mul(keys / (COUNT_THREADS * IN_FLIGHT * W::PACK));
    let (mut first, mut round) = (0, round_of(MAX_ROUND));
    while first < packs && block < packs - first {
        if t == 0 {
            LOST::view().set(0, 0);
            NOTED::view().set(0, 0);
        }
        thread::sync_threads(); // every counter is zero before the first key is counted
        let end = packs.min(first.saturating_add(round));
        let mine = count_keys::<W, M>(keys, order, buckets, Halves(counters), first + block + t, end);
        thread::sync_threads(); // every key is counted before counters are read
        let noted = NOTED::view().get(0);
        let found = each_word(counters, |_, pair| halves(pair)[0] + halves(pair)[1]);
        let found = if t == 0 { found.wrapping_add(noted * RELIEF) } else { found };
        // A carry out of the low half turns 65,536 keys into one, a carry out of the high half into none: the sum of
        // the counters differs from the number of keys exactly if there was a carry.
        let lost = warp::reduce_add(warp::FULL, mine.wrapping_sub(found));
        if lost != 0 && warp::lane_id() == 0 {
            LOST::view().fetch_add(0, lost, Relaxed, Scope::Block);
        }
        thread::sync_threads(); // all differences are added before the sum is read
        if LOST::view().get(0) != 0 {
            round = round_of(0xffff);
        } else {
            // All blocks add to the same histogram.
            each_word(counters, |i, pair| {
                let [low, high] = halves(pair);
                if low != 0 {
                    histogram.fetch_add(2 * i, low, Relaxed, Scope::Device);
                }
                if high != 0 {
                    histogram.fetch_add(2 * i + 1, high, Relaxed, Scope::Device);
                }
                0
            });
            if t < noted {
                histogram.fetch_add(RELIEVED::view().get(t), RELIEF, Relaxed, Scope::Device);
            }
            first = end;
        }
        if first < packs {
            thread::sync_threads(); // all have read the counters, and the sum, before they are cleared
            clear(counters);
        }
    }
}

/// Notes that a counter was reduced by [`RELIEF`].
#[simt::device]
pub(super) fn note(bin: u32) {
    let note = NOTED::view().fetch_add(0, 1, Relaxed, Scope::Block);
    RELIEVED::view().set(note, bin);
}

/// Forgets all notes.
#[simt::device]
pub(super) fn forget_notes() {
    NOTED::view().set(0, 0);
}

/// The bin of the note of this thread, if there is one: there are at most as many notes as threads.
#[simt::device]
pub(super) fn noted() -> Option<u32> {
    let t = thread::thread_idx_x();
    (t < NOTED::view().get(0)).then(|| RELIEVED::view().get(t))
}

/// Counts the last keys, fewer than a pack, in global memory.
#[simt::device]
#[rustfmt::skip]
pub(super) fn count_rest<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, buckets: impl Buckets<W>, histogram: Global<u32>,
) {
    let packs = keys.len() / W::PACK;
    if thread::index_1d() < keys.len() - packs * W::PACK {
        let rest = packs * W::PACK + thread::index_1d();
        let bucket = buckets.bucket(M::encode(keys.get(rest), order));
        histogram.fetch_add(bucket, 1, Relaxed, Scope::Device);
    }
}

/// Zeroes the counters of this thread.
#[simt::device]
pub fn clear(counters: Shared<u32>) {
    let mut i = thread::thread_idx_x();
    while i < counters.len() {
        counters.set(i, 0);
        i += COUNT_THREADS;
    }
}

/// The sum of `f` over index and value of the counters of this thread.
#[simt::device]
pub fn each_word(counters: Shared<u32>, f: impl Fn(u32, u32) -> u32) -> u32 {
    let mut sum = 0u32;
    let mut i = thread::thread_idx_x();
    while i < counters.len() {
        sum = sum.wrapping_add(f(i, counters.get(i)));
        i += COUNT_THREADS;
    }
    sum
}

/// Counts the packs of this thread: `first`, and from there one per grid's width up to `end`. Returns the number of
/// keys in them.
#[simt::device]
#[rustfmt::skip]
fn count_keys<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, buckets: impl Buckets<W>, counters: Halves, first: u32, end: u32,
) -> u32 {
    let stride = thread::grid_threads_1d();
    let (mut i, mut hot) = (first, 0);
    // Whole warps go round together, because the warp votes inside. The sums stay far below 2³²: there are at most 2³¹
    // packs and a few hundred blocks.
    while (i | 31) + (IN_FLIGHT - 1) * stride < end {
        let mut packs = [W::Pack::default(); IN_FLIGHT as usize];
        // Not the read-only path: the grid before may still have been writing when this one started.
        unroll::<{ IN_FLIGHT as usize }>(|p| packs[p] = keys.get_pack_streaming(i + p as u32 * stride));
        unroll::<{ IN_FLIGHT as usize }>(|p| packs[p] = encoded::<W, M>(packs[p], order));
        let sample = buckets.bucket(packs[0].as_ref()[0]);
        // A counter that is far up may overflow.
        if is_crowd(hot, sample) || warp::any(warp::FULL, counters.peek(sample) >= RELIEF / 2) {
            let buckets = buckets.hidden(); // or they are computed before the branch, which takes 16 more registers
            unroll::<{ IN_FLIGHT as usize }>(|p| {
                let mut bins = [0; 4];
                each::<W>(packs[p], |j, word| bins[j] = buckets.bucket(word));
                counters.add_crowded(&mut hot, bins, W::PACK as usize, RELIEF, |bucket| {
                    let note = NOTED::view().fetch_add(0, 1, Relaxed, Scope::Block);
                    RELIEVED::view().set(note, bucket);
                });
            });
        } else {
            unroll::<{ IN_FLIGHT as usize }>(|p| each::<W>(packs[p], |_, word| counters.add(buckets.bucket(word))));
        }
        i += IN_FLIGHT * stride;
    }
    while i < end {
        each::<W>(encoded::<W, M>(keys.get_pack_streaming(i), order), |_, word| counters.add(buckets.bucket(word)));
        i += stride;
    }
    end.saturating_sub(first).div_ceil(stride) * W::PACK
}

/// The keys of a pack as words.
#[simt::device]
pub(super) fn encoded<W: Key, M: Mapping>(mut pack: W::Pack, order: u32) -> W::Pack {
    each_in_pack::<W>(|j| pack.as_mut()[j] = M::encode(pack.as_ref()[j], order));
    pack
}

/// Calls `f` with the index and the word of each key of a pack.
#[simt::device]
pub(super) fn each<W: Key>(pack: W::Pack, mut f: impl FnMut(usize, W)) {
    each_in_pack::<W>(|j| f(j, pack.as_ref()[j]));
}
