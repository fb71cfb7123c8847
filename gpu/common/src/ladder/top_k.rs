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

/// A rung that finds the largest keys.
pub trait TopK: Sync {
    /// The launches that find the k largest of n keys, 1 ≤ k ≤ n; takes their scratch memory.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    fn launches(&self, on: &dyn Launcher, n: u32, k: u32) -> Result<Launches<Keys>>;
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
        let run = self.run;
        self.rung.check(&Ask::of::<u32>(on, n))?;
        sequence(on, n, move |on| {
            // Nothing to find: no launch.
            let mut launches = if k > 0 { run.launches(on, n, k)? } else { Box::new(|_: &dyn Launcher, _| Ok(())) };
            Ok(Box::new(move |on, keys: Keys| {
                expect_len("places of output", keys.output, k)?;
                launches(on, keys)
            }))
        })
    }
}
