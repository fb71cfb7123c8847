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
