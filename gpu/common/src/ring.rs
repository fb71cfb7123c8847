//! # A ring of stages
//!
//! Some warps of a block fill stages in shared memory, and others work on what is there. Each role walks around the
//! ring by itself; barriers per stage tell a role when it may use the stage.

/// Where in the ring a role is: the stage, and the parity of its barriers' phase.
#[derive(Clone, Copy)]
pub struct Place {
    /// The stage, from 0.
    pub stage: u32,
    /// The parity of the phase that its barriers are in.
    pub parity: u32,
}

impl Place {
    /// The first stage, in the first round.
    pub const FIRST: Self = Self { stage: 0, parity: 0 };

    /// The place behind this one in a ring of `stages`. The barriers of a stage enter their next phase once per round.
    #[simt::device]
    pub fn next(self, stages: u32) -> Self {
        let wraps = self.stage == stages - 1;
        Self { stage: if wraps { 0 } else { self.stage + 1 }, parity: self.parity ^ wraps as u32 }
    }
}
