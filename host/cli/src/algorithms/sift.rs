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
use rungs_oracles::{inputs, selections};
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
struct Found {
    /// Those below the pivot, or the first of each run.
    items: Data,
    /// The others of a partition.
    rest: Data,
    /// Lengths or sums.
    results: Data,
}

/// Items, and what is made of them.
struct SiftProblem<T> {
    ladder: &'static Ladder<&'static dyn Sift>,
    items: Data,
    /// The word that belongs to each item, where there are such.
    words: Vec<u32>,
    found: OnceCell<Found>,
    uploaded: Uploaded<T>,
}

fn problem(ladder: &'static Ladder<&'static dyn Sift>, workload: Workload) -> Result<Box<dyn Problem>> {
    fn of<T>(ladder: &'static Ladder<&'static dyn Sift>, workload: Workload) -> Result<Box<dyn Problem>>
    where
        T: Element + Scalar + Argument,
        dyn Sift: SiftsOf<T>,
    {
        let (task, is_drawn, seed) = (ladder.default.run.task(), workload.input.is_none(), workload.seed);
        let parameters = workload.parameters;
        let mut items = workload.operand(ladder.family)?;
        if items.dtype() != T::DTYPE {
            return Err(Error::Usage(format!("{} does not take {}", ladder.family, items.dtype())));
        }
        if task == Task::Partition {
            items = keep_fraction(ladder.family, items, parameters.keep, is_drawn)?;
        } else if is_drawn {
            let mean = u64::from(parameters.run_length.unwrap_or(DEFAULT_RUN_LENGTH));
            items = inputs::in_runs(items, mean, seed);
        } else if parameters.run_length.is_some() {
            return Err(Error::Usage("--run-length is of drawn items, and these come from a file".into()));
        }
        let n = if task == Task::ReduceByKey { items.len() as u64 } else { 0 };
        let (words, found, uploaded) = (inputs::words(n), OnceCell::new(), Uploaded::<T>::default());
        Ok(Box::new(SiftProblem { ladder, items, words, found, uploaded }))
    }
    match workload.input.as_ref().and_then(|data| data.first()).map_or(workload.dtype, Data::dtype) {
        Dtype::U32 => of::<u32>(ladder, workload),
        Dtype::I32 => of::<i32>(ladder, workload),
        Dtype::F32 => of::<f32>(ladder, workload),
        Dtype::U64 => of::<u64>(ladder, workload),
        Dtype::I64 => of::<i64>(ladder, workload),
        Dtype::F64 => of::<f64>(ladder, workload),
        dtype => {
            let family = ladder.family;
            Err(Error::Usage(format!("{family} does not take {dtype}; it takes u32, i32, f32, u64, i64 and f64")))
        }
    }
}

/// Words as elements of another type, which is as large or larger: the last one is filled up with zero.
fn packed<T: Element>(words: &[u32]) -> Vec<T> {
    bytemuck::pod_collect_to_vec(words)
}

/// The first `n` words of elements that [`packed`] made.
fn unpacked<T: Element>(elements: &[T], n: usize) -> Vec<u32> {
    let mut words: Vec<u32> = bytemuck::pod_collect_to_vec(elements);
    words.truncate(n);
    words
}

impl<T: Element + Scalar> SiftProblem<T> {
    fn task(&self) -> Task {
        self.ladder.default.run.task()
    }

    /// The oracle.
    fn found(&self) -> &Found {
        self.found.get_or_init(|| {
            if self.task() == Task::Partition {
                let [items, rest] = [true, false].map(|less| selections::parted(&self.items, less));
                return Found { items, rest, results: Vec::<u32>::new().into() };
            }
            let (items, lengths) = selections::runs(&self.items);
            let results = match self.task() {
                Task::RunLengths => lengths,
                Task::ReduceByKey => selections::sums(&self.words, &lengths),
                _ => vec![],
            };
            Found { items, rest: Vec::<T>::new().into(), results: results.into() }
        })
    }

    fn items(&self) -> &[T] {
        self.items.as_slice().unwrap_or_default()
    }

    fn input(&self, engine: &Engine) -> Result<Rc<Buffer<T>>> {
        self.uploaded.get(engine, &[self.items(), &packed(&self.words)])
    }

    /// Compares what `who` found with the oracle.
    fn compare(&self, who: &str, got: &Found) -> Result<()> {
        let (family, want) = (self.ladder.family, self.found());
        compare(family, who, &got.items, &want.items)?;
        compare(family, who, &got.rest, &want.rest)?;
        compare(family, who, &got.results, &want.results)
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
        self.compare(who, &Found { items: items.into(), rest: rest.into(), results: results.into() })
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
        let moved = [&self.items, items, rest, results].map(|data| data.as_bytes().len()).iter().sum::<usize>();
        let bytes = (moved + size_of_val(&self.words[..])) as f64;
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
    fn found(&self) -> Result<Found> {
        let counted = |part: &Buffer<T>| -> Result<Vec<T>> {
            let mut items = part.download()?;
            let count = items.pop().map_or(0, |last| last.to_bits_64() as u32);
            // A count that is too large makes the result too long, whatever stands there.
            items.truncate(count as usize);
            Ok(items)
        };
        let (items, rest, mut results) = (counted(&self.output)?, counted(&self.rest)?, self.results.download()?);
        results.truncate(items.len());
        Ok(Found { items: items.into(), rest: rest.into(), results: results.into() })
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
            pivot: pivot(self.problem.items()),
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
        self.problem.compare(self.rung, &self.found()?)
    }

    /// A partition's items, the others behind those below the pivot; the first of each run; or its length or sum.
    fn output(&mut self) -> Result<Data> {
        let Found { items, rest, results } = self.found()?;
        let of = |part: &Data| part.as_slice::<T>().unwrap_or_default().to_vec();
        Ok(match self.problem.task() {
            Task::RunLengths | Task::ReduceByKey => results,
            Task::Partition | Task::Unique => [of(&items), of(&rest)].concat().into(),
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
