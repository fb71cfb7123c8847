//! Kernels with one synchronisation changed, without compiling them again: what would a check find if a barrier were
//! missing, or an order too weak?
//!
//! [`mutants`] lists what can be changed in the kernels that run under a check; [`mutated`] runs them with one change.

use crate::machine::{Order, Scope};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::panic::Location;

/// What is changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Change {
    /// A barrier of the block is left out.
    Barrier,
    /// A barrier of some of the block's warps is left out.
    NamedBarrier,
    /// A barrier of the cluster is left out.
    ClusterBarrier,
    /// A barrier of the warp's lanes is left out.
    WarpBarrier,
    /// A fence is left out.
    Fence,
    /// A wait for the phase of an mbarrier returns at once.
    MbarrierWait,
    /// A wait for copies, or for what read them, is left out.
    CopyWait,
    /// The wait for the launch before is left out.
    LaunchWait,
    /// An atomic access is relaxed.
    Order,
    /// An atomic access of both orders releases alone.
    Acquire,
    /// An atomic access of both orders acquires alone.
    Release,
    /// An atomic access, a fence or a wait for an mbarrier of wider scope is one of the block.
    Scope,
    /// The mask of a warp operation lacks its last lane.
    Mask,
    /// The mask of a warp operation names all lanes.
    WideMask,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Barrier => "without the barrier of the block",
            Self::NamedBarrier => "without the named barrier",
            Self::ClusterBarrier => "without the barrier of the cluster",
            Self::WarpBarrier => "without the barrier of the warp",
            Self::Fence => "without the fence",
            Self::MbarrierWait => "without the wait for the mbarrier",
            Self::CopyWait => "without the wait for copies",
            Self::LaunchWait => "without the wait for the launch before",
            Self::Order => "relaxed",
            Self::Acquire => "without its acquire",
            Self::Release => "without its release",
            Self::Scope => "of the block's scope",
            Self::Mask => "without the mask's last lane",
            Self::WideMask => "with the mask of all lanes",
        })
    }
}

/// One change at one place of the source. If a helper that passes its caller's place on has several synchronisations of
/// a kind, all of them are changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mutant {
    /// The source file.
    pub file: &'static str,
    /// The line there.
    pub line: u32,
    /// The column there.
    pub column: u32,
    /// What is changed.
    pub change: Change,
}

impl Mutant {
    fn at(place: &Location<'static>, change: Change) -> Self {
        Self { file: place.file(), line: place.line(), column: place.column(), change }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Off,
    Listing,
    Changing(Mutant),
}

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Off) };
    static LISTED: RefCell<BTreeSet<Mutant>> = const { RefCell::new(BTreeSet::new()) };
}

/// The mutants of the kernels that `work` runs under checks of this thread ([`check`](super::check())), and its result.
pub fn mutants<R>(work: impl FnOnce() -> R) -> (R, Vec<Mutant>) {
    LISTED.take();
    let result = within(Mode::Listing, work);
    (result, LISTED.take().into_iter().collect())
}

/// Runs `work` with this change in the kernels that it runs under checks of this thread.
pub fn mutated<R>(mutant: Mutant, work: impl FnOnce() -> R) -> R {
    within(Mode::Changing(mutant), work)
}

fn within<R>(mode: Mode, work: impl FnOnce() -> R) -> R {
    /// Ends the mode also when `work` panics.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            MODE.set(Mode::Off);
        }
    }
    assert!(MODE.get() == Mode::Off, "this thread runs mutants already");
    MODE.set(mode);
    let _guard = Guard;
    work()
}

/// Whether this thread lists or runs mutants.
#[inline]
pub(super) fn active() -> bool {
    MODE.get() != Mode::Off
}

/// Whether this is the change that the running kernel has at the caller's place.
#[inline]
#[track_caller]
pub(super) fn is(change: Change) -> bool {
    match MODE.get() {
        Mode::Off => false,
        mode => look(mode, Mutant::at(Location::caller(), change)),
    }
}

#[cold]
fn look(mode: Mode, here: Mutant) -> bool {
    if mode == Mode::Listing {
        LISTED.with_borrow_mut(|listed| listed.insert(here));
    }
    mode == Mode::Changing(here)
}

/// The scope of the access, the fence or the wait at the caller's place.
#[inline]
#[track_caller]
pub(super) fn narrowed(scope: Scope) -> Scope {
    if scope != Scope::Block && is(Change::Scope) { Scope::Block } else { scope }
}

/// The order of the atomic access at the caller's place.
#[inline]
#[track_caller]
pub(super) fn weakened(order: Order) -> Order {
    match order {
        Order::Relaxed => order,
        _ if is(Change::Order) => Order::Relaxed,
        Order::AcqRel if is(Change::Acquire) => Order::Release,
        Order::AcqRel if is(Change::Release) => Order::Acquire,
        _ => order,
    }
}

/// The mask of the warp operation at the caller's place.
#[inline]
#[track_caller]
pub(super) fn masked(mask: u32) -> u32 {
    match mask {
        _ if !active() => mask,
        0 => mask,
        _ if is(Change::Mask) => mask & !(1 << mask.ilog2()),
        u32::MAX => mask,
        _ if is(Change::WideMask) => u32::MAX,
        _ => mask,
    }
}
