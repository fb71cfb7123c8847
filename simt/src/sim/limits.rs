//! The limits of compute capability 9.0, which the simulator enforces on launches.

/// Threads per block.
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// Threads per block along x, y and z.
pub const MAX_BLOCK_DIM: [u32; 3] = [1024, 1024, 64];
/// Blocks per grid along x, y and z.
pub const MAX_GRID_DIM: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Blocks of a cluster.
pub const MAX_CLUSTER: u32 = 8;
/// Bytes of static shared memory per block.
pub const MAX_STATIC_SHARED: u32 = 48 << 10;
pub use crate::launcher::MAX_SHARED;
