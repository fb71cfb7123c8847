//! Partitions, and runs of equal items: the first of each, their lengths, and sums of words by key.

use super::select::{keep_fraction, pivot};
use super::upload::Uploaded;
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work, Workload,
    compare, entry,
};
use crate::data::{Data, Dtype, Element};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::ladder::sift::{Items, Sift, SiftsOf, Task};
use rungs_kernels::ladder::{Ladder, Sequence};
use simt::{Argument, Scalar};
use std::cell::OnceCell;
use std::rc::Rc;

/// Items of a drawn run, on average, unless the caller says otherwise.
pub const DEFAULT_RUN_LENGTH: u32 = 8;

/// The family of a ladder of the library.
pub fn family(ladder: &'static Ladder<&'static dyn Sift>, sizes: Sizes) -> Family {
    let task = ladder.default.run.task();
    let words = (task == Task::ReduceByKey).then(|| Operand::line("words"));
    Family {
        dtypes: &[Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64],
        extras: if task == Task::Partition { &[Extra::Keep] } else { &[Extra::RunLength] },
        draws: Draws::Arrays {
            inputs: std::iter::once(Operand::line("items")).chain(words).collect(),
            output: Operand::other("found"),
        },
        ..Family::new(ladder, Kind::Sift, sizes, problem)
    }
}

/// What is made of the items.
struct Found<T> {
    /// Those below the pivot, or the first of each run.
    items: Vec<T>,
    /// The others of a partition.
    rest: Vec<T>,
    /// Lengths or sums.
    results: Vec<u32>,
}

/// Items, and what is made of them.
struct SiftProblem<T> {
    ladder: &'static Ladder<&'static dyn Sift>,
    items: Vec<T>,
    /// The word that belongs to each item, where there are such.
    words: Vec<u32>,
    found: OnceCell<Found<T>>,
    uploaded: Uploaded<T>,
}

fn problem(ladder: &'static Ladder<&'static dyn Sift>, workload: Workload) -> Result<Box<dyn Problem>> {
    fn of<T>(
        ladder: &'static Ladder<&'static dyn Sift>,
        workload: Workload,
        unwrap: fn(Data) -> std::result::Result<Vec<T>, Data>,
    ) -> Result<Box<dyn Problem>>
    where
        T: Element + Scalar + Argument,
        dyn Sift: SiftsOf<T>,
    {
        let (task, is_drawn, seed) = (ladder.default.run.task(), workload.input.is_none(), workload.seed);
        let parameters = workload.parameters;
        let data = workload.operand(ladder.family)?;
        let dtype = data.dtype();
        let Ok(mut items) = unwrap(data) else {
            return Err(Error::Usage(format!("{} does not take {dtype}", ladder.family)));
        };
        if task == Task::Partition {
            keep_fraction(ladder.family, &mut items, parameters.keep, is_drawn)?;
        } else if is_drawn {
            let mean = u64::from(parameters.run_length.unwrap_or(DEFAULT_RUN_LENGTH));
            for i in 1..items.len() {
                if !mix(i as u64 ^ seed << 32).is_multiple_of(mean) {
                    items[i] = items[i - 1];
                }
            }
        } else if parameters.run_length.is_some() {
            return Err(Error::Usage("--run-length is of drawn items, and these come from a file".into()));
        }
        let n = if task == Task::ReduceByKey { items.len() as u64 } else { 0 };
        let words = (0..n).map(|i| mix(i) as u32).collect();
        Ok(Box::new(SiftProblem { ladder, items, words, found: OnceCell::new(), uploaded: Uploaded::default() }))
    }
    match workload.input.as_ref().and_then(|data| data.first()).map_or(workload.dtype, Data::dtype) {
        Dtype::U32 => of(ladder, workload, u32::unwrap),
        Dtype::I32 => of(ladder, workload, i32::unwrap),
        Dtype::F32 => of(ladder, workload, f32::unwrap),
        Dtype::U64 => of(ladder, workload, u64::unwrap),
        Dtype::I64 => of(ladder, workload, i64::unwrap),
        Dtype::F64 => of(ladder, workload, f64::unwrap),
        dtype => {
            let family = ladder.family;
            Err(Error::Usage(format!("{family} does not take {dtype}; it takes u32, i32, f32, u64, i64 and f64")))
        }
    }
}

