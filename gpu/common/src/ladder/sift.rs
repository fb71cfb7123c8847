//! Rungs that part items, or find runs of equal ones: the library's, for which the course has no ladder of its own.

pub use super::*;
use simt::Argument;

/// What becomes of the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// The items below a pivot, in order, and the others.
    Partition,
    /// The first item of each run of items with the same bits.
    Unique,
    /// The same, and how many items the run has.
    RunLengths,
    /// The same, and the sum, modulo 2³², of the words that belong to its items.
    ReduceByKey,
}

/// The items, and the memory for what is made of them. Views that a task has no use for are empty.
#[derive(Clone, Copy)]
pub struct Items<T> {
    /// The items.
    pub input: Global<T>,
    /// The word that belongs to each.
    pub words: Global<u32>,
    /// The items less than this one are the first part of a partition. NaN is not less than anything.
    pub pivot: T,
    /// Room for as many items as there are.
    pub output: Global<T>,
    /// One word: how many are written to [`Items::output`].
    pub count: Global<u32>,
    /// Room for all items that are not below the pivot,
    pub rest: Global<T>,
    /// and one word: their number.
    pub rest_count: Global<u32>,
    /// Room for the length or sum of each run.
    pub results: Global<u32>,
}

impl<T: Scalar> Lengths for Items<T> {
    fn check(&self, n: u32) -> Result {
        expect_len("items", self.input, n)?;
        expect_len("items of output", self.output, n)?;
        expect_len("counts", self.count, 1)
    }
}

impl<T: Scalar> Items<T> {
    /// Refuses views of other lengths than the task has use for.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`], with both lengths.
    pub fn check_for(&self, task: Task, n: u32) -> Result {
        let parts = task == Task::Partition;
        expect_len("words", self.words, if task == Task::ReduceByKey { n } else { 0 })?;
        expect_len("other items", self.rest, if parts { n } else { 0 })?;
        expect_len("counts of the others", self.rest_count, parts as u32)?;
        let has_results = matches!(task, Task::RunLengths | Task::ReduceByKey);
        expect_len("results", self.results, if has_results { n } else { 0 })
    }
}

/// A rung for items of type `T`.
pub trait SiftsOf<T>: Sync {
    /// The rung ready for `n` items.
    ///
    /// # Errors
    /// Those of [`Serves::scratch`].
    fn prepare(&'static self, on: &dyn Launcher, n: u32) -> Result<Sequence<Items<T>>>;
}

impl<T: Scalar, R: Serves<Items<T>> + Sift> SiftsOf<T> for R {
    fn prepare(&'static self, on: &dyn Launcher, n: u32) -> Result<Sequence<Items<T>>> {
        let scratch = move |on: &dyn Launcher| Ok((self.task(), self.scratch(on, n)?));
        ready(on, n, scratch, |on, items: Items<T>, (task, memory)| {
            items.check_for(*task, items.input.len())?;
            R::run(on, items, memory)
        })
    }
}

/// A rung for items of all six types.
pub trait Sift: SiftsOf<u32> + SiftsOf<i32> + SiftsOf<f32> + SiftsOf<u64> + SiftsOf<i64> + SiftsOf<f64> {
    /// What it does.
    fn task(&self) -> Task;
}

impl Entry<&'static dyn Sift> {
    /// The rung ready for `n` items.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] on a device that the rung cannot use; [`Failed::Machine`] if there is no memory.
    pub fn sifter<T: Scalar + Argument>(&self, on: &dyn Launcher, n: u32) -> Result<Sequence<Items<T>>>
    where
        dyn Sift: SiftsOf<T>,
    {
        self.rung.check(&Ask::of::<T>(on, n))?;
        SiftsOf::<T>::prepare(self.run, on, n)
    }
}
