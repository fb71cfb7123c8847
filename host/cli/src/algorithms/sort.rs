//! Sorting: the problem and its oracle.

use super::keys::{KEY_TYPES, unable};
use super::upload::{Changed, Uploaded};
use super::verify::ON_DEVICE_FROM;
use super::{
    Extra, Family, Kind, OpenProblem, Parameters, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work, Workload,
    compare, entry, pairs,
};
use crate::data::{self, Data, for_dtype};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::KeyWord;
use rungs::keys::order_of;
use rungs::verify;
use rungs_kernels::keys::{DESCENDING, FLOAT};
use rungs_kernels::ladder::sort::{Keys, Sort};
use rungs_kernels::ladder::{Ladder, Sequence};
use rungs_oracles::low_half;
use std::cell::OnceCell;
use std::rc::Rc;

/// Keys to sort, and the same keys sorted by the host.
struct SortProblem<T> {
    ladder: &'static Ladder<Sort>,
    input: Data,
    /// By the order of the type; by the low half, stably, if that is asked for.
    sorted: OnceCell<Data>,
    parameters: Parameters,
    uploaded: Uploaded<T>,
}

/// The family of a ladder of sorts.
pub fn family(ladder: &'static Ladder<Sort>, sizes: Sizes, extras: &'static [Extra]) -> Family {
    let problem = |ladder, workload: Workload| match workload.parameters.values {
        true => pairs::problem(ladder, workload),
        false => problem(ladder, workload),
    };
    let unable = move |rung: &Rung, dtype, parameters: &Parameters| unable(ladder, rung, dtype, parameters);
    Family { dtypes: KEY_TYPES, extras, unable: Box::new(unable), ..Family::new(ladder, Kind::Sort, sizes, problem) }
}

/// Makes the problem.
fn problem(ladder: &'static Ladder<Sort>, workload: Workload) -> Result<Box<dyn Problem>> {
    fn of<T: KeyWord>(ladder: &'static Ladder<Sort>, input: Data, parameters: Parameters) -> Box<dyn Problem> {
        let (sorted, uploaded) = (OnceCell::new(), Uploaded::<T>::default());
        Box::new(SortProblem { ladder, input, sorted, parameters, uploaded })
    }
    let (family, parameters) = (ladder.family, workload.parameters);
    let input = workload.operand(family)?;
    match input.dtype().size() {
        4 => Ok(of::<u32>(ladder, input, parameters)),
        8 => Ok(of::<u64>(ladder, input, parameters)),
        _ => {
            let dtype = input.dtype();
            Err(Error::Usage(format!("{family} does not sort {dtype}; it takes u32, i32, f32, u64, i64 and f64")))
        }
    }
}

impl<T: KeyWord> SortProblem<T> {
    /// The oracle: the host's own sort of the input, in the total order or its opposite.
    fn sorted(&self) -> &Data {
        self.sorted.get_or_init(|| match (self.parameters.low_half, self.input.as_slice::<u32>()) {
            (true, Some(keys)) => low_half::sorted(keys).into(),
            _ if self.parameters.descending => self.input.at(&self.input.sorted_places(true)),
            _ => data::sorted(&self.input),
        })
    }

    fn order(&self) -> u32 {
        order_of(self.input.dtype()) | if self.parameters.descending { DESCENDING } else { 0 }
    }

    /// Words from the device as keys.
    fn keys(&self, words: &[T]) -> Data {
        for_dtype!(self.input.dtype(), K => Data::from(bytemuck::cast_slice::<T, K>(words).to_vec()))
    }

    fn uploaded(&self, engine: &Engine) -> Result<Rc<Buffer<T>>> {
        self.uploaded.get(engine, &[bytemuck::cast_slice(self.input.as_bytes())])
    }

