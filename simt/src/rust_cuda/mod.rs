//! rust-cuda: the same instructions through `cuda_std` and the code generator `rustc_codegen_nvvm`.
//!
//! Loads, stores and atomics are those of the PTX backend (`crate::nvidia`); only access to the threads, the block and
//! its shared memory differs. `cuda_std` serves where the published version (0.2.2) and the pinned revision
//! (xtask/rust-cuda.toml) both have a function that does what we need. It does not for
//!
//! - `thread::sync_threads`: its `__nvvm_block_barrier` is an unknown function until libnvvm, and LLVM 7, which runs
//!   before that, may duplicate a call of one into both arms of a branch. The intrinsic below it is convergent there.
//! - `warp::lane_id`, `misc::clock`, `thread::nanosleep`: the published ones, and of the last two the pinned ones too,
//!   lack the semicolon that PTX wants behind an instruction.
//! - `thread::thread_idx_x`: it states the register's range, by which LLVM 7 narrows indices to 16 bits and masks them.
//! - shuffles, votes, match: not in the published version. LLVM 7 and libnvvm know the intrinsics.
//! - atomics and fences: generic addresses, and `fence.acq_rel.gl`, which is not PTX.
//! - the clock: of two reads by the intrinsic LLVM 7 makes one.
//! - dynamic shared memory: `dynamic_shared_mem` lies over the static arrays (shared.rs).
//!
//! An argument without bytes needs a way of its own (passing.rs).
//!
//! `redux.sync` and `mma.sync` of this type have no intrinsics in LLVM 7. They are `asm!`, the first as in `cuda_std`,
//! and `rustc_codegen_nvvm` does not mark `asm!` as convergent: a barrier of the warp stands in front of each (`redux!`
//! below) until the PTX is finished.

mod passing;
mod shared;

pub use passing::{Passing, Way};
pub use shared::{SharedArray, shared_address};

use crate::machine::{Cache, Machine, Operation, Order, Reduction, Register, Scope, Shuffle, Sum, Vote};
use crate::nvidia::assembly::{asm, trap};
use crate::nvidia::{self, async_copy, atomic, bulk, cluster, convert, memory, mma, wgmma};
use crate::scalar::{AtomicScalar, Eight, Lies, Operand, Scalar};
use cuda_std::{intrinsics as libdevice, thread, warp};

/// Shuffle's clamp for segments of a whole warp: lanes 0 to 31; `up` counts towards lane 0.
const CLAMP: u32 = 31;
const CLAMP_UP: u32 = 0;

/// Declares intrinsics of LLVM 7. On the host, where there are none, functions of the same types.
macro_rules! intrinsics {
    ($(#[link_name = $name:literal] fn $f:ident($($argument:ident: $t:ty),*) $(-> $result:ty)?;)*) => {
        #[cfg(target_os = "cuda")]
        #[allow(improper_ctypes)]
        unsafe extern "C" {
            $(#[link_name = $name] fn $f($($argument: $t),*) $(-> $result)?;)*
        }
        $(
            #[cfg(not(target_os = "cuda"))]
            unsafe fn $f($(_: $t),*) $(-> $result)? {
                trap()
            }
        )*
    };
}

intrinsics! {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"] fn lane_id() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"] fn thread_x() -> u32;
    #[link_name = "llvm.nvvm.barrier0"] fn barrier_0();
    #[link_name = "llvm.nvvm.barrier.sync.cnt"] fn barrier_count(id: u32, threads: u32);
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"] fn shfl_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"] fn shfl_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"] fn shfl_bfly(mask: u32, value: u32, lanes: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"] fn shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"] fn vote_ballot(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.mulhi.ui"] fn mulhi_ui(a: u32, b: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"] fn match_any(mask: u32, value: u32) -> u32;
}

