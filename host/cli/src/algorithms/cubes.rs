//! Sum of cubes.

use super::upload::Uploaded;
use super::{
    Draws, Extra, Family, Kind, OpenProblem, Operand, Parameters, Prepared, Problem, RateUnit, Rung, Size, Sizes, Work,
    Workload, compare, entry,
};
use crate::data::{Data, Distribution, Dtype};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs_kernels::cubes::{LADDER, TIMES};
use rungs_kernels::ladder::cubes::{Cubes, Values};
use rungs_kernels::ladder::{Ladder, Sequence};
use rungs_oracles::sums;
use std::rc::Rc;

/// The family of a ladder of sums of cubes.
pub fn family(ladder: &'static Ladder<Cubes>, sizes: Sizes) -> Family {
    Family {
        dtypes: &[Dtype::U32],
        extras: &[Extra::Threads, Extra::Blocks],
        input: Distribution::Small,
        draws: Draws::Arrays { inputs: vec![Operand::line("values")], output: Operand::other("sums") },
        ..Family::new(ladder, Kind::Cubes, sizes, problem)
    }
}

/// A rung with its output, ready to add up cubes again and again.
pub struct Summer {
    engine: Engine,
    launches: Sequence<Values>,
    sums: Buffer<u64>,
    times: Buffer<u64>,
}

impl Summer {
    /// A rung of the family on an engine.
    ///
    /// # Errors
    /// [`Error::Usage`] if the rung is of another family, or for 2³² threads and more; [`Error::OutOfMemory`].
    pub fn new(rung: &Rung, engine: &Engine, parameters: &Parameters) -> Result<Self> {
        Self::of(&LADDER, rung, engine, parameters)
    }

    fn of(ladder: &'static Ladder<Cubes>, rung: &Rung, engine: &Engine, parameters: &Parameters) -> Result<Self> {
        let entry = entry(ladder, rung)?;
        let plan = entry.run.plan(&parameters.options(), engine.device());
        // Threads and words of times have numbers of 32 bits.
        let (blocks, threads) = (plan.blocks, plan.threads);
        if blocks.checked_mul(threads.max(TIMES)).is_none() {
            return Err(Error::Usage(format!("{blocks} blocks of {threads} threads are 2^32 threads or more")));
        }
        let (sums, times) = (engine.alloc(plan.sums as usize)?, engine.alloc(plan.blocks as usize * TIMES as usize)?);
        Ok(Self { engine: engine.clone(), launches: entry.adder(engine, plan)?, sums, times })
    }

    /// Overwrites the sums of an earlier run, so that a run that writes nothing is detected.
    ///
    /// # Errors
    /// [`Error::Cuda`] or [`Error::Launch`] if this call, or a kernel launched before it, fails.
    pub fn poison(&mut self) -> Result<()> {
        self.sums.fill(0xA5)
    }

    /// Enqueues the launches.
    ///
    /// # Errors
    /// [`Error::Cuda`] or [`Error::Launch`] if this call, or a kernel launched before it, fails.
    pub fn run(&mut self, values: &Buffer<u32>) -> Result<()> {
        let args = Values { values: values.view(), sums: self.sums.view(), times: self.times.view() };
        Ok(self.launches.run(&self.engine, args)?)
    }

    /// The sum modulo 2⁶⁴, once the launches have ended: partial sums that the rung leaves to the host are added here.
    ///
    /// # Errors
    /// [`Error::Cuda`] or [`Error::Launch`] if this call, or a kernel launched before it, fails.
    pub fn sum(&mut self) -> Result<u64> {
        Ok(sums::total(&self.sums.download()?))
    }

    /// Start and end of each block, see [`rungs_kernels::cubes::Start`].
    ///
    /// # Errors
    /// [`Error::Cuda`] or [`Error::Launch`] if this call, or a kernel launched before it, fails.
    pub fn times(&mut self) -> Result<Vec<[u64; TIMES as usize]>> {
        let words = self.times.download()?;
        Ok(words.as_chunks::<{ TIMES as usize }>().0.to_vec())
    }
}

/// Values, and the sum of their cubes modulo 2⁶⁴, computed by the host.
struct CubesProblem {
    ladder: &'static Ladder<Cubes>,
    values: Vec<u32>,
    parameters: Parameters,
    uploaded: Uploaded<u32>,
}

fn problem(ladder: &'static Ladder<Cubes>, workload: Workload) -> Result<Box<dyn Problem>> {
    let (parameters, data) = (workload.parameters, workload.operand("cubes")?);
    let values = data.into_vec::<u32>().map_err(|d| Error::Usage(format!("cubes takes u32, not {}", d.dtype())))?;
    Ok(Box::new(CubesProblem { ladder, values, parameters, uploaded: Uploaded::default() }))
}

impl CubesProblem {
    /// Compares a sum with the oracle.
    fn check_sum(&self, who: &str, sum: u64) -> Result<()> {
        compare("cubes", who, &Data::from(vec![sum]), &Data::from(vec![sums::of_cubes(&self.values)]))
    }
}

impl OpenProblem for CubesProblem {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.values])?)
    }

    /// The output is partial sums, any number of them.
    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        self.check_sum(who, sums::total(&output.download_as()?))
    }
}

impl Problem for CubesProblem {
    fn size(&self) -> Size {
        Size::Elements(self.values.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = self.values.len() as f64 * 4.0;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let values = self.uploaded.get(engine, &[&self.values])?;
        // The partial sums are scratch: the result is one number.
        let make = || Summer::of(self.ladder, rung, engine, &self.parameters);
        let (summer, scratch_bytes) = engine.held_after(make)?;
        Ok(Box::new(PreparedCubes { problem: self, rung: rung.name, values, summer, scratch_bytes }))
    }

    fn makes_one_value(&self) -> bool {
        true
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

struct PreparedCubes<'p> {
    problem: &'p CubesProblem,
    rung: &'static str,
    values: Rc<Buffer<u32>>,
    summer: Summer,
    scratch_bytes: u64,
}

impl Prepared for PreparedCubes<'_> {
    fn restore(&mut self) -> Result<()> {
        self.summer.poison()
    }

    fn run(&mut self) -> Result<()> {
        self.summer.run(&self.values)
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        let sum = self.summer.sum()?;
        self.problem.check_sum(self.rung, sum)
    }

    fn output(&mut self) -> Result<Data> {
        Ok(Data::from(vec![self.summer.sum()?]))
    }
}
