//! Scan: running sums, minima and maxima.

use super::apart::Apart;
use super::upload::Uploaded;
use super::verify::{self, ON_DEVICE_FROM};
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Parameters, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work,
    Workload, entry, verdict,
};
use crate::data::{Data, Difference, Dtype};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::ladder::Ladder;
use rungs_kernels::ladder::scan::{Elements, Scan, Scans};
use rungs_oracles::prefixes::Scannable;
use std::rc::Rc;

/// The family of a ladder of scans.
pub fn family(ladder: &'static Ladder<&'static dyn Scan>, sizes: Sizes) -> Family {
    Family {
        dtypes: &[Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64],
        extras: &[Extra::Operation, Extra::Exclusive],
        draws: Draws::Prefixes,
        ..Family::new(ladder, Kind::Scan, sizes, problem)
    }
}

/// Elements to scan.
struct ScanProblem<T> {
    ladder: &'static Ladder<&'static dyn Scan>,
    input: Vec<T>,
    parameters: Parameters,
    uploaded: Uploaded<T>,
}

fn problem(ladder: &'static Ladder<&'static dyn Scan>, workload: Workload) -> Result<Box<dyn Problem>> {
    macro_rules! of {
        ($input:expr, $parameters:expr) => {
            Ok(Box::new(ScanProblem { ladder, input: $input, parameters: $parameters, uploaded: Uploaded::default() }))
        };
    }
    let parameters = workload.parameters;
    match workload.operand("scan")? {
        Data::U32(input) => of!(input, parameters),
        Data::I32(input) => of!(input, parameters),
        Data::F32(input) => of!(input, parameters),
        Data::U64(input) => of!(input, parameters),
        Data::I64(input) => of!(input, parameters),
        Data::F64(input) => of!(input, parameters),
        other @ (Data::U8(_) | Data::F16(_) | Data::Bf16(_)) => {
            let dtype = other.dtype();
            Err(Error::Usage(format!("scan does not take {dtype}; it takes u32, i32, f32, u64, i64 and f64")))
        }
    }
}

impl<T: Scannable> OpenProblem for ScanProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.input])?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let (input, engine) = (&self.input, output.engine());
        if input.len() >= ON_DEVICE_FROM
            && !engine.is_simulator()
            && verify::follows(T::DTYPE, &*self.uploaded.get(engine, &[input])?, output, self.parameters)? == Some(true)
        {
            return Ok(());
        }
        // The host compares all results and tells which is the first wrong one.
        let got = output.download_as::<T>()?;
        let wrong = T::first_difference(input, &got, self.parameters.operation, self.parameters.exclusive);
        let difference = |(index, right): (usize, String)| Difference { index, left: got[index].show(), right };
        verdict("scan", who, input.len(), wrong.map(difference))
    }
}

impl<T: Scannable> Problem for ScanProblem<T>
where
    dyn Scan: Scans<T>,
{
    fn size(&self) -> Size {
        Size::Elements(self.input.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = 2.0 * size_of_val(self.input.as_slice()) as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.input.len());
        let input = self.uploaded.get(engine, &[&self.input])?;
        let Parameters { operation, exclusive, .. } = self.parameters;
        let sequence = |engine: &Engine| Ok(entry.scanner::<T>(engine, n as u32, operation)?);
        let args = move |input: &Buffer<T>, output: &Buffer<T>| Elements {
            input: input.view(),
            output: output.view(),
            exclusive,
        };
        Apart::prepare(self, rung, input, (n, T::POISON), sequence, args)
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}
