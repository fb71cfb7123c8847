//! The simulator as the machine below the API: what a kernel's calls do here.

use super::access::{atomic, look, look_at_pack};
use super::block::{Shape, here, mistake, views};
use super::check::Moved;
use super::finding::{Kind, Memory};
use super::mutant::{self, Change};
use super::observe::{AccessKind, Space};
use super::wgmma::{self, Made, Tiles};
use super::{async_copy, cluster, collective, memory, mma, stats, tensor_map, watchdog};
use crate::machine::{Cache, Machine, Reduction, Register, Shuffle, Vote};
use crate::machine::{Operation, Order, Scope, Sum};
use crate::scalar::{AtomicScalar, Eight, KMajor, Lies, Operand, Scalar, from_bits, to_bits};
use crate::{bf16, f16};
use std::panic::Location;
use std::sync::OnceLock;
use std::time::Instant;

/// The address of a static shared array of `len` elements of `element` bytes, the same for all threads of the block.
/// The place of `name` stands for the array: two arrays may have the same name.
#[doc(hidden)]
#[track_caller]
pub fn static_shared(name: &'static &'static str, element: u32, len: u32) -> u32 {
    here().static_shared(name, element, len)
}

/// A thread arrives at a barrier in shared memory, and announces bytes.
#[track_caller]
fn arrive(address: u32, bytes: u32) {
    let block = here();
    let ends = block.arrive_in_phase(address, bytes);
    let place = Location::caller();
    block.judge(|session, state, thread| session.mbarrier_arrive(state, thread, address, ends, place));
}

/// A thread looks for the end of a phase of a barrier in shared memory; `wide` says whether it then knows what threads
/// of other blocks did that have arrived.
#[track_caller]
fn try_wait(address: u32, parity: u32, wide: bool) -> bool {
    if mutant::is(Change::MbarrierWait) {
        return true;
    }
    let block = here();
    let late = || block.judge(|session, state, thread| session.sees_late(state, thread, (address, parity)));
    let (ended, place) = (block.mbarriers.ended(address, parity) && late() != Some(true), Location::caller());
    if ended {
        block.judge(|session, state, thread| session.mbarrier_waited(state, thread, (address, parity, wide), place));
    } else {
        // The others run once.
        block.threads.spin(Some((address, parity)), place);
    }
    ended
}

/// The simulator backend.
pub(crate) struct Simulator;

impl Machine for Simulator {
    #[inline]
    fn register(register: Register) -> u32 {
        let block = here();
        let Shape { grid, block: dim, index } = block.shape;
        match register {
            Register::ThreadX => block.thread_idx()[0],
            Register::ThreadY => block.thread_idx()[1],
            Register::ThreadZ => block.thread_idx()[2],
            Register::BlockX => index[0],
            Register::BlockY => index[1],
            Register::BlockZ => index[2],
            Register::BlockDimX => dim[0],
            Register::BlockDimY => dim[1],
            Register::BlockDimZ => dim[2],
            Register::GridDimX => grid[0],
            Register::GridDimY => grid[1],
            Register::GridDimZ => grid[2],
            Register::Lane => block.current() as u32 % crate::machine::WARP,
            Register::Multiprocessor => 0,
            Register::DynamicSharedBytes => block.memory.dynamic_bytes,
            Register::ClusterRank => block.place_in_cluster().0,
            Register::ClusterBlocks => block.place_in_cluster().1,
        }
    }

    #[inline(always)]
    #[track_caller]
    fn sync_threads() {
        let block = here();
        // One test for both, as it is between the switch of stacks and the kernel.
        if !(block.watchers.looks_at_arrivals() && mutant::is(Change::Barrier)) {
            block.sync(0, None, false);
        }
    }

    #[inline(always)]
    #[track_caller]
    fn sync_threads_vote(vote: Vote, predicate: bool) -> u32 {
        let (block, threads) = (here(), here().threads());
        let count = block.sync(0, None, predicate);
        match vote {
            Vote::Count => count,
            Vote::And => (count == threads) as u32,
            Vote::Or => (count != 0) as u32,
        }
    }

