//! What a thread of a test may do by itself: a trace for each choice of the values that its reads might give.

use crate::test::{Change, How, Operand, Step, Test};
use simt::atomic::{Order, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// How often a thread jumps back, at most: a wait then has looked in vain so often. More looks show no other outcomes,
/// for each of them could be left out.
pub(crate) const ROUNDS: u32 = 1;

/// Values of a location, at most.
const VALUES: usize = 24;

/// Traces of a thread, at most.
const TRACES: usize = 100_000;

/// One event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    pub(crate) action: Action,
    /// The location and the value of an access.
    pub(crate) at: usize,
    pub(crate) value: u32,
    pub(crate) how: How,
    /// The reads of its thread, by their numbers in the trace, that decide whether it happens and with which value.
    pub(crate) depends: u64,
    /// The read of the same read-modify-write.
    pub(crate) completes: Option<usize>,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Read,
    Write,
    Fence { sc: bool },
    Arrive(Barrier),
    Leave(Barrier),
}

/// A barrier: that of the block or of the warp, and the how manieth pass of a thread there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Barrier {
    pub(crate) of_warp: bool,
    pub(crate) pass: u32,
}

/// What a thread does, if its reads give certain values.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) events: Vec<Event>,
    pub(crate) registers: Vec<u32>,
    /// Whether the thread came to its end, and not only round a loop too often.
    ends: bool,
}

/// The traces of each thread, with all values that a location might have.
pub(crate) fn traces(test: &Test) -> Result<Vec<Vec<Trace>>, String> {
    check_barriers(test)?;
    let mut values: Vec<BTreeSet<u32>> = test.locations.iter().map(|location| [location.first].into()).collect();
    // A value that a chain of writes makes takes no more of them than there are; each adds one value at least.
    let writes =
        test.threads.iter().flat_map(|t| &t.code).filter(|s| matches!(s, Step::Store { .. } | Step::Update { .. }));
    for _ in 0..=writes.count() {
        let mut more = values.clone();
        for event in each_thread(test, &values)?.iter().flatten().flat_map(|trace| &trace.events) {
            if event.action == Action::Write {
                more[event.at].insert(event.value);
            }
        }
        if more.iter().any(|values| values.len() > VALUES) {
            return Err(format!("a location might have more than {VALUES} values"));
        }
        if more == values {
            break;
        }
        values = more;
    }
    let mut all = each_thread(test, &values)?;
    all.iter_mut().for_each(|traces| traces.retain(|trace| trace.ends));
    Ok(all)
}

fn each_thread(test: &Test, values: &[BTreeSet<u32>]) -> Result<Vec<Vec<Trace>>, String> {
    (0..test.threads.len())
        .map(|thread| {
            let mut all = Vec::new();
            let first = test.threads[thread].first.iter().map(|&value| (value, 0)).collect();
            let at = State { next: 0, rounds: 0, control: 0, registers: first, events: Vec::new(), passes: [0; 2] };
            run(&test.threads[thread].code, at, values, &mut all)?;
            Ok(all)
        })
        .collect()
}

/// Whether all threads of a block pass the same barriers of it, and none in a loop or a branch; warps likewise.
pub(crate) fn check_barriers(test: &Test) -> Result<(), String> {
    let is_barrier = |step: &Step| matches!(step, Step::BlockBarrier(_) | Step::WarpBarrier);
    let mut of_units = BTreeMap::new();
    for thread in &test.threads {
        for (i, step) in thread.code.iter().enumerate() {
            let Step::Jump { target, .. } = *step else { continue };
            if thread.code[i.min(target)..i.max(target)].iter().any(is_barrier) {
                return Err("a barrier in a loop or a branch".into());
            }
        }
        // A block's threads pass the same barriers of the block; a warp's also those of the warp, in one order.
        let barriers = |of_warp: bool| -> Vec<Step> {
            let passes = |step: &&Step| is_barrier(step) && (of_warp || **step != Step::WarpBarrier);
            thread.code.iter().filter(passes).copied().collect()
        };
        for warp in [None, Some(thread.warp)] {
            let passed = barriers(warp.is_some());
            if *of_units.entry((thread.gpu, thread.block, warp)).or_insert_with(|| passed.clone()) != passed {
                return Err("threads of one block, or of one warp, that pass different barriers".into());
            }
        }
    }
    Ok(())
}

