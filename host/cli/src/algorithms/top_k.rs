//! Top k: the k largest keys, in any order.

use super::upload::Uploaded;
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Parameters, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work,
    Workload, compare, entry,
};
use crate::data::{Data, Dtype, Element};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::order_of;
use rungs_kernels::ladder::top_k::{Keys, TopK};
use rungs_kernels::ladder::{Ladder, Sequence};
use rungs_oracles::selections;
use simt::Scalar;
use std::cell::OnceCell;
use std::rc::Rc;

/// Default number of largest keys; of fewer keys, all.
pub const DEFAULT_K: u32 = 10;

/// How many of `n` keys are asked for.
pub fn k_of(parameters: &Parameters, n: usize) -> usize {
    parameters.k.map_or((DEFAULT_K as usize).min(n), |k| k as usize)
}

/// The family of a ladder that finds the largest keys.
pub fn family(ladder: &'static Ladder<&'static dyn TopK>, sizes: Sizes) -> Family {
    Family {
        dtypes: &[Dtype::U32, Dtype::I32, Dtype::F32],
        extras: &[Extra::K],
        draws: Draws::Arrays { inputs: vec![Operand::line("keys")], output: Operand::other("largest") },
        ..Family::new(ladder, Kind::TopK, sizes, problem)
    }
}

/// Keys, and the largest of them.
struct TopKProblem<T> {
    ladder: &'static Ladder<&'static dyn TopK>,
    keys: Vec<T>,
    k: usize,
    largest: OnceCell<Data>,
    uploaded: Uploaded<T>,
}

fn problem(ladder: &'static Ladder<&'static dyn TopK>, workload: Workload) -> Result<Box<dyn Problem>> {
    let parameters = workload.parameters;
    macro_rules! of {
        ($keys:expr) => {{
            let (n, k) = ($keys.len(), k_of(&parameters, $keys.len()));
            if k > n {
                let most = if n == 0 { String::new() } else { format!("; --k is at most {n}") };
                return Err(Error::Usage(format!("the {k} largest of {n} keys do not exist{most}")));
            }
            let (largest, uploaded) = (OnceCell::new(), Uploaded::default());
            Ok(Box::new(TopKProblem { ladder, keys: $keys, k, largest, uploaded }))
        }};
    }
    match workload.operand("top-k")? {
        Data::U32(keys) => of!(keys),
        Data::I32(keys) => of!(keys),
        Data::F32(keys) => of!(keys),
        other => Err(Error::Usage(format!("top-k does not take {}; it takes u32, i32 and f32", other.dtype()))),
    }
}

impl<T: Element + Scalar> TopKProblem<T> {
    /// The oracle.
    fn largest(&self) -> &Data {
        self.largest.get_or_init(|| selections::largest(self.keys.clone().into(), self.k))
    }
}

impl<T: Element + Scalar> OpenProblem for TopKProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.keys])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let mut got = output.download_as::<T>()?;
        // A peer that sorts has room for all keys.
        got.truncate(self.k);
        compare("top-k", who, &selections::largest(got.into(), self.k), self.largest())
    }
}

impl<T: Element + Scalar> Problem for TopKProblem<T> {
    fn size(&self) -> Size {
        Size::Elements(self.keys.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = (size_of_val(self.keys.as_slice()) + self.k * size_of::<T>()) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.keys.len() as u32);
        let (input, output) = (self.uploaded.get(engine, &[&self.keys])?, engine.alloc(self.k)?);
        let (launches, scratch_bytes) = engine.held_after(|| Ok(entry.finder(engine, n, self.k as u32)?))?;
        Ok(Box::new(Finding { problem: self, rung: rung.name, launches, input, output, scratch_bytes }))
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

/// A rung on an engine.
struct Finding<'p, T> {
    problem: &'p TopKProblem<T>,
    rung: &'static str,
    launches: Sequence<Keys>,
    input: Rc<Buffer<T>>,
    output: Buffer<T>,
    scratch_bytes: u64,
}

impl<T: Element + Scalar> Prepared for Finding<'_, T> {
    fn restore(&mut self) -> Result<()> {
        self.output.fill(0xA5)
    }

    fn run(&mut self) -> Result<()> {
        let (input, output) = (self.input.view().cast(), self.output.view().cast());
        Ok(self.launches.run(self.input.engine(), Keys { input, output, order: order_of(T::DTYPE) })?)
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        self.problem.check(self.rung, &self.output)
    }

    fn output(&mut self) -> Result<Data> {
        Ok(selections::largest(self.output.download()?.into(), self.problem.k))
    }
}
