//! How a launch overlaps with the one before it on the same stream (programmatic dependent launch).
//!
//! A host that launches with that attribute lets a grid begin while the one before still runs. The calls are
//! instructions in PTX for compute capability 9.0 and up (compiled with `--cfg sm_90`); in older PTX and in the
//! simulator they do nothing. So the loaded PTX decides, not the device: on a GPU of 9.0 and up with older PTX a grid
//! that was launched with the attribute would not wait, and could read data that its predecessor has yet to write.
//! `rungs` sets it only for kernels whose PTX has the wait; a host of one's own has to do the same. Launched without
//! it, grids follow one another, and a kernel that makes these calls is correct either way.

use crate::Backend;
use crate::machine::Machine;

/// Waits until the preceding grid has ended and its writes are visible. All accesses that depend on that grid follow
/// the call. Every block makes the call before it ends, so that the grid after next may rely on the end of this grid
/// alone.
#[inline(always)]
#[track_caller]
pub fn wait_for_previous() {
    Backend::wait_for_previous_grid()
}

/// Allows the next grid to begin as soon as all blocks of this grid have made the call or have ended. It makes no
/// writes visible: for those the next grid waits.
#[inline(always)]
pub fn let_next_start() {
    Backend::let_next_grid_start()
}
