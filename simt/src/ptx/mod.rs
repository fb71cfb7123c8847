//! The device: every call is an instruction or two of PTX.
//!
//! Collective operations of lanes or threads are LLVM intrinsics where there are any, because LLVM treats `asm!` as
//! code that it may duplicate into both arms of a branch; the PTX builder looks for copies of the others. Loads, stores
//! and atomics of shared memory are `asm!`: a Rust pointer has no address space. Global memory is read and written
//! through plain pointers, which become `ld.global` and `st.global` because a kernel's views are flattened to pointer
//! parameters.
//!
//! Plain accesses of global memory that race are therefore undefined, as the docs of [`crate::Global`] say. Both ways
//! around that were tried on all kernels and cost more than they give: relaxed atomics become `ld.relaxed.sys`, past
//! L1 (this rustc has no unordered ones), and `asm!` loses the offsets in addresses, so that a third
//! of the kernels grow, by up to 11 %.

mod shared;

use crate::machine::{Cache, Machine, Operation, Order, Reduction, Register, Scope, Shuffle, Sum, Vote};
use crate::nvidia::{self, async_copy, atomic, bulk, cluster, convert, memory, mma, wgmma};
use crate::scalar::{AtomicScalar, Eight, Lies, Operand, Scalar};
use core::arch::{asm, global_asm, nvptx};

// The launch's dynamic shared memory. 128 bytes of alignment serve bulk copies too.
global_asm!(".extern .shared .align 128 .b8 RUNGS_DYNAMIC_SHARED[];");

/// Shuffle's clamp for segments of a whole warp: lanes 0 to 31; `up` counts towards lane 0.
const CLAMP: i32 = 31;
const CLAMP_UP: i32 = 0;

