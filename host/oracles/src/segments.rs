//! Segments of keys, and the oracle of sorts of each by itself.

use rungs::data::{Data, Element, for_data};
use rungs::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// How long segments are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lengths {
    /// All lengths from the first number to the second are as likely.
    Uniform(u32, u32),
    /// All are as long.
    Fixed(u32),
    /// Most are short, and some very long: at least so long as `x` is one in `(x / 4)^1.2`, up to a million.
    PowerLaw,
    /// This many of a hundred are empty, the others have 1 to 64 keys.
    Empty(u32),
    /// There is one, with all keys.
    One,
}

impl Default for Lengths {
    fn default() -> Self {
        Self::Uniform(1, 64)
    }
}

impl fmt::Display for Lengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform(least, most) => write!(f, "uniform={least}..{most}"),
            Self::Fixed(len) => write!(f, "fixed={len}"),
            Self::PowerLaw => f.write_str("power-law"),
            Self::Empty(percent) => write!(f, "empty={percent}"),
            Self::One => f.write_str("one"),
        }
    }
}

impl FromStr for Lengths {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        let lengths = match text.split_once('=') {
            None if text == "power-law" => Some(Self::PowerLaw),
            None if text == "one" => Some(Self::One),
            Some(("fixed", len)) => number(len).filter(|&len| len > 0).map(Self::Fixed),
            Some(("empty", percent)) => number(percent).filter(|&percent| percent < 100).map(Self::Empty),
            Some(("uniform", range)) => range
                .split_once("..")
                .and_then(|(least, most)| Some((number(least)?, number(most)?)))
                .filter(|&(least, most)| least <= most && most > 0)
                .map(|(least, most)| Self::Uniform(least, most)),
            _ => None,
        };
        lengths.ok_or_else(|| {
            let known = "uniform=1..64, fixed=1000, power-law, empty=90 (per cent) and one";
            Error::Usage(format!("{text:?} says no lengths of segments; known are {known}"))
        })
    }
}

impl Lengths {
    /// A length, of a number that looks random.
    fn of(self, random: u64) -> u32 {
        // The upper 32 bits as a number of `0..count`.
        let below = |count: u64| (((random >> 32) * count) >> 32) as u32;
        match self {
            Self::Uniform(least, most) => least + below(u64::from(most - least) + 1),
            Self::Fixed(len) => len,
            Self::PowerLaw => {
                let uniform = ((random >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                (4.0 * uniform.powf(-1.0 / 1.2)).min(1e6) as u32
            }
            Self::Empty(percent) if random % 100 < u64::from(percent) => 0,
            Self::Empty(_) => 1 + below(64),
            Self::One => u32::MAX,
        }
    }

    /// Where each segment of `n` keys begins, and where the last one ends: the same offsets for every seed of the keys.
    /// The last segment ends with the keys.
    pub fn offsets(self, n: u32) -> Vec<u32> {
        let (mut offsets, mut end, mut state) = (vec![0], 0_u32, 0_u64);
        while end < n {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut random = state;
            random = (random ^ (random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            random = (random ^ (random >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            end = end.saturating_add(self.of(random ^ (random >> 31))).min(n);
            offsets.push(end);
        }
        offsets
    }
}

/// The keys, those of each segment in their order; the offsets are those of [`Lengths::offsets`].
pub fn sorted(keys: &Data, offsets: &[u32]) -> Data {
    fn of<T: Element>(mut keys: Vec<T>, offsets: &[u32]) -> Data {
        for pair in offsets.windows(2) {
            keys[pair[0] as usize..pair[1] as usize].sort_unstable_by_key(|key| key.to_word());
        }
        keys.into()
    }
    for_data!(keys, keys => of(keys.clone(), offsets))
}

/// The keys, with zeroes of one sign.
pub fn with_one_zero(keys: Data) -> Data {
    fn of<T: Element>(keys: Vec<T>) -> Data {
        let zero = T::from_whole(0);
        keys.into_iter().map(|key| if key == zero { zero } else { key }).collect::<Vec<_>>().into()
    }
    for_data!(keys, keys => of(keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for text in ["uniform=1..64", "uniform=0..3", "fixed=1000", "power-law", "empty=90", "one"] {
            assert_eq!(text.parse::<Lengths>().unwrap().to_string(), text);
        }
        for text in
            ["", "uniform", "uniform=3..1", "uniform=0..0", "fixed=0", "fixed=-1", "fixed=+1", "empty=100", "two"]
        {
            assert!(text.parse::<Lengths>().is_err(), "{text}");
        }
    }

    #[test]
    fn offsets_ascend_and_end_with_the_keys() {
        for text in ["uniform=1..64", "uniform=0..3", "fixed=1000", "power-law", "empty=90", "one"] {
            let lengths: Lengths = text.parse().unwrap();
            for n in [0, 1, 999, 100_000] {
                let offsets = lengths.offsets(n);
                assert_eq!((offsets[0], offsets[offsets.len() - 1]), (0, n), "{text}");
                assert!(offsets.windows(2).all(|pair| pair[0] <= pair[1]), "{text}");
            }
        }
        let empty = Lengths::Empty(90).offsets(100_000);
        let count = empty.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
        assert!((0.88..0.92).contains(&(count / (empty.len() - 1) as f64)));
    }
}
