//! What a sequence of launches asks of an engine, so that it can stand beside its kernels.

use simt::Kernel;

/// The shape of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the grid, one-dimensional; with 0 the launch is left out.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// Whether the kernel calls [`simt::grid::wait_for_previous`], so that the launch may begin while the one before
    /// still runs (programmatic dependent launch). A launcher is free to ignore it.
    pub overlaps: bool,
}

impl Shape {
    /// `blocks` of `threads` that use no dynamic shared memory and do not overlap.
    pub const fn new(blocks: u32, threads: u32) -> Self {
        Self { blocks, threads, shared_bytes: 0, overlaps: false }
    }

    /// The same with so much dynamic shared memory.
    pub const fn shared(self, bytes: u32) -> Self {
        Self { shared_bytes: bytes, ..self }
    }

    /// The same, allowed to overlap with the launch before.
    pub const fn overlapping(self) -> Self {
        Self { overlaps: true, ..self }
    }
}

/// An engine that a sequence of launches runs on: CUDA's stream, the simulator, or something that only counts.
pub trait Launcher {
    /// What a launch can fail with.
    type Error;

    /// Launches `kernel`, after all launches before it; an empty grid does nothing.
    ///
    /// # Errors
    /// If the launch is refused or, where that is known at once, the kernel failed.
    fn launch<K: Kernel>(&mut self, kernel: K, shape: Shape, args: K::Args) -> Result<(), Self::Error>;
}
