//! Sum of cubes.

use super::rung::{Implementation, rung};
use super::upload::Uploaded;
use super::{Extra, Family, OpenProblem, Parameters, Prepared, Problem, RateUnit, Rung, Size, Work, Workload, compare};
use crate::data::{Data, Distribution, Dtype};
use crate::engine::{AnyBuffer, Buffer, Engine, Geometry};
use crate::error::{Error, Result};
use rungs_kernels::cubes::TIMES;
use rungs_kernels::cubes::r1_one_thread::{self as one_thread, cubes_one_thread};
use rungs_kernels::cubes::r2_one_block_strided::{self as one_block_strided, cubes_one_block_strided};
use rungs_kernels::cubes::r3_one_block::{self as one_block, cubes_one_block};
use rungs_kernels::cubes::r4_many_blocks::{self as many_blocks, cubes_many_blocks};
use rungs_kernels::cubes::r5_block_sum::{self as block_sum, cubes_block_sum};
use rungs_kernels::cubes::r6_block_tree::{self as block_tree, cubes_block_tree};
use rungs_kernels::cubes::r7_warp_shuffle::{self as warp_shuffle, cubes_warp_shuffle};
use rungs_kernels::cubes::r8_grid_atomic::{self as grid_atomic, cubes_grid_atomic};
use simt::{Global, Kernel};
use std::rc::Rc;

/// The family.
pub static FAMILY: Family = Family {
    name: "cubes",
    about: "sum of the cubes of many values",
    rungs: &[
        rung!(
            "cubes/r1_one_thread.rs",
            "one-thread",
            &[cubes_one_thread::NAME],
            Implementation::Cubes(&Cubes {
                kernel: cubes_one_thread,
                plan: |_| Plan { blocks: 1, threads: one_thread::THREADS, sums: one_thread::sums(), shared: 0 },
            })
        ),
        rung!(
            "cubes/r2_one_block_strided.rs",
            "one-block-strided",
            &[cubes_one_block_strided::NAME],
            Implementation::Cubes(&Cubes {
                kernel: cubes_one_block_strided,
                plan: |ask| {
                    let threads = ask.threads.unwrap_or(one_block_strided::THREADS);
                    Plan { blocks: 1, threads, sums: one_block_strided::sums(threads), shared: 0 }
                },
            })
        ),
        rung!(
            "cubes/r3_one_block.rs",
            "one-block",
            &[cubes_one_block::NAME],
            Implementation::Cubes(&Cubes {
                kernel: cubes_one_block,
                plan: |ask| {
                    let threads = ask.threads.unwrap_or(one_block::THREADS);
                    Plan { blocks: 1, threads, sums: one_block::sums(threads), shared: 0 }
                },
            })
        ),
        rung!(
            "cubes/r4_many_blocks.rs",
            "many-blocks",
            &[cubes_many_blocks::NAME],
            Implementation::Cubes(&Cubes {
                kernel: cubes_many_blocks,
                plan: |ask| {
                    let (blocks, threads) = ask.grid(many_blocks::BLOCKS_PER_MULTIPROCESSOR, many_blocks::THREADS);
                    Plan { blocks, threads, sums: many_blocks::sums(blocks, threads), shared: 0 }
                },
            })
        ),
        rung!(
            "cubes/r5_block_sum.rs",
            "block-sum",
            &[cubes_block_sum::NAME],
            Implementation::Cubes(&Cubes {
                kernel: cubes_block_sum,
                plan: |ask| {
                    let (blocks, threads) = ask.grid(block_sum::BLOCKS_PER_MULTIPROCESSOR, block_sum::THREADS);
                    let shared = block_sum::shared_bytes(threads);
                    Plan { blocks, threads, sums: block_sum::sums(blocks), shared }
                },
            })
        ),
        rung!(
            "cubes/r6_block_tree.rs",
            "block-tree",
            &[cubes_block_tree::NAME],
            Implementation::Cubes(&Cubes {
                kernel: cubes_block_tree,
                plan: |ask| {
                    let (blocks, threads) = ask.grid(block_tree::BLOCKS_PER_MULTIPROCESSOR, block_tree::THREADS);
                    let shared = block_tree::shared_bytes(threads);
                    Plan { blocks, threads, sums: block_tree::sums(blocks), shared }
                },
            })
        ),
        rung!(
            "cubes/r7_warp_shuffle.rs",
            "warp-shuffle",
            &[cubes_warp_shuffle::NAME],
            Implementation::Cubes(&Cubes {
                kernel: cubes_warp_shuffle,
                plan: |ask| {
                    let (blocks, threads) = ask.grid(warp_shuffle::BLOCKS_PER_MULTIPROCESSOR, warp_shuffle::THREADS);
                    Plan { blocks, threads, sums: warp_shuffle::sums(blocks), shared: 0 }
                },
            })
        ),
        rung!(
            "cubes/r8_grid_atomic.rs",
            "grid-atomic",
            &[cubes_grid_atomic::NAME],
            Implementation::Cubes(&Cubes {
                kernel: cubes_grid_atomic,
                plan: |ask| {
                    let (blocks, threads) = ask.grid(grid_atomic::BLOCKS_PER_MULTIPROCESSOR, grid_atomic::THREADS);
                    Plan { blocks, threads, sums: grid_atomic::sums(), shared: 0 }
                },
            })
        ),
    ],
    dtypes: &[Dtype::U32],
    simulator_size: Size::Elements(1 << 18),
    gpu_size: Size::Elements(1 << 24),
    extras: &[Extra::Threads, Extra::Blocks],
    input: Distribution::Small,
    problem,
};

