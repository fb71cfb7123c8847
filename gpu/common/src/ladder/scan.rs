//! Rungs that scan: running sums, minima and maxima.

pub use super::*;
use crate::operator::{Max, Min, Operation, Sum};

/// The elements, and the memory for the results.
#[derive(Clone, Copy)]
pub struct Elements<T> {
    /// The elements.
    pub input: Global<T>,
    /// As many results as elements; it may be the same view.
    pub output: Global<T>,
    /// Whether each result leaves out its own element.
    pub exclusive: bool,
}

impl<T: Scalar> Lengths for Elements<T> {
    fn check(&self, n: u32) -> Result {
        expect_len("elements", self.input, n)?;
        expect_len("elements of output", self.output, n)
    }
}

/// A rung that scans elements of type `T` by each operation.
#[diagnostic::on_unimplemented(
    message = "no rung scans elements of type `{T}`",
    label = "not for elements of type `{T}`",
    note = "scans take u32, i32, f32, u64, i64 and f64"
)]
pub trait Scans<T>: Sync {
    /// The rung ready to scan `n` elements by an operation.
    ///
    /// # Errors
    /// Those of [`Serves::scratch`].
    fn prepare(&'static self, on: &dyn Launcher, n: u32, operation: Operation) -> Result<Sequence<Elements<T>>>;
}

impl<T, R> Scans<T> for R
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

/// A rung that scans elements of all six types.
pub trait Scan: Scans<u32> + Scans<i32> + Scans<f32> + Scans<u64> + Scans<i64> + Scans<f64> {}

impl<R: Scans<u32> + Scans<i32> + Scans<f32> + Scans<u64> + Scans<i64> + Scans<f64>> Scan for R {}

impl Entry<&'static dyn Scan> {
    /// The rung ready to scan `n` elements.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] beyond the rung's capacity or on a device that it cannot use;
    /// [`Failed::Machine`] if there is no memory.
    pub fn scanner<T: Scalar>(&self, on: &dyn Launcher, n: u32, operation: Operation) -> Result<Sequence<Elements<T>>>
    where
        dyn Scan: Scans<T>,
    {
        self.rung.check(&Ask::of::<T>(on, n))?;
        Scans::<T>::prepare(self.run, on, n, operation)
    }
}