/// One `redux.sync`.
///
/// LLVM 7 copies `asm!` into both arms of a branch. It knows that the barrier of the warp in front is convergent, and
/// leaves a block that contains it in one place. The PTX builder then removes the barrier (`ptx::finish`).
macro_rules! redux {
    ($operation:literal, $mask:expr, $value:expr) => {{
        let reduced: u32;
        Self::sync_warp($mask); // the redux below stays in one place
        asm!(
            concat!("redux.sync.", $operation, " {0}, {1}, {2};"),
            out(reg32) reduced, in(reg32) $value, in(reg32) $mask, options(nomem, nostack)
        );
        reduced
    }};
}

/// The machine that rust-cuda's PTX runs on.
pub(crate) struct RustCuda;

// SAFETY of the intrinsics and instructions below: as in the PTX backend, each has the meaning and the conditions of
// its PTX instruction, which the public functions' docs pass on to the caller.
impl Machine for RustCuda {
    #[inline(always)]
    fn register(register: Register) -> u32 {
        // SAFETY: reads a register.
        unsafe {
            match register {
                Register::ThreadX => thread_x(),
                Register::ThreadY => thread::thread_idx_y(),
                Register::ThreadZ => thread::thread_idx_z(),
                Register::BlockX => thread::block_idx_x(),
                Register::BlockY => thread::block_idx_y(),
                Register::BlockZ => thread::block_idx_z(),
                Register::BlockDimX => thread::block_dim_x(),
                Register::BlockDimY => thread::block_dim_y(),
                Register::BlockDimZ => thread::block_dim_z(),
                Register::GridDimX => thread::grid_dim_x(),
                Register::GridDimY => thread::grid_dim_y(),
                Register::GridDimZ => thread::grid_dim_z(),
                Register::Lane => lane_id(),
                Register::Multiprocessor => {
                    let id: u32;
                    asm!("mov.u32 {0}, %smid;", out(reg32) id, options(nomem, nostack));
                    id
                }
                Register::DynamicSharedBytes => {
                    let bytes: u32;
                    asm!("mov.u32 {0}, %dynamic_smem_size;", out(reg32) bytes, options(pure, nomem, nostack));
                    bytes
                }
                Register::ClusterRank => cluster::rank(),
                Register::ClusterBlocks => cluster::blocks(),
            }
        }
    }

    #[inline(always)]
    fn sync_threads() {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { barrier_0() }
    }

    #[inline(always)]
    fn sync_threads_vote(vote: Vote, predicate: bool) -> u32 {
        let predicate = predicate as u32;
        match vote {
            Vote::Count => thread::sync_threads_count(predicate),
            Vote::And => thread::sync_threads_and(predicate),
            Vote::Or => thread::sync_threads_or(predicate),
        }
    }

    #[inline(always)]
    fn barrier(id: u32, threads: u32) {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { barrier_count(id, threads) }
    }

    // LLVM 7 has no intrinsics for these. Not being `.aligned`, they are each thread's own: copies do no harm.
    #[inline(always)]
    fn sync_cluster() {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { asm!("barrier.cluster.arrive.release;", "barrier.cluster.wait.acquire;", options(nostack)) }
    }

    #[inline(always)]
    fn sync_warp(mask: u32) {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { warp::sync_warp(mask) }
    }

    #[inline(always)]
    fn shuffle(kind: Shuffle, mask: u32, value: u32, argument: u32) -> u32 {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe {
            match kind {
                Shuffle::Up => shfl_up(mask, value, argument, CLAMP_UP),
                Shuffle::Down => shfl_down(mask, value, argument, CLAMP),
                Shuffle::Xor => shfl_bfly(mask, value, argument, CLAMP),
                Shuffle::Index => shfl_idx(mask, value, argument, CLAMP),
            }
        }
    }

    #[inline(always)]
    fn ballot(mask: u32, predicate: bool) -> u32 {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { vote_ballot(mask, predicate) }
    }

    #[inline(always)]
    fn match_any(mask: u32, value: u32) -> u32 {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { match_any(mask, value) }
    }

