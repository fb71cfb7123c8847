//! Clusters: blocks that run on one thread of the host, in turn, and reach each other's shared memory.

use super::block::{Block, Cluster, here};
use super::check::{BlockState, Touch};
use super::error::LaunchError;
use super::finding::Kind;
use super::limits;
use super::observe::{AccessKind, Space};
use super::schedule::Others;
use super::spin::Idle;
use super::stack::Stack;
use super::stats::Instruction;
use super::threads::{State, Thread, Vector};
use super::waits::{self, Waits};
use super::watchers::Watchers;
use crate::Dim3;
use std::cell::Cell;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// Makes blocks a cluster until they begin again.
///
/// # Safety
/// The blocks stay in their places as long as one of their threads runs.
pub(super) unsafe fn join(blocks: &[&Block]) {
    let all = blocks.iter().map(|&block| std::ptr::from_ref(block)).collect();
    let cluster = Rc::new(Cluster { blocks: all, arrived: Cell::default() });
    for (block, rank) in blocks.iter().zip(0..) {
        block.enter(rank, cluster.clone());
    }
}

/// The running thread waits at the barrier of its cluster.
#[track_caller]
pub(super) fn sync() {
    let place = Location::caller();
    here().count(Instruction::Barrier, 0, 0);
    // Nothing that would have to be dropped is held while the thread waits.
    let last = arrive(place);
    let threads = &here().threads;
    threads.wait_at(place);
    threads.suspend(if last { State::Ready } else { State::AtCluster });
}

/// Counts the running thread at the barrier of its cluster, and lets all go on if it is the last; returns whether it
/// is.
#[track_caller]
fn arrive(place: &'static Location<'static>) -> bool {
    let cluster = here().cluster();
    cluster.arrived.set(cluster.arrived.get() + 1);
    if cluster.arrived.get() < cluster.threads() {
        return false;
    }
    cluster.arrived.set(0);
    cluster.blocks().for_each(|block| block.threads.release_all());
    Watchers::barrier_of_cluster(cluster.blocks().map(|block| &block.watchers), place);
    true
}

/// The block of that rank, which the running thread reaches into to do what `what` says.
#[track_caller]
pub(super) fn reach(rank: u32, what: &str) -> &'static Block {
    let block = here();
    let cluster = block.cluster();
    let len = cluster.blocks.len();
    let found = cluster.blocks.get(rank as usize).unwrap_or_else(|| {
        panic!("a cluster of {len} blocks has none of rank {rank}");
    });
    // SAFETY: as the caller of `join` promises; the reference does not outlive the call that asked for it.
    let found = unsafe { &**found };
    if found.has_ended() {
        block.mistake(Kind::CopyInFlight);
        panic!(
            "{what} block {} of its cluster, which has ended: all threads of a cluster pass cluster::sync before a \
             block ends that another may still reach",
            Dim3(found.shape.index)
        );
    }
    found
}

/// What the check knows of the block of that rank, unless it is the running thread's own.
pub(super) fn other_state(block: &Block, rank: u32, home: &Block) -> Option<&'static mut BlockState> {
    if rank == block.place_in_cluster().0 { None } else { home.watchers.checked() }
}

/// An address of the cluster: a block's has less than this many bits, and above them is the block's rank.
const ADDRESS_BITS: u32 = 24;

const _: () = assert!(limits::MAX_SHARED <= 1 << ADDRESS_BITS, "shared memory has addresses of the cluster");

/// The address by which the cluster knows a place in the shared memory of the block of that rank.
#[track_caller]
pub(super) fn address(address: u32, rank: u32) -> u32 {
    assert!(rank < 1 << (u32::BITS - ADDRESS_BITS), "no cluster has a block of rank {rank}");
    rank << ADDRESS_BITS | address
}

