//! Tests as the kernel's program, and their runs.

use crate::test::{Change, How, Operand, Outcome, Step, Test, Thread, Variable};
use crate::traces::check_barriers;
use rungs_gallery::{Machine, Simulated};
use rungs_litmus_kernel::code::{Operation, Word};
use rungs_litmus_kernel::{BLOCK, LOCATIONS, REGISTERS, STRIDE, Shape, litmus_run};
use simt::launcher::{Failed, Launcher, Memory};
use simt::sim::{Check, Finding, check};
use simt::{Geometry, Global};
use std::collections::BTreeMap;

/// Lanes of a warp.
const WARP: u32 = 32;

/// A test as the kernel runs it.
struct Program<'a> {
    test: &'a Test,
    blocks: u32,
    /// Threads per block.
    threads: u32,
    steps: u32,
    /// The instructions of each thread of an instance, four words each.
    words: Vec<u32>,
    /// The place of each thread of the test among them.
    slots: Vec<u32>,
}

impl<'a> Program<'a> {
    fn new(test: &'a Test) -> Result<Self, String> {
        check_barriers(test)?;
        if test.threads.iter().any(|thread| thread.gpu != 0) {
            return Err("the test is for more than one GPU".into());
        }
        refuse_shared(test)?;
        let mut blocks: Vec<u32> = test.threads.iter().map(|thread| thread.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let threads = WARP * (1 + test.threads.iter().map(|thread| thread.warp).max().unwrap_or(0));
        if threads > BLOCK {
            return Err(format!("a block has at most {BLOCK} threads"));
        }
        let steps = 1 + test.threads.iter().map(|thread| whole(test, thread).len() as u32).max().unwrap_or(0);
        let mut lanes = BTreeMap::<(u32, u32), u32>::new();
        let mut slots = Vec::new();
        let mut lists: Vec<Vec<Word>> = vec![Vec::new(); (blocks.len() as u32 * threads) as usize];
        for thread in &test.threads {
            let block = blocks.iter().position(|&block| block == thread.block).unwrap_or(0) as u32;
            let lane = lanes.entry((block, thread.warp)).or_default();
            if *lane == WARP {
                return Err(format!("a warp has {WARP} lanes"));
            }
            let (first, warp) = ((block * threads) as usize, (block * threads + thread.warp * WARP) as usize);
            slots.push(warp as u32 + *lane);
            *lane += 1;
            // Who is no thread of the test passes the barriers of its warp and of its block.
            let is_barrier = |of_warp: bool| {
                let all = thread.code.iter().filter(move |step| match step {
                    Step::BlockBarrier(_) => true,
                    step => of_warp && **step == Step::WarpBarrier,
                });
                all.map(|&step| word(test, step)).collect::<Vec<_>>()
            };
            for (at, list) in lists[first..first + threads as usize].iter_mut().enumerate() {
                if (first + at) / WARP as usize == warp / WARP as usize {
                    *list = is_barrier(true);
                } else if list.is_empty() {
                    *list = is_barrier(false);
                }
            }
        }
        for (thread, &slot) in test.threads.iter().zip(&slots) {
            lists[slot as usize] = whole(test, thread);
        }
        let mut words = Vec::new();
        for mut list in lists {
            list.resize(steps as usize, Word::new(Operation::End));
            words.extend(list.into_iter().flat_map(Word::pack));
        }
        let blocks = blocks.len() as u32;
        Ok(Self { test, blocks, threads, steps, words, slots })
    }

    /// The outcomes of this many instances in one launch; threads of one instance `meet` before they begin, or do not.
    fn run(&self, on: &dyn Machine, instances: u32, meet: bool) -> Result<Vec<Outcome>, Failed> {
        let lines = LOCATIONS + 1;
        let mut first = vec![0; (lines * STRIDE) as usize];
        for (i, location) in self.test.locations.iter().enumerate() {
            first[i * STRIDE as usize..][..2].fill(location.first);
        }
        let registers = self.blocks * self.threads * REGISTERS;
        let program = on.upload(&self.words)?;
        let memory = on.upload(&first.repeat(instances as usize))?;
        let output = on.upload(&vec![0; (instances * registers) as usize])?;
        let view = |of: &dyn Memory, words: u32| {
            // SAFETY: this many words were uploaded, and they live until the launch has ended.
            unsafe { Global::<u32>::from_raw(of.address().cast(), words) }
        };
        let shape =
            Shape { blocks: self.blocks, steps: self.steps, meet: if meet { self.slots.len() as u32 } else { 0 } };
        let views = (
            view(&*program, self.words.len() as u32),
            view(&*memory, instances * lines * STRIDE),
            view(&*output, instances * registers),
            shape,
        );
        // All blocks at once: threads wait for each other.
        let geometry = Geometry::linear(instances * self.blocks, self.threads).together();
        let launcher: &dyn Launcher = on;
        launcher.launch(litmus_run, geometry, views)?;
        let mut left = vec![0; (instances * lines * STRIDE) as usize];
        let mut kept = vec![0; (instances * registers) as usize];
        for (memory, words) in [(&memory, &mut left), (&output, &mut kept)] {
            // SAFETY: the words were uploaded, and live.
            unsafe { on.download(memory.address(), words) }?;
        }
        let outcome = |(memory, registers): (&[u32], &[u32])| {
            let value = |variable| match variable {
                Variable::Register(thread, register) => {
                    registers[self.slots[thread] as usize * REGISTERS as usize + register]
                }
                Variable::Location(at) => memory[at * STRIDE as usize],
            };
            self.test.observed().into_iter().map(value).collect()
        };
        Ok(left.chunks((lines * STRIDE) as usize).zip(kept.chunks(registers as usize)).map(outcome).collect())
    }
}

/// Shared memory is one block's, and nobody reads it behind the test.
fn refuse_shared(test: &Test) -> Result<(), String> {
    for (at, location) in test.locations.iter().enumerate().filter(|(_, location)| location.shared) {
        let uses = |step: &Step| match *step {
            Step::Load { at: a, .. } | Step::Store { at: a, .. } | Step::Update { at: a, .. } => a == at,
            _ => false,
        };
        let mut blocks: Vec<u32> =
            test.threads.iter().filter(|thread| thread.code.iter().any(uses)).map(|thread| thread.block).collect();
        blocks.dedup();
        if blocks.len() > 1 {
            return Err(format!("{}: threads of several blocks use shared memory", location.name));
        }
        if test.observed().contains(&Variable::Location(at)) {
            return Err(format!("{}: a condition is on registers and on global memory", location.name));
        }
    }
    Ok(())
}

/// A thread's instructions, behind those that set its registers.
fn whole(test: &Test, thread: &Thread) -> Vec<Word> {
    let set = thread.first.iter().enumerate().filter(|&(_, &value)| value != 0);
    let set = set.map(|(to, &value)| Step::Sum { to, of: [value, 0].map(Operand::Number) }).collect::<Vec<_>>();
    let behind = |step: Step| match step {
        Step::Jump { of, equal, target } => Step::Jump { of, equal, target: target + set.len() },
        step => step,
    };
    set.iter().copied().chain(thread.code.iter().map(|&step| behind(step))).map(|step| word(test, step)).collect()
}

fn word(test: &Test, step: Step) -> Word {
    let zero = Operand::Number(0);
    let access = |operation, at: usize, how: How| {
        Word::new(operation).at(at as u32, test.locations[at].shared).ordered(how.order, how.scope)
    };
    match step {
        Step::Load { to, at, how } => access(Operation::Load, at, how).to(to as u32),
        Step::Store { at, value, how } => access(Operation::Store, at, how).with([value, zero]),
        Step::Update { to, at, change, value, how } => {
            let (operation, other) = match change {
                Change::Add => (Operation::Add, zero),
                Change::And => (Operation::And, zero),
                Change::Or => (Operation::Or, zero),
                Change::Xor => (Operation::Xor, zero),
                Change::Exchange => (Operation::Exchange, zero),
                Change::CompareExchange(other) => (Operation::CompareExchange, other),
            };
            let word = access(operation, at, how).with([value, other]);
            to.map_or(word, |to| word.to(to as u32))
        }
        Step::Fence { sc: false, scope } => {
            Word::new(Operation::Fence).ordered(Some(simt::atomic::Order::AcqRel), scope)
        }
        Step::Fence { sc: true, scope } => Word::new(Operation::FenceSc).ordered(None, scope),
        Step::BlockBarrier(_) => Word::new(Operation::BlockBarrier),
        Step::WarpBarrier => Word::new(Operation::WarpBarrier),
        Step::Sum { to, of } => Word::new(Operation::Sum).with(of).to(to as u32),
        Step::Jump { of, equal, target } => {
            let operation = if equal { Operation::IfEqual } else { Operation::IfDifferent };
            Word::new(operation).with(of).jumping(target as u32)
        }
    }
}

/// What the simulator shows of a test.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The outcomes, and how many schedules gave each.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// What its checker found.
    pub findings: Vec<Finding>,
}

