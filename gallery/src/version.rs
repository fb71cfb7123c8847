//! The two versions of a kernel.

/// With the bug, or without.
pub trait Version: 'static {
    /// Whether the bug is fixed.
    const FIXED: bool;
}

/// The version with the bug.
pub struct Planted;
/// The clean twin.
pub struct Fixed;

impl Version for Planted {
    const FIXED: bool = false;
}

impl Version for Fixed {
    const FIXED: bool = true;
}