    #[track_caller]
    fn barrier(id: u32, threads: u32) {
        assert!((1..16).contains(&id), "named barriers have the numbers 1 to 15, not {id}");
        assert!(
            threads.is_multiple_of(crate::machine::WARP) && threads > 0,
            "a named barrier waits for whole warps, not for {threads} threads"
        );
        if !mutant::is(Change::NamedBarrier) {
            here().sync(id as usize, Some(threads), false);
        }
    }

    #[track_caller]
    fn sync_cluster() {
        if !mutant::is(Change::ClusterBarrier) {
            cluster::sync();
        }
    }

    #[inline(always)]
    #[track_caller]
    fn sync_warp(mask: u32) {
        collective::barrier(mask).wait();
    }

    #[inline(always)]
    #[track_caller]
    fn shuffle(kind: Shuffle, mask: u32, value: u32, argument: u32) -> u32 {
        collective::shuffle(kind, mask, value, argument).result()
    }

    #[inline(always)]
    #[track_caller]
    fn ballot(mask: u32, predicate: bool) -> u32 {
        collective::ballot(mask, predicate).result()
    }

    #[inline(always)]
    #[track_caller]
    fn match_any(mask: u32, value: u32) -> u32 {
        collective::match_any(mask, value).result()
    }

    #[inline(always)]
    #[track_caller]
    fn warp_reduce(reduction: Reduction, mask: u32, value: u32) -> u32 {
        collective::reduce(reduction, mask, value).result()
    }

