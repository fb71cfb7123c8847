//! Input from a seed.
//!
//! The keys are made in parts of [`PART`], each by a generator of its own (xoshiro256++, seeded by seed and part), with
//! arithmetic that IEEE 754 defines to the last bit. So the same seed gives the same keys on every machine, on any
//! number of cores, and the first keys of a long input are those of a short one where the distribution does not depend
//! on n.

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
/// | `normal` | floats: mean 0, standard deviation 1; integers: the middle of the range and a sixteenth of it |
/// | `exponential` | floats: mean 1; integers: the middle of the range, plus a sixteenth of it on average |
/// | `range=K` | whole numbers from 0 to K - 1, each equally likely (K from 1 to 2²⁴) |
/// | `timestamps` | the moments of a year in any order, in seconds since 1970; `u64` and `i64` in nanoseconds |
/// | `gaps` | 64 stretches of the range, each 2⁻¹⁴ of it and anywhere, with uniform keys inside |
/// | `small` | whole numbers from -4 to 4 (unsigned: 0 to 8), each equally likely |
/// | `special` | uniform over all bit patterns, half of the keys replaced by corner values of the type |
///
/// - `low-bits` and `high-bits`: a K that exceeds the bits of the type means all of them.
/// - `zipf`: each power of two is as likely as the next.
/// - `normal`, `exponential`: an integer that would lie past an end of the range is that end.
/// - `range`, `timestamps`: `u8` takes the low bits; the other types that do not hold a number have the nearest one
///   that they hold. `f64` has fractions of a second.
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
    Normal,
    Exponential,
    Range(u32),
    Timestamps,
    Gaps,
    Small,
    Special,
}

/// How many stretches [`Distribution::Gaps`] has, and how wide they are, of 2⁶⁴.
const STRETCHES: u64 = 64;
const STRETCH: u64 = 1 << 50;

/// The year of [`Distribution::Timestamps`], 2025: its first second, and how many it has.
const YEAR: u64 = 1_735_689_600;
const YEAR_SECONDS: u64 = 365 * 24 * 3600;

