//! Input from a seed.
//!
//! The keys are made in parts of [`PART`], each by a generator of its own (xoshiro256++, seeded by seed and part), with
//! integer arithmetic alone. So the same seed gives the same keys on every machine, on any number of cores, and the
//! first keys of a long input are those of a short one where the distribution does not depend on n.

use super::{Data, Dtype, Element, for_dtype, memory};
use crate::{Error, Result};
use rand::{Rng, SeedableRng, rngs::Xoshiro256PlusPlus};
use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use serde::Serialize;
use std::{fmt, str::FromStr};

/// Keys made by one generator.
const PART: usize = 1 << 16;

/// The number of values of [`Distribution::Few`].
const FEW: u64 = 16;

/// The length of a run of [`Distribution::Runs`].
const RUN: u64 = 1000;

/// The distribution of keys. Written as in the first column; `K` is a number.
///
/// | written | keys |
/// | --- | --- |
/// | `uniform` | every value equally likely; floats: [-1, 1) in equal steps |
/// | `sorted`, `reversed` | uniform keys in rising or falling order |
/// | `nearly-sorted` | sorted, but one key in a hundred is uniform |
/// | `runs` | rising runs of 1000 keys |
/// | `equal` | one value, uniform, n times |
/// | `few` | 16 values, each uniform |
/// | `two` | 0 and the largest value; floats: 0 and 1 |
/// | `entropy=K` | the bits of K uniform words, and-ed: each bit is one with probability 2⁻ᴷ (K from 1 to 64) |
/// | `low-bits=K`, `high-bits=K` | the K lowest or highest bits are uniform, the others zero (K from 0 to 64) |
/// | `zipf` | whole numbers k below 2²⁴ (`u8`: 2⁸, types of 16 bits: 2¹⁶) with a probability near 1/k |
/// | `small` | whole numbers from -4 to 4 (unsigned: 0 to 8), each equally likely |
/// | `special` | uniform over all bit patterns, half of the keys replaced by corner values of the type |
///
/// - `low-bits` and `high-bits`: a K that exceeds the bits of the type means all of them.
/// - `zipf`: each power of two is as likely as the next.
/// - `small`: a product of two such matrices is exact in `f32` up to k = 2²⁰, because every partial sum is a whole
///   number of at most 16 k.
/// - `zipf` in `f16` and `bf16`: the nearest finite number of each.
/// - `special`: the corner values are the least and greatest values, for floats also ±0, ±∞, NaN of both signs, and
///   subnormal numbers.
///
/// In `entropy`, `low-bits`, `high-bits` and `special` the bits are those of the key itself, so that NaN can be among
/// floats. In all others every float is finite and none is -0.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table above says what each is")]
#[non_exhaustive]
pub enum Distribution {
    Uniform,
    Sorted,
    Reversed,
    NearlySorted,
    Runs,
    Equal,
    Few,
    Two,
    Entropy(u32),
    LowBits(u32),
    HighBits(u32),
    Zipf,
    Small,
    Special,
}

