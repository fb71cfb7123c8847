//! The shape of a launch.

/// The number of threads that run a kernel, and their dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks along x, y and z. A grid with a zero is empty: nothing is launched.
    pub grid: [u32; 3],
    /// Threads per block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory per block.
    pub shared_bytes: u32,
    /// Whether the launch may begin while the one before it ends (programmatic dependent launch). The kernel itself
    /// waits for its predecessor, with [`grid::wait_for_previous`](crate::grid::wait_for_previous); a machine that
    /// cannot do this runs launches one at a time.
    pub overlapping: bool,
    /// Whether all blocks run at the same time, because they wait for each other (cooperative launch). A machine that
    /// has no room for them refuses the launch.
    pub together: bool,
}

impl Geometry {
    /// `blocks` blocks of `threads` threads along x.
    pub const fn linear(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0, overlapping: false, together: false }
    }

    /// A grid of `grid` blocks of `block` threads, each along x and y.
    pub const fn plane(grid: (u32, u32), block: (u32, u32)) -> Self {
        Self {
            grid: [grid.0, grid.1, 1],
            block: [block.0, block.1, 1],
            shared_bytes: 0,
            overlapping: false,
            together: false,
        }
    }

    /// The same with `bytes` bytes of dynamic shared memory per block.
    pub const fn shared(self, bytes: u32) -> Self {
        Self { shared_bytes: bytes, ..self }
    }

    /// The same, allowed to overlap with the launch before it.
    pub const fn overlapping(self) -> Self {
        Self { overlapping: true, ..self }
    }

    /// The same, with all blocks at the same time.
    pub const fn together(self) -> Self {
        Self { together: true, ..self }
    }

    /// Whether the grid is empty.
    pub const fn is_empty(&self) -> bool {
        self.grid[0] == 0 || self.grid[1] == 0 || self.grid[2] == 0
    }
}
