//! The simulator: kernels on the CPU, thread by thread, where there is no GPU.
//!
//! The threads of a block are coroutines on one thread of the host. A barrier is a yield: the scheduler (block.rs)
//! resumes each thread in turn until it waits, and lets all continue when the last has arrived. Blocks run side by side
//! on the host's cores ([`launch`]), started in the order of their index, so a kernel that waits for blocks before it
//! (look-back) makes progress.
//!
//! A run always follows the same schedule inside a block. Between blocks only the order of global atomics can differ
//! from run to run; [`Options::workers`] = 1 fixes that too.
//!
//! Behaviour that a GPU leaves undefined ends the launch with an error here: an access out of bounds or misaligned, a
//! barrier that some threads never reach or that they reach in different places, a warp operation that some lanes never
//! reach, a thread that spins for ever or overflows its stack, a panic.

// These files use each other in circles, and only these. A thread's call finds its block here (`here`); the block runs
// threads, whose calls come back here, to its barriers and to its warps. Cutting the circle would take a trait between
// block and machine, with one implementation, on the path of every access.
mod async_copy;
mod block;
mod check;
mod cluster;
mod error;
mod launch;
mod launcher;
mod limit;
mod mbarrier;
mod memory;
mod mma;
pub mod mutant;
mod observe;
mod overflow;
mod registers;
mod shared;
mod spin;
mod stack;
pub mod stats;
mod tensor_map;
mod waits;
mod warp;
mod watchdog;
mod wgmma;
mod words;

pub use check::{
    Check, Checked, Element, Finding, Kind, Memory, NOT_MODELLED, Report, Shortest, Side, Site, check, expect_written,
    host_cleared, host_wrote, shortest,
};
pub use error::{Fault, LaunchError};
pub use launch::{Options, enqueue, launch};
pub use launcher::{Gpu, HostMemory, POISON};
pub use limit::within;
pub use limits::*;
pub use observe::{Access, AccessKind, Event, Space, observe};
pub use words::plural;

use crate::machine::{Cache, Machine, Reduction, Register, Shuffle, Vote};
use crate::machine::{Operation, Order, Scope, Sum};
use crate::scalar::{Along, AtomicScalar, Eight, Lies, Operand, Scalar, from_bits, to_bits};
use crate::{bf16, f16};
use block::{Block, Vector};
use check::{BlockState, Half, Moved, Session, Touch, Use};
use mutant::Change;
use std::cell::Cell;
use std::panic::Location;
use std::sync::OnceLock;
use std::time::Instant;
use wgmma::{Made, Tiles};

/// The limits of compute capability 9.0, which the simulator enforces on launches.
mod limits {
    /// Threads per block.
    pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
    /// Threads per block along x, y and z.
    pub const MAX_BLOCK_DIM: [u32; 3] = [1024, 1024, 64];
    /// Blocks per grid along x, y and z.
    pub const MAX_GRID_DIM: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
    /// Blocks of a cluster.
    pub const MAX_CLUSTER: u32 = 8;
    /// Bytes of static shared memory per block.
    pub const MAX_STATIC_SHARED: u32 = 48 << 10;
    pub use crate::launcher::MAX_SHARED;
}

thread_local! {
    /// The block that this thread of the host is running; null outside of kernels.
    static BLOCK: Cell<*const Block> = const { Cell::new(std::ptr::null()) };
}

/// The refusal of a call on the host.
const OUTSIDE: &str = "outside of a kernel there is no thread that could do this: a view's memory is the device's, and \
    simt's functions are for kernels; launch a kernel, or copy the buffer to the host and read the copy";

/// The block that the calling thread belongs to.
#[inline(always)]
#[track_caller]
fn here() -> &'static Block {
    let block = BLOCK.get();
    assert!(!block.is_null(), "{OUTSIDE}");
    // SAFETY: non-null only while `block::run` runs on this thread, which owns the block; the reference does not
    // outlive the call that asked for it.
    unsafe { &*block }
}

/// Whether the calling code is a kernel's.
fn in_kernel() -> bool {
    !BLOCK.get().is_null()
}

/// The address of a static shared array of `len` elements of `element` bytes, the same for all threads of the block.
/// The place of `name` stands for the array: two arrays may have the same name.
#[doc(hidden)]
#[track_caller]
pub fn static_shared(name: &'static &'static str, element: u32, len: u32) -> u32 {
    here().static_shared(name, element, len)
}