impl Distribution {
    /// Those without a number, as they are written.
    const PLAIN: [(&'static str, Self); 11] = [
        ("uniform", Self::Uniform),
        ("sorted", Self::Sorted),
        ("reversed", Self::Reversed),
        ("nearly-sorted", Self::NearlySorted),
        ("runs", Self::Runs),
        ("equal", Self::Equal),
        ("few", Self::Few),
        ("two", Self::Two),
        ("zipf", Self::Zipf),
        ("small", Self::Small),
        ("special", Self::Special),
    ];

    /// Every distribution, as it is written, for help texts.
    pub const NAMES: [&'static str; 14] = [
        "uniform",
        "sorted",
        "reversed",
        "nearly-sorted",
        "runs",
        "equal",
        "few",
        "two",
        "zipf",
        "small",
        "special",
        "entropy=K",
        "low-bits=K",
        "high-bits=K",
    ];

    /// `n` keys. The same arguments give the same keys everywhere.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if they do not fit in free memory.
    pub fn generate(self, dtype: Dtype, n: u64, seed: u64) -> Result<Data> {
        for_dtype!(dtype, T => self.keys::<T>(n, seed).map(T::wrap))
    }

    /// [`generate`](Self::generate) for a type known to the compiler.
    ///
    /// # Errors
    /// As for [`generate`](Self::generate).
    pub fn keys<T: Element>(self, n: u64, seed: u64) -> Result<Vec<T>> {
        let bits = 8 * size_of::<T>() as u32;
        // The i-th of `of` keys in rising order: anywhere in the i-th of as many equal intervals.
        let rising = |of: u64| {
            let step = u64::MAX / of.max(1);
            move |random: &mut Random, i: u64| T::at(i * step + random.below(step))
        };
        match self {
            Self::Uniform => fill(n, seed, |random, _| T::at(random.next())),
            Self::Sorted => fill(n, seed, rising(n)),
            Self::Reversed => {
                let rising = rising(n);
                fill(n, seed, |random, i| rising(random, n - 1 - i))
            }
            Self::NearlySorted => {
                let rising = rising(n);
                fill(n, seed, |random, i| {
                    let key = rising(random, i);
                    if random.below(100) == 0 { T::at(random.next()) } else { key }
                })
            }
            Self::Runs => {
                let rising = rising(RUN);
                fill(n, seed, |random, i| rising(random, i % RUN))
            }
            Self::Equal => {
                let key = T::at(Random::new(seed, u64::MAX).next());
                fill(n, seed, |_, _| key)
            }
            Self::Few => {
                let mut random = Random::new(seed, u64::MAX);
                let keys: [T; FEW as usize] = std::array::from_fn(|_| T::at(random.next()));
                fill(n, seed, |random, _| keys[random.below(FEW) as usize])
            }
            Self::Two => {
                let one = if T::DTYPE.is_float() { T::from_whole(1) } else { T::at(u64::MAX) };
                fill(n, seed, |random, _| if random.below(2) == 0 { T::from_whole(0) } else { one })
            }
            Self::Entropy(words) => fill(n, seed, |random, _| {
                T::from_pattern((1..words).fold(random.next(), |pattern, _| pattern & random.next()))
            }),
            Self::LowBits(count) => {
                let mask = u64::MAX.checked_shr(64 - count).unwrap_or(0);
                fill(n, seed, |random, _| T::from_pattern(random.next() & mask))
            }
            Self::HighBits(count) => {
                let shift = bits.saturating_sub(count);
                fill(n, seed, |random, _| {
                    T::from_pattern(random.next().checked_shr(shift).map_or(0, |pattern| pattern << shift))
                })
            }
            Self::Zipf => {
                let octaves = bits.min(24);
                fill(n, seed, |random, _| {
                    let top = 1_u64 << random.below(octaves.into());
                    T::from_whole((top + random.below(top)) as i32)
                })
            }
            Self::Small => {
                let least = if T::SIGNED { -4 } else { 0 };
                fill(n, seed, |random, _| T::from_whole(least + random.below(9) as i32))
            }
            Self::Special => fill(n, seed, |random, _| {
                let pattern = random.next();
                let corner = random.below(2 * T::CORNERS.len() as u64) as usize;
                T::CORNERS.get(corner).copied().unwrap_or(T::from_pattern(pattern))
            }),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entropy(k) => f.pad(&format!("entropy={k}")),
            Self::LowBits(k) => f.pad(&format!("low-bits={k}")),
            Self::HighBits(k) => f.pad(&format!("high-bits={k}")),
            plain => f.pad(Self::PLAIN.iter().find(|(_, other)| other == plain).map_or("", |(name, _)| name)),
        }
    }
}

impl Serialize for Distribution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Distribution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some((_, plain)) = Self::PLAIN.iter().find(|(name, _)| *name == text) {
            return Ok(*plain);
        }
        let (name, number) = text.split_once('=').map_or((text, None), |(name, number)| (name, Some(number)));
        let (make, least): (fn(u32) -> Self, u32) = match name {
            "entropy" => (Self::Entropy, 1),
            "low-bits" => (Self::LowBits, 0),
            "high-bits" => (Self::HighBits, 0),
            _ => return Err(Error::unknown("distribution", text, &Self::NAMES)),
        };
        let number = number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        match number.and_then(|number| number.parse().ok()) {
            Some(k) if (least..=64).contains(&k) => Ok(make(k)),
            _ => Err(Error::Usage(format!("{name} takes a number from {least} to 64, as {name}=4"))),
        }
    }
}