    fn active_mask() -> u32 {
        // Threads run one at a time here, so the honest hint is the caller alone.
        1 << (here().current() as u32 % crate::machine::WARP)
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_global<T: Scalar>(p: *const T) -> T {
        // SAFETY: passed on.
        let load = move || unsafe { memory::load(p) };
        if watchdog::looks() {
            // SAFETY: passed on.
            unsafe { look::<T, _, true, false>(p as u64, p, load) }
        } else {
            load()
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_global<T: Scalar>(p: *mut T, value: T) {
        // SAFETY: passed on.
        let store = move || unsafe { memory::store(p, value) };
        if watchdog::looks() {
            // SAFETY: passed on.
            unsafe { look::<T, _, true, true>(p as u64, p.cast_const(), store) }
        } else {
            store()
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_global_streaming<T: Scalar>(p: *const T) -> T {
        // SAFETY: passed on.
        unsafe { Self::load_global(p) }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_global_pack(p: *const u8, cache: Cache) -> [u32; 4] {
        // SAFETY: passed on.
        let load = move || unsafe { memory::load_pack(p) };
        if watchdog::looks() {
            // SAFETY: passed on.
            unsafe { look_at_pack(Space::Global, AccessKind::Read, cache, (p as u64, p), load) }
        } else {
            load()
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_global_pack_or(p: *const u8, there: bool, otherwise: [u32; 4]) -> [u32; 4] {
        // SAFETY: passed on.
        if there { unsafe { Self::load_global_pack(p, Cache::ReadOnly) } } else { otherwise }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_global_pack(p: *mut u8, value: [u32; 4], cache: Cache) {
        // SAFETY: passed on.
        let store = move || unsafe { memory::store_pack(p, value) };
        if watchdog::looks() {
            // SAFETY: passed on.
            unsafe { look_at_pack(Space::Global, AccessKind::Write, cache, (p as u64, p), store) }
        } else {
            store()
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_shared<T: Scalar>(address: u32) -> T {
        let p: *mut T = here().shared(address, size_of::<T>() as u32).cast();
        // SAFETY: `shared` gives a pointer to size_of::<T>() bytes; the caller promises the alignment.
        let load = move || unsafe { memory::load(p) };
        if watchdog::looks() {
            // SAFETY: as above.
            unsafe { look::<T, _, false, false>(address.into(), p.cast_const(), load) }
        } else {
            load()
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_shared<T: Scalar>(address: u32, value: T) {
        let p = here().shared(address, size_of::<T>() as u32).cast();
        // SAFETY: as above.
        let store = move || unsafe { memory::store(p, value) };
        if watchdog::looks() {
            // SAFETY: as above.
            unsafe { look::<T, _, false, true>(address.into(), p.cast_const(), store) }
        } else {
            store()
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_shared_pack(address: u32) -> [u32; 4] {
        let p = here().shared(address, 16);
        // SAFETY: as above, for 16 bytes.
        let load = move || unsafe { memory::load_pack(p) };
        if watchdog::looks() {
            // SAFETY: as above.
            unsafe { look_at_pack(Space::Shared, AccessKind::Read, Cache::Default, (address.into(), p), load) }
        } else {
            load()
        }
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn load_shared_pair(address: u32) -> [u64; 2] {
        // SAFETY: passed on.
        let [a, b, c, d] = unsafe { Self::load_shared_pack(address) }.map(u64::from);
        [a | b << 32, c | d << 32]
    }

    #[inline(always)]
    #[track_caller]
    unsafe fn store_shared_pack(address: u32, value: [u32; 4]) {
        let p = here().shared(address, 16);
        // SAFETY: as above, for 16 bytes.
        let store = move || unsafe { memory::store_pack(p, value) };
        if watchdog::looks() {
            // SAFETY: as above.
            unsafe { look_at_pack(Space::Shared, AccessKind::Write, Cache::Default, (address.into(), p), store) }
        } else {
            store()
        }
    }

    fn dynamic_shared_address() -> u32 {
        0
    }

    #[inline]
    #[track_caller]
    fn cluster_address(address: u32, rank: u32) -> u32 {
        cluster::address(address, rank)
    }

    #[track_caller]
    unsafe fn load_cluster<T: Scalar>(address: u32) -> T {
        let word = cluster::load(address, size_of::<T>() as u32, |p| {
            // SAFETY: `cluster::load` gives a pointer to this many bytes; the caller promises the alignment.
            let word: T = unsafe { memory::load(p.cast()) };
            [to_bits(word)]
        });
        from_bits(word[0])
    }

    #[track_caller]
    unsafe fn load_cluster_pack(address: u32) -> [u32; 4] {
        // SAFETY: as for `load_cluster`, for 16 bytes.
        let words = cluster::load(address, 16, |p| unsafe { memory::load_pack(p) }.map(u64::from));
        words.map(|word| word as u32)
    }

    #[track_caller]
    unsafe fn atomic_global<T: AtomicScalar>(op: Operation<T>, p: *mut T, order: Order, scope: Scope) -> T {
        // SAFETY: passed on.
        unsafe { atomic(op, p, Space::Global, p as u64, order, scope) }
    }

    #[track_caller]
    unsafe fn atomic_shared<T: AtomicScalar>(op: Operation<T>, address: u32, order: Order) -> T {
        let p = here().shared(address, size_of::<T>() as u32).cast();
        // SAFETY: `shared` gives a pointer to size_of::<T>() bytes; the caller promises the alignment.
        unsafe { atomic(op, p, Space::Shared, address.into(), order, Scope::Block) }
    }

    #[track_caller]
    fn fence(order: Order, scope: Scope) {
        if mutant::is(Change::Fence) {
            return;
        }
        let scope = mutant::narrowed(scope);
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        here().judge(|session, state, thread| session.fence(state, thread, order, scope));
    }

    #[track_caller]
    fn fence_sc(scope: Scope) {
        if mutant::is(Change::Fence) {
            return;
        }
        let scope = mutant::narrowed(scope);
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        here().judge(|session, state, thread| session.fence_sc(state, thread, scope));
    }

    #[track_caller]
    unsafe fn mbarrier_init(address: u32, arrivals: u32) {
        let block = here();
        block.mbarriers.init(address, arrivals);
        let place = Location::caller();
        block.judge(|session, state, thread| session.mbarrier_init(state, thread, address, place));
    }

    #[track_caller]
    unsafe fn mbarrier_arrive(address: u32) {
        arrive(address, 0);
    }

    #[track_caller]
    unsafe fn mbarrier_arrive_expecting(address: u32, bytes: u32) {
        arrive(address, bytes);
    }

    #[track_caller]
    unsafe fn mbarrier_arrive_at(address: u32, rank: u32) {
        let (block, home) = (here(), cluster::reach(rank, "arrives at a barrier of"));
        let (ends, place) = (home.arrive_in_phase(address, 0), Location::caller());
        block.watch.moved_on();
        block.judge(|session, state, thread| {
            session.mbarrier_arrive_at(state, thread, (cluster::other_state(block, rank, home), address), ends, place);
        });
    }

    #[track_caller]
    unsafe fn mbarrier_try_wait(address: u32, parity: u32) -> bool {
        try_wait(address, parity, false)
    }

    #[track_caller]
    unsafe fn mbarrier_try_wait_cluster(address: u32, parity: u32) -> bool {
        try_wait(address, parity, !mutant::is(Change::Scope))
    }

    #[track_caller]
    fn fence_mbarrier_init() {
        if mutant::is(Change::Fence) {
            return;
        }
        here().judge(|session, state, thread| session.fence_init(state, thread));
    }

    // Copies are done at once: a kernel that needs them to take time would be wrong on the GPU too.
    #[track_caller]
    unsafe fn bulk_load(to: u32, from: *const u8, bytes: u32, barrier: u32) {
        let block = here();
        block.count_copies(stats::Instruction::BulkLoad, [(from as u64, bytes)]);
        // SAFETY: `shared` gives a pointer to `bytes` bytes; the caller promises the source and the alignment.
        unsafe { memory::copy(block.shared(to, bytes), from, bytes) };
        // SAFETY: as above.
        let word = |at: u32| unsafe { memory::load_pack(from.add(at as usize)) };
        block.watchers.copy(block.current(), (Space::Global, from as u64), (Space::Shared, to.into()), bytes, word);
        let (ends, place) = (block.copied_in_phase(barrier, bytes), Location::caller());
        block.judge(|session, state, thread| {
            let moved = |at| Moved { global: from as u64 + u64::from(at), shared: to + at, there: 16, words: word(at) };
            let moved: Vec<_> = (0..bytes).step_by(16).map(moved).collect();
            session.bulk_load(state, thread, None, &moved, (barrier, ends), place);
        });
    }

    #[track_caller]
    unsafe fn bulk_store(to: *mut u8, from: u32, bytes: u32) {
        let (block, p, place) = (here(), here().shared(from, bytes), Location::caller());
        block.count_copies(stats::Instruction::BulkStore, [(to as u64, bytes)]);
        // SAFETY: as above, the other way.
        unsafe { memory::copy(to, p, bytes) };
        // SAFETY: as above.
        let word = |at: u32| unsafe { memory::load_pack(p.add(at as usize)) };
        block.watchers.copy(block.current(), (Space::Shared, from.into()), (Space::Global, to as u64), bytes, word);
        block.judge(|session, state, thread| {
            let moved = |at| Moved { global: to as u64 + u64::from(at), shared: from + at, there: 16, words: word(at) };
            let moved: Vec<_> = (0..bytes).step_by(16).map(moved).collect();
            session.bulk_store(state, thread, &moved, place);
        });
    }

    #[track_caller]
    unsafe fn box_load(to: u32, map: *const u64, place: [u32; 2], barrier: u32) {
        // SAFETY: passed on.
        unsafe { tensor_map::load(to, map, place, barrier, None) }
    }

    #[track_caller]
    unsafe fn box_load_multicast(to: u32, map: *const u64, place: [u32; 2], barrier: u32, ranks: u16) {
        // SAFETY: passed on.
        unsafe { tensor_map::load(to, map, place, barrier, Some(ranks)) }
    }

    #[track_caller]
    unsafe fn box_store(map: *const u64, place: [u32; 2], from: u32) {
        // SAFETY: passed on.
        unsafe { tensor_map::store(map, place, from) }
    }

    // Without an effect on what a kernel computes.
    unsafe fn prefetch_map(_: *const u64) {}

    fn bulk_commit() {
        here().judge(|session, state, thread| session.bulk_commit(state, thread));
    }

    #[track_caller]
    fn bulk_wait_read<const N: u32>() {
        if mutant::is(Change::CopyWait) {
            return;
        }
        here().judge(|session, state, thread| session.bulk_wait_read(state, thread, N));
    }

    #[track_caller]
    fn fence_async_shared() {
        if mutant::is(Change::Fence) {
            return;
        }
        here().judge(|session, state, thread| session.fence_async(state, thread));
    }

    #[track_caller]
    unsafe fn copy_async<const BYTES: u32>(to: u32, from: *const u8, there: u32) {
        let block = here();
        block.shared(to, BYTES); // refused here, where the copy is started
        if there > 0 {
            block.count(stats::Instruction::AsyncCopy, BYTES as u8, from as u64);
        }
        let copy = async_copy::Copy { to, from, bytes: BYTES, there };
        let place = Location::caller();
        block.judge(|session, state, thread| {
            // SAFETY: the caller promises the source.
            let words: Vec<u64> = unsafe { copy.words() }.map(u64::from).collect();
            session.copy_async(state, thread, (to, from as u64, words.as_slice(), there), place);
        });
        block.copies.start(block.current(), copy);
    }

    fn copy_async_commit() {
        let block = here();
        block.judge(|session, state, thread| session.copy_async_commit(state, thread));
        block.copies.commit(block.current());
    }

    #[track_caller]
    fn copy_async_wait<const N: u32>() {
        if mutant::is(Change::CopyWait) {
            return;
        }
        let block = here();
        while let Some(group) = block.copies.due(block.current(), N) {
            for copy in group {
                // SAFETY: the caller of `copy_async` promised this many bytes.
                for (i, word) in unsafe { copy.words() }.enumerate() {
                    let (at, from) = (copy.to + 4 * i as u32, copy.from as u64 + 4 * i as u64);
                    if 4 * (i as u32) < copy.there {
                        block.watchers.access(block.current(), Space::Global, AccessKind::Read, from, word);
                    }
                    // SAFETY: `copy_async` checked the place; its caller promised the alignment.
                    unsafe { memory::store(block.shared(at, 4).cast::<u32>(), word) };
                    block.watchers.access(block.current(), Space::Shared, AccessKind::Write, at.into(), word);
                    block.after_access(Space::Shared, at.into(), 4, word.into());
                }
            }
        }
        block.judge(|session, state, thread| session.copy_async_wait(state, thread, N));
    }

    #[track_caller]
    fn release_registers<const N: u32>() {
        collective::together();
        collective::group_calls();
        here().release_registers(N);
    }

    #[track_caller]
    fn claim_registers<const N: u32>() {
        collective::together();
        collective::group_calls();
        here().claim_registers(N);
    }

    #[track_caller]
    fn wait_for_previous_grid() {
        if mutant::is(Change::LaunchWait) {
            return;
        }
        // Launches follow one another here: the preceding one has ended. A check judges as if it had not.
        here().judge(|session, state, thread| session.waited(state, thread));
    }

    #[inline(always)]
    fn let_next_grid_start() {}

    #[inline(always)]
    fn opaque(value: u32) -> u32 {
        value
    }

    #[inline(always)]
    fn mul_hi(a: u32, b: u32) -> u32 {
        ((a as u64 * b as u64) >> 32) as u32
    }

    #[inline(always)]
    fn fma_f32(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn fma_f64(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }

    fn minimum_f32(a: f32, b: f32) -> f32 {
        match () {
            // The NaN that the hardware gives.
            _ if a.is_nan() || b.is_nan() => f32::from_bits(0x7fff_ffff),
            _ if a < b || a == b && a.is_sign_negative() => a,
            _ => b,
        }
    }

    fn maximum_f32(a: f32, b: f32) -> f32 {
        match () {
            _ if a.is_nan() || b.is_nan() => f32::from_bits(0x7fff_ffff),
            _ if a > b || a == b && a.is_sign_positive() => a,
            _ => b,
        }
    }

    fn round_tf32(value: f32) -> u32 {
        mma::round(value)
    }

    fn round_bf16(value: f32) -> u16 {
        // The NaN that the hardware gives.
        if value.is_nan() { 0x7fff } else { bf16::from_f32(value).to_bits() }
    }

    fn round_bf16_pair(low: f32, high: f32) -> u32 {
        u32::from(Self::round_bf16(low)) | u32::from(Self::round_bf16(high)) << 16
    }

    fn round_f16(value: f32) -> u16 {
        if value.is_nan() { 0x7fff } else { f16::from_f32(value).to_bits() }
    }

    fn widen_f16(bits: u16) -> f32 {
        f16::from_bits(bits).to_f32()
    }

    #[track_caller]
    fn mma_tf32(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
        collective::multiply_add(a, b, c)
    }

    #[track_caller]
    fn mma_f64(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        collective::multiply_add_f64(a, b, c)
    }

    #[track_caller]
    unsafe fn wgmma_add<T: Operand, const SUMS: usize>(a: u32, b: u32, mut sums: [f32; SUMS]) -> [f32; SUMS] {
        // SAFETY: passed on.
        unsafe { wgmma::multiply_add::<T, T, KMajor, KMajor, SUMS>(Tiles { a, b }, &mut sums, Made::AtOnce) };
        sums
    }

    #[track_caller]
    unsafe fn wgmma_add_split<T: Operand, const SUMS: usize>(
        a: [u32; 2],
        b: [u32; 2],
        sums: [f32; SUMS],
    ) -> [f32; SUMS] {
        let mut parts = [0.0; SUMS];
        for (a, b) in [(a[1], b[0]), (a[0], b[1]), (a[0], b[0])] {
            // SAFETY: passed on.
            unsafe { wgmma::multiply_add::<T, T, KMajor, KMajor, SUMS>(Tiles { a, b }, &mut parts, Made::AtOnce) };
        }
        std::array::from_fn(|i| sums[i] + parts[i])
    }

    #[track_caller]
    unsafe fn wgmma_add_split_held<const SUMS: usize>(
        a: [[[u32; 4]; 4]; 2],
        b: [u32; 2],
        sums: [f32; SUMS],
    ) -> [f32; SUMS] {
        let mut parts = [0.0; SUMS];
        for (a, b) in [(a[1], b[0]), (a[0], b[1]), (a[0], b[0])] {
            for half in [0, 1] {
                let of_half = [a[2 * half], a[2 * half + 1]];
                // SAFETY: passed on.
                unsafe { wgmma::multiply_add_held::<SUMS>(of_half, (b, half as u32), &mut parts, Made::AtOnce) };
            }
        }
        std::array::from_fn(|i| sums[i] + parts[i])
    }

    #[track_caller]
    unsafe fn wgmma_add_mixed<const SUMS: usize>(small: [u32; 2], large: [u32; 2], sums: [f32; SUMS]) -> [f32; SUMS] {
        let mut parts = [0.0; SUMS];
        let tiles = |[a, b]: [u32; 2]| Tiles { a, b };
        // SAFETY: passed on.
        unsafe {
            wgmma::multiply_add::<bf16, bf16, KMajor, KMajor, SUMS>(tiles(small), &mut parts, Made::AtOnce);
            wgmma::multiply_add::<f32, f32, KMajor, KMajor, SUMS>(tiles(large), &mut parts, Made::AtOnce);
        }
        std::array::from_fn(|i| sums[i] + parts[i])
    }

    #[track_caller]
    unsafe fn wgmma_begin<T: Operand, A: Lies, B: Lies, const SUMS: usize>(
        a: u32,
        b: u32,
        mut sums: [Sum; SUMS],
    ) -> [Sum; SUMS] {
        // SAFETY: passed on.
        unsafe { wgmma::multiply_add::<T, T, A, B, SUMS>(Tiles { a, b }, &mut sums, Made::Later) };
        sums
    }

    #[track_caller]
    unsafe fn wgmma_begin_held<const SUMS: usize>(
        a: [[u32; 4]; 2],
        b: u32,
        half: u32,
        mut sums: [Sum; SUMS],
    ) -> [Sum; SUMS] {
        // SAFETY: passed on.
        unsafe { wgmma::multiply_add_held::<SUMS>(a, (b, half), &mut sums, Made::Later) };
        sums
    }

    #[track_caller]
    unsafe fn wgmma_begin_eight<S: Eight, T: Eight, const SUMS: usize>(
        a: u32,
        b: u32,
        mut sums: [Sum; SUMS],
    ) -> [Sum; SUMS] {
        // SAFETY: passed on.
        unsafe { wgmma::multiply_add::<S, T, KMajor, KMajor, SUMS>(Tiles { a, b }, &mut sums, Made::Later) };
        sums
    }

    #[track_caller]
    unsafe fn wgmma_add_scaled<S: Eight, T: Eight, const SUMS: usize>(
        a: u32,
        b: u32,
        factors: [[f32; 2]; 2],
        sums: [f32; SUMS],
    ) -> [f32; SUMS] {
        let mut parts = [0.0; SUMS];
        // SAFETY: passed on.
        unsafe { wgmma::multiply_add::<S, T, KMajor, KMajor, SUMS>(Tiles { a, b }, &mut parts, Made::AtOnce) };
        std::array::from_fn(|i| parts[i].mul_add(factors[i / 64][i / 2 % 2], sums[i]))
    }

    #[track_caller]
    fn wgmma_finish<const SUMS: usize>(sums: [Sum; SUMS]) -> [f32; SUMS] {
        wgmma::finish();
        sums
    }

    #[track_caller]
    unsafe fn store_fragments(row: u32, fragments: [u32; 4]) {
        let lane = here().current() as u32 % 32;
        for (i, fragment) in fragments.into_iter().enumerate() {
            // The row that this lane's two elements are in.
            let row = collective::from_lane(row, 8 * i as u32 + lane / 4);
            // SAFETY: the lane there promises 16 bytes.
            unsafe { Self::store_shared(row + lane % 4 * 4, fragment) };
        }
    }

    fn clock() -> u64 {
        Self::global_timer()
    }

    fn global_timer() -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    #[track_caller]
    fn nanosleep(_: u32) {
        here().spin();
    }

    #[cold]
    #[track_caller]
    fn out_of_bounds(space: &'static str, index: u64, len: u64) -> ! {
        mistake(Kind::OutOfBounds);
        if let Some(negative) = u32::try_from(index).ok().map(|index| index as i32).filter(|&index| index < 0) {
            panic!("{space} index {index}, or {negative} as a signed number, is out of bounds: the view has {len}")
        }
        panic!("{space} index {index} is out of bounds: the view has {len}")
    }

    #[cold]
    #[track_caller]
    fn misaligned(space: &'static str, address: u64, alignment: u32) -> ! {
        mistake(Kind::Misaligned);
        let in_shared = Memory { space: Space::Shared, parameter: None, element: None, offset: address, bytes: 1 };
        let is = match space {
            _ if space.starts_with("length") => format!("is {address}"),
            _ if space.starts_with("global") => format!("begins at {}", Memory::in_views(views(), address, 1)),
            _ => format!("begins at {in_shared}"),
        };
        panic!("{space} is not aligned to {alignment} bytes: it {is}")
    }
}
