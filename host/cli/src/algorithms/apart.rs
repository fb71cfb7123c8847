//! Rungs that read one buffer and write another: reductions, scans, histograms, products.

use super::{OpenProblem, Prepared, Rung};
use crate::data::{Data, Element};
use rungs::engine::{Buffer, Engine};
use rungs::error::Result;
use rungs_kernels::ladder::Sequence;
use simt::Scalar;
use std::rc::Rc;

/// An input that no run changes, and an output that every run rewrites.
pub struct Apart<'p, I, O, A, F> {
    problem: &'p dyn OpenProblem,
    rung: &'static str,
    input: Rc<Buffer<I>>,
    output: Buffer<O>,
    poison: u8,
    sequence: Sequence<A>,
    /// What the sequence takes.
    args: F,
    scratch_bytes: u64,
}

impl<'p, I: Scalar, O: Scalar + Element, A, F: Fn(&Buffer<I>, &Buffer<O>) -> A> Apart<'p, I, O, A, F> {
    /// Allocates the output, `len` elements, which [`Prepared::restore`] fills with the byte `poison`; `sequence`
    /// allocates the rung's scratch memory on the input's engine. `args` makes the sequence's arguments.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](rungs::Error::OutOfMemory) if output or scratch memory does not fit; the error of
    /// `sequence`.
    pub fn prepare(
        problem: &'p dyn OpenProblem,
        rung: &Rung,
        input: Rc<Buffer<I>>,
        (len, poison): (usize, u8),
        sequence: impl FnOnce(&Engine) -> Result<Sequence<A>>,
        args: F,
    ) -> Result<Box<dyn Prepared + 'p>>
    where
        Self: 'p,
    {
        let output = input.engine().alloc(len)?;
        let (sequence, scratch_bytes) = input.engine().held_after(|| sequence(input.engine()))?;
        Ok(Box::new(Self { problem, rung: rung.name, input, output, poison, sequence, args, scratch_bytes }))
    }
}

impl<I: Scalar, O: Scalar + Element, A, F: Fn(&Buffer<I>, &Buffer<O>) -> A> Prepared for Apart<'_, I, O, A, F> {
    fn restore(&mut self) -> Result<()> {
        self.output.fill(self.poison)
    }

    fn run(&mut self) -> Result<()> {
        self.sequence.run(self.input.engine(), (self.args)(&self.input, &self.output))?;
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
