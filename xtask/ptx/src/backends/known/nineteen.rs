//! The differences of LLVM 19.

use super::{Known, Why};

pub(super) const KNOWN: &[Known] = &[];
pub(super) const ROUNDS: &[(&str, [u32; 2])] = &[];
pub(super) const SPILLS: &[(&str, u32)] = &[];