/// A rung that adds up cubes.
pub trait CubesRung: Sync {
    /// Prepares to add up values.
    fn summer(&self, engine: &Engine, parameters: &Parameters) -> Result<Box<dyn Summer>>;
}

/// A rung with its scratch memory.
pub trait Summer {
    /// Spoils what an earlier run left, so that a run that writes nothing is found.
    fn poison(&mut self) -> Result<()>;
    /// Starts the kernel.
    fn run(&mut self, values: Global<u32>) -> Result<()>;
    /// The sum modulo 2⁶⁴, once it is done: partial sums that the rung leaves to the host are added here.
    fn sum(&mut self) -> Result<u64>;
    /// When each block began and ended: four words a block, see [`rungs_kernels::cubes::Start`].
    fn times(&mut self) -> Result<Vec<[u64; TIMES as usize]>>;
}

/// What a rung's shape is computed from.
struct Ask {
    threads: Option<u32>,
    blocks: Option<u32>,
    multiprocessors: u32,
}

impl Ask {
    /// Blocks and threads: what was asked for, or so many blocks a multiprocessor of so many threads.
    fn grid(&self, blocks_per_multiprocessor: u32, threads: u32) -> (u32, u32) {
        let blocks = self.blocks.unwrap_or(self.multiprocessors * blocks_per_multiprocessor);
        (blocks, self.threads.unwrap_or(threads))
    }
}

/// The shape of a launch, and the number of sums that it leaves.
#[derive(Clone, Copy)]
struct Plan {
    blocks: u32,
    threads: u32,
    sums: u32,
    shared: u32,
}

/// A rung of the family: all kernels have the same parameters.
struct Cubes<K> {
    kernel: K,
    plan: fn(&Ask) -> Plan,
}

impl<K: Kernel<Args = (Global<u32>, Global<u64>, Global<u64>)>> CubesRung for Cubes<K> {
    fn summer(&self, engine: &Engine, parameters: &Parameters) -> Result<Box<dyn Summer>> {
        let Parameters { threads, blocks, .. } = *parameters;
        let plan = (self.plan)(&Ask { threads, blocks, multiprocessors: engine.multiprocessors() });
        Ok(Box::new(Running {
            engine: engine.clone(),
            kernel: self.kernel,
            plan,
            sums: engine.alloc(plan.sums as usize)?,
            times: engine.alloc(plan.blocks as usize * TIMES as usize)?,
        }))
    }
}

