//! Accesses of memory that are examined: told to those who watch the block, and to the search for spins.

use super::block::here;
use super::check::{BlockState, Half, Session, Touch, Use};
use super::observe::{AccessKind, Space};
use super::{memory, mutant, stats, watchdog};
use crate::machine::{Cache, Operation, Order, Scope};
use crate::scalar::{AtomicScalar, Scalar, from_bits, to_bits};
use std::panic::Location;

/// An access that is examined: refused outside of a kernel, reported to the observer, checked for spins and, under a
/// check, for races. `p` is the word, known to observers as `address`; `access` makes the access.
///
/// # Safety
/// `p` is valid for reads of a `T` and aligned for it.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) unsafe fn look<T: Scalar, R, const GLOBAL: bool, const WRITES: bool>(
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
    let (before, site) = (block.judge(|_, _, _| [to_bits(word())]), Location::caller());
    let result = access();
    let value = word();
    block.watchers.access(block.current(), space, kind, address, value);
    if let Some(before) = before {
        let (bytes, after) = (size_of::<T>() as u32, [to_bits(value)]);
        let touch = Touch { space, kind, address, bytes, before: &before, after: &after, site };
        block.judge(|session, state, thread| session.plain(state, thread, &touch, Use::of(kind)));
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
pub(super) unsafe fn look_at_pack<R>(
    space: Space,
    kind: AccessKind,
    cache: Cache,
    (address, p): (u64, *const u8),
    access: impl FnOnce() -> R,
) -> R {
    if let Some(instruction) = stats::plain(space, kind) {
        here().count(instruction, 16, address);
    }
    let block = here();
    block.before_access();
    // SAFETY: passed on.
    let result = unsafe {
        watch_pack(space, kind, address, p, access, |session, state, thread, touch| {
            session.plain(state, thread, touch, Use::of(kind));
            if cache == Cache::ReadOnly {
                session.read_only(state, thread, touch);
            }
        })
    };
    // SAFETY: passed on.
    for (i, word) in unsafe { memory::load_pack(p) }.into_iter().enumerate() {
        block.after_access(space, address + 4 * i as u64, 4, word.into());
    }
    result
}

/// [`look_at_pack`] for an access that is no instruction of the thread's own: it is not counted, no spin is searched
/// for in it, and a check judges it by `judge`.
///
/// # Safety
/// As for [`look_at_pack`].
#[track_caller]
pub(super) unsafe fn watch_pack<R>(
    space: Space,
    kind: AccessKind,
    address: u64,
    p: *const u8,
    access: impl FnOnce() -> R,
    judge: impl FnOnce(&mut Session, &mut BlockState, usize, &Touch),
) -> R {
    let block = here();
    block.interrupt();
    // SAFETY: passed on.
    let words = || unsafe { memory::load_pack(p) };
    let (before, site) = (block.judge(|_, _, _| words().map(u64::from)), Location::caller());
    let result = access();
    let after = words();
    block.watchers.pack(block.current(), space, kind, address, after);
    if let Some(before) = before {
        let after = after.map(u64::from);
        let touch = Touch { space, kind, address, bytes: 16, before: &before, after: &after, site };
        block.judge(|session, state, thread| judge(session, state, thread, &touch));
    }
    result
}

/// An atomic operation on the word at `p`, known to observers as `address`.
///
/// # Safety
/// `p` is valid for reads and writes of a `T` and aligned for it.
#[track_caller]
pub(super) unsafe fn atomic<T: AtomicScalar>(
    op: Operation<T>,
    p: *mut T,
    space: Space,
    address: u64,
    order: Order,
    scope: Scope,
) -> T {
    if op == Operation::Load {
        // A thread that loads atomically may be waiting for another thread's store: the others run.
        here().spin();
    }
    if watchdog::looks() {
        let (order, scope) = (mutant::weakened(order), mutant::narrowed(scope));
        here().count(stats::atomic(space, &op), size_of::<T>() as u8, address);
        // SAFETY: passed on.
        unsafe { look_at_atomic(op, p, space, address, order, scope) }
    } else {
        // SAFETY: passed on.
        unsafe { memory::atomic(op, p, space) }
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
    let (before, mut result) = unsafe { (memory::load(p), memory::atomic(op, p, space)) };
    let before_is = |value: T| to_bits(before) == to_bits(value);
    // SAFETY: passed on.
    let after = unsafe { memory::load(p) };
    block.watchers.access(block.current(), space, AccessKind::Atomic, address, after);
    let site = Location::caller();
    let older = block.judge(|session, state, thread| {
        let half = match op {
            Operation::Load => Half::Load,
            Operation::Store(_) => Half::Store,
            Operation::CompareExchange { current, .. } if !before_is(current) => Half::Newest,
            _ => Half::Both,
        };
        let (bytes, kind) = (size_of::<T>() as u32, AccessKind::Atomic);
        let (before, after) = ([to_bits(before)], [to_bits(after)]);
        let touch = Touch { space, kind, address, bytes, before: &before, after: &after, site };
        session.atomic(state, thread, &touch, half, (order, scope))
    });
    let checked = older.is_some();
    if let Some(older) = older.flatten() {
        result = from_bits(older);
    }
    let seen = to_bits(if op == Operation::Load { result } else { after });
    block.after_access(space, address, size_of::<T>() as u32, seen);
    if checked && matches!(op, Operation::CompareExchange { .. }) && before_is(after) {
        // The exchange failed: the thread may be waiting for another's store.
        block.spin();
    }
    result
}
