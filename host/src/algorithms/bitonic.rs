//! Bitonic sort.

use super::keys::Keys;
use super::rung::{Implementation, rung};
use super::sort::{KEY_TYPES, SortRung, Sorter, problem, unsigned_sorter, with_keys};
use super::{Family, Parameters, Size};
use crate::data::Distribution;
use crate::engine::{Engine, Geometry};
use crate::error::Result;
use gpu::bitonic::r1_global_step::{self as global_step, bitonic_global_step};
use simt::{Global, Kernel, Scalar};

/// The family.
pub static FAMILY: Family = Family {
    name: "bitonic",
    about: "bitonic sorting network",
    rungs: &[rung!(
        "bitonic/r1_global_step.rs",
        "global-step",
        &[<bitonic_global_step<u32> as Kernel>::NAME, <bitonic_global_step<u64> as Kernel>::NAME],
        Implementation::Sort(&GlobalStep)
    )],
    dtypes: KEY_TYPES,
    simulator_size: Size::Elements(1 << 13),
    gpu_size: Size::Elements(1 << 24),
    extras: &[],
    input: Distribution::Uniform,
    problem: |workload| problem("bitonic", workload),
};

/// One launch a step.
struct GlobalStep;

impl SortRung for GlobalStep {
    fn sorter(&self, engine: &Engine, _: u32, _: u32, _: &Parameters) -> Result<Box<dyn Sorter>> {
        fn sort<T: Scalar>(engine: &Engine, keys: Global<T>) -> Result<()>
        where
            bitonic_global_step<T>: Kernel<Args = (Global<T>, u32, u32)>,
        {
            let geometry = Geometry::linear(global_step::grid(keys.len()), global_step::BLOCK);
            global_step::steps(keys.len()).try_for_each(|(j, flip)| {
                engine.launch(bitonic_global_step::<T>::default(), geometry, (keys, j, flip as u32))
            })
        }
        unsigned_sorter(engine, |engine, keys: Keys| with_keys!(keys, k => sort(engine, k)))
    }
}