impl Distribution {
    /// Those without a number, as they are written.
    const PLAIN: [(&'static str, Self); 15] = [
        ("uniform", Self::Uniform),
        ("sorted", Self::Sorted),
        ("reversed", Self::Reversed),
        ("nearly-sorted", Self::NearlySorted),
        ("runs", Self::Runs),
        ("equal", Self::Equal),
        ("few", Self::Few),
        ("two", Self::Two),
        ("zipf", Self::Zipf),
        ("normal", Self::Normal),
        ("exponential", Self::Exponential),
        ("timestamps", Self::Timestamps),
        ("gaps", Self::Gaps),
        ("small", Self::Small),
        ("special", Self::Special),
    ];

    /// Every distribution, as it is written, for help texts.
    pub const NAMES: [&'static str; 19] = [
        "uniform",
        "sorted",
        "reversed",
        "nearly-sorted",
        "runs",
        "equal",
        "few",
        "two",
        "zipf",
        "normal",
        "exponential",
        "timestamps",
        "gaps",
        "small",
        "special",
        "entropy=K",
        "low-bits=K",
        "high-bits=K",
        "range=K",
    ];

    /// `n` keys. The same arguments give the same keys everywhere.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if they do not fit in free memory.
    pub fn generate(self, dtype: Dtype, n: u64, seed: u64) -> Result<Data> {
        for_dtype!(dtype, T => self.drawn::<T>(n, seed).map(T::wrap))
    }

    /// [`generate`](Self::generate) for a type known to the compiler.
    ///
    /// # Errors
    /// As for [`generate`](Self::generate).
    #[expect(clippy::missing_panics_doc, reason = "the data is of the type that was asked for")]
    pub fn keys<T: Element>(self, n: u64, seed: u64) -> Result<Vec<T>> {
        // By the function above: the generators are compiled in this package alone, not in each that calls this.
        Ok(T::unwrap(self.generate(T::DTYPE, n, seed)?).expect("data of this type"))
    }

    fn drawn<T: Element>(self, n: u64, seed: u64) -> Result<Vec<T>> {
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
            Self::Normal => fill(n, seed, |random, _| T::from_spread(random.normal())),
            Self::Exponential => fill(n, seed, |random, _| T::from_spread(-ln(random.unit()))),
            Self::Range(values) => fill(n, seed, |random, _| T::from_whole(random.below(values.into()) as i32)),
            Self::Timestamps => fill(n, seed, |random, _| {
                let nanoseconds = YEAR * 1_000_000_000 + random.below(YEAR_SECONDS * 1_000_000_000);
                match T::DTYPE {
                    Dtype::U64 | Dtype::I64 => T::from_pattern(nanoseconds),
                    dtype if dtype.is_float() => T::from_spread(nanoseconds as f64 / 1e9),
                    _ => T::from_pattern(nanoseconds / 1_000_000_000),
                }
            }),
            Self::Gaps => {
                let mut random = Random::new(seed, u64::MAX);
                let starts: [u64; STRETCHES as usize] = std::array::from_fn(|_| random.below(u64::MAX - STRETCH));
                fill(n, seed, |random, _| T::at(starts[random.below(STRETCHES) as usize] + random.below(STRETCH)))
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
            Self::Range(k) => f.pad(&format!("range={k}")),
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
        let (make, limits): (fn(u32) -> Self, _) = match name {
            "entropy" => (Self::Entropy, 1..=64),
            "low-bits" => (Self::LowBits, 0..=64),
            "high-bits" => (Self::HighBits, 0..=64),
            "range" => (Self::Range, 1..=1 << 24),
            _ => return Err(Error::unknown("distribution", text, &Self::NAMES)),
        };
        let number = number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        match number.and_then(|number| number.parse().ok()) {
            Some(k) if limits.contains(&k) => Ok(make(k)),
            _ => {
                let (least, most) = limits.into_inner();
                Err(Error::Usage(format!("{name} takes a number from {least} to {most}, as {name}=4")))
            }
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

    /// A number between 0 and 1, neither of them included.
    #[inline]
    fn unit(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
    }

    /// A normally distributed number, by the polar method: a point of the unit disc has a direction, of which one
    /// coordinate is taken, and a distance whose square is uniform.
    fn normal(&mut self) -> f64 {
        loop {
            let [x, y] = [(); 2].map(|()| 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 {
                return x * (-2.0 * ln(square) / square).sqrt();
            }
        }
    }
}

/// The logarithm of a positive normal number, with an error of a few units in the last place: not the platform's, which
/// differs between platforms.
fn ln(x: f64) -> f64 {
    const LN_2: f64 = std::f64::consts::LN_2;
    // x = m · 2^e with m between √½ and √2, and ln m = 2 artanh z, a series whose terms fall by a factor of 34 or more.
    let bits = x.to_bits().wrapping_sub(std::f64::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = bits as i64 >> 52;
    let m = f64::from_bits(x.to_bits().wrapping_sub((exponent as u64) << 52));
    let z = (m - 1.0) / (m + 1.0);
    let series = (0..12).rev().fold(0.0, |sum, k| sum * (z * z) + 1.0 / f64::from(2 * k + 1));
    exponent as f64 * LN_2 + 2.0 * z * series
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
    on_all_cores(&mut keys, &|part, keys| {
        let mut random = Random::new(seed, part as u64);
        let first = (part * PART) as u64;
        for (i, slot) in (first..).zip(keys) {
            *slot = key(&mut random, i);
        }
    });
    Ok(keys)
}

/// Calls `fill` with each part of the keys and its number. By a pointer: rayon is compiled for each type, not for each
/// distribution too.
fn on_all_cores<T: Send>(keys: &mut [T], fill: &(dyn Fn(usize, &mut [T]) + Sync)) {
    keys.par_chunks_mut(PART).enumerate().for_each(|(part, keys)| fill(part, keys));
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
        assert_eq!(Distribution::PLAIN.len() + 4, Distribution::NAMES.len());
        assert_eq!("entropy=3".parse::<Distribution>().unwrap(), Distribution::Entropy(3));
        for text in [
            "entropy",
            "entropy=",
            "entropy=0",
            "entropy=65",
            "low-bits=+3",
            "high-bits=-1",
            "range=0",
            "range=16777217",
        ] {
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
    fn smooth_distributions() {
        let mean = |of: &dyn Fn(f64) -> f64, keys: &[f64]| keys.iter().map(|&x| of(x)).sum::<f64>() / keys.len() as f64;
        let near = |what: &str, got: f64, want: f64| assert!((got - want).abs() < 0.02, "{what}: {got}, not {want}");
        let normal = Distribution::Normal.keys::<f64>(100_000, 5).unwrap();
        near("mean", mean(&|x| x, &normal), 0.0);
        near("variance", mean(&|x| x * x, &normal), 1.0);
        near("within one deviation", mean(&|x| f64::from(x.abs() < 1.0), &normal), 0.6827);
        let exponential = Distribution::Exponential.keys::<f64>(100_000, 5).unwrap();
        assert!(exponential.iter().all(|&x| x > 0.0));
        near("mean", mean(&|x| x, &exponential), 1.0);
        near("below 1/2", mean(&|x| f64::from(x < 0.5), &exponential), 0.3935);
        // Integers are the floats, put on the range.
        let on_range = |x: f64| (x + 8.0) / 16.0;
        let whole = Distribution::Normal.keys::<u32>(1000, 5).unwrap();
        for (key, x) in whole.iter().zip(&normal) {
            assert!((f64::from(*key) / 4294967296.0 - on_range(*x)).abs() < 1e-9, "{key} for {x}");
        }
        let signed = Distribution::Exponential.keys::<i64>(1000, 5).unwrap();
        assert!(signed.iter().all(|&key| key >= 0));
        for x in [f64::MIN_POSITIVE, 1e-300, 0.1, 0.5, 0.70, 0.71, 1.0, 1.41, 1.42, 2.0, 1e300] {
            assert!((ln(x) - x.ln()).abs() <= 1e-15 * x.ln().abs().max(1.0), "ln {x}: {} {}", ln(x), x.ln());
        }
    }

    #[test]
    fn whole_numbers_that_people_sort() {
        let range = Distribution::Range(1_000_000).keys::<f32>(20_000, 5).unwrap();
        assert!(range.iter().all(|&x| (0.0..1e6).contains(&x) && x.fract() == 0.0));
        assert!(range.iter().any(|&x| x < 1000.0) && range.iter().any(|&x| x > 999_000.0));
        assert_eq!(Distribution::Range(1).keys::<u64>(3, 5).unwrap(), [0; 3]);
        let seconds = Distribution::Timestamps.keys::<i32>(1000, 5).unwrap();
        assert!(seconds.iter().all(|key| (1_735_689_600..1_767_225_600).contains(key)));
        let exact = Distribution::Timestamps.keys::<u64>(1000, 5).unwrap();
        assert!(exact.iter().zip(seconds).all(|(exact, second)| exact / 1_000_000_000 == second as u64));
        let fractions = Distribution::Timestamps.keys::<f64>(1000, 5).unwrap();
        assert!(fractions.iter().any(|x| x.fract() != 0.0) && !fractions.is_sorted());
        let gaps = Distribution::Gaps.keys::<u32>(100_000, 5).unwrap();
        let used: HashSet<u32> = gaps.iter().map(|key| key >> 18).collect();
        assert!((64..=128).contains(&used.len()), "{} of 16,384 parts", used.len());
    }

    #[test]
    fn too_many_keys() {
        for n in [1 << 60, u64::MAX] {
            assert!(matches!(Distribution::Sorted.generate(Dtype::U64, n, 1), Err(Error::OutOfMemory { .. })));
        }
    }
}
