//! Select: the items below a pivot, which is the item in the middle of the input.

use super::upload::Uploaded;
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work, Workload,
    compare, entry,
};
use crate::data::{self, Data, Dtype, Element};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::ladder::select::{Items, Select, Selects};
use rungs_kernels::ladder::{Ladder, Sequence};
use rungs_oracles::{inputs, selections};
use simt::{Argument, Scalar};
use std::cell::OnceCell;
use std::rc::Rc;

/// The family of a ladder of selections.
pub fn family(ladder: &'static Ladder<&'static dyn Select>, sizes: Sizes) -> Family {
    Family {
        dtypes: &[Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64],
        extras: &[Extra::Keep],
        draws: Draws::Arrays { inputs: vec![Operand::line("items")], output: Operand::other("selected") },
        ..Family::new(ladder, Kind::Select, sizes, problem)
    }
}

/// Items, and those that are selected.
struct SelectProblem<T> {
    ladder: &'static Ladder<&'static dyn Select>,
    items: Data,
    selected: OnceCell<Data>,
    uploaded: Uploaded<T>,
}

/// The item in the middle, which is the pivot: about half of random items are less.
pub(super) fn pivot<T: Element>(items: &[T]) -> T {
    items.get(items.len() / 2).copied().unwrap_or(T::from_whole(0))
}

/// Moves the item to the middle of which so large a fraction of drawn items is less, if one is asked for.
///
/// # Errors
/// [`Error::Usage`] for a fraction of items that were not drawn, whose order is theirs.
pub(super) fn keep_fraction(family: &str, items: Data, fraction: Option<f64>, is_drawn: bool) -> Result<Data> {
    let Some(fraction) = fraction else { return Ok(items) };
    if !is_drawn {
        let why = "--keep is of drawn items, and these come from a file, in which the pivot is the item in the middle";
        return Err(Error::Usage(format!("{family}: {why}")));
    }
    Ok(inputs::with_pivot(items, fraction))
}

fn problem(ladder: &'static Ladder<&'static dyn Select>, workload: Workload) -> Result<Box<dyn Problem>> {
    fn of<T: Element + Scalar + Argument>(
        ladder: &'static Ladder<&'static dyn Select>,
        items: Data,
    ) -> Result<Box<dyn Problem>>
    where
        dyn Select: Selects<T>,
    {
        let (selected, uploaded) = (OnceCell::new(), Uploaded::<T>::default());
        Ok(Box::new(SelectProblem { ladder, items, selected, uploaded }))
    }
    let (keep, is_drawn) = (workload.parameters.keep, workload.input.is_none());
    let items = keep_fraction("select", workload.operand("select")?, keep, is_drawn)?;
    match items.dtype() {
        Dtype::U32 => of::<u32>(ladder, items),
        Dtype::I32 => of::<i32>(ladder, items),
        Dtype::F32 => of::<f32>(ladder, items),
        Dtype::U64 => of::<u64>(ladder, items),
        Dtype::I64 => of::<i64>(ladder, items),
        Dtype::F64 => of::<f64>(ladder, items),
        dtype @ (Dtype::U8 | Dtype::F16 | Dtype::Bf16) => {
            Err(Error::Usage(format!("select does not take {dtype}; it takes u32, i32, f32, u64, i64 and f64")))
        }
    }
}

impl<T: Element + Scalar> SelectProblem<T> {
    fn items(&self) -> &[T] {
        self.items.as_slice().unwrap_or_default()
    }

    /// The oracle.
    fn selected(&self) -> &Data {
        self.selected.get_or_init(|| selections::parted(&self.items, true))
    }

    /// The selected items of an output: room for all items, and then the count in the first word of one more.
    fn selected_of(output: &dyn AnyBuffer) -> Result<Data> {
        let mut items = output.download_as::<T>()?;
        let count = items.pop().map_or(0, |last| last.to_bits_64() as u32);
        // A count that is too large makes the result too long, whatever stands there.
        items.truncate(count as usize);
        Ok(items.into())
    }
}

impl<T: Element + Scalar> OpenProblem for SelectProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[self.items()])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let (got, want) = (Self::selected_of(output)?, self.selected());
        // Peers keep the order.
        if self.ladder.get(who).is_some_and(|entry| !entry.run.is_stable()) {
            return compare("select", who, &data::sorted(&got), &data::sorted(want));
        }
        compare("select", who, &got, want)
    }
}

impl<T: Element + Scalar + Argument> Problem for SelectProblem<T>
where
    dyn Select: Selects<T>,
{
    fn size(&self) -> Size {
        Size::Elements(self.items.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = (self.items.as_bytes().len() + self.selected().as_bytes().len()) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.items.len());
        let (input, output) = (self.uploaded.get(engine, &[self.items()])?, engine.alloc(n + 1)?);
        let (launches, scratch_bytes) = engine.held_after(|| Ok(entry.selector::<T>(engine, n as u32)?))?;
        Ok(Box::new(Selecting { problem: self, rung: rung.name, launches, input, output, scratch_bytes }))
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

/// A rung on an engine.
struct Selecting<'p, T> {
    problem: &'p SelectProblem<T>,
    rung: &'static str,
    launches: Sequence<Items<T>>,
    input: Rc<Buffer<T>>,
    output: Buffer<T>,
    scratch_bytes: u64,
}

impl<T: Element + Scalar + Argument> Prepared for Selecting<'_, T> {
    fn restore(&mut self) -> Result<()> {
        self.output.fill(0xA5)
    }

    fn run(&mut self) -> Result<()> {
        let (engine, n) = (self.input.engine(), self.input.len() as u32);
        let count = self.output.slice(n as usize, 1).cast::<u32>().slice(0, 1);
        let (input, output) = (self.input.view(), self.output.slice(0, n as usize));
        self.launches.run(engine, Items { input, output, count, pivot: pivot(self.problem.items()) })?;
        if engine.is_simulator() {
            simt::sim::expect_written(count);
        }
        Ok(())
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        self.problem.check(self.rung, &self.output)
    }

    fn output(&mut self) -> Result<Data> {
        SelectProblem::<T>::selected_of(&self.output)
    }
}
