//! # Runs
//!
//! Many equal keys, as a list of words with their numbers: that is what changes places in a sort over several GPUs, in
//! place of the keys. A list is sorted by word.
//!
//! [`exchange_interleave`] merges lists that came from several GPUs. One thread per run searches all other lists for
//! the runs that come before its own: neighbours search for neighbouring words, so a warp reads the same few sectors.
//!
//! **Bottleneck.** Latency: log₂ n loads, each of which waits for the one before, for each list.

use rungs_common::keys::Word;
#[cfg(not(target_os = "cuda"))]
use rungs_common::ladder::{Geometry, Launcher, Result};
use simt::{Global, kernel, thread};

/// Threads per block.
const THREADS: u32 = 256;

/// Merges sorted lists that lie in sequence and end at `ends`. A word may be in several lists: those of the
/// first list come first.
#[kernel(max_threads = THREADS, instances(exchange_interleave_u32: <u32>, exchange_interleave_u64: <u64>))]
pub fn exchange_interleave<W: Word + Ord>(
    words: Global<W>,
    counts: Global<u32>,
    ends: Global<u32>,
    merged_words: Global<W>,
    merged_counts: Global<u32>,
) {
    let i = thread::index_1d();
    if i >= words.len() {
        return;
    }
    let word = words.get(i);
    let (mut place, mut list, mut begin) = (0, 0, 0);
    while list < ends.len() {
        let end = ends.get(list);
        if begin <= i && i < end {
            place += i - begin;
        } else {
            // Of equal words that of a list before this one's comes first.
            let (mut low, mut high) = (begin, end);
            while low < high {
                let middle = low + (high - low) / 2;
                let other = words.get(middle);
                if other < word || other == word && end <= i {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            place += low - begin;
        }
        (list, begin) = (list + 1, end);
    }
    merged_words.set(place, word);
    merged_counts.set(place, counts.get(i));
}

/// The launches for words of one type.
#[cfg(not(target_os = "cuda"))]
pub trait Interleaves: Word {
    /// Launches [`exchange_interleave`]: from a list of words and counts to another one.
    ///
    /// # Errors
    /// Those of a launch.
    #[rustfmt::skip]
    fn interleave(
        on: &dyn Launcher, from: (Global<Self>, Global<u32>), ends: Global<u32>, to: (Global<Self>, Global<u32>),
    ) -> Result;
}

#[cfg(not(target_os = "cuda"))]
macro_rules! interleaves {
    ($($W:ty),*) => {$(
        impl Interleaves for $W {
            #[rustfmt::skip]
            fn interleave(
                on: &dyn Launcher, from: (Global<Self>, Global<u32>), ends: Global<u32>,
                to: (Global<Self>, Global<u32>),
            ) -> Result {
                let geometry = Geometry::linear(from.0.len().div_ceil(THREADS), THREADS);
                on.launch(exchange_interleave::<$W>::default(), geometry, (from.0, from.1, ends, to.0, to.1))
            }
        }
    )*};
}
#[cfg(not(target_os = "cuda"))]
interleaves!(u32, u64);