/// The generator of one part.
struct Random(Xoshiro256PlusPlus);

impl Random {
    fn new(seed: u64, part: u64) -> Self {
        // The first word after the seed is far from that of the next seed, so parts of near seeds do not coincide.
        let start = Xoshiro256PlusPlus::seed_from_u64(seed).next_u64();
        Self(Xoshiro256PlusPlus::seed_from_u64(start.wrapping_add(part)))
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `limit` (0 if that is 0). The bias by rounding is below one part in 2⁶⁴ / limit.
    #[inline]
    fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }
}

/// `n` keys, the i-th by `key(generator of its part, i)`, on all cores.
fn fill<T: Element>(n: u64, seed: u64, key: impl Fn(&mut Random, u64) -> T + Sync) -> Result<Vec<T>> {
    let what = format!("keys of {}", T::DTYPE);
    memory::check(&what, n, size_of::<T>())?;
    let refused = || Error::OutOfMemory {
        what: format!("{n} {what}"),
        asked: n.saturating_mul(size_of::<T>() as u64),
        have: None,
    };
    let length = usize::try_from(n).map_err(|_| refused())?;
    let mut keys = bytemuck::allocation::try_zeroed_vec::<T>(length).map_err(|()| refused())?;
    let fill_part = |part: usize, keys: &mut [T]| {
        let mut random = Random::new(seed, part as u64);
        let first = (part * PART) as u64;
        for (i, slot) in (first..).zip(keys) {
            *slot = key(&mut random, i);
        }
    };
    keys.par_chunks_mut(PART).enumerate().for_each(|(part, keys)| fill_part(part, keys));
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Words, sorted};
    use std::collections::HashSet;

    fn all() -> impl Iterator<Item = Distribution> {
        Distribution::NAMES.iter().map(|name| name.replace('K', "5").parse().unwrap())
    }

    #[test]
    fn names() {
        for distribution in all() {
            assert_eq!(distribution.to_string().parse::<Distribution>().unwrap(), distribution);
        }
        assert_eq!(Distribution::PLAIN.len() + 3, Distribution::NAMES.len());
        assert_eq!("entropy=3".parse::<Distribution>().unwrap(), Distribution::Entropy(3));
        for text in
            ["entropy", "entropy=", "entropy=0", "entropy=65", "low-bits=+3", "high-bits=-1", "low-bits=4294967296"]
        {
            let error = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(error.contains("takes a number from"), "{text}: {error}");
        }
        let error = "unifrom".parse::<Distribution>().unwrap_err().to_string();
        assert!(error.ends_with("did you mean uniform?"), "{error}");
    }

    #[test]
    fn same_keys_everywhere() {
        // From xoshiro256++ written a second time, in Python. Other values here mean that old seeds no longer give the
        // input they gave.
        const PINNED_U32: [u32; 3] = [1337706661, 3421863956, 3885113484];
        const PINNED_F32: [f32; 2] = [-3163192.0 / 8388608.0, 4978048.0 / 8388608.0];
        let keys = Distribution::Uniform.keys::<u32>(3, 42).unwrap();
        assert_eq!(keys, PINNED_U32);
        let keys = Distribution::Uniform.keys::<f32>(2, 42).unwrap();
        assert_eq!(keys, PINNED_F32);
        assert_ne!(Distribution::Uniform.keys::<u32>(3, 43).unwrap(), PINNED_U32);
    }

    #[test]
    fn parts_are_of_their_own() {
        let long = Distribution::Uniform.keys::<u64>(3 * PART as u64 + 7, 1).unwrap();
        assert_eq!(long[..1000], Distribution::Uniform.keys::<u64>(1000, 1).unwrap());
        assert_eq!(long.iter().collect::<HashSet<_>>().len(), long.len());
        assert_eq!(long[2 * PART], Random::new(1, 2).next());
    }

    #[test]
    fn every_distribution_on_every_type_at_every_small_n() {
        for dtype in Dtype::ALL {
            for distribution in all() {
                for n in [0, 1, 2, 33, PART as u64 + 1] {
                    let data = distribution.generate(dtype, n, 9).unwrap();
                    assert_eq!((data.len() as u64, data.dtype()), (n, dtype));
                }
            }
        }
    }

    #[test]
    fn orders() {
        for dtype in Dtype::ALL {
            let n = PART as u64 + 1001;
            let data = Distribution::Sorted.generate(dtype, n, 3).unwrap();
            assert_eq!(sorted(&data), data, "{dtype}");
            let Words::U64(mut words) = (match Distribution::Reversed.generate(dtype, n, 3).unwrap().to_words() {
                Words::U32(words) => Words::U64(words.into_iter().map(u64::from).collect()),
                words => words,
            }) else {
                unreachable!()
            };
            words.reverse();
            assert!(words.is_sorted(), "{dtype}");
        }
        let runs = Distribution::Runs.keys::<u32>(3000, 3).unwrap();
        assert!(runs.chunks(RUN as usize).all(<[u32]>::is_sorted) && !runs.is_sorted());
    }
    #[test]
    fn values() {
        let distinct = |keys: Vec<u32>| keys.into_iter().collect::<HashSet<_>>().len();
        let u32s = |distribution: Distribution| distribution.keys::<u32>(20_000, 5).unwrap();
        assert_eq!(distinct(u32s(Distribution::Equal)), 1);
        assert_eq!(distinct(u32s(Distribution::Few)), 16);
        assert_eq!(HashSet::from([0, u32::MAX]), u32s(Distribution::Two).into_iter().collect());
        assert_eq!(distinct(u32s(Distribution::LowBits(3))), 8);
        assert_eq!(u32s(Distribution::LowBits(3)).into_iter().max(), Some(7));
        assert_eq!(distinct(u32s(Distribution::LowBits(0))), 1);
        assert!(u32s(Distribution::LowBits(64)).into_iter().any(|key| key >> 31 == 1));
        assert!(u32s(Distribution::HighBits(3)).into_iter().all(|key| key << 3 == 0));
        assert_eq!(distinct(u32s(Distribution::HighBits(3))), 8);
        assert_eq!(u32s(Distribution::HighBits(0)), vec![0; 20_000]);
        assert!(distinct(u32s(Distribution::HighBits(64))) > 19_900);
        let ones = u32s(Distribution::Entropy(2)).iter().map(|key| key.count_ones()).sum::<u32>();
        assert!((155_000..165_000).contains(&ones), "{ones}");
        assert!(u32s(Distribution::Zipf).iter().all(|key| (1..1 << 24).contains(key)));
        assert!(u32s(Distribution::Zipf).iter().filter(|key| **key == 1).count() > 700);
        let small: HashSet<i32> =
            Distribution::Small.keys::<f32>(1000, 5).unwrap().into_iter().map(|key| key as i32).collect();
        assert_eq!(small, (-4..=4).collect());
        let uniform = Distribution::Uniform.keys::<f64>(20_000, 5).unwrap();
        assert!(uniform.iter().all(|key| (-1.0..1.0).contains(key)));
        assert!(uniform.iter().any(|key| *key < -0.99) && uniform.iter().any(|key| *key > 0.99));
        let special = Distribution::Special.keys::<f32>(1000, 5).unwrap();
        for corner in f32::CORNERS {
            assert!(special.iter().any(|key| key.to_bits() == corner.to_bits()), "{corner:?}");
        }
    }

    #[test]
    fn too_many_keys() {
        for n in [1 << 60, u64::MAX] {
            assert!(matches!(Distribution::Sorted.generate(Dtype::U64, n, 1), Err(Error::OutOfMemory { .. })));
        }
    }
}
