//! Orders, scopes and fences. Atomic access itself is a method of the views.

use crate::Backend;
use crate::machine::Machine;
pub use crate::machine::{Order, Scope};

/// Orders the thread's memory accesses before it against those after it, as seen within `scope`.
#[inline(always)]
#[track_caller]
pub fn fence(order: Order, scope: Scope) {
    Backend::fence(order, scope)
}

/// A [`fence`] of both orders that is also in one order with all others of its kind whose scopes reach each other: the
/// later of two sees what came before the earlier. Store buffering (each of two threads writes its flag and then reads
/// the other's) needs it; it costs more than [`fence`].
#[inline(always)]
#[track_caller]
pub fn fence_sc(scope: Scope) {
    Backend::fence_sc(scope)
}