/// Number `i` of a sequence that looks random.
fn mix(i: u64) -> u64 {
    let i = (i ^ i >> 30).wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let i = (i ^ i >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    i ^ i >> 31
}

/// Words as elements of another type, which is as large or larger: the last one is filled up with zero.
fn packed<T: Scalar>(words: &[u32]) -> Vec<T> {
    let pack = |words: &[u32]| words.iter().rev().fold(0, |all, word| all << 32 | u64::from(*word));
    words.chunks(size_of::<T>() / 4).map(|words| T::from_bits_64(pack(words))).collect()
}

/// The first `n` words of elements that [`packed`] made.
fn unpacked<T: Scalar>(elements: &[T], n: usize) -> Vec<u32> {
    let words = |element: &T| {
        let bits = element.to_bits_64();
        [bits as u32, (bits >> 32) as u32].into_iter().take(size_of::<T>() / 4)
    };
    elements.iter().flat_map(words).take(n).collect()
}

impl<T: Element + Scalar> SiftProblem<T> {
    fn task(&self) -> Task {
        self.ladder.default.run.task()
    }

    /// The oracle.
    fn found(&self) -> &Found<T> {
        self.found.get_or_init(|| {
            if self.task() == Task::Partition {
                let pivot = pivot(&self.items);
                let (items, rest) = self.items.iter().partition(|item| **item < pivot);
                return Found { items, rest, results: vec![] };
            }
            let runs = || self.items.chunk_by(|a, b| a.to_bits_64() == b.to_bits_64());
            let results = match self.task() {
                Task::RunLengths => runs().map(|run| run.len() as u32).collect(),
                Task::ReduceByKey => {
                    let mut words = self.words.iter();
                    let mut sum = |len| words.by_ref().take(len).fold(0u32, |sum, word| sum.wrapping_add(*word));
                    runs().map(|run| sum(run.len())).collect()
                }
                _ => vec![],
            };
            Found { items: runs().map(|run| run[0]).collect(), rest: vec![], results }
        })
    }

    fn input(&self, engine: &Engine) -> Result<Rc<Buffer<T>>> {
        self.uploaded.get(engine, &[&self.items, &packed(&self.words)])
    }

    /// Compares what `who` found with the oracle.
    fn compare(&self, who: &str, got: Found<T>) -> Result<()> {
        let (family, want) = (self.ladder.family, self.found());
        compare(family, who, &Data::from(got.items), &Data::from(want.items.clone()))?;
        compare(family, who, &Data::from(got.rest), &Data::from(want.rest.clone()))?;
        compare(family, who, &Data::from(got.results), &Data::from(want.results.clone()))
    }
}

impl<T: Element + Scalar> OpenProblem for SiftProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(Self::input(self, engine)?)
    }

    /// Of a peer: room for all items, then the count in the first word of one more, then lengths or sums. A partition
    /// has the other items behind those that are kept, the last one first.
    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let (n, mut items) = (self.items.len(), output.download_as::<T>()?);
        let results = items.split_off(n + 1);
        let count = items.pop().map_or(0, |last| last.to_bits_64() as u32 as usize);
        let mut rest = items.split_off(count.min(n));
        rest.reverse();
        let has_results = matches!(self.task(), Task::RunLengths | Task::ReduceByKey);
        let results = unpacked(&results, if has_results { count } else { 0 });
        let rest = if self.task() == Task::Partition { rest } else { vec![] };
        self.compare(who, Found { items, rest, results })
    }
}