/// Runs a test on the simulator under this many schedules, and checks it.
///
/// # Errors
/// A test that is not for one GPU, or for another reason cannot run.
pub fn simulated(test: &Test, schedules: u32) -> Result<Shown, String> {
    let program = Program::new(test)?;
    let on = Simulated::default();
    let checked = check(Check { schedules, ..Check::default() }, || program.run(&on, 1, false));
    let mut shown = Shown { findings: checked.report.findings, ..Shown::default() };
    for outcome in checked.results {
        match outcome {
            Ok(outcomes) => outcomes.into_iter().for_each(|outcome| *shown.outcomes.entry(outcome).or_default() += 1),
            // A fault is among the findings.
            Err(_) if !shown.findings.is_empty() => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(shown)
}

/// Runs this many instances of a test on a machine, in each of this many launches: the outcomes, and how often each
/// came.
///
/// # Errors
/// As for [`simulated`], and what the machine says.
pub fn counted(
    test: &Test,
    on: &dyn Machine,
    (launches, instances): (u32, u32),
) -> Result<BTreeMap<Outcome, u64>, Failed> {
    let program = Program::new(test).map_err(Failed::Unsuitable)?;
    let mut all = BTreeMap::new();
    for _ in 0..launches {
        program.run(on, instances, true)?.into_iter().for_each(|outcome| *all.entry(outcome).or_default() += 1);
    }
    Ok(all)
}
