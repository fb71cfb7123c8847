//! # Radix sort of pairs, stable buckets that fit a block
//!
//! **Idea.** Keys with values need a stable sort: equal keys differ in their values. The partitions keep the order of
//! the keys, as `onesweep` does, but take the top digits first, as `msd-buckets` does: after two of them instead of
//! four the pairs lie in buckets that fit the shared memory of a block. There a key becomes a word: its difference from
//! the least key of the bucket, and its place in the bucket. So no two words are equal, an unstable sort of the words
//! is a stable sort of the keys, and each word tells where its value lies.
//!
//! Each bucket has an equal part of the span of the keys: a linear map says which, by a subtraction and a
//! product. For keys that fill all words that is the same as their top bits. Numbers up to a million, and timestamps,
//! share their top bits, but they fill their span. A sample shows the span; where a key is outside of it, pairs go by
//! digits.
//!
//! A key and its value lie side by side between passes: the runs that a tile writes are twice as long, and fewer
//! sectors of memory are written in part. Ranks come from one word of shared memory for each half warp and digit: how
//! many pairs had the digit before, and the set of lanes that have it now. Where many lanes have the same digit, two
//! votes find them instead of atomics.
//!
//! If a bucket is too large for a block, it is sorted in pieces, which are merged. If it is far too large, pairs are
//! sorted by all digits, from the last one, as in `onesweep`. A sample of the keys tells that in nearly all cases, the
//! histogram in the others. All launches are made, and those of the other sort exit early. Even a block that exits at
//! once costs launch time, so all passes by digits share one persistent kernel. A digit in which no two keys differ
//! takes no pass.
//!
//! **Few values.** Keys of few values differ in all digits, but each digit has few values. If the product of their
//! numbers is at most 256 for all digits, or for the first digits and for the others, `codes.rs` maps keys to codes of
//! one or two bytes, and there are as many passes. On an H200, times CUB's radix sort at 2²⁴ and 2²⁸: two values 1.45
//! and 1.48, 16 values 1.32 and 1.39. Four passes by digits are at 0.91 to 1.00.
//!
//! **Floats.** Their top bits do not spread them: half of those between 0 and 1 share an exponent. Where the device
//! chooses, floats go to buckets by a map, which the device learns from a sample as in `learned`. The partitions take
//! their digits from the number that the map gives a key. Keys of such a bucket share no bits, but they are close to
//! each other: a word keeps the difference from the least key of its bucket. Few buckets, those of sparse keys, have
//! differences of more than 19 bits. They are sorted twice, by the last bits and by the others.
//!
//! **Few pairs.** One launch sorts up to [`ONE_BLOCK_PAIRS`] pairs (`one_block.rs`): as a bucket by a map or, if there
//! are 1024 at most or if many keys of a sample would share a counter, by a bitonic network. On an H200, times CUB's
//! radix sort: 1.15 to 2.3 up to 1024 pairs; of 4096, 1.04 to 1.8 for keys that spread and for equal ones, 0.55 to 0.73
//! for skewed ones.
//!
//! **Bottleneck.** By ncu on an H200, 2²⁸ uniform pairs: in the passes nothing is saturated (L2 64 and 71 % of its
//! peak, shared memory 59, memory 45); a run of 32 pairs begins anywhere, so that most writes fill sectors in part. In
//! the bucket sort it is shared memory (73 %; memory 57). On an H200, times CUB's radix sort at 2²⁴ and 2²⁸: uniform
//! integers 1.63 and 1.50, timestamps 1.56 and 1.44, a range of 10⁶ 1.45 and 1.15; floats, uniform, normal and
//! exponential, 1.21 to 1.26 and 1.15, 1.30 and 1.28.
//!
//! **Cost.** By buckets a read of the keys to count, two passes that read and write pairs, and the sort of the buckets,
//! which does so too: 52 bytes per pair. By digits a read to count, and 16 bytes per pair and pass: 68 bytes if no pass
//! can be left out. By codes two reads to count and two passes, 40 bytes, or a read, a copy and a pass, 36 bytes. Seven
//! launches where the device chooses, eight if buckets nearly fill a block, nine for floats; for fewer pairs five, by
//! digits: `count.rs`, `pass.rs`; for those of one block one, and 16 bytes per pair, or 32 in two rounds.
//!
//! **Threads.** Passes: 512 per block with 16 pairs each, with 8 for few pairs; each half warp has a piece of the tile
//! and reads it as rows of 16. Bucket sort: one block of 384 threads per bucket with 12 pairs each, of 224 for small
//! buckets, or of 512 for buckets by a map, which are less even.
//!
//! **Limits.** Any number of pairs of 32-bit keys and 32-bit values; no keys alone. Beyond 2²⁸ pairs the buckets of
//! uniform keys are too large for a block, and pairs are sorted by digits. Scratch memory of 8 bytes per pair where the
//! device chooses, none in one block, of 16 elsewhere. Keys begin on a multiple of 16 bytes. Needs 128 KiB of shared
//! memory per block.
//!
//! **Source.** Composed of known ideas: A. Adinets and D. Merrill, "Onesweep" (2022), for the passes; E. Stehle and
//! H.-A. Jacobsen, "A memory bandwidth-efficient hybrid radix sort on GPUs" (2017), for most significant digits first.
//! The map has the sources of `learned`.
//!
//! | launch | file | by buckets | by digits |
//! | --- | --- | --- | --- |
//! | 1 | `histogram.rs` | counts the keys of each bucket | exits, if a sample shows that keys are skewed |
//! | 2 | `starts.rs` | finds where each bucket starts | finds that a bucket is too large |
//! | 3 | `count.rs` | exits | counts all digits, and finds where each value starts |
//! | 4, 5 | `pass.rs`, `tile.rs`, `ranks.rs` | partitions by the two digits of the bucket | exit |
//! | 6 | `bucket_sort.rs`, `window.rs`, `room.rs` | sorts each bucket | exits |
//! | 7 | `oversized.rs` | sorts the buckets that do not fit a block | exits |
//! | 8 | `rest.rs` | exits | all passes, by digits or by codes |
//!
//! Few pairs are sorted by `radix_msd_pairs_one_block` alone.
//!
//! `linear.rs` has the map. For up to 2200 pairs per bucket there is no launch 7. For floats launch 1 is
//! `radix_learned_map` of `learned` and then a histogram by that map. `any.rs` sorts a bucket of it.