/// Reads `bytes` bytes at an address of the cluster, by `words`: one word, or the four of a pack. It is no access of
/// the block's own memory, so observers are not told of it, and it is not counted.
#[track_caller]
pub(super) fn load<const N: usize>(address: u32, bytes: u32, words: impl Fn(*const u8) -> [u64; N]) -> [u64; N] {
    let (block, rank, at) = (here(), address >> ADDRESS_BITS, address % (1 << ADDRESS_BITS));
    block.shared(at, bytes); // refused here, if it is: the blocks of a cluster have as much shared memory
    block.interrupt();
    block.before_access();
    let home = reach(rank, "reads shared memory of");
    let words = words(home.shared(at, bytes));
    let (space, kind, site) = (Space::Shared, AccessKind::Read, Location::caller());
    block.judge(|session, state, thread| {
        let touch = Touch { space, kind, address: at.into(), bytes, before: &words, after: &words, site };
        session.read_of_cluster(state, thread, other_state(block, rank, home), &touch);
    });
    for (i, &word) in (0..).zip(&words) {
        let bytes = bytes / N as u32;
        block.after_access(Space::Shared, u64::from(address + i * bytes), bytes, word);
    }
    words
}

/// Runs the blocks of the cluster with these indices to their end, as [`Block::run`] runs one.
pub(super) fn run(
    kernel: &'static str,
    blocks: &mut [Block],
    indices: impl Iterator<Item = Vector>,
    body: &(dyn Fn() + Sync),
    stacks: &mut Vec<Stack>,
    others: &Others,
) -> Result<(), LaunchError> {
    let begun = blocks.iter_mut().zip(indices);
    // SAFETY: `end` takes the threads back below.
    let mut threads: Vec<_> = begun.map(|(block, index)| unsafe { block.start(index, body, stacks) }).collect();
    let members: Vec<&Block> = blocks.iter().collect();
    // SAFETY: the blocks stay in their slice.
    unsafe { join(&members) };
    let result = schedule(kernel, &members, &mut threads, others);
    blocks.iter_mut().zip(threads).for_each(|(block, threads)| stacks.extend(block.end(threads)));
    result
}

/// Resumes the threads of the blocks, each block's once in a round, until all have ended.
fn schedule(
    kernel: &'static str,
    blocks: &[&Block],
    threads: &mut [Vec<Thread>],
    others: &Others,
) -> Result<(), LaunchError> {
    let order: Vec<u32> = (0..blocks[0].threads()).collect();
    // The cluster is idle or works as a whole, and its first block's watch stands for all.
    let (watch, mut idle) = (&blocks[0].watch, Idle::default());
    loop {
        // A small device has room for few clusters, so that the blocks of one may be most of the work.
        others.limit.map_or(Ok(()), |limit| limit.check(kernel))?;
        let (mut live, mut worked, mut spun, mut news) = (0, false, 0, false);
        for (block, threads) in blocks.iter().zip(threads.iter_mut()).filter(|(block, _)| !block.has_ended()) {
            let round = block.checked_round(kernel, threads, &order, None)?;
            (live, worked, spun) = (live + round.live, worked || round.worked, spun + u64::from(round.spun));
            news |= round.news;
        }
        if live == 0 {
            return Ok(());
        }
        if worked {
            blocks.iter().for_each(|block| block.watch.worked());
            idle.worked(watch, others.quiet);
            continue;
        }
        if news {
            watch.moved_on();
        }
        let of_all = || {
            let mut waits = Waits::default();
            blocks.iter().for_each(|block| waits.extend(block.waits()));
            waits
        };
        if let Some(waits) = idle.spun(spun, watch, others.quiet, of_all) {
            return Err(waits::error(kernel, waits, (others.waiting)()));
        }
        if watch.is_suspicious() {
            blocks.iter().for_each(|block| block.watch.suspect());
        }
        if others.cancelled.load(Relaxed) {
            return Ok(());
        }
        if !others.none {
            std::thread::yield_now(); // as for a block
        }
    }
}
