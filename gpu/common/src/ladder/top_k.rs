//! Rungs that find the k largest keys.

pub use super::*;

/// The keys, and the memory for the largest of them.
#[derive(Clone, Copy)]
pub struct Keys {
    /// The keys.
    pub input: Global<u32>,
    /// Room for the k largest, which come in any order. Another view than `input`.
    pub output: Global<u32>,
    /// What the words mean, see [`crate::keys`]; with `DESCENDING` the smallest keys are found.
    pub order: u32,
}

impl Lengths for Keys {
    fn check(&self, n: u32) -> Result {
        expect_len("keys", self.input, n)
    }
}

/// The functions of a rung that finds the largest keys.
pub trait FindsLargest: Sync {
    /// Its scratch memory.
    type Memory: 'static;

    /// Takes the scratch memory to find the k largest of n keys, 1 ≤ k ≤ n.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    fn scratch(on: &dyn Launcher, n: u32, k: u32) -> Result<Self::Memory>;

    /// Enqueues the launches that find as many keys as [`Keys::output`] has places. It allocates nothing.
    ///
    /// # Errors
    /// Those of a launch.
    fn find(on: &dyn Launcher, keys: Keys, memory: &mut Self::Memory) -> Result;
}

/// A rung that finds the largest keys.
pub trait TopK: Sync {
    /// The rung ready to find the k largest of n keys, k ≤ n.
    ///
    /// # Errors
    /// Those of [`FindsLargest::scratch`].
    fn prepare(&self, on: &dyn Launcher, n: u32, k: u32) -> Result<Sequence<Keys>>;
}

impl<R: FindsLargest> TopK for R {
    fn prepare(&self, on: &dyn Launcher, n: u32, k: u32) -> Result<Sequence<Keys>> {
        // Nothing to find: no memory, and no launch.
        let scratch = move |on: &dyn Launcher| Ok((k, (k > 0).then(|| R::scratch(on, n, k)).transpose()?));
        ready(on, n, scratch, |on, keys, (k, memory)| {
            expect_len("places of output", keys.output, *k)?;
            memory.as_mut().map_or(Ok(()), |memory| R::find(on, keys, memory))
        })
    }
}

impl Entry<&'static dyn TopK> {
    /// The rung ready to find the k largest of n keys.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] if k is more than n; [`Failed::Machine`] if there is no memory.
    pub fn finder(&self, on: &dyn Launcher, n: u32, k: u32) -> Result<Sequence<Keys>> {
        if k > n {
            return Err(Failed::Unsuitable(format!("the {k} largest of {n} keys do not exist")));
        }
        self.rung.check(&Ask::of::<u32>(on, n))?;
        self.run.prepare(on, n, k)
    }
}