impl<T: Element + Scalar + Argument> Problem for SiftProblem<T>
where
    dyn Sift: SiftsOf<T>,
{
    fn size(&self) -> Size {
        Size::Elements(self.items.len() as u64)
    }

    fn work(&self) -> Work {
        let Found { items, rest, results } = self.found();
        let moved = [&self.items[..], items, rest].map(size_of_val).iter().sum::<usize>();
        let bytes = (moved + size_of_val(&self.words[..]) + size_of_val(&results[..])) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.items.len());
        let room = |of: &[Task], len: usize| if of.contains(&self.task()) { len } else { 0 };
        let (input, output) = (self.input(engine)?, engine.alloc(n + 1)?);
        let rest = engine.alloc(room(&[Task::Partition], n + 1))?;
        let results = engine.alloc(room(&[Task::RunLengths, Task::ReduceByKey], n))?;
        let (launches, scratch_bytes) = engine.held_after(|| Ok(entry.sifter::<T>(engine, n as u32)?))?;
        let rung = rung.name;
        Ok(Box::new(Sifting { problem: self, rung, launches, input, output, rest, results, scratch_bytes }))
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

/// A rung on an engine. Each part of the output has its count in the first word behind it.
struct Sifting<'p, T> {
    problem: &'p SiftProblem<T>,
    rung: &'static str,
    launches: Sequence<Items<T>>,
    input: Rc<Buffer<T>>,
    output: Buffer<T>,
    rest: Buffer<T>,
    results: Buffer<u32>,
    scratch_bytes: u64,
}

impl<T: Element + Scalar> Sifting<'_, T> {
    fn found(&self) -> Result<Found<T>> {
        let counted = |part: &Buffer<T>| -> Result<Vec<T>> {
            let mut items = part.download()?;
            let count = items.pop().map_or(0, |last| last.to_bits_64() as u32);
            // A count that is too large makes the result too long, whatever stands there.
            items.truncate(count as usize);
            Ok(items)
        };
        let (items, rest, mut results) = (counted(&self.output)?, counted(&self.rest)?, self.results.download()?);
        results.truncate(items.len());
        Ok(Found { items, rest, results })
    }
}

impl<T: Element + Scalar + Argument> Prepared for Sifting<'_, T> {
    fn restore(&mut self) -> Result<()> {
        self.output.fill(0xA5)?;
        self.rest.fill(0xA5)?;
        self.results.fill(0xA5)
    }

    fn run(&mut self) -> Result<()> {
        let (engine, n) = (self.input.engine(), self.problem.items.len());
        let count = |part: &Buffer<T>| {
            let words = if part.is_empty() { part.view() } else { part.slice(n, 1) }.cast::<u32>();
            words.slice(0, words.len().min(1))
        };
        let words = self.input.slice(n, self.input.len() - n).cast::<u32>();
        let (counted, others) = (count(&self.output), count(&self.rest));
        let items = Items {
            input: self.input.slice(0, n),
            words: words.slice(0, self.problem.words.len() as u32),
            pivot: pivot(&self.problem.items),
            output: self.output.slice(0, n),
            count: counted,
            rest: self.rest.slice(0, self.rest.len().saturating_sub(1)),
            rest_count: others,
            results: self.results.view(),
        };
        self.launches.run(engine, items)?;
        if engine.is_simulator() {
            simt::sim::expect_written(counted);
        }
        Ok(())
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        self.problem.compare(self.rung, self.found()?)
    }

    /// A partition's items, the others behind those below the pivot; the first of each run; or its length or sum.
    fn output(&mut self) -> Result<Data> {
        let Found { mut items, rest, results } = self.found()?;
        Ok(match self.problem.task() {
            Task::RunLengths | Task::ReduceByKey => Data::from(results),
            Task::Partition | Task::Unique => {
                items.extend(rest);
                Data::from(items)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_packed_in_elements_of_either_size() {
        for n in 0..5u32 {
            let words: Vec<u32> = (0..n).map(|i| i + 0xFFFF_FFF0).collect();
            assert_eq!(unpacked(&packed::<u64>(&words), n as usize), words);
            assert_eq!(unpacked(&packed::<f32>(&words), n as usize), words);
            assert_eq!(packed::<u64>(&words).len(), n.div_ceil(2) as usize);
        }
    }
}
