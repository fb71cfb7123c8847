//! Rungs that add up cubes.

pub use super::*;
use crate::clocks::TIMES;

/// The geometry of a launch, and the number of sums that it leaves to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Blocks.
    pub blocks: u32,
    /// Threads per block.
    pub threads: u32,
    /// Bytes of dynamic shared memory per block.
    pub shared_bytes: u32,
    /// Partial sums.
    pub sums: u32,
}

/// The values, and the memory for the sum of their cubes.
#[derive(Clone, Copy)]
pub struct Values {
    /// The values.
    pub values: Global<u32>,
    /// [`Plan::sums`] partial sums, which add up to the sum modulo 2⁶⁴.
    pub sums: Global<u64>,
    /// [`TIMES`] words per block: when it began and ended, see [`crate::clocks::Start`].
    pub times: Global<u64>,
}

impl Lengths for Values {
    /// The launches take any number of values. The other lengths are those of their [`Plan`], which they look at.
    fn check(&self, _: u32) -> Result {
        Ok(())
    }
}

/// A rung that adds up cubes.
pub trait AddsCubes: Sync {
    /// Its geometry on a device, and the number of sums that it leaves.
    fn plan(&self, options: &Options, device: Device) -> Plan;

    /// Enqueues the launches.
    ///
    /// # Errors
    /// Those of a launch.
    fn launch(&self, on: &dyn Launcher, plan: Plan, values: Values) -> Result;
}

/// The type that runs a rung of the family.
pub type Cubes = &'static dyn AddsCubes;

/// Blocks and threads as the options ask; by default `blocks_per_multiprocessor` blocks of `threads` threads.
pub fn grid(options: &Options, device: Device, blocks_per_multiprocessor: u32, threads: u32) -> (u32, u32) {
    let blocks = options.blocks.unwrap_or(device.multiprocessors * blocks_per_multiprocessor);
    (blocks, options.threads.unwrap_or(threads))
}

impl Entry<Cubes> {
    /// The rung ready to add up cubes with this geometry. It has no scratch memory.
    ///
    /// # Errors
    /// None.
    pub fn adder(&self, on: &dyn Launcher, plan: Plan) -> Result<Sequence<Values>> {
        let run = self.run;
        let memory = move |_: &dyn Launcher| Ok((run, plan));
        ready(on, 0, memory, |on, values: Values, (run, plan)| {
            expect_len("sums", values.sums, plan.sums)?;
            expect_len("words of times", values.times, plan.blocks * TIMES)?;
            run.launch(on, *plan, values)
        })
    }
}
