//! Collective operations of lanes: each lane leaves its value with the warp and waits until all lanes of its mask have
//! arrived; the last lane computes all results.

use super::check::Kind;
use super::here;
use super::mma::Fragments;
use super::stats::Instruction;
use crate::machine::{Reduction, Shuffle};
use std::cell::{Cell, RefCell};
use std::panic::Location;

/// The contribution of a lane: its value and, for shuffles, the lane to read or the distance.
#[derive(Clone, Copy, Default)]
pub(super) struct Deposit {
    value: u32,
    argument: u32,
}

/// Computes the result of lane `lane` from the deposits of all lanes of `mask`.
type Combine = fn(lane: u32, mask: u32, deposits: &[Deposit; 32]) -> u32;

/// A collective that some lanes have reached and others have not.
struct Meeting {
    mask: u32,
    arrived: u32,
    location: &'static Location<'static>,
    deposits: [Deposit; 32],
}

/// The state of one warp.
#[derive(Default)]
pub(super) struct Warp {
    /// Meetings of disjoint groups of lanes; one or none unless the warp has diverged.
    meetings: RefCell<Vec<Meeting>>,
    /// Each lane's result of its last meeting.
    results: [Cell<u32>; 32],
    fragments: Fragments,
}

/// Waits for the lanes of `mask`. Of the warp's operations this one alone orders memory: the others exchange registers.
#[track_caller]
pub(super) fn barrier(mask: u32) {
    meet(mask, Deposit::default(), |_, _| {}, true);
}

/// A meeting of all lanes, each of which has left its fragments with the warp; the last computes all products.
#[track_caller]
pub(super) fn multiply(compute: fn(&Fragments)) {
    meet(u32::MAX, Deposit::default(), |warp, _| compute(&warp.fragments), false);
}

/// A meeting of all lanes.
#[track_caller]
pub(super) fn together() {
    meet(u32::MAX, Deposit::default(), |_, _| {}, false);
}

/// Calls `f` with the fragments of the running thread's warp, and its lane.
pub(super) fn with_fragments<R>(f: impl FnOnce(&Fragments, usize) -> R) -> R {
    let (block, thread) = (here(), here().current());
    f(&block.warp(thread).fragments, thread % 32)
}

/// Contributes `value` to the meeting of the lanes of `mask` and returns the caller's result, by `combine`.
#[track_caller]
pub(super) fn collective(mask: u32, value: u32, argument: u32, combine: Combine) -> u32 {
    let lane = here().current() % 32;
    let finish = |warp: &Warp, deposits: &[Deposit; 32]| {
        lanes(mask).for_each(|lane| warp.results[lane].set(combine(lane as u32, mask, deposits)));
    };
    meet(mask, Deposit { value, argument }, finish, false);
    here().warp(here().current()).results[lane].get()
}

/// Waits for the lanes of `mask`. The last to arrive calls `finish` with all deposits before any lane goes on.
#[track_caller]
fn meet(mask: u32, deposit: Deposit, finish: impl FnOnce(&Warp, &[Deposit; 32]), orders: bool) {
    let (block, location) = (here(), Location::caller());
    let thread = block.current();
    let (warp, lane) = (block.warp(thread), thread as u32 % 32);
    if mask >> lane & 1 == 0 {
        block.mistake(Kind::WarpMask);
        panic!("lane {lane} calls with the mask {mask:#010x}, which does not name it");
    }
    block.count(Instruction::Warp, 0, mask.into());
    let complete = {
        let mut meetings = warp.meetings.borrow_mut();
        // Lanes meet by mask and place. Others of the mask may still be at an earlier meeting; lanes that wait in
        // another place, or with another mask, never meet, which the scheduler reports when no thread can continue.
        let i = meetings.iter().position(|m| m.mask == mask && m.location == location).unwrap_or_else(|| {
            meetings.push(Meeting { mask, arrived: 0, location, deposits: [Deposit::default(); 32] });
            meetings.len() - 1
        });
        let meeting = &mut meetings[i];
        meeting.deposits[lane as usize] = deposit;
        meeting.arrived |= 1 << lane;
        (meeting.arrived == mask).then(|| meetings.swap_remove(i))
    };
    match complete {
        None => block.wait_for_warp(location),
        Some(meeting) => {
            block.count_meeting(mask);
            finish(warp, &meeting.deposits);
            if orders && let Some((session, state)) = block.checks() {
                session.warp_barrier(state, thread, mask);
            }
            block.release_warp(thread, mask);
        }
    }
}

