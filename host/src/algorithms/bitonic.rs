//! Bitonic sort.

use super::keys::Keys;
use super::rung::{Implementation, rung};
use super::sort::{KEY_TYPES, SortRung, Sorter, problem, unsigned_sorter, with_keys};
use super::{Family, Parameters, Size};
use crate::data::Distribution;
use crate::engine::{Engine, Geometry};
use crate::error::Result;
use rungs_kernels::bitonic::r1_global_step::{self as global_step, bitonic_global_step};
use rungs_kernels::bitonic::r2_shared_step::{self as shared_step, Launch, bitonic_shared_step};
use rungs_kernels::bitonic::r3_register_step::{self as register_step, Pass};
use rungs_kernels::bitonic::r3_register_step::{
    bitonic_register_step_merge, bitonic_register_step_sort, bitonic_register_step_strides,
};
use rungs_kernels::keys::Key;
use simt::{Global, Kernel, Scalar};

/// The family.
pub static FAMILY: Family = Family {
    name: "bitonic",
    about: "bitonic sorting network",
    rungs: &[
        rung!(
            "bitonic/r1_global_step.rs",
            "global-step",
            &[<bitonic_global_step<u32> as Kernel>::NAME, <bitonic_global_step<u64> as Kernel>::NAME],
            Implementation::Sort(&GlobalStep)
        ),
        rung!(
            "bitonic/r2_shared_step.rs",
            "shared-step",
            &[<bitonic_shared_step<u32> as Kernel>::NAME, <bitonic_shared_step<u64> as Kernel>::NAME],
            Implementation::Sort(&SharedStep)
        )
        .with_tiles(&[shared_step::TILE as u64]),
        rung!(
            "bitonic/r3_register_step.rs",
            "register-step",
            &[
                <bitonic_register_step_sort<u32> as Kernel>::NAME,
                <bitonic_register_step_sort<u64> as Kernel>::NAME,
                <bitonic_register_step_strides<u32> as Kernel>::NAME,
                <bitonic_register_step_strides<u64> as Kernel>::NAME,
                <bitonic_register_step_merge<u32> as Kernel>::NAME,
                <bitonic_register_step_merge<u64> as Kernel>::NAME,
            ],
            Implementation::Sort(&RegisterStep)
        )
        .with_tiles(&[rungs_kernels::bitonic::tile::TILE as u64]),
    ],
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

/// The short steps in shared memory.
struct SharedStep;

impl SortRung for SharedStep {
    fn sorter(&self, engine: &Engine, _: u32, _: u32, _: &Parameters) -> Result<Box<dyn Sorter>> {
        fn sort<T: Key>(engine: &Engine, keys: Global<T>) -> Result<()>
        where
            bitonic_shared_step<T>: Kernel<Args = (Global<T>, u32, u32)>,
            bitonic_global_step<T>: Kernel<Args = (Global<T>, u32, u32)>,
        {
            let n = keys.len();
            let tiles = Geometry::linear(shared_step::grid(n), shared_step::BLOCK)
                .shared(shared_step::shared_bytes(size_of::<T>() as u32));
            let step = Geometry::linear(global_step::grid(n), global_step::BLOCK);
            shared_step::launches(n).try_for_each(|launch| match launch {
                Launch::Tile(first, last) => {
                    engine.launch(bitonic_shared_step::<T>::default(), tiles, (keys, first, last))
                }
                Launch::Step(j, flip) => {
                    engine.launch(bitonic_global_step::<T>::default(), step, (keys, j, flip as u32))
                }
            })
        }
        unsigned_sorter(engine, |engine, keys: Keys| with_keys!(keys, k => sort(engine, k)))
    }
}

/// Several steps in registers.
struct RegisterStep;

impl SortRung for RegisterStep {
    fn sorter(&self, engine: &Engine, _: u32, _: u32, _: &Parameters) -> Result<Box<dyn Sorter>> {
        fn sort<T: Key>(engine: &Engine, keys: Global<T>) -> Result<()>
        where
            bitonic_register_step_sort<T>: Kernel<Args = (Global<T>,)>,
            bitonic_register_step_strides<T>: Kernel<Args = (Global<T>, u32, u32, u32)>,
            bitonic_register_step_merge<T>: Kernel<Args = (Global<T>,)>,
        {
            let n = keys.len();
            register_step::passes(n).try_for_each(|pass| {
                let geometry = Geometry::linear(register_step::grid(n, pass), register_step::THREADS)
                    .shared(register_step::shared_bytes(size_of::<T>() as u32));
                match pass {
                    Pass::Sort => engine.launch(bitonic_register_step_sort::<T>::default(), geometry, (keys,)),
                    Pass::Strides { low, strides, mirrored } => {
                        let kernel = bitonic_register_step_strides::<T>::default();
                        engine.launch(kernel, geometry, (keys, low, strides, mirrored as u32))
                    }
                    Pass::Merge => engine.launch(bitonic_register_step_merge::<T>::default(), geometry, (keys,)),
                }
            })
        }
        unsigned_sorter(engine, |engine, keys: Keys| with_keys!(keys, k => sort(engine, k)))
    }
}