    #[inline(always)]
    fn warp_reduce(reduction: Reduction, mask: u32, value: u32) -> u32 {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe {
            match reduction {
                Reduction::Add => redux!("add.u32", mask, value),
                Reduction::MinUnsigned => redux!("min.u32", mask, value),
                Reduction::MaxUnsigned => redux!("max.u32", mask, value),
                Reduction::MinSigned => redux!("min.s32", mask, value),
                Reduction::MaxSigned => redux!("max.s32", mask, value),
                Reduction::And => redux!("and.b32", mask, value),
                Reduction::Or => redux!("or.b32", mask, value),
                Reduction::Xor => redux!("xor.b32", mask, value),
            }
        }
    }

    #[inline(always)]
    fn active_mask() -> u32 {
        let mask: u32;
        // SAFETY: registers alone, whatever they hold.
        unsafe { asm!("activemask.b32 {0};", out(reg32) mask, options(nomem, nostack)) }
        mask
    }

    nvidia::forwards!();

    #[inline(always)]
    fn dynamic_shared_address() -> u32 {
        shared::dynamic_shared_address()
    }

    // LLVM 7 has no intrinsic for these, so they are `asm!`, as `redux.sync` is.
    #[inline(always)]
    fn release_registers<const N: u32>() {
        // SAFETY: ptxas compiles the code behind it for `N` registers; the API bounds `N`.
        unsafe { asm!("setmaxnreg.dec.sync.aligned.u32 {n};", n = const N, options(nostack)) }
    }

    #[inline(always)]
    fn claim_registers<const N: u32>() {
        // SAFETY: as for `release_registers`.
        unsafe { asm!("setmaxnreg.inc.sync.aligned.u32 {n};", n = const N, options(nostack)) }
    }

    #[inline(always)]
    fn wait_for_previous_grid() {
        // SAFETY: waits, and accesses nothing.
        #[cfg(any(sm_90, not(target_os = "cuda")))]
        unsafe {
            asm!("griddepcontrol.wait;", options(nostack))
        }
    }

    #[inline(always)]
    fn let_next_grid_start() {
        // SAFETY: a hint to the launch that follows.
        #[cfg(any(sm_90, not(target_os = "cuda")))]
        unsafe {
            asm!("griddepcontrol.launch_dependents;", options(nostack))
        }
    }

    #[inline(always)]
    fn opaque(mut value: u32) -> u32 {
        // SAFETY: registers alone, whatever they hold.
        unsafe { asm!("// opaque {0}", inout(reg32) value, options(pure, nomem, nostack)) }
        value
    }

    #[inline(always)]
    fn mul_hi(a: u32, b: u32) -> u32 {
        // SAFETY: registers alone, whatever they hold.
        unsafe { mulhi_ui(a, b) }
    }

