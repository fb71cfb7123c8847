//! Rungs that read one buffer and write another: reductions, scans, histograms, products.

use super::{OpenProblem, Prepared, Rung};
use crate::data::{Data, Element};
use rungs::engine::{Buffer, Engine};
use rungs::error::Result;
use simt::Scalar;
use std::rc::Rc;

/// Enqueues a rung's launches, from the input to the output.
pub type Launches<I, O> = Box<dyn FnMut(&Buffer<I>, &Buffer<O>) -> Result<()>>;

/// An input that no run changes, and an output that every run rewrites.
pub struct Apart<'p, I, O> {
    problem: &'p dyn OpenProblem,
    rung: &'static str,
    input: Rc<Buffer<I>>,
    output: Buffer<O>,
    poison: u8,
    launches: Launches<I, O>,
    scratch_bytes: u64,
}

impl<'p, I: Scalar, O: Scalar + Element> Apart<'p, I, O> {
    /// Allocates the output, `len` elements, which [`Prepared::restore`] fills with the byte `poison`; `launches`
    /// allocates the rung's scratch memory on the input's engine.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](rungs::Error::OutOfMemory) if output or scratch memory does not fit; the error of
    /// `launches`.
    pub fn prepare(
        problem: &'p dyn OpenProblem,
        rung: &Rung,
        input: Rc<Buffer<I>>,
        (len, poison): (usize, u8),
        launches: impl FnOnce(&Engine) -> Result<Launches<I, O>>,
    ) -> Result<Box<dyn Prepared + 'p>>
    where
        I: 'p,
        O: 'p,
    {
        let output = input.engine().alloc(len)?;
        let (launches, scratch_bytes) = input.engine().held_after(|| launches(input.engine()))?;
        Ok(Box::new(Self { problem, rung: rung.name, input, output, poison, launches, scratch_bytes }))
    }
}

impl<I: Scalar, O: Scalar + Element> Prepared for Apart<'_, I, O> {
    fn restore(&mut self) -> Result<()> {
        self.output.fill(self.poison)
    }

    fn run(&mut self) -> Result<()> {
        (self.launches)(&self.input, &self.output)?;
        if self.input.engine().is_simulator() && self.output.len() <= u32::MAX as usize {
            simt::sim::expect_written(self.output.view());
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
        Ok(Data::from(self.output.download()?))
    }
}
