//! # Histograms by edges
//!
//! Bin i has the keys from edge i on that are below edge i + 1. Three more counters follow those of the bins: of keys
//! below the first edge, of keys from the last edge on, and of NaN. Floats are compared as numbers, so -0.0 is 0.0.
//!
//! A block has the edges in shared memory, and several copies of the counters, so that its warps do not all add to the
//! same word. Each thread loads `ITEMS` keys at once and searches the edges by halves. Where all lanes of a warp
//! found one bin, as with equal or sorted keys, one of them adds for all. At the end the blocks add their counters to
//! the result.
//!
//! **Bottleneck.** Shared memory: log₂ (bins + 1) loads per key, with bank conflicts. Equal parts could be found by one
//! multiplication; searching the rounded edges of [`bins_even`] gives every key the bin that its edges say, for all
//! types.

use crate::BLOCK;
pub use rungs_common::bins::MAX_BINS;
use rungs_common::keys::{DESCENDING, FLOAT, UNSIGNED, Word};
use simt::atomic::{Order, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, Shared, kernel, thread, unroll};

/// Keys per thread and step.
const ITEMS: usize = 8;

/// Keys of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Counters next to those of the bins.
pub const OUTSIDE: u32 = 3;

/// Most copies of the counters: one per warp.
const COPIES: u32 = BLOCK / WARP;

/// Words that all copies of the counters take, unless one copy has more.
const WORDS: u32 = 4096;

const _: () = assert!(8 * (MAX_BINS + 1) + 4 * (MAX_BINS + OUTSIDE) <= 99 << 10, "every device has so much");

/// Blocks for `n` keys on a device with this number of SMs, each of which has room for a few.
pub fn grid(n: u32, multiprocessors: u32) -> u32 {
    n.div_ceil(TILE).min(multiprocessors.saturating_mul(4))
}

/// Copies of `counters` counters.
#[simt::device]
fn copies(counters: u32) -> u32 {
    (WORDS / counters).clamp(1, COPIES)
}

/// Bytes of dynamic shared memory for this number of edges.
pub fn shared_bytes<W>(edges: u32) -> u32 {
    let counters = edges - 1 + OUTSIDE;
    edges * size_of::<W>() as u32 + 4 * counters * copies(counters)
}

/// The words of what is special among floats; for other keys, of nothing.
#[derive(Clone, Copy)]
struct Special<W> {
    lowest: W,
    highest: W,
    negative_zero: W,
    zero: W,
    order: u32,
}

impl<W: Word> Special<W> {
    #[simt::device]
    fn of(order: u32) -> Self {
        let sign = 1 << (8 * size_of::<W>() - 1);
        let infinity = if size_of::<W>() == 4 { 0x7f80_0000 } else { 0x7ff0 << 48 };
        let word = |bits: u64| W::from_bits_64(bits).encode(order);
        let is_float = order & !DESCENDING == FLOAT;
        let least = W::from_bits_64(0).encode(UNSIGNED);
        Self {
            lowest: if is_float { word(sign | infinity) } else { least },
            highest: if is_float { word(infinity) } else { W::from_bits_64(u64::MAX) },
            negative_zero: if is_float { word(sign) } else { least },
            zero: if is_float { word(0) } else { least },
            order,
        }
    }

    /// The key's word, with one zero.
    #[simt::device]
    fn word(self, key: W) -> W {
        let word = key.encode(self.order);
        if word == self.negative_zero { self.zero } else { word }
    }

    #[simt::device]
    fn is_nan(self, word: W) -> bool {
        word < self.lowest || word > self.highest
    }
}

