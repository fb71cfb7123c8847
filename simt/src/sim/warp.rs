//! The state of a warp whose lanes meet: each lane leaves its value with the warp and waits until all lanes of its mask
//! have arrived.

use super::mma::Fragments;
use std::cell::{Cell, OnceCell, RefCell};
use std::panic::Location;

/// The contribution of a lane: its value and, for shuffles, the lane to read or the distance.
#[derive(Clone, Copy, Default)]
pub(super) struct Deposit {
    pub(super) value: u32,
    pub(super) argument: u32,
}

/// What all lanes of a warp have left with it.
pub(super) type Deposits = [Deposit; 32];

/// A collective that some lanes have reached and others have not.
struct Meeting {
    mask: u32,
    arrived: u32,
    location: &'static Location<'static>,
    deposits: Deposits,
}

/// The state of one warp.
#[derive(Default)]
pub(super) struct Warp {
    /// Meetings of disjoint groups of lanes; one or none unless the warp has diverged.
    meetings: RefCell<Vec<Meeting>>,
    /// Each lane's result of its last meeting.
    pub(super) results: [Cell<u32>; 32],
    /// Made when the warp first multiplies: they take longer to make than all else of a small block.
    fragments: OnceCell<Box<Fragments>>,
}

impl Warp {
    /// The fragments of its lanes.
    pub(super) fn fragments(&self) -> &Fragments {
        self.fragments.get_or_init(Box::default)
    }

    /// Forgets meetings that a fault interrupted.
    pub(super) fn reset(&self) {
        self.meetings.borrow_mut().clear();
    }

    /// The lanes that the meeting of `lane` still waits for.
    pub(super) fn missing(&self, lane: u32) -> u32 {
        let meetings = self.meetings.borrow();
        meetings.iter().find(|m| m.arrived >> lane & 1 == 1).map_or(0, |m| m.mask & !m.arrived)
    }

    /// Lane `lane` arrives at the meeting of the lanes of `mask` at that place, with its deposit. Returns the deposits
    /// of all lanes if it is the last of them.
    pub(super) fn arrive(
        &self,
        lane: u32,
        mask: u32,
        deposit: Deposit,
        location: &'static Location<'static>,
    ) -> Option<Deposits> {
        let mut meetings = self.meetings.borrow_mut();
        // Lanes meet by mask and place. Others of the mask may still be at an earlier meeting; lanes that wait in
        // another place, or with another mask, never meet, which the scheduler reports when no thread can continue.
        let here = |m: &Meeting| std::ptr::eq(m.location, location) || m.location == location;
        let i = meetings.iter().position(|m| m.mask == mask && here(m)).unwrap_or_else(|| {
            meetings.push(Meeting { mask, arrived: 0, location, deposits: Deposits::default() });
            meetings.len() - 1
        });
        let meeting = &mut meetings[i];
        meeting.deposits[lane as usize] = deposit;
        meeting.arrived |= 1 << lane;
        (meeting.arrived == mask).then(|| meetings.swap_remove(i).deposits)
    }
}