/// An access that is examined: refused outside of a kernel, reported to the observer, checked for spins and, under a
/// check, for races. `p` is the word, known to observers as `address`; `access` makes the access.
///
/// # Safety
/// `p` is valid for reads of a `T` and aligned for it.
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn look<T: Scalar, R, const GLOBAL: bool, const WRITES: bool>(
    address: u64,
    p: *const T,
    access: impl FnOnce() -> R,
) -> R {
    // A function for each of the four, so that none of them asks what it is.
    let space = if GLOBAL { Space::Global } else { Space::Shared };
    let kind = if WRITES { AccessKind::Write } else { AccessKind::Read };
    let block = here();
    if let Some(instruction) = stats::plain(space, kind) {
        block.count(instruction, size_of::<T>() as u8, address);
    }
    block.interrupt();
    block.before_access();
    // SAFETY: passed on.
    let word = || unsafe { memory::load(p) };
    let before = block.checks().map(|_| [to_bits(word())]);
    let result = access();
    let value = word();
    observe::access(space, kind, address, value);
    if let (Some(before), Some((session, state))) = (before, block.checks()) {
        let (site, bytes, thread) = (Location::caller(), size_of::<T>() as u32, block.current());
        let touch = Touch { space, kind, address, bytes, before: &before, after: &[to_bits(value)], site };
        session.plain(state, thread, &touch, Use::of(kind));
    }
    block.after_access(space, address, size_of::<T>() as u32, to_bits(value));
    result
}

/// [`look`] for 16 bytes.
///
/// # Safety
/// `p` is valid for reads of 16 bytes and aligned to 16.
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn look_at_pack<R>(
    space: Space,
    kind: AccessKind,
    cache: Cache,
    (address, p): (u64, *const u8),
    access: impl FnOnce() -> R,
) -> R {
    if let Some(instruction) = stats::plain(space, kind) {
        here().count(instruction, 16, address);
    }
    // SAFETY: passed on.
    unsafe {
        watch_pack(space, kind, address, p, access, |session, state, thread, touch| {
            session.plain(state, thread, touch, Use::of(kind));
            if cache == Cache::ReadOnly {
                session.read_only(state, thread, touch);
            }
        })
    }
}

/// [`look_at_pack`] for an access that is no instruction of the thread's own: it is not counted, and a check judges it
/// by `judge`.
///
/// # Safety
/// As for [`look_at_pack`].
#[track_caller]
unsafe fn watch_pack<R>(
    space: Space,
    kind: AccessKind,
    address: u64,
    p: *const u8,
    access: impl FnOnce() -> R,
    judge: impl FnOnce(&mut Session, &mut BlockState, usize, &Touch),
) -> R {
    let block = here();
    block.interrupt();
    block.before_access();
    // SAFETY: passed on.
    let words = || unsafe { memory::load_pack(p) };
    let before = block.checks().map(|_| words().map(u64::from));
    let result = access();
    let after = words();
    observe::pack(space, kind, address, after);
    if let (Some(before), Some((session, state))) = (before, block.checks()) {
        let (site, after) = (Location::caller(), after.map(u64::from));
        let touch = Touch { space, kind, address, bytes: 16, before: &before, after: &after, site };
        judge(session, state, block.current(), &touch);
    }
    for (i, word) in after.into_iter().enumerate() {
        block.after_access(space, address + 4 * i as u64, 4, word.into());
    }
    result
}

/// An atomic operation on the word at `p`, known to observers as `address`.
///
/// # Safety
/// `p` is valid for reads and writes of a `T` and aligned for it.
#[track_caller]
unsafe fn atomic<T: AtomicScalar>(
    op: Operation<T>,
    p: *mut T,
    space: Space,
    address: u64,
    order: Order,
    scope: Scope,
) -> T {
    let (order, scope) = mutant::weakened(order, scope);
    if op == Operation::Load {
        // A thread that loads atomically may be waiting for another thread's store: the others run.
        here().spin();
    }
    if watchdog::looks() {
        here().count(stats::atomic(space, &op), size_of::<T>() as u8, address);
        // SAFETY: passed on.
        unsafe { look_at_atomic(op, p, space, address, order, scope) }
    } else {
        // SAFETY: passed on.
        unsafe { memory::atomic(op, p) }
    }
}