    #[inline(always)]
    fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
        // SAFETY: registers alone, whatever they hold.
        unsafe { libdevice::fmaf(a, b, c) }
    }

    #[inline(always)]
    fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
        // SAFETY: registers alone, whatever they hold.
        unsafe { libdevice::fma(a, b, c) }
    }

    #[inline(always)]
    fn minimum_f32(a: f32, b: f32) -> f32 {
        let d: f32;
        // SAFETY: registers alone, whatever they hold.
        unsafe {
            asm!("min.NaN.f32 {0}, {1}, {2};", out(reg32) d, in(reg32) a, in(reg32) b, options(pure, nomem, nostack))
        }
        d
    }

    #[inline(always)]
    fn maximum_f32(a: f32, b: f32) -> f32 {
        let d: f32;
        // SAFETY: registers alone, whatever they hold.
        unsafe {
            asm!("max.NaN.f32 {0}, {1}, {2};", out(reg32) d, in(reg32) a, in(reg32) b, options(pure, nomem, nostack))
        }
        d
    }

    #[inline(always)]
    fn mma_tf32([a0, a1, a2, a3]: [u32; 4], [b0, b1]: [u32; 2], [c0, c1, c2, c3]: [f32; 4]) -> [f32; 4] {
        let (d0, d1, d2, d3): (f32, f32, f32, f32);
        Self::sync_warp(u32::MAX); // as for redux: the product below stays in one place
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe {
            asm!(
                concat!(
                    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 ",
                    "{{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{10}, {11}, {12}, {13}}};"
                ),
                out(reg32) d0, out(reg32) d1, out(reg32) d2, out(reg32) d3,
                in(reg32) a0, in(reg32) a1, in(reg32) a2, in(reg32) a3, in(reg32) b0, in(reg32) b1,
                in(reg32) c0, in(reg32) c1, in(reg32) c2, in(reg32) c3, options(nomem, nostack)
            );
        }
        [d0, d1, d2, d3]
    }

    #[inline(always)]
    fn mma_f64(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        Self::sync_warp(u32::MAX); // as for redux: the products below stay in one place
        #[cfg(sm_90)]
        {
            let ([a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3], [c0, c1, c2, c3]) = (a, b, c);
            let (d0, d1, d2, d3): (f64, f64, f64, f64);
            // SAFETY: as for `mma_tf32`.
            unsafe {
                asm!(
                    concat!(
                        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {{{0}, {1}, {2}, {3}}}, ",
                        "{{{4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}}}, {{{12}, {13}, {14}, {15}}}, ",
                        "{{{16}, {17}, {18}, {19}}};"
                    ),
                    out(reg64) d0, out(reg64) d1, out(reg64) d2, out(reg64) d3,
                    in(reg64) a0, in(reg64) a1, in(reg64) a2, in(reg64) a3,
                    in(reg64) a4, in(reg64) a5, in(reg64) a6, in(reg64) a7,
                    in(reg64) b0, in(reg64) b1, in(reg64) b2, in(reg64) b3,
                    in(reg64) c0, in(reg64) c1, in(reg64) c2, in(reg64) c3, options(nomem, nostack)
                );
            }
            [d0, d1, d2, d3]
        }
        #[cfg(not(sm_90))]
        {
            // The shape that every GPU with tensor cores for f64 has.
            let mut c = c;
            crate::unroll::<8>(|i| {
                let (q, half) = (i / 2, i % 2);
                let (d0, d1): (f64, f64);
                // SAFETY: as for `mma_tf32`.
                unsafe {
                    asm!(
                        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{0}, {1}}}, {{{2}}}, {{{3}}}, {{{4}, {5}}};",
                        out(reg64) d0, out(reg64) d1, in(reg64) a[2 * q + half], in(reg64) b[q],
                        in(reg64) c[2 * half], in(reg64) c[2 * half + 1], options(nomem, nostack)
                    );
                }
                (c[2 * half], c[2 * half + 1]) = (d0, d1);
            });
            c
        }
    }

    #[inline(always)]
    fn clock() -> u64 {
        // The intrinsic has no side effect for LLVM 7: of two reads it made one.
        let cycles: u64;
        // SAFETY: registers alone, whatever they hold.
        unsafe { asm!("mov.u64 {0}, %clock64;", out(reg64) cycles, options(nomem, nostack)) }
        cycles
    }

    #[inline(always)]
    fn global_timer() -> u64 {
        let nanoseconds: u64;
        // SAFETY: registers alone, whatever they hold.
        unsafe { asm!("mov.u64 {0}, %globaltimer;", out(reg64) nanoseconds, options(nomem, nostack)) }
        nanoseconds
    }

    #[inline(always)]
    fn nanosleep(nanoseconds: u32) {
        // SAFETY: registers alone, whatever they hold.
        unsafe { asm!("nanosleep.u32 {0};", in(reg32) nanoseconds, options(nomem, nostack)) }
    }

    #[inline(always)]
    fn out_of_bounds(_: &'static str, _: u64, _: u64) -> ! {
        trap()
    }

    #[inline(always)]
    fn misaligned(_: &'static str, _: u64, _: u32) -> ! {
        trap()
    }
}
