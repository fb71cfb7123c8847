//! Collective operations of lanes: each lane leaves its value with the warp and waits until all lanes of its mask have
//! arrived; the last lane computes all results.

use super::block::{Block, here};
use super::finding::Kind;
use super::mma::{Fragments, Held};
use super::mutant::{self, Change};
use super::stats::Instruction;
use super::threads::State;
use super::warp::{Deposit, Deposits, Warp};
use crate::machine::{Reduction, Shuffle};
use std::panic::Location;

/// Computes the result of lane `lane` from the deposits of all lanes of `mask`.
type Combine = fn(lane: u32, mask: u32, deposits: &Deposits) -> u32;

/// What is left to do for a lane that has arrived at a meeting.
#[must_use = "a lane that goes on at once is ahead of the others"]
pub(super) struct Arrival {
    block: &'static Block,
    /// Whether it is not the last.
    waits: bool,
}

impl Arrival {
    /// Waits for the other lanes.
    ///
    /// Inlined into the kernel, as [`Block::sync`] is, and so is each function between this one and the kernel: one
    /// that returns after the switch of stacks costs a wrong prediction.
    #[inline(always)]
    pub(super) fn wait(self) {
        if self.waits {
            self.block.threads.suspend(State::InWarp);
        }
    }

    /// Waits for the other lanes, and returns what the last of them has computed for this one.
    #[inline(always)]
    pub(super) fn result(self) -> u32 {
        let block = self.block;
        self.wait();
        block.result()
    }
}

/// The barrier of the lanes of `mask`. Of the warp's operations this one alone orders memory: the others exchange
/// registers.
#[inline(never)]
#[track_caller]
pub(super) fn barrier(mask: u32) -> Arrival {
    if mutant::is(Change::WarpBarrier) {
        return Arrival { block: here(), waits: false };
    }
    arrive(mutant::masked(mask), Deposit::default(), |_, _| {}, true)
}

/// A meeting of all lanes, each of which has left its fragments with the warp; the last computes all products.
#[track_caller]
pub(super) fn multiply(compute: impl FnOnce(&Fragments)) {
    arrive(u32::MAX, Deposit::default(), |warp, _| compute(warp.fragments()), false).wait();
}

/// A meeting of all lanes.
#[track_caller]
pub(super) fn together() {
    arrive(u32::MAX, Deposit::default(), |_, _| {}, false).wait();
}

/// Calls `f` with the fragments of the running thread's warp, and its lane.
pub(super) fn with_fragments<R>(f: impl FnOnce(&Fragments, usize) -> R) -> R {
    let (block, thread) = (here(), here().current());
    f(block.warp(thread).fragments(), thread % 32)
}

/// The product of small matrices: one call by all lanes.
#[track_caller]
pub(super) fn multiply_add(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    with_fragments(|fragments, lane| fragments.operands[lane].set((a, b, c)));
    // No lane is at its next call before all have taken the products of this one: all of them have to come.
    multiply(Fragments::multiply);
    with_fragments(|fragments, lane| fragments.products[lane].get())
}

/// One call by all lanes, in `f64`.
#[track_caller]
pub(super) fn multiply_add_f64(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
    with_fragments(|fragments, lane| fragments.operands64[lane].set((a, b, c)));
    multiply(Fragments::multiply_f64);
    with_fragments(|fragments, lane| fragments.products64[lane].get())
}

/// The lanes meet, each with its fragments; the last calls `compute`. A lane that is at its next call already brings
/// the next.
#[track_caller]
pub(super) fn hold(fragments: Held, compute: impl FnOnce(&Fragments)) {
    with_fragments(|all, lane| all.brought[lane].set(fragments));
    multiply(compute);
}

/// Contributes `value` to the meeting of the lanes of `mask`, each of which gets a result by `combine`.
#[track_caller]
fn exchange(mask: u32, value: u32, argument: u32, combine: Combine) -> Arrival {
    let finish = |warp: &Warp, deposits: &Deposits| {
        lanes(mask).for_each(|lane| warp.results[lane].set(combine(lane as u32, mask, deposits)));
    };
    arrive(mask, Deposit { value, argument }, finish, false)
}

/// The same, where all lanes get one result.
#[track_caller]
fn agree(mask: u32, value: u32, combine: impl FnOnce(&Deposits) -> u32) -> Arrival {
    let finish = |warp: &Warp, deposits: &Deposits| {
        let result = combine(deposits);
        lanes(mask).for_each(|lane| warp.results[lane].set(result));
    };
    arrive(mask, Deposit { value, argument: 0 }, finish, false)
}

