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

/// A rung that combines elements of type `T` by each operation.
#[diagnostic::on_unimplemented(
    message = "no rung reduces elements of type `{T}`",
    label = "not for elements of type `{T}`",
    note = "reductions take u32, i32, f32, u64, i64 and f64"
)]
pub trait Reduces<T>: Sync {
    /// The rung ready to reduce `n` elements by an operation.
    ///
    /// # Errors
    /// Those of [`Serves::scratch`].
    fn prepare(&'static self, on: &dyn Launcher, n: u32, operation: Operation) -> Result<Sequence<Elements<T>>>;
}

impl<T, R> Reduces<T> for R
where
    T: Scalar,
    R: Serves<Elements<T>, Sum> + Serves<Elements<T>, Min> + Serves<Elements<T>, Max>,
{
    fn prepare(&'static self, on: &dyn Launcher, n: u32, operation: Operation) -> Result<Sequence<Elements<T>>> {
        match operation {
            Operation::Sum => serve::<_, Sum, R>(self, on, n),
            Operation::Min => serve::<_, Min, R>(self, on, n),
            Operation::Max => serve::<_, Max, R>(self, on, n),
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
        Reduces::<T>::prepare(self.run, on, n, operation)
    }
}
