//! Segmented sort: each segment of the keys by itself.

use super::keys::KEY_TYPES;
use super::upload::{Changed, Uploaded};
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Parameters, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work,
    Workload, compare, entry,
};
use crate::data::{Data, Dtype, for_dtype};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::{KeyWord, order_of};
use rungs_kernels::ladder::segmented_sort::{SegmentWord, SegmentedSort, Segments};
use rungs_kernels::ladder::{Ladder, Sequence};
use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;
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

/// The lengths that parameters ask for.
pub fn lengths_of(parameters: &Parameters) -> Lengths {
    parameters.segments.unwrap_or_default()
}

/// The family of a ladder of segmented sorts.
pub fn family(ladder: &'static Ladder<&'static dyn SegmentedSort>, sizes: Sizes) -> Family {
    Family {
        dtypes: KEY_TYPES,
        extras: &[Extra::Segments],
        draws: Draws::Arrays { inputs: vec![Operand::line("keys")], output: Operand::line("keys") },
        ..Family::new(ladder, Kind::SegmentedSort, sizes, problem)
    }
}

/// Keys in segments, and the same sorted by the host.
struct SegmentedProblem<W> {
    ladder: &'static Ladder<&'static dyn SegmentedSort>,
    dtype: Dtype,
    keys: Vec<W>,
    offsets: Vec<u32>,
    sorted: OnceCell<Vec<W>>,
    uploaded: Uploaded<W>,
    uploaded_offsets: Uploaded<u32>,
    /// Keys and then offsets, for peers.
    uploaded_both: Uploaded<u8>,
}

fn problem(ladder: &'static Ladder<&'static dyn SegmentedSort>, workload: Workload) -> Result<Box<dyn Problem>> {
    fn of<W: KeyWord + SegmentWord>(
        ladder: &'static Ladder<&'static dyn SegmentedSort>,
        keys: &Data,
        lengths: Lengths,
    ) -> Box<dyn Problem> {
        Box::new(SegmentedProblem {
            ladder,
            dtype: keys.dtype(),
            keys: bytemuck::cast_slice::<u8, W>(keys.as_bytes()).to_vec(),
            offsets: lengths.offsets(keys.len() as u32),
            sorted: OnceCell::new(),
            uploaded: Uploaded::default(),
            uploaded_offsets: Uploaded::default(),
            uploaded_both: Uploaded::default(),
        })
    }
    let lengths = lengths_of(&workload.parameters);
    let keys = workload.operand(ladder.family)?;
    match keys.dtype().size() {
        4 => Ok(of::<u32>(ladder, &keys, lengths)),
        8 => Ok(of::<u64>(ladder, &keys, lengths)),
        _ => {
            let (family, dtype) = (ladder.family, keys.dtype());
            Err(Error::Usage(format!("{family} does not sort {dtype}; it takes u32, i32, f32, u64, i64 and f64")))
        }
    }
}

impl<W: KeyWord + SegmentWord> SegmentedProblem<W> {
    fn order(&self) -> u32 {
        order_of(self.dtype)
    }

    /// The oracle.
    fn sorted(&self) -> &[W] {
        self.sorted.get_or_init(|| {
            let mut sorted = self.keys.clone();
            for pair in self.offsets.windows(2) {
                sorted[pair[0] as usize..pair[1] as usize].sort_unstable_by_key(|key| key.encode(self.order()));
            }
            sorted
        })
    }

    /// Words as keys.
    fn keys(&self, words: &[W]) -> Data {
        for_dtype!(self.dtype, K => Data::from(bytemuck::cast_slice::<W, K>(words).to_vec()))
    }

    fn check_words(&self, who: &str, got: &[W], want: &[W]) -> Result<()> {
        compare(self.ladder.family, who, &self.keys(got), &self.keys(want))
    }
}

impl<W: KeyWord + SegmentWord> OpenProblem for SegmentedProblem<W> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        let parts = [bytemuck::cast_slice(&self.keys), bytemuck::cast_slice(&self.offsets)];
        Ok(self.uploaded_both.get(engine, &parts)?)
    }

    /// Libraries do not have the total order of floats: for them -0 and +0 are equal.
    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let is_float = matches!(self.dtype, Dtype::F32 | Dtype::F64);
        let (zero, minus_zero) = (0, 1_u64 << (8 * size_of::<W>() - 1));
        let alike = |words: &[W]| -> Vec<W> {
            let word =
                |word: &W| if is_float && word.to_bits_64() == minus_zero { W::from_bits_64(zero) } else { *word };
            words.iter().map(word).collect()
        };
        self.check_words(who, &alike(&output.download_as()?), &alike(self.sorted()))
    }
}

impl<W: KeyWord + SegmentWord> Problem for SegmentedProblem<W> {
    fn size(&self) -> Size {
        Size::Elements(self.keys.len() as u64)
    }

    fn work(&self) -> Work {
        let (keys, offsets) = (size_of_val(self.keys.as_slice()), size_of_val(self.offsets.as_slice()));
        let bytes = (2 * keys + offsets) as f64;
        Work { amount: self.keys.len() as f64, unit: RateUnit::Keys, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.keys.len());
        let input = self.uploaded.get(engine, &[&self.keys])?;
        let offsets = self.uploaded_offsets.get(engine, &[&self.offsets])?;
        let (sorter, scratch_bytes) = engine.held_after(|| Ok(entry.sorter::<W>(engine, n as u32)?))?;
        let keys = Changed::new(engine, n)?;
        Ok(Box::new(Sorting { problem: self, rung: rung.name, sorter, input, offsets, keys, scratch_bytes }))
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

/// A rung on an engine.
struct Sorting<'p, W> {
    problem: &'p SegmentedProblem<W>,
    rung: &'static str,
    sorter: Sequence<Segments<W>>,
    input: Rc<Buffer<W>>,
    offsets: Rc<Buffer<u32>>,
    keys: Changed<W>,
    scratch_bytes: u64,
}

impl<W: KeyWord + SegmentWord> Prepared for Sorting<'_, W> {
    fn restore(&mut self) -> Result<()> {
        self.restore_for(1)
    }

    fn restore_for(&mut self, calls: usize) -> Result<()> {
        self.keys.restore_for(calls, &*self.input)
    }

    fn run(&mut self) -> Result<()> {
        let keys = self.keys.for_next();
        let (offsets, order) = (self.offsets.view(), self.problem.order());
        Ok(self.sorter.run(keys.engine(), Segments { keys: keys.view(), offsets, order })?)
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        self.problem.check_words(self.rung, &self.keys.last().download()?, self.problem.sorted())
    }

    fn output(&mut self) -> Result<Data> {
        Ok(self.problem.keys(&self.keys.last().download()?))
    }
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
