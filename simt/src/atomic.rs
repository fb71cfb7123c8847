//! Orders, scopes and fences. Atomic access itself is a method of the views.

use crate::Backend;
use crate::machine::Machine;

/// How an atomic access orders the thread's other accesses.
///
/// On the GPU these become the PTX qualifiers of the same names; plain and relaxed accesses are not ordered at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Atomic, and nothing more.
    Relaxed,
    /// What follows in program order is not seen before this read.
    Acquire,
    /// What precedes in program order is seen by whoever acquires this write.
    Release,
    /// Both, for read-modify-writes and fences.
    AcqRel,
}

/// Among which threads an order holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The threads of the block (`.cta`).
    Block,
    /// The threads of the device (`.gpu`).
    Device,
    /// All threads, the host's too (`.sys`).
    System,
}

/// A read-modify-write, or one half of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Operation<T> {
    Load,
    Store(T),
    Add(T),
    Min(T),
    Max(T),
    And(T),
    Or(T),
    Xor(T),
    Exchange(T),
    CompareExchange { current: T, new: T },
}

/// Orders the thread's memory accesses before it against those after it, as seen within `scope`.
#[inline(always)]
pub fn fence(order: Order, scope: Scope) {
    Backend::fence(order, scope)
}
