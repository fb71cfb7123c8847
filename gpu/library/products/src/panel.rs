//! An operand, and its copy in tiles: for those who copy, and for the host.

/// An operand, and the form that it is copied to: tiles of `width` rows of A, or columns of B. How many elements along
/// k a tile has, those who copy know. Element i of k is `step`·i + `step_deep`·k elements after the first.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Panel {
    /// Rows of A, or columns of B.
    pub along: u32,
    /// Elements in K.
    pub deep: u32,
    /// Elements from one row of A, or column of B, to the next.
    pub step: u32,
    /// Elements from one k to the next.
    pub step_deep: u32,
    /// Rows or columns of a tile.
    pub width: u32,
    /// Depth in K of the copy, at least `deep`.
    pub depth: u32,
}

impl Panel {
    /// Blocks that copy it, if each has `side` rows or columns, of which `width` is a multiple, and `deep` k each.
    #[simt::device]
    pub(super) const fn blocks(&self, side: u32, deep: u32) -> u32 {
        self.along.next_multiple_of(self.width) / side * self.depth.div_ceil(deep)
    }

    /// Elements of the copy, where each element of the operand is one.
    #[cfg(not(target_os = "cuda"))]
    pub(super) fn elements(&self) -> u64 {
        u64::from(self.along.div_ceil(self.width)) * u64::from(self.width) * u64::from(self.depth)
    }
}
