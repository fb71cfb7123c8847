//! Segmented sort: each segment of the keys by itself.

use super::keys::KEY_TYPES;
use super::upload::{Changed, Uploaded};
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Parameters, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work,
    Workload, compare, entry,
};
use crate::data::{Data, for_dtype};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::{KeyWord, order_of};
use rungs_kernels::ladder::segmented_sort::{SegmentWord, SegmentedSort, Segments};
use rungs_kernels::ladder::{Ladder, Sequence};
use rungs_oracles::segments;
use std::cell::OnceCell;
use std::rc::Rc;

pub use rungs_oracles::segments::Lengths;

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
    keys: Data,
    offsets: Vec<u32>,
    sorted: OnceCell<Data>,
    uploaded: Uploaded<W>,
    uploaded_offsets: Uploaded<u32>,
    /// Keys and then offsets, for peers.
    uploaded_both: Uploaded<u8>,
}

fn problem(ladder: &'static Ladder<&'static dyn SegmentedSort>, workload: Workload) -> Result<Box<dyn Problem>> {
    fn of<W: KeyWord + SegmentWord>(
        ladder: &'static Ladder<&'static dyn SegmentedSort>,
        keys: Data,
        lengths: Lengths,
    ) -> Box<dyn Problem> {
        let offsets = lengths.offsets(keys.len() as u32);
        Box::new(SegmentedProblem {
            ladder,
            keys,
            offsets,
            sorted: OnceCell::new(),
            uploaded: Uploaded::<W>::default(),
            uploaded_offsets: Uploaded::default(),
            uploaded_both: Uploaded::default(),
        })
    }
    let lengths = lengths_of(&workload.parameters);
    let keys = workload.operand(ladder.family)?;
    match keys.dtype().size() {
        4 => Ok(of::<u32>(ladder, keys, lengths)),
        8 => Ok(of::<u64>(ladder, keys, lengths)),
        _ => {
            let (family, dtype) = (ladder.family, keys.dtype());
            Err(Error::Usage(format!("{family} does not sort {dtype}; it takes u32, i32, f32, u64, i64 and f64")))
        }
    }
}

impl<W: KeyWord + SegmentWord> SegmentedProblem<W> {
    fn order(&self) -> u32 {
        order_of(self.keys.dtype())
    }

    /// The oracle.
    fn sorted(&self) -> &Data {
        self.sorted.get_or_init(|| segments::sorted(&self.keys, &self.offsets))
    }

    /// Words as keys.
    fn keys(&self, words: &[W]) -> Data {
        for_dtype!(self.keys.dtype(), K => Data::from(bytemuck::cast_slice::<W, K>(words).to_vec()))
    }

    fn uploaded(&self, engine: &Engine) -> Result<Rc<Buffer<W>>> {
        self.uploaded.get(engine, &[bytemuck::cast_slice(self.keys.as_bytes())])
    }
}

impl<W: KeyWord + SegmentWord> OpenProblem for SegmentedProblem<W> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        let parts = [self.keys.as_bytes(), bytemuck::cast_slice(&self.offsets)];
        Ok(self.uploaded_both.get(engine, &parts)?)
    }

    /// Libraries do not have the total order of floats: for them -0 and +0 are equal.
    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let [got, want] = [self.keys(&output.download_as()?), self.sorted().clone()].map(segments::with_one_zero);
        compare(self.ladder.family, who, &got, &want)
    }
}

impl<W: KeyWord + SegmentWord> Problem for SegmentedProblem<W> {
    fn size(&self) -> Size {
        Size::Elements(self.keys.len() as u64)
    }

    fn work(&self) -> Work {
        let (keys, offsets) = (self.keys.as_bytes().len(), size_of_val(self.offsets.as_slice()));
        let bytes = (2 * keys + offsets) as f64;
        Work { amount: self.keys.len() as f64, unit: RateUnit::Keys, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.keys.len());
        let input = self.uploaded(engine)?;
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
        compare(self.problem.ladder.family, self.rung, &self.output()?, self.problem.sorted())
    }

    fn output(&mut self) -> Result<Data> {
        Ok(self.problem.keys(&self.keys.last().download()?))
    }
}
