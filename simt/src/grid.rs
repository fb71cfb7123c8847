//! Programmatic dependent launch (PDL): how a launch overlaps with the previous one on the same stream.
//!
//! If the host sets this launch attribute, a grid may start while the previous one still runs. The calls are
//! instructions in PTX for compute capability 9.0 and up (compiled with `--cfg sm_90`); in older PTX and in the
//! simulator they do nothing. So the loaded PTX decides, not the device: on a GPU of 9.0 and up with older PTX a grid
//! that was launched with the attribute would not wait, and could read data that its predecessor has yet to write.
//! `rungs` sets it only for kernels whose PTX has the wait; your own host code must do the same. Without
//! the attribute, grids run one at a time. A kernel that makes these calls is correct either way.

use crate::Backend;
use crate::machine::Machine;

/// Waits until the preceding grid has ended and its writes are visible. All accesses that depend on that grid must
/// follow the call. Every block must make the call before it exits, because the grid after next waits only for this
/// grid.
#[inline(always)]
#[track_caller]
pub fn wait_for_previous() {
    Backend::wait_for_previous_grid()
}

/// Allows the next grid to start as soon as all blocks of this grid have made the call or have exited. It does not make
/// writes visible; the next grid waits for those.
#[inline(always)]
pub fn let_next_start() {
    Backend::let_next_grid_start()
}
