//! Reduction: the sum, the minimum or the maximum of all elements.

use super::apart::Apart;
use super::upload::Uploaded;
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Operation, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work,
    Workload, entry, verdict,
};
use crate::data::{Data, Difference, Distribution, Dtype};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::ladder::Ladder;
use rungs_kernels::ladder::reduce::{Elements, Reduce, Reduces};
use rungs_oracles::arithmetic::Reducible;
use rungs_oracles::reduction::Expected;
use std::cell::OnceCell;
use std::rc::Rc;

/// The family of a ladder of reductions. Drawn elements are small whole numbers, so that the order of additions does
/// not show in floats.
pub fn family(ladder: &'static Ladder<&'static dyn Reduce>, sizes: Sizes) -> Family {
    Family {
        dtypes: &[Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64],
        extras: &[Extra::Operation],
        input: Distribution::Small,
        draws: Draws::Arrays { inputs: vec![Operand::line("elements")], output: Operand::other("result") },
        ..Family::new(ladder, Kind::Reduce, sizes, problem)
    }
}

/// Elements and the expected result.
struct ReduceProblem<T> {
    ladder: &'static Ladder<&'static dyn Reduce>,
    input: Vec<T>,
    operation: Operation,
    expected: OnceCell<Expected<T>>,
    uploaded: Uploaded<T>,
}

fn problem(ladder: &'static Ladder<&'static dyn Reduce>, workload: Workload) -> Result<Box<dyn Problem>> {
    macro_rules! of {
        ($input:expr, $operation:expr) => {
            Ok(Box::new(ReduceProblem {
                ladder,
                input: $input,
                operation: $operation,
                expected: OnceCell::new(),
                uploaded: Uploaded::default(),
            }))
        };
    }
    let operation = workload.parameters.operation;
    match workload.operand("reduce")? {
        Data::U32(input) => of!(input, operation),
        Data::I32(input) => of!(input, operation),
        Data::F32(input) => of!(input, operation),
        Data::U64(input) => of!(input, operation),
        Data::I64(input) => of!(input, operation),
        Data::F64(input) => of!(input, operation),
        other @ (Data::U8(_) | Data::F16(_) | Data::Bf16(_)) => {
            let dtype = other.dtype();
            Err(Error::Usage(format!("reduce does not take {dtype}; it takes u32, i32, f32, u64, i64 and f64")))
        }
    }
}

impl<T: Reducible> OpenProblem for ReduceProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.input])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let (n, got) = (self.input.len(), output.download_as::<T>()?[0]);
        let want = *self.expected.get_or_init(|| T::expected(&self.input, self.operation));
        // Every rung keeps at least 512 running sums per SM, and combines them in trees of a few dozen
        // levels.
        let additions = n as f64 / (512.0 * output.engine().multiprocessors() as f64) + 64.0;
        let wrong = !want.admits(got, additions);
        verdict("reduce", who, n, wrong.then(|| Difference { index: 0, left: got.show(), right: want.show() }))
    }
}

impl<T: Reducible> Problem for ReduceProblem<T>
where
    dyn Reduce: Reduces<T>,
{
    fn size(&self) -> Size {
        Size::Elements(self.input.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = size_of_val(&self.input[..]) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes: bytes + size_of::<T>() as f64, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.input.len() as u32);
        let input = self.uploaded.get(engine, &[&self.input])?;
        let sequence = |engine: &Engine| Ok(entry.reducer::<T>(engine, n, self.operation)?);
        let args = |input: &Buffer<T>, output: &Buffer<T>| Elements { input: input.view(), output: output.view() };
        Apart::prepare(self, rung, input, (1, 0xA5), sequence, args)
    }

    fn makes_one_value(&self) -> bool {
        true
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}