/// A thread on its way.
#[derive(Clone)]
struct State {
    next: usize,
    rounds: u32,
    /// The reads that decided on branches.
    control: u64,
    /// Values, and the reads that they depend on.
    registers: Vec<(u32, u64)>,
    events: Vec<Event>,
    passes: [u32; 2],
}

impl State {
    fn operand(&self, operand: Operand) -> (u32, u64) {
        match operand {
            Operand::Number(number) => (number, 0),
            Operand::Register(register) => self.registers[register as usize],
        }
    }

    fn event(&mut self, action: Action, at: usize, (value, depends): (u32, u64), how: How) -> usize {
        let depends = depends | self.control;
        self.events.push(Event { action, at, value, how, depends, completes: None });
        self.events.len() - 1
    }

    /// A read of that value, whose bit is returned.
    fn read(&mut self, at: usize, value: u32, how: How) -> (usize, u64) {
        let read = self.event(Action::Read, at, (value, 0), how);
        (read, 1 << read)
    }
}

fn run(code: &[Step], mut state: State, values: &[BTreeSet<u32>], all: &mut Vec<Trace>) -> Result<(), String> {
    while let Some(step) = code.get(state.next) {
        if state.events.len() + 2 > 64 {
            return Err("a thread with more than 64 events".into());
        }
        state.next += 1;
        match *step {
            Step::Load { to, at, how } => {
                for &value in &values[at] {
                    let mut state = state.clone();
                    let (_, bit) = state.read(at, value, how);
                    state.registers[to] = (value, bit);
                    run(code, state, values, all)?;
                }
                return Ok(());
            }
            Step::Update { to, at, change, value, how } => {
                for &old in &values[at] {
                    let mut state = state.clone();
                    let (read, bit) = state.read(at, old, how);
                    let (value, mut depends) = state.operand(value);
                    let other = match change {
                        Change::CompareExchange(other) => state.operand(other),
                        _ => (0, 0),
                    };
                    depends |= other.1;
                    if let Some(new) = change.of(old, value, other.0) {
                        // An exchange writes what it is given, whatever was there.
                        let of_old = if change == Change::Exchange { 0 } else { bit };
                        let write = state.event(Action::Write, at, (new, depends | of_old), how);
                        state.events[write].completes = Some(read);
                    }
                    if let Some(to) = to {
                        state.registers[to] = (old, bit);
                    }
                    run(code, state, values, all)?;
                }
                return Ok(());
            }
            Step::Store { at, value, how } => {
                let value = state.operand(value);
                state.event(Action::Write, at, value, how);
            }
            Step::Fence { sc, scope } => {
                let how = How { order: Some(Order::AcqRel), scope };
                state.event(Action::Fence { sc }, 0, (0, 0), how);
            }
            Step::BlockBarrier(_) | Step::WarpBarrier => {
                let of_warp = *step == Step::WarpBarrier;
                let barrier = Barrier { of_warp, pass: state.passes[usize::from(of_warp)] };
                state.passes[usize::from(of_warp)] += 1;
                let how = How { order: None, scope: Scope::Block };
                state.event(Action::Arrive(barrier), 0, (0, 0), how);
                state.event(Action::Leave(barrier), 0, (0, 0), how);
            }
            Step::Sum { to, of: [a, b] } => {
                let ((a, of_a), (b, of_b)) = (state.operand(a), state.operand(b));
                state.registers[to] = (a.wrapping_add(b), of_a | of_b);
            }
            Step::Jump { of: [a, b], equal, target } => {
                let ((a, of_a), (b, of_b)) = (state.operand(a), state.operand(b));
                state.control |= of_a | of_b;
                if (a == b) == equal {
                    if target < state.next {
                        state.rounds += 1;
                    }
                    if state.rounds > ROUNDS {
                        return keep(state, false, all);
                    }
                    state.next = target;
                }
            }
        }
    }
    keep(state, true, all)
}

fn keep(state: State, ends: bool, all: &mut Vec<Trace>) -> Result<(), String> {
    let registers = state.registers.iter().map(|&(value, _)| value).collect();
    all.push(Trace { events: state.events, registers, ends });
    if all.len() > TRACES { Err(format!("a thread with more than {TRACES} traces")) } else { Ok(()) }
}