#[allow(improper_ctypes)]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    fn lane_id() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.clock64"]
    fn clock64() -> i64;
    #[link_name = "llvm.nvvm.read.ptx.sreg.globaltimer"]
    fn globaltimer() -> i64;
    #[link_name = "llvm.nvvm.mulhi.ui"]
    fn mulhi_ui(a: i32, b: i32) -> i32;
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.count"]
    fn barrier_count(id: i32, threads: i32);
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    fn barrier_popc(id: i32, predicate: bool) -> i32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    fn barrier_and(id: i32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    fn barrier_or(id: i32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cluster.arrive"]
    fn barrier_cluster_arrive();
    #[link_name = "llvm.nvvm.barrier.cluster.wait"]
    fn barrier_cluster_wait();
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: i32);
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_up(mask: i32, value: i32, delta: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_down(mask: i32, value: i32, delta: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_bfly(mask: i32, value: i32, lanes: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_idx(mask: i32, value: i32, lane: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot(mask: i32, predicate: bool) -> i32;
    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    fn match_any(mask: i32, value: i32) -> i32;
    #[link_name = "llvm.nvvm.activemask"]
    fn activemask() -> i32;
    #[link_name = "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32"]
    fn setmaxnreg_dec(registers: i32);
    #[link_name = "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32"]
    fn setmaxnreg_inc(registers: i32);
    #[link_name = "llvm.nvvm.redux.sync.add"]
    fn redux_add(value: i32, mask: i32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    fn redux_umin(value: i32, mask: i32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    fn redux_umax(value: i32, mask: i32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.min"]
    fn redux_min(value: i32, mask: i32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.max"]
    fn redux_max(value: i32, mask: i32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.and"]
    fn redux_and(value: i32, mask: i32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.or"]
    fn redux_or(value: i32, mask: i32) -> i32;
    #[link_name = "llvm.nvvm.redux.sync.xor"]
    fn redux_xor(value: i32, mask: i32) -> i32;
}

/// What an intrinsic with two results returns.
#[cfg(not(sm_90))]
#[repr(C)]
struct Two(f64, f64);

/// What an intrinsic with four results returns.
#[repr(C)]
struct Four<T = f32>(T, T, T, T);

// This way of calling passes a struct as LLVM's struct, which the intrinsic wants.
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.mma.m16n8k8.row.col.tf32"]
    fn mma_m16n8k8_tf32(
        a0: u32,
        a1: u32,
        a2: u32,
        a3: u32,
        b0: u32,
        b1: u32,
        c0: f32,
        c1: f32,
        c2: f32,
        c3: f32,
    ) -> Four;

    #[cfg(sm_90)]
    #[link_name = "llvm.nvvm.mma.m16n8k16.row.col.f64"]
    fn mma_m16n8k16_f64(
        a0: f64,
        a1: f64,
        a2: f64,
        a3: f64,
        a4: f64,
        a5: f64,
        a6: f64,
        a7: f64,
        b0: f64,
        b1: f64,
        b2: f64,
        b3: f64,
        c0: f64,
        c1: f64,
        c2: f64,
        c3: f64,
    ) -> Four<f64>;

    #[cfg(not(sm_90))]
    #[link_name = "llvm.nvvm.mma.m8n8k4.row.col.f64"]
    fn mma_m8n8k4_f64(a: f64, b: f64, c0: f64, c1: f64) -> Two;
}

/// The machine that PTX runs on.
pub(crate) struct Ptx;

// SAFETY of the intrinsics below: each has the meaning and the conditions of its PTX instruction, and the conditions
// (all lanes of the mask, all threads of the block) are passed on to the caller in the public functions' docs; a
// violation hangs or gives an unspecified value, it does not break memory safety.
impl Machine for Ptx {
    #[inline(always)]
    fn register(register: Register) -> u32 {
        // SAFETY: reads a register.
        unsafe {
            match register {
                Register::ThreadX => nvptx::_thread_idx_x(),
                Register::ThreadY => nvptx::_thread_idx_y(),
                Register::ThreadZ => nvptx::_thread_idx_z(),
                Register::BlockX => nvptx::_block_idx_x(),
                Register::BlockY => nvptx::_block_idx_y(),
                Register::BlockZ => nvptx::_block_idx_z(),
                Register::BlockDimX => nvptx::_block_dim_x(),
                Register::BlockDimY => nvptx::_block_dim_y(),
                Register::BlockDimZ => nvptx::_block_dim_z(),
                Register::GridDimX => nvptx::_grid_dim_x(),
                Register::GridDimY => nvptx::_grid_dim_y(),
                Register::GridDimZ => nvptx::_grid_dim_z(),
                Register::Lane => lane_id() as u32,
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
        unsafe { nvptx::_syncthreads() }
    }

    #[inline(always)]
    fn sync_threads_vote(vote: Vote, predicate: bool) -> u32 {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe {
            match vote {
                Vote::Count => barrier_popc(0, predicate) as u32,
                Vote::And => barrier_and(0, predicate) as u32,
                Vote::Or => barrier_or(0, predicate) as u32,
            }
        }
    }

    #[inline(always)]
    fn barrier(id: u32, threads: u32) {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { barrier_count(id as i32, threads as i32) }
    }

    #[inline(always)]
    fn sync_cluster() {
        // Not the `.aligned` ones: threads of a warp may come from different calls. They release and acquire.
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe {
            barrier_cluster_arrive();
            barrier_cluster_wait();
        }
    }

    #[inline(always)]
    fn sync_warp(mask: u32) {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { bar_warp_sync(mask as i32) }
    }

    #[inline(always)]
    fn shuffle(kind: Shuffle, mask: u32, value: u32, argument: u32) -> u32 {
        let (mask, value, argument) = (mask as i32, value as i32, argument as i32);
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe {
            (match kind {
                Shuffle::Up => shfl_up(mask, value, argument, CLAMP_UP),
                Shuffle::Down => shfl_down(mask, value, argument, CLAMP),
                Shuffle::Xor => shfl_bfly(mask, value, argument, CLAMP),
                Shuffle::Index => shfl_idx(mask, value, argument, CLAMP),
            }) as u32
        }
    }

    #[inline(always)]
    fn ballot(mask: u32, predicate: bool) -> u32 {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { vote_ballot(mask as i32, predicate) as u32 }
    }

    #[inline(always)]
    fn match_any(mask: u32, value: u32) -> u32 {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe { match_any(mask as i32, value as i32) as u32 }
    }

    #[inline(always)]
    fn warp_reduce(reduction: Reduction, mask: u32, value: u32) -> u32 {
        let (mask, value) = (mask as i32, value as i32);
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        unsafe {
            (match reduction {
                Reduction::Add => redux_add(value, mask),
                Reduction::MinUnsigned => redux_umin(value, mask),
                Reduction::MaxUnsigned => redux_umax(value, mask),
                Reduction::MinSigned => redux_min(value, mask),
                Reduction::MaxSigned => redux_max(value, mask),
                Reduction::And => redux_and(value, mask),
                Reduction::Or => redux_or(value, mask),
                Reduction::Xor => redux_xor(value, mask),
            }) as u32
        }
    }

    #[inline(always)]
    fn active_mask() -> u32 {
        // SAFETY: registers alone, whatever they hold.
        unsafe { activemask() as u32 }
    }

    nvidia::forwards!();

    #[inline(always)]
    fn dynamic_shared_address() -> u32 {
        let address: u32;
        // SAFETY: reads an address that the module declares.
        unsafe {
            asm!("mov.u32 {0}, RUNGS_DYNAMIC_SHARED;", out(reg32) address, options(pure, nomem, nostack));
        }
        address
    }

    #[inline(always)]
    fn release_registers<const N: u32>() {
        // SAFETY: ptxas compiles the code behind it for `N` registers; the API bounds `N`.
        unsafe { setmaxnreg_dec(const { N as i32 }) }
    }

    #[inline(always)]
    fn claim_registers<const N: u32>() {
        // SAFETY: as for `release_registers`.
        unsafe { setmaxnreg_inc(const { N as i32 }) }
    }

    #[inline(always)]
    fn wait_for_previous_grid() {
        // It clobbers memory: later reads may be of data that the preceding grid wrote.
        // SAFETY: waits, and accesses nothing.
        #[cfg(sm_90)]
        unsafe {
            asm!("griddepcontrol.wait;", options(nostack))
        }
    }

    #[inline(always)]
    fn let_next_grid_start() {
        // SAFETY: a hint to the launch that follows.
        #[cfg(sm_90)]
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
        // As a 64-bit product and a shift LLVM would merge it with shifts that follow, and keep it 64 bits wide.
        // SAFETY: registers alone, whatever they hold.
        unsafe { mulhi_ui(a as i32, b as i32) as u32 }
    }

    #[inline(always)]
    fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
        core::intrinsics::fmaf32(a, b, c)
    }

    #[inline(always)]
    fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
        core::intrinsics::fmaf64(a, b, c)
    }

    #[inline(always)]
    fn minimum_f32(a: f32, b: f32) -> f32 {
        let d: f32;
        // SAFETY: registers alone, whatever they hold.
        unsafe {
            asm!("min.NaN.f32 {0}, {1}, {2};", out(reg32) d, in(reg32) a, in(reg32) b, options(pure, nomem, nostack))
        };
        d
    }

    #[inline(always)]
    fn maximum_f32(a: f32, b: f32) -> f32 {
        let d: f32;
        // SAFETY: registers alone, whatever they hold.
        unsafe {
            asm!("max.NaN.f32 {0}, {1}, {2};", out(reg32) d, in(reg32) a, in(reg32) b, options(pure, nomem, nostack))
        };
        d
    }

    #[inline(always)]
    fn mma_tf32([a0, a1, a2, a3]: [u32; 4], [b0, b1]: [u32; 2], [c0, c1, c2, c3]: [f32; 4]) -> [f32; 4] {
        // SAFETY: no memory is accessed. Threads that do not come alike hang or get any value, as the API says.
        let Four(d0, d1, d2, d3) = unsafe { mma_m16n8k8_tf32(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3) };
        [d0, d1, d2, d3]
    }

    #[inline(always)]
    fn mma_f64(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        #[cfg(sm_90)]
        {
            let ([a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3], [c0, c1, c2, c3]) = (a, b, c);
            // SAFETY: as for `mma_tf32`.
            let Four(d0, d1, d2, d3) =
                unsafe { mma_m16n8k16_f64(a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, c0, c1, c2, c3) };
            [d0, d1, d2, d3]
        }
        #[cfg(not(sm_90))]
        {
            let [mut c0, mut c1, mut c2, mut c3] = c;
            crate::unroll::<4>(|q| {
                // SAFETY: as for `mma_tf32`.
                unsafe {
                    Two(c0, c1) = mma_m8n8k4_f64(a[2 * q], b[q], c0, c1);
                    Two(c2, c3) = mma_m8n8k4_f64(a[2 * q + 1], b[q], c2, c3);
                }
            });
            [c0, c1, c2, c3]
        }
    }

    #[inline(always)]
    fn clock() -> u64 {
        // SAFETY: registers alone, whatever they hold.
        unsafe { clock64() as u64 }
    }

    #[inline(always)]
    fn global_timer() -> u64 {
        // SAFETY: registers alone, whatever they hold.
        unsafe { globaltimer() as u64 }
    }

    #[inline(always)]
    fn nanosleep(nanoseconds: u32) {
        // SAFETY: registers alone, whatever they hold.
        unsafe { asm!("nanosleep.u32 {0};", in(reg32) nanoseconds, options(nomem, nostack)) }
    }

    #[inline(always)]
    fn out_of_bounds(_: &'static str, _: u64, _: u64) -> ! {
        // SAFETY: ends the kernel.
        unsafe { nvptx::trap() }
    }

    #[inline(always)]
    fn misaligned(_: &'static str, _: u64, _: u32) -> ! {
        // SAFETY: ends the kernel.
        unsafe { nvptx::trap() }
    }
}