/// [`atomic`] as an access that is examined.
///
/// # Safety
/// As for [`atomic`].
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn look_at_atomic<T: AtomicScalar>(
    op: Operation<T>,
    p: *mut T,
    space: Space,
    address: u64,
    order: Order,
    scope: Scope,
) -> T {
    let block = here();
    block.interrupt();
    block.before_access();
    // SAFETY: passed on.
    let (before, mut result) = unsafe { (memory::load(p), memory::atomic(op, p)) };
    let before_is = |value: T| to_bits(before) == to_bits(value);
    // SAFETY: passed on.
    let after = unsafe { memory::load(p) };
    observe::access(space, AccessKind::Atomic, address, after);
    if let Some((session, state)) = block.checks() {
        let half = match op {
            Operation::Load => Half::Load,
            Operation::Store(_) => Half::Store,
            Operation::CompareExchange { current, .. } if !before_is(current) => Half::Newest,
            _ => Half::Both,
        };
        let (site, bytes, kind) = (Location::caller(), size_of::<T>() as u32, AccessKind::Atomic);
        let (before, after) = ([to_bits(before)], [to_bits(after)]);
        let touch = Touch { space, kind, address, bytes, before: &before, after: &after, site };
        if let Some(older) = session.atomic(state, block.current(), &touch, half, (order, scope)) {
            result = from_bits(older);
        }
    }
    let seen = to_bits(if op == Operation::Load { result } else { after });
    block.after_access(space, address, size_of::<T>() as u32, seen);
    if block.checks().is_some() && matches!(op, Operation::CompareExchange { .. }) && before_is(after) {
        // The exchange failed: the thread may be waiting for another's store.
        block.spin();
    }
    result
}

/// A thread arrives at a barrier in shared memory, and announces bytes.
#[track_caller]
fn arrive(address: u32, bytes: u32) {
    let block = here();
    let ends = block.arrive_in_phase(address, bytes);
    if let Some((session, state)) = block.checks() {
        session.mbarrier_arrive(state, block.current(), address, ends, Location::caller());
    }
}

/// A thread looks for the end of a phase of a barrier in shared memory; `wide` says whether it then knows what threads
/// of other blocks did that have arrived.
#[track_caller]
fn try_wait(address: u32, parity: u32, wide: bool) -> bool {
    if mutant::is(Change::MbarrierWait) {
        return true;
    }
    let block = here();
    let ended = block.mbarriers.ended(address, parity)
        && !block.checks().is_some_and(|(session, state)| session.sees_late(state, block.current(), (address, parity)));
    if !ended {
        block.wait_for_phase(address, parity);
    } else if let Some((session, state)) = block.checks() {
        session.mbarrier_waited(state, block.current(), (address, parity, wide), Location::caller());
    }
    ended
}

/// Notes that the running thread's warp makes a call of its group of four warps.
#[track_caller]
fn group_calls() {
    let block = here();
    if block.current().is_multiple_of(32)
        && let Some((session, state)) = block.checks()
    {
        session.group_calls(state, block.current(), Location::caller());
    }
}

/// The panic that follows is about a mistake of that kind; outside of a kernel it is about none.
fn mistake(kind: Kind) {
    // SAFETY: as in `here`.
    if let Some(block) = unsafe { BLOCK.get().as_ref() } {
        block.mistake(kind);
    }
}

/// The simulator backend.
pub(crate) struct Simulator;

impl Machine for Simulator {
    #[inline]
    fn register(register: Register) -> u32 {
        let block = here();
        let component = |v: Vector, axis: usize| v[axis];
        match register {
            Register::ThreadX => component(block.thread_idx(), 0),
            Register::ThreadY => component(block.thread_idx(), 1),
            Register::ThreadZ => component(block.thread_idx(), 2),
            Register::BlockX => component(block.block_idx, 0),
            Register::BlockY => component(block.block_idx, 1),
            Register::BlockZ => component(block.block_idx, 2),
            Register::BlockDimX => component(block.block_dim, 0),
            Register::BlockDimY => component(block.block_dim, 1),
            Register::BlockDimZ => component(block.block_dim, 2),
            Register::GridDimX => component(block.grid_dim, 0),
            Register::GridDimY => component(block.grid_dim, 1),
            Register::GridDimZ => component(block.grid_dim, 2),
            Register::Lane => block.current() as u32 % crate::machine::WARP,
            Register::Multiprocessor => 0,
            Register::DynamicSharedBytes => block.dynamic_bytes,
            Register::ClusterRank => block.place_in_cluster().0,
            Register::ClusterBlocks => block.place_in_cluster().1,
        }
    }