impl Warp {
    /// Forgets meetings that a fault interrupted.
    pub(super) fn reset(&self) {
        self.meetings.borrow_mut().clear();
    }

    /// The lanes that the meeting of `lane` still waits for.
    pub(super) fn missing(&self, lane: u32) -> u32 {
        let meetings = self.meetings.borrow();
        meetings.iter().find(|m| m.arrived >> lane & 1 == 1).map_or(0, |m| m.mask & !m.arrived)
    }
}

pub(super) fn ballot(_: u32, mask: u32, deposits: &[Deposit; 32]) -> u32 {
    lanes(mask).filter(|&lane| deposits[lane].value != 0).fold(0, |bits, lane| bits | 1 << lane)
}

pub(super) fn match_any(lane: u32, mask: u32, deposits: &[Deposit; 32]) -> u32 {
    let value = deposits[lane as usize].value;
    lanes(mask).filter(|&other| deposits[other].value == value).fold(0, |bits, lane| bits | 1 << lane)
}

#[track_caller]
pub(super) fn shuffle(kind: Shuffle, mask: u32, value: u32, argument: u32) -> u32 {
    /// The value of lane `source`, or the lane's own where that is outside the warp. A lane outside the mask gives an
    /// unspecified value on the GPU; here it is refused.
    fn read(lane: u32, source: Option<u32>, mask: u32, deposits: &[Deposit; 32]) -> u32 {
        let source = source.filter(|&s| s < 32).unwrap_or(lane);
        if mask >> source & 1 == 1 { deposits[source as usize].value } else { UNSPECIFIED }
    }
    if let Some((session, state)) = here().checks() {
        let lane = here().current() as u32 % 32;
        let source = match kind {
            Shuffle::Up => lane.checked_sub(argument),
            Shuffle::Down => lane.checked_add(argument),
            Shuffle::Xor => Some(lane ^ argument),
            Shuffle::Index => Some(argument % 32),
        };
        if let Some(source) = source.filter(|&s| s < 32 && mask >> s & 1 == 0) {
            session.shuffled_outside(state, here().current(), source, mask, Location::caller());
        }
    }
    collective(
        mask,
        value,
        argument,
        match kind {
            Shuffle::Up => |l, m, d| read(l, l.checked_sub(d[l as usize].argument), m, d),
            Shuffle::Down => |l, m, d| read(l, l.checked_add(d[l as usize].argument), m, d),
            Shuffle::Xor => |l, m, d| read(l, Some(l ^ d[l as usize].argument), m, d),
            Shuffle::Index => |l, m, d| read(l, Some(d[l as usize].argument % 32), m, d),
        },
    )
}

/// The value that lane `source` contributes, of all lanes of the warp.
#[track_caller]
pub(super) fn from_lane(value: u32, source: u32) -> u32 {
    collective(u32::MAX, value, source, |lane, _, deposits| deposits[deposits[lane as usize].argument as usize].value)
}

/// The result of a shuffle that reads a lane outside its mask, unlike any data.
const UNSPECIFIED: u32 = 0xBAD0_1A4E;

#[track_caller]
pub(super) fn reduce(reduction: Reduction, mask: u32, value: u32) -> u32 {
    fn over(mask: u32, d: &[Deposit; 32], f: impl Fn(u32, u32) -> u32) -> u32 {
        lanes(mask).map(|lane| d[lane].value).reduce(f).unwrap_or(0)
    }
    collective(
        mask,
        value,
        0,
        match reduction {
            Reduction::Add => |_, m, d| over(m, d, u32::wrapping_add),
            Reduction::MinUnsigned => |_, m, d| over(m, d, u32::min),
            Reduction::MaxUnsigned => |_, m, d| over(m, d, u32::max),
            Reduction::MinSigned => |_, m, d| over(m, d, |a, b| (a as i32).min(b as i32) as u32),
            Reduction::MaxSigned => |_, m, d| over(m, d, |a, b| (a as i32).max(b as i32) as u32),
            Reduction::And => |_, m, d| over(m, d, |a, b| a & b),
            Reduction::Or => |_, m, d| over(m, d, |a, b| a | b),
            Reduction::Xor => |_, m, d| over(m, d, |a, b| a ^ b),
        },
    )
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}
