//! y = a·x + y.

use super::upload::Changed;
use super::{
    Draws, Family, Kind, Operand, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work, Workload, entry, verdict,
};
use crate::data::{Data, Difference, Dtype, Element};
use rungs::engine::{Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::ladder::saxpy::{Axpy, Vectors};
use rungs_kernels::ladder::{Ladder, Sequence};
use rungs_oracles::sums;

/// The family of a ladder of sums of a scaled vector and another.
pub fn family(ladder: &'static Ladder<Axpy>, sizes: Sizes) -> Family {
    let draws = Draws::Arrays { inputs: vec![Operand::line("x"), Operand::line("y")], output: Operand::line("y") };
    Family { dtypes: &[Dtype::F32], draws, ..Family::new(ladder, Kind::Saxpy, sizes, problem) }
}

/// The factor: neither 1 nor a power of two, so that a product is not merely copied or shifted.
pub const A: f32 = 2.5;

/// x and y on the host.
struct SaxpyProblem {
    ladder: &'static Ladder<Axpy>,
    x: Vec<f32>,
    y: Vec<f32>,
}

/// x from the workload's input, or drawn; y drawn with the next seed.
fn problem(ladder: &'static Ladder<Axpy>, workload: Workload) -> Result<Box<dyn Problem>> {
    let Workload { distribution, seed, .. } = workload;
    let x = workload.operand("saxpy")?;
    let x = x.into_vec::<f32>().map_err(|d| Error::Usage(format!("saxpy takes f32, not {}", d.dtype())))?;
    let y = distribution.keys(x.len() as u64, seed.wrapping_add(1))?;
    Ok(Box::new(SaxpyProblem { ladder, x, y }))
}

impl Problem for SaxpyProblem {
    fn size(&self) -> Size {
        Size::Elements(self.x.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = 12.0 * self.x.len() as f64;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 2.0 * self.x.len() as f64 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let launches = entry(self.ladder, rung)?.adder(engine)?;
        let (x, fresh, y) = (engine.upload(&self.x)?, engine.upload(&self.y)?, Changed::new(engine, self.y.len())?);
        Ok(Box::new(PreparedSaxpy { problem: self, rung: rung.name, launches, x, fresh, y }))
    }
}

struct PreparedSaxpy<'p> {
    problem: &'p SaxpyProblem,
    rung: &'static str,
    launches: Sequence<Vectors>,
    x: Buffer<f32>,
    /// y as it was.
    fresh: Buffer<f32>,
    y: Changed<f32>,
}

impl Prepared for PreparedSaxpy<'_> {
    fn restore(&mut self) -> Result<()> {
        self.restore_for(1)
    }

    fn restore_for(&mut self, calls: usize) -> Result<()> {
        self.y.restore_for(calls, &self.fresh)
    }

    fn run(&mut self) -> Result<()> {
        let y = self.y.for_next();
        Ok(self.launches.run(y.engine(), Vectors { a: A, x: self.x.view(), y: y.view() })?)
    }

    /// The rungs have none.
    fn scratch_bytes(&self) -> u64 {
        0
    }

    fn verify(&mut self) -> Result<()> {
        let got = self.y.last().download()?;
        let wrong = sums::first_difference(A, (&self.problem.x, &self.problem.y), &got);
        let difference =
            |(index, want): (usize, f32)| Difference { index, left: got[index].show(), right: want.show() };
        verdict("saxpy", self.rung, got.len(), wrong.map(difference))
    }

    fn output(&mut self) -> Result<Data> {
        Ok(Data::from(self.y.last().download()?))
    }
}
