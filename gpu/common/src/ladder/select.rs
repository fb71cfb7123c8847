//! Rungs that select: the items below a pivot, one behind the other.

pub use super::*;
use simt::Argument;

/// The items, and the memory for those that are selected.
#[derive(Clone, Copy)]
pub struct Items<T> {
    /// The items.
    pub input: Global<T>,
    /// Room for as many; the first [`Items::count`] are written. Another view than `input`.
    pub output: Global<T>,
    /// One word: how many items are selected.
    pub count: Global<u32>,
    /// The items less than this one are selected. NaN is not less than anything, and nothing is less than NaN.
    pub pivot: T,
}

impl<T: Scalar> Lengths for Items<T> {
    fn check(&self, n: u32) -> Result {
        expect_len("items", self.input, n)?;
        expect_len("items of output", self.output, n)?;
        expect_len("counts", self.count, 1)
    }
}

/// A rung that selects items of type `T`.
pub trait Selects<T>: Sync {
    /// The rung ready to select from `n` items.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    fn prepare(&'static self, on: &dyn Launcher, n: u32) -> Result<Sequence<Items<T>>>;
}

impl<T: Scalar, R: Serves<Items<T>>> Selects<T> for R {
    fn prepare(&'static self, on: &dyn Launcher, n: u32) -> Result<Sequence<Items<T>>> {
        serve(self, on, n)
    }
}

/// A rung that selects items of all six types.
pub trait Select: Selects<u32> + Selects<i32> + Selects<f32> + Selects<u64> + Selects<i64> + Selects<f64> {
    /// Whether selected items keep their order.
    fn is_stable(&self) -> bool;
}

impl Entry<&'static dyn Select> {
    /// The rung ready to select from `n` items.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] on a device that the rung cannot use; [`Failed::Machine`] if there is no memory.
    pub fn selector<T: Scalar + Argument>(&self, on: &dyn Launcher, n: u32) -> Result<Sequence<Items<T>>>
    where
        dyn Select: Selects<T>,
    {
        self.rung.check(&Ask::of::<T>(on, n))?;
        Selects::<T>::prepare(self.run, on, n)
    }
}