/// The running thread arrives where the lanes of `mask` meet. The last to arrive calls `finish` with all deposits
/// before any lane goes on.
#[track_caller]
fn arrive(mask: u32, deposit: Deposit, finish: impl FnOnce(&Warp, &Deposits), orders: bool) -> Arrival {
    let (block, location) = (here(), Location::caller());
    let thread = block.current();
    let (warp, lane) = (block.warp(thread), thread as u32 % 32);
    if mask >> lane & 1 == 0 {
        block.mistake(Kind::WarpMask);
        panic!("lane {lane} calls with the mask {mask:#010x}, which does not name it");
    }
    block.count(Instruction::Warp, 0, mask.into());
    let deposits = warp.arrive(lane, mask, deposit, location);
    match &deposits {
        None => block.threads.wait_at(location),
        Some(deposits) => {
            block.count_meeting(mask);
            finish(warp, deposits);
            if orders {
                block.judge(|session, state, thread| session.warp_barrier(state, thread, mask));
            }
            block.release_warp(mask);
        }
    }
    Arrival { block, waits: deposits.is_none() }
}

/// Notes that the running thread's warp makes a call of its warpgroup.
#[track_caller]
pub(super) fn group_calls() {
    let (block, place) = (here(), Location::caller());
    if block.current().is_multiple_of(32) {
        block.judge(|session, state, thread| session.group_calls(state, thread, place));
    }
}

#[inline(never)]
#[track_caller]
pub(super) fn ballot(mask: u32, predicate: bool) -> Arrival {
    let mask = mutant::masked(mask);
    agree(mask, predicate.into(), |deposits| {
        lanes(mask).filter(|&lane| deposits[lane].value != 0).fold(0, |bits, lane| bits | 1 << lane)
    })
}

#[inline(never)]
#[track_caller]
pub(super) fn match_any(mask: u32, value: u32) -> Arrival {
    let mask = mutant::masked(mask);
    exchange(mask, value, 0, |lane, mask, deposits| {
        let value = deposits[lane as usize].value;
        lanes(mask).filter(|&other| deposits[other].value == value).fold(0, |bits, lane| bits | 1 << lane)
    })
}

#[inline(never)]
#[track_caller]
pub(super) fn shuffle(kind: Shuffle, mask: u32, value: u32, argument: u32) -> Arrival {
    /// The value of lane `source`, or the lane's own where that is outside the warp. A lane outside the mask gives an
    /// unspecified value on the GPU; here it is refused.
    fn read(lane: u32, source: Option<u32>, mask: u32, deposits: &Deposits) -> u32 {
        let source = source.filter(|&s| s < 32).unwrap_or(lane);
        if mask >> source & 1 == 1 { deposits[source as usize].value } else { UNSPECIFIED }
    }
    let (mask, lane, place) = (mutant::masked(mask), here().current() as u32 % 32, Location::caller());
    let source = match kind {
        Shuffle::Up => lane.checked_sub(argument),
        Shuffle::Down => lane.checked_add(argument),
        Shuffle::Xor => Some(lane ^ argument),
        Shuffle::Index => Some(argument % 32),
    };
    if let Some(source) = source.filter(|&s| s < 32 && mask >> s & 1 == 0) {
        here().judge(|session, state, thread| session.shuffled_outside(state, thread, source, mask, place));
    }
    exchange(
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
    let of_source: Combine = |lane, _, deposits| deposits[deposits[lane as usize].argument as usize].value;
    exchange(u32::MAX, value, source, of_source).result()
}

/// The result of a shuffle that reads a lane outside its mask, unlike any data.
const UNSPECIFIED: u32 = 0xBAD0_1A4E;

#[inline(never)]
#[track_caller]
pub(super) fn reduce(reduction: Reduction, mask: u32, value: u32) -> Arrival {
    let mask = mutant::masked(mask);
    let of = |f: fn(u32, u32) -> u32| {
        move |deposits: &Deposits| lanes(mask).map(|lane| deposits[lane].value).reduce(f).unwrap_or(0)
    };
    agree(
        mask,
        value,
        of(match reduction {
            Reduction::Add => u32::wrapping_add,
            Reduction::MinUnsigned => u32::min,
            Reduction::MaxUnsigned => u32::max,
            Reduction::MinSigned => |a, b| (a as i32).min(b as i32) as u32,
            Reduction::MaxSigned => |a, b| (a as i32).max(b as i32) as u32,
            Reduction::And => |a, b| a & b,
            Reduction::Or => |a, b| a | b,
            Reduction::Xor => |a, b| a ^ b,
        }),
    )
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}
