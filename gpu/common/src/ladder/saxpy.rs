//! Rungs that compute y = a·x + y.

pub use super::*;

/// A factor and two vectors of one length.
#[derive(Clone, Copy)]
pub struct Vectors {
    /// The factor.
    pub a: f32,
    /// x.
    pub x: Global<f32>,
    /// y, overwritten.
    pub y: Global<f32>,
}

impl Lengths for Vectors {
    /// The launches take any length.
    fn check(&self, _: u32) -> Result {
        expect_len("elements of x", self.x, self.y.len())
    }
}

/// A rung that computes y = a·x + y.
pub trait AddsScaled: Sync {
    /// Enqueues the launches.
    ///
    /// # Errors
    /// Those of a launch.
    fn launch(&self, on: &dyn Launcher, vectors: Vectors) -> Result;
}

/// The type that runs a rung of the family.
pub type Axpy = &'static dyn AddsScaled;

impl Entry<Axpy> {
    /// The rung ready to run. It has no scratch memory.
    ///
    /// # Errors
    /// None.
    pub fn adder(&self, on: &dyn Launcher) -> Result<Sequence<Vectors>> {
        let run = self.run;
        ready(on, 0, move |_| Ok(run), |on, vectors, run| run.launch(on, vectors))
    }
}
