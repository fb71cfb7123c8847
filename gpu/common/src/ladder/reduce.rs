//! Rungs that combine all elements into one.

pub use super::*;
use crate::operator::{Max, Min, Operation, Sum};

/// The elements, and the memory for the element that they are combined into.
#[derive(Clone, Copy)]
pub struct Elements<T> {
    /// The elements.
    pub input: Global<T>,
    /// One element.
    pub output: Global<T>,
}

impl<T: Scalar> Lengths for Elements<T> {
    fn check(&self, n: u32) -> Result {
        expect_len("elements", self.input, n)?;
        expect_len("elements of output", self.output, 1)
    }
}

/// A rung that combines elements of type `T` by the operator `O`.
pub trait ReducesWith<T, O>: Sync {
    /// The launches that reduce `n` elements; takes their scratch memory.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Elements<T>>>;
}

/// A rung that combines elements of type `T` by each operation.
#[diagnostic::on_unimplemented(
    message = "no rung reduces elements of type `{T}`",
    label = "not for elements of type `{T}`",
    note = "reductions take u32, i32, f32, u64, i64 and f64"
)]
pub trait Reduces<T>: Sync {
    /// Calls [`ReducesWith::launches`] for an operation.
    ///
    /// # Errors
    /// Those of [`ReducesWith::launches`].
    fn launches(&self, on: &dyn Launcher, n: u32, operation: Operation) -> Result<Launches<Elements<T>>>;
}

impl<T, R: ReducesWith<T, Sum> + ReducesWith<T, Min> + ReducesWith<T, Max>> Reduces<T> for R {
    fn launches(&self, on: &dyn Launcher, n: u32, operation: Operation) -> Result<Launches<Elements<T>>> {
        match operation {
            Operation::Sum => ReducesWith::<T, Sum>::launches(self, on, n),
            Operation::Min => ReducesWith::<T, Min>::launches(self, on, n),
            Operation::Max => ReducesWith::<T, Max>::launches(self, on, n),
        }
    }
}

/// A rung that reduces elements of all six types.
pub trait Reduce: Reduces<u32> + Reduces<i32> + Reduces<f32> + Reduces<u64> + Reduces<i64> + Reduces<f64> {}

impl<R: Reduces<u32> + Reduces<i32> + Reduces<f32> + Reduces<u64> + Reduces<i64> + Reduces<f64>> Reduce for R {}

impl Entry<&'static dyn Reduce> {
    /// The rung ready to reduce `n` elements.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn reducer<T: Scalar>(&self, on: &dyn Launcher, n: u32, operation: Operation) -> Result<Sequence<Elements<T>>>
    where
        dyn Reduce: Reduces<T>,
    {
        let run = self.run;
        sequence(on, n, move |on| Reduces::<T>::launches(run, on, n, operation))
    }
}
