//! # Radix sort, buckets by a map learned from a sample
//!
//! **Idea.** Buckets by top bits are even only for keys that are uniform bit patterns. Floats are not: half of those
//! between 0 and 1 share an exponent. Nor are integers in a range, timestamps, or sums. But their distribution is
//! smooth, and a sample shows it. So the device learns a map from keys to buckets. It divides the range of the keys
//! into 4096 equal slices, counts a sample by slices, and gives each slice its share of the numbers from 0 to 2¹⁶;
//! inside a slice the map is linear. The map is monotone, and a look-up takes one load and about fifteen instructions.
//! The numbers are nearly uniform, so all further steps are those of an MSD radix sort by their top bits.
//!
//! **The range.** The words of floats that people sort are two spans with a gap: negative ones, and positive ones. The
//! gap is wide, since floats near zero have two hundred exponents between them, and it has hardly any keys. The map
//! leaves it out. With it, slices of normal floats would be several times as wide, and less linear. Slices begin at
//! powers of two, since keys are twice as dense on one side of them as on the other. The slice in which the keys end is
//! full in part; it gets numbers as if it were as full as the next.
//!
//! **Many equal keys.** A slice is never narrower than one key, and a value that is frequent fills a bucket of its own.
//! The bucket sort recognises a bucket of one value. Where the sample misleads, or a value has more keys
//! than fit a block, buckets are oversized. `msd-skewed` has launches that split those by their bits, whatever the keys
//! are, and they come last here too: a bad map costs time, and nothing else.
//!
//! **Bottleneck.** As for `msd-skewed`, and the look-ups: histogram and partitions are dearer than with top bits. On an
//! H200, times CUB's radix sort: f32 uniform, normal and exponential 1.52 to 1.60 at 2²⁰, 1.60 at 2²⁴ and 1.54 at 2²⁸;
//! f64 2.3 to 3.0 at 2²⁰ and 2.4 to 2.5 at 2²⁴; f32 with gaps 0.7 to 0.8, where slices are full in part.
//!
//! **Cost.** Beside the sample, which from 2²⁰ keys on is one key in 16 or fewer, each key is read to count it, and
//! read and written twice by the partitions (once up to 1,128,000 keys) and once by the bucket sort. Eight launches,
//! one less with one partition, one more above 2²⁵ keys.
//!
//! **Threads.** Map, histogram, and the first partition of 2²⁷ keys or more: 1024 per block. Other partitions and
//! bucket sort: 512 per block, with 64 bytes of keys and 12 keys each.
//!
//! **Limits.** Keys of 32 or 64 bits. Up to 61,440 · 4700 keys go by the map, fewer on devices with less than 144 KiB
//! of shared memory per block; `msd-skewed` sorts more. Keys that fit a block are sorted by `either`'s launch for them.
//!
//! **Source.** Buckets by splitters from a sample are samplesort's, see N. Leischner, V. Osipov and P. Sanders, "GPU
//! sample sort" (2010). A model of the distribution instead of splitters is the idea of A. Kristo, K. Vaidya, U.
//! Çetintemel, S. Misra and T. Kraska, "The case for a learned sorting algorithm" (2020); this map and how it is made
//! are ours.
//!
//! | launch | kernel | what it does |
//! | --- | --- | --- |
//! | 1 | `radix_learned_map` | learns the map |
//! | 2 | `radix_learned_histogram` | counts the keys of each bucket |
//! | 3 | `radix_msd_skewed_starts` | where each bucket starts; lists the oversized ones |
//! | 4, 5 | `radix_learned_partition` | moves the keys to their buckets |
//! | 6 | `radix_learned_bucket_sort` | sorts each bucket |
//! | 7 to 9 | those of `msd-skewed` | sorts the oversized buckets |

mod kernels;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
mod learn;
mod map;
mod table;

pub use kernels::*;
pub use learn::*;
pub use map::{MAP_WORDS, NUMBER_BITS, SLICES};
pub(crate) use map::{Map, TABLE_SHARED};
#[cfg(not(target_os = "cuda"))]
pub use table::{ABOUT, LEARN_THREADS};
