//! The two versions of a kernel.

/// With the bug, or without.
pub trait Version: 'static {
    /// Whether the bug is fixed.
    const MENDED: bool;
}

/// The version with the bug.
pub struct Planted;
/// The clean twin.
pub struct Mended;

impl Version for Planted {
    const MENDED: bool = false;
}

impl Version for Mended {
    const MENDED: bool = true;
}