    /// Checks an output by the low half. A library's that is not `stable` may have equivalent keys in any order.
    fn check_low_half(&self, who: &str, output: &dyn AnyBuffer, stable: bool) -> Result<()> {
        let (family, keys) = (self.ladder.family, output.download_as()?);
        let input = self.input.as_slice::<u32>().unwrap_or_default();
        if stable {
            return compare(family, who, &self.keys(&keys), self.sorted());
        }
        let got: &[u32] = bytemuck::cast_slice(&keys);
        if low_half::is_in_order(got) && low_half::checksum(got) == low_half::checksum(input) {
            return Ok(());
        }
        // What is wrong shows where equivalent keys have one order.
        compare(family, who, &low_half::in_one_order(got).into(), &low_half::in_one_order(input).into())
    }

    /// Checks an output: many keys on their GPU, few keys on the host. `zeros_equal`: -0 and +0 may stand in any order.
    fn check_order(&self, who: &str, output: &dyn AnyBuffer, zeros_equal: bool) -> Result<()> {
        let (engine, order) = (output.engine(), self.order());
        let many = self.input.len() >= ON_DEVICE_FROM && !engine.is_simulator();
        if many || zeros_equal && order & !DESCENDING == FLOAT {
            let want = T::look(&*self.uploaded(engine)?, order, zeros_equal)?.checksum;
            let got = T::look(output, order, zeros_equal)?;
            if got == (verify::Found { descents: 0, checksum: want }) {
                return Ok(());
            }
        }
        // The oracle on the host tells which key is the first wrong one.
        compare(self.ladder.family, who, &self.keys(&output.download_as()?), self.sorted())
    }
}

impl<T: KeyWord> OpenProblem for SortProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded(engine)?)
    }

    /// Libraries do not have the total order of floats: for them -0 and +0 are equal.
    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        if self.parameters.low_half {
            return self.check_low_half(who, output, who.contains("stable"));
        }
        self.check_order(who, output, true)
    }
}

impl<T: KeyWord> Problem for SortProblem<T> {
    fn size(&self) -> Size {
        Size::Elements(self.input.len() as u64)
    }

    fn work(&self) -> Work {
        let n = self.input.len() as f64;
        Work { amount: n, unit: RateUnit::Keys, bytes: 2.0 * n * size_of::<T>() as f64, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.input.len());
        if let Some(why) = unable(self.ladder, rung, self.input.dtype(), &self.parameters) {
            return Err(Error::Usage(why));
        }
        let make = || match self.parameters.low_half {
            true => Ok(entry.low_half_sorter::<T>(engine, n as u32)?),
            false => Ok(entry.sorter::<T>(engine, n as u32, self.parameters.options())?),
        };
        let (sorter, scratch_bytes) = engine.held_after(make)?;
        Ok(Box::new(PreparedSort {
            problem: self,
            rung: entry.rung.name,
            input: self.uploaded(engine)?,
            keys: Changed::new(engine, n)?,
            sorter,
            scratch_bytes,
        }))
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

struct PreparedSort<'p, T: KeyWord> {
    problem: &'p SortProblem<T>,
    rung: &'static str,
    input: Rc<Buffer<T>>,
    keys: Changed<T>,
    sorter: Sequence<Keys<T>>,
    scratch_bytes: u64,
}

impl<T: KeyWord> Prepared for PreparedSort<'_, T> {
    fn restore(&mut self) -> Result<()> {
        self.restore_for(1)
    }

    fn restore_for(&mut self, calls: usize) -> Result<()> {
        self.keys.restore_for(calls, &*self.input)
    }

    fn run(&mut self) -> Result<()> {
        let (keys, order) = (self.keys.for_next(), self.problem.order());
        Ok(self.sorter.run(keys.engine(), Keys { keys: keys.view(), order })?)
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        if self.problem.parameters.low_half {
            return self.problem.check_low_half(self.rung, self.keys.last(), true);
        }
        self.problem.check_order(self.rung, self.keys.last(), false)
    }

    fn output(&mut self) -> Result<Data> {
        Ok(self.problem.keys(&self.keys.last().download()?))
    }
}