struct Running<K> {
    engine: Engine,
    kernel: K,
    plan: Plan,
    sums: Buffer<u64>,
    times: Buffer<u64>,
}

impl<K: Kernel<Args = (Global<u32>, Global<u64>, Global<u64>)>> Summer for Running<K> {
    fn poison(&mut self) -> Result<()> {
        self.sums.fill(0xA5)
    }

    fn run(&mut self, values: Global<u32>) -> Result<()> {
        // The last rung adds to its word; the others overwrite theirs. Clearing costs all of them the same.
        self.sums.fill(0)?;
        let geometry = Geometry::linear(self.plan.blocks, self.plan.threads).shared(self.plan.shared);
        self.engine.launch(self.kernel, geometry, (values, self.sums.view(), self.times.view()))
    }

    fn sum(&mut self) -> Result<u64> {
        Ok(self.sums.download()?.into_iter().fold(0, u64::wrapping_add))
    }

    fn times(&mut self) -> Result<Vec<[u64; TIMES as usize]>> {
        let words = self.times.download()?;
        Ok(words.as_chunks::<{ TIMES as usize }>().0.to_vec())
    }
}

/// Values, and the sum of their cubes modulo 2⁶⁴ by the host.
struct CubesProblem {
    values: Vec<u32>,
    parameters: Parameters,
    uploaded: Uploaded<u32>,
}

fn problem(workload: Workload) -> Result<Box<dyn Problem>> {
    let (parameters, data) = (workload.parameters, workload.operand("cubes")?);
    let values = data.into_vec::<u32>().map_err(|d| Error::Usage(format!("cubes takes u32, not {}", d.dtype())))?;
    Ok(Box::new(CubesProblem { values, parameters, uploaded: Uploaded::default() }))
}

impl CubesProblem {
    /// Compares a sum with the oracle.
    fn check_sum(&self, who: &str, sum: u64) -> Result<()> {
        let cube = |&v: &u32| (v as u64).wrapping_mul(v as u64).wrapping_mul(v as u64);
        let want = self.values.iter().map(cube).fold(0u64, u64::wrapping_add);
        compare("cubes", who, &Data::from(vec![sum]), &Data::from(vec![want]))
    }
}

impl OpenProblem for CubesProblem {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded.get(engine, &[&self.values])?)
    }

    /// The output is partial sums, any number of them.
    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        self.check_sum(who, output.download_as::<u64>()?.into_iter().fold(0, u64::wrapping_add))
    }
}

impl Problem for CubesProblem {
    fn size(&self) -> Size {
        Size::Elements(self.values.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = self.values.len() as f64 * 4.0;
        Work { amount: bytes, unit: RateUnit::Gigabytes, bytes, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let Implementation::Cubes(implementation) = rung.implementation else {
            return Err(Error::Usage(format!("{} does not add up cubes", rung.name)));
        };
        let values = self.uploaded.get(engine, &[&self.values])?;
        // The partial sums are scratch: what comes out is one number.
        let (summer, scratch_bytes) = engine.held_after(|| implementation.summer(engine, &self.parameters))?;
        Ok(Box::new(PreparedCubes { problem: self, rung: rung.name, values, summer, scratch_bytes }))
    }

    fn makes_one_value(&self) -> bool {
        true
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

struct PreparedCubes<'p> {
    problem: &'p CubesProblem,
    rung: &'static str,
    values: Rc<Buffer<u32>>,
    summer: Box<dyn Summer>,
    scratch_bytes: u64,
}

impl Prepared for PreparedCubes<'_> {
    fn restore(&mut self) -> Result<()> {
        self.summer.poison()
    }

    fn run(&mut self) -> Result<()> {
        self.summer.run(self.values.view())
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        let sum = self.summer.sum()?;
        self.problem.check_sum(self.rung, sum)
    }

    fn output(&mut self) -> Result<Data> {
        Ok(Data::from(vec![self.summer.sum()?]))
    }
}