    #[inline(always)]
    #[track_caller]
    fn sync_threads() {
        if mutant::is(Change::Barrier) {
            return;
        }
        here().sync(0, None, false);
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

    #[track_caller]
    fn sync_warp(mask: u32) {
        if !mutant::is(Change::WarpBarrier) {
            warp::barrier(mask);
        }
    }

    #[track_caller]
    fn shuffle(kind: Shuffle, mask: u32, value: u32, argument: u32) -> u32 {
        warp::shuffle(kind, mask, value, argument)
    }

    #[track_caller]
    fn ballot(mask: u32, predicate: bool) -> u32 {
        warp::collective(mask, predicate as u32, 0, warp::ballot)
    }

    #[track_caller]
    fn match_any(mask: u32, value: u32) -> u32 {
        warp::collective(mask, value, 0, warp::match_any)
    }

    #[track_caller]
    fn warp_reduce(reduction: Reduction, mask: u32, value: u32) -> u32 {
        warp::reduce(reduction, mask, value)
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
            // SAFETY: `cluster::load` gives a pointer to so many bytes; the caller promises the alignment.
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
        let (_, scope) = mutant::weakened(Order::Relaxed, scope);
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        let block = here();
        if let Some((session, state)) = block.checks() {
            session.fence(state, block.current(), order, scope);
        }
    }

    fn fence_sc(scope: Scope) {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        let block = here();
        if let Some((session, state)) = block.checks() {
            session.fence_sc(state, block.current(), scope);
        }
    }

    #[track_caller]
    unsafe fn mbarrier_init(address: u32, arrivals: u32) {
        let block = here();
        block.mbarriers.init(address, arrivals);
        if let Some((session, state)) = block.checks() {
            session.mbarrier_init(state, block.current(), address, Location::caller());
        }
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
        let ends = home.arrive_in_phase(address, 0);
        block.moved_on();
        if let Some((session, state)) = block.checks() {
            let other = if rank == block.place_in_cluster().0 { None } else { home.checked() };
            session.mbarrier_arrive_at(state, block.current(), (other, address), ends, Location::caller());
        }
    }

    #[track_caller]
    unsafe fn mbarrier_try_wait(address: u32, parity: u32) -> bool {
        try_wait(address, parity, false)
    }

    #[track_caller]
    unsafe fn mbarrier_try_wait_cluster(address: u32, parity: u32) -> bool {
        try_wait(address, parity, true)
    }

    #[track_caller]
    fn fence_mbarrier_init() {
        if mutant::is(Change::Fence) {
            return;
        }
        let block = here();
        if let Some((session, state)) = block.checks() {
            session.fence_init(state, block.current());
        }
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
        observe::copy((Space::Global, from as u64), (Space::Shared, to.into()), bytes, word);
        let ends = block.copied_in_phase(barrier, bytes);
        if let Some((session, state)) = block.checks() {
            let moved = |at| Moved { global: from as u64 + u64::from(at), shared: to + at, there: 16, words: word(at) };
            let moved: Vec<_> = (0..bytes).step_by(16).map(moved).collect();
            session.bulk_load(state, block.current(), None, &moved, (barrier, ends), Location::caller());
        }
    }

    #[track_caller]
    unsafe fn bulk_store(to: *mut u8, from: u32, bytes: u32) {
        let p = here().shared(from, bytes);
        here().count_copies(stats::Instruction::BulkStore, [(to as u64, bytes)]);
        // SAFETY: as above, the other way.
        unsafe { memory::copy(to, p, bytes) };
        // SAFETY: as above.
        let word = |at: u32| unsafe { memory::load_pack(p.add(at as usize)) };
        observe::copy((Space::Shared, from.into()), (Space::Global, to as u64), bytes, word);
        let block = here();
        if let Some((session, state)) = block.checks() {
            let moved = |at| Moved { global: to as u64 + u64::from(at), shared: from + at, there: 16, words: word(at) };
            let moved: Vec<_> = (0..bytes).step_by(16).map(moved).collect();
            session.bulk_store(state, block.current(), &moved, Location::caller());
        }
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
        let block = here();
        if let Some((session, state)) = block.checks() {
            session.bulk_commit(state, block.current());
        }
    }

    #[track_caller]
    fn bulk_wait_read<const N: u32>() {
        if mutant::is(Change::CopyWait) {
            return;
        }
        let block = here();
        if let Some((session, state)) = block.checks() {
            session.bulk_wait_read(state, block.current(), N);
        }
    }

    #[track_caller]
    fn fence_async_shared() {
        if mutant::is(Change::Fence) {
            return;
        }
        let block = here();
        if let Some((session, state)) = block.checks() {
            session.fence_async(state, block.current());
        }
    }

    #[track_caller]
    unsafe fn copy_async<const BYTES: u32>(to: u32, from: *const u8, there: u32) {
        let block = here();
        block.shared(to, BYTES); // refused here, where the copy is started
        if there > 0 {
            block.count(stats::Instruction::AsyncCopy, BYTES as u8, from as u64);
        }
        let copy = async_copy::Copy { to, from, bytes: BYTES, there };
        if let Some((session, state)) = block.checks() {
            // SAFETY: the caller promises the source.
            let words: Vec<u64> = unsafe { copy.words() }.map(u64::from).collect();
            let judged = (to, from as u64, words.as_slice(), there);
            session.copy_async(state, block.current(), judged, Location::caller());
        }
        block.copies.start(block.current(), copy);
    }

    fn copy_async_commit() {
        let block = here();
        if let Some((session, state)) = block.checks() {
            session.copy_async_commit(state, block.current());
        }
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
                // SAFETY: the caller of `copy_async` promised so many bytes.
                for (i, word) in unsafe { copy.words() }.enumerate() {
                    let (at, from) = (copy.to + 4 * i as u32, copy.from as u64 + 4 * i as u64);
                    if 4 * (i as u32) < copy.there {
                        observe::access(Space::Global, AccessKind::Read, from, word);
                    }
                    // SAFETY: `copy_async` checked the place; its caller promised the alignment.
                    unsafe { memory::store(block.shared(at, 4).cast::<u32>(), word) };
                    observe::access(Space::Shared, AccessKind::Write, at.into(), word);
                    block.after_access(Space::Shared, at.into(), 4, word.into());
                }
            }
        }
        if let Some((session, state)) = block.checks() {
            session.copy_async_wait(state, block.current(), N);
        }
    }

    #[track_caller]
    fn release_registers<const N: u32>() {
        warp::together();
        group_calls();
        here().release_registers(N);
    }

    #[track_caller]
    fn claim_registers<const N: u32>() {
        warp::together();
        group_calls();
        here().claim_registers(N);
    }

    #[track_caller]
    fn wait_for_previous_grid() {
        if mutant::is(Change::LaunchWait) {
            return;
        }
        // Launches follow one another here: the preceding one has ended. A check judges as if it had not.
        let block = here();
        if let Some((session, state)) = block.checks() {
            session.waited(state, block.current());
        }
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
        mma::multiply_add(a, b, c)
    }

    #[track_caller]
    fn mma_f64(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        mma::multiply_add_f64(a, b, c)
    }

    #[track_caller]
    unsafe fn wgmma_add<T: Operand, const SUMS: usize>(a: u32, b: u32, mut sums: [f32; SUMS]) -> [f32; SUMS] {
        // SAFETY: passed on.
        unsafe { wgmma::multiply_add::<T, T, Along, Along, SUMS>(Tiles { a, b }, &mut sums, Made::AtOnce) };
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
            unsafe { wgmma::multiply_add::<T, T, Along, Along, SUMS>(Tiles { a, b }, &mut parts, Made::AtOnce) };
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
            wgmma::multiply_add::<bf16, bf16, Along, Along, SUMS>(tiles(small), &mut parts, Made::AtOnce);
            wgmma::multiply_add::<f32, f32, Along, Along, SUMS>(tiles(large), &mut parts, Made::AtOnce);
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
        unsafe { wgmma::multiply_add::<S, T, Along, Along, SUMS>(Tiles { a, b }, &mut sums, Made::Later) };
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
        unsafe { wgmma::multiply_add::<S, T, Along, Along, SUMS>(Tiles { a, b }, &mut parts, Made::AtOnce) };
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
            let row = warp::from_lane(row, 8 * i as u32 + lane / 4);
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
        // SAFETY: as in `here`.
        let views = unsafe { BLOCK.get().as_ref() }.map_or(&[][..], |block| &block.views);
        let in_shared = Memory { space: Space::Shared, parameter: None, element: None, offset: address, bytes: 1 };
        let is = match space {
            _ if space.starts_with("length") => format!("is {address}"),
            _ if space.starts_with("global") => format!("begins at {}", Memory::in_views(views, address, 1)),
            _ => format!("begins at {in_shared}"),
        };
        panic!("{space} is not aligned to {alignment} bytes: it {is}")
    }
}