mod any;
mod bucket_sort;
mod count;
mod histogram;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod linear;
mod one_block;
mod oversized;
mod pass;
mod ranks;
mod rest;
mod room;
mod shape;
mod starts;
mod tile;
mod window;

pub use bucket_sort::*;
pub use count::*;
pub use histogram::*;
pub use linear::LinearOrLast;
pub use one_block::*;
pub use oversized::*;
pub use pass::*;
pub use rest::*;
pub use shape::*;
pub use starts::*;
pub use tile::PASS_STATIC;
pub use window::*;

use super::msd::spread;
use linear::{LINEAR, LINEAR_WORDS};
use simt::Global;
use simt::atomic::{Order::Relaxed, Scope};

/// Words of the controls: the epoch of the last sort by digits, then a ticket for each pass or partition; or, if one
/// launch does all passes, a ticket and the number of tiles done for each. At the end the linear map.
pub const CONTROL_WORDS: u32 = LINEAR + LINEAR_WORDS;
const ROAD: u32 = 0;
const TICKETS: u32 = 1;

/// Most top bits of a partition.
const MAX_BITS: u32 = 8;

/// What only the path by buckets needs; empty where the host chose the digits.
#[derive(Clone, Copy)]
struct Buckets {
    /// Where each value of the first partition's bits starts, placed by [`spread`].
    first: Global<u32>,
    /// Where each bucket starts, and the end.
    starts: Global<u32>,
    /// The tiles of the second partition, four words each.
    tiles: Global<u32>,
}

/// Words of [`Buckets::first`], and of [`Buckets::starts`] rounded up to 128 bytes.
const FIRST_WORDS: u32 = spread(1 << MAX_BITS);
const STARTS_WORDS: u32 = (1 << (2 * MAX_BITS)) + 32;

/// Words of the memory of [`Buckets`] with this number of tiles.
#[cfg(not(target_os = "cuda"))]
const fn buckets_words(tiles: u32) -> u32 {
    FIRST_WORDS + STARTS_WORDS + 4 * tiles
}

impl Buckets {
    #[simt::device]
    fn new(memory: Global<u32>) -> Self {
        let tiles = FIRST_WORDS + STARTS_WORDS;
        Self {
            first: memory.slice(0, FIRST_WORDS),
            starts: memory.slice(FIRST_WORDS, STARTS_WORDS),
            tiles: memory.slice(tiles, memory.len() - tiles),
        }
    }
}

/// Whether pairs go by buckets: two partitions, then buckets are sorted. Otherwise they go by the digits from the last
/// one, in four passes. `sort`: the epoch of the first pass. `buckets`: the memory of [`Buckets`].
#[simt::device]
fn by_buckets(control: Global<u32>, buckets: Global<u32>, sort: u32) -> bool {
    !buckets.is_empty() && control.get(ROAD) != sort
}

/// Makes the pairs of this sort go by digits.
#[simt::device]
fn go_by_digits(control: Global<u32>, sort: u32) {
    // Atomic, since several threads may say so. The word names the sort, so that nobody has to take it back.
    control.store(ROAD, sort, Relaxed, Scope::Device);
}
