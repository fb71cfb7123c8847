//! Select: the items below a pivot, which is the item in the middle of the input.

use super::upload::Uploaded;
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work, Workload,
    compare, entry,
};
use crate::data::{Data, Dtype, Element};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::ladder::select::{Items, Select, Selects};
use rungs_kernels::ladder::{Ladder, Sequence};
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
    items: Vec<T>,
    selected: OnceCell<Vec<T>>,
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
pub(super) fn keep_fraction<T: Element>(
    family: &str,
    items: &mut [T],
    fraction: Option<f64>,
    is_drawn: bool,
) -> Result<()> {
    let Some(fraction) = fraction else { return Ok(()) };
    if !is_drawn {
        let why = "--keep is of drawn items, and these come from a file, in which the pivot is the item in the middle";
        return Err(Error::Usage(format!("{family}: {why}")));
    }
    let (n, mut sorted) = (items.len(), items.to_vec());
    if n > 0 {
        let rank = ((fraction * n as f64) as usize).min(n - 1);
        let (_, nth, _) = sorted.select_nth_unstable_by_key(rank, |item| item.to_word());
        let (word, middle) = (nth.to_word(), n / 2);
        if let Some(place) = items.iter().position(|item| item.to_word() == word) {
            items.swap(place, middle);
        }
    }
    Ok(())
}

fn problem(ladder: &'static Ladder<&'static dyn Select>, workload: Workload) -> Result<Box<dyn Problem>> {
    let (keep, is_drawn) = (workload.parameters.keep, workload.input.is_none());
    macro_rules! of {
        ($items:expr) => {{
            let (mut items, selected, uploaded) = ($items, OnceCell::new(), Uploaded::default());
            keep_fraction("select", &mut items, keep, is_drawn)?;
            Ok(Box::new(SelectProblem { ladder, items, selected, uploaded }))
        }};
    }
    match workload.operand("select")? {
        Data::U32(items) => of!(items),
        Data::I32(items) => of!(items),
        Data::F32(items) => of!(items),
        Data::U64(items) => of!(items),
        Data::I64(items) => of!(items),
        Data::F64(items) => of!(items),
        other @ (Data::U8(_) | Data::F16(_) | Data::Bf16(_)) => {
            let dtype = other.dtype();
            Err(Error::Usage(format!("select does not take {dtype}; it takes u32, i32, f32, u64, i64 and f64")))
        }
    }
}

impl<T: Element + Scalar> SelectProblem<T> {
    fn pivot(&self) -> T {
        pivot(&self.items)
    }

    /// The oracle.
    fn selected(&self) -> &[T] {
        self.selected.get_or_init(|| {
            let pivot = self.pivot();
            self.items.iter().copied().filter(|item| *item < pivot).collect()
        })
    }

    /// The selected items of an output: room for all items, and then the count in the first word of one more.
    fn selected_of(output: &dyn AnyBuffer) -> Result<Vec<T>> {
        let mut items = output.download_as::<T>()?;
        let count = items.pop().map_or(0, |last| last.to_bits_64() as u32);
        // A count that is too large makes the result too long, whatever stands there.
        items.truncate(count as usize);
        Ok(items)
    }
}

impl<T: Element + Scalar> OpenProblem for SelectProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.items])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let (mut got, mut want) = (Self::selected_of(output)?, self.selected().to_vec());
        // Peers keep the order.
        if self.ladder.get(who).is_some_and(|entry| !entry.run.is_stable()) {
            got.sort_unstable_by_key(|item| item.to_bits_64());
            want.sort_unstable_by_key(|item| item.to_bits_64());
        }
        compare("select", who, &Data::from(got), &Data::from(want))
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
        let bytes = (size_of_val(self.items.as_slice()) + size_of_val(self.selected())) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.items.len());
        let (input, output) = (self.uploaded.get(engine, &[&self.items])?, engine.alloc(n + 1)?);
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
        self.launches.run(engine, Items { input, output, count, pivot: self.problem.pivot() })?;
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
        Ok(Data::from(SelectProblem::<T>::selected_of(&self.output)?))
    }
}