/// Adds to `counts`, of [`OUTSIDE`] more than there are bins, how many of `keys` are in each bin of ascending `edges`,
/// below the first, from the last on, and NaN. With edges that are not ascending, a key counts in some bin.
#[kernel(max_threads = BLOCK, instances(bins_count_u32: <u32>, bins_count_u64: <u64>))]
pub fn bins_count<W: Word>(keys: Global<W>, edges: Global<W>, order: u32, counts: Global<u32>) {
    let (t, last, counters) = (thread::thread_idx_x(), edges.len(), counts.len());
    let (special, copies) = (Special::<W>::of(order), copies(counters));
    let limits = Shared::<W>::dynamic(0, last);
    let table = Shared::<u32>::dynamic(last * size_of::<W>() as u32, counters * copies);
    let own = table.slice(t / WARP % copies * counters, counters);
    let mut i = t;
    while i < last {
        limits.set(i, special.word(edges.get(i)));
        i += BLOCK;
    }
    let mut i = t;
    while i < counters * copies {
        table.set(i, 0);
        i += BLOCK;
    }
    thread::sync_threads(); // the edges and the zeros are there before they are used

    let counter = |key: W| {
        let word = special.word(key);
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = low + (high - low) / 2;
            if limits.get(middle) <= word {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        // The counters after those of the bins.
        let below = last - 1;
        if special.is_nan(word) {
            below + 2
        } else if low == 0 {
            below
        } else if low == last {
            below + 1
        } else {
            low - 1
        }
    };
    let mut tile = thread::block_idx_x();
    while tile < keys.len().div_ceil(TILE) {
        let part = keys.slice(tile * TILE, (keys.len() - tile * TILE).min(TILE));
        let mut loaded = [W::default(); ITEMS];
        unroll::<ITEMS>(|i| {
            if i as u32 * BLOCK + t < part.len() {
                loaded[i] = part.get(i as u32 * BLOCK + t);
            }
        });
        unroll::<ITEMS>(|i| {
            let is_there = i as u32 * BLOCK + t < part.len();
            let counter = if is_there { counter(loaded[i]) } else { counters };
            let first = warp::shuffle(FULL, counter, 0);
            let (is_leader, number) =
                if warp::all(FULL, counter == first) { (warp::lane_id() == 0, WARP) } else { (true, 1) };
            if is_there && is_leader {
                own.fetch_add(counter, number, Order::Relaxed, Scope::Block);
            }
        });
        tile += thread::grid_dim_x();
    }
    thread::sync_threads(); // all threads have counted before the copies are added
    let mut i = t;
    while i < counters {
        let (mut sum, mut copy) = (0, 0);
        while copy < copies {
            sum += table.get(copy * counters + i);
            copy += 1;
        }
        if sum != 0 {
            counts.fetch_add(i, sum, Order::Relaxed, Scope::Device);
        }
        i += BLOCK;
    }
}

/// A number whose ranges are divided into equal parts; unsigned words stand for signed ones, too.
pub trait Divides: Scalar {
    /// `low + (high - low) * i / parts`, for at most [`MAX_BINS`] parts of a range of finite width. Integers are
    /// rounded down; floats are computed as `f64` and rounded to the nearest.
    fn edge(low: Self, high: Self, i: u32, parts: u32) -> Self;
}

macro_rules! divide {
    ($($t:ty)*) => {$(
        impl Divides for $t {
            #[simt::device]
            fn edge(low: Self, high: Self, i: u32, parts: u32) -> Self {
                let (width, i, parts) = (high.wrapping_sub(low) as u64, i as u64, parts as u64);
                // The product of the whole width might need more than 64 bits.
                low.wrapping_add((width / parts * i + width % parts * i / parts) as $t)
            }
        }
    )*};
}
divide!(u32 u64);

macro_rules! divide_floats {
    ($($t:ty)*) => {$(
        impl Divides for $t {
            #[simt::device]
            fn edge(low: Self, high: Self, i: u32, parts: u32) -> Self {
                let (low, end) = (low as f64, high as f64);
                let edge = low + (end - low) * (i as f64 / parts as f64);
                // Rounding keeps the order of the edges, but one of them might pass the end.
                if i < parts && edge < end { edge as $t } else { high }
            }
        }
    )*};
}
divide_floats!(f32 f64);

/// Writes the edges of equal parts of a range, of which there is one less: see [`Divides::edge`]. The bounds are bits,
/// so that one kernel has one form.
#[kernel(max_threads = BLOCK, instances(
    bins_even_u32: <u32>, bins_even_u64: <u64>, bins_even_f32: <f32>, bins_even_f64: <f64>,
))]
pub fn bins_even<T: Divides>(edges: Global<T>, low: u64, high: u64) {
    let i = thread::index_1d();
    if i < edges.len() {
        edges.set(i, T::edge(T::from_bits_64(low), T::from_bits_64(high), i, edges.len() - 1));
    }
}
