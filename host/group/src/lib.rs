//! Several devices that work on one problem: a group has a member per device, its ranks.
//!
//! ```
//! use rungs::engine::DeviceChoice;
//! use rungs_group::ShardedVec;
//!
//! # fn main() -> rungs::Result<()> {
//! let sorted = rungs_group::run(&[DeviceChoice::Simulator; 2], |group, engine| {
//!     // Each rank has a part of the whole, of any length.
//!     let mine: &[u32] = if group.rank() == 0 { &[5, 1, 9] } else { &[2, 7] };
//!     let mut keys = ShardedVec::from_slice(group, engine, mine)?;
//!     keys.sort()?;
//!     keys.to_vec()
//! })?;
//! assert_eq!(sorted, [vec![1, 2, 5], vec![7, 9]]);
//! # Ok(())
//! # }
//! ```
//!
//! Every rank runs the same program, and calls the same functions of the group in the same order. What moves between
//! ranks moves in two ways: a few bytes by a [`Meeting`], which all ranks attend, and much data between the memories of
//! the devices by [`Group::exchange`].
//!
//! | group | ranks | small data | large data |
//! | --- | --- | --- | --- |
//! | [`Local`] | threads of one process, a device each | memory of the process | copies, or loads of a kernel |
//! | [`Processes`] | processes of one host, a device each | memory of the host | copies, or loads of a kernel |
//! | [`Nccl`] | processes or threads, a GPU each | TCP, or memory of the host | NCCL |
//!
//! An error of one rank is an error of all: a rank that fails says so ([`Group::abort`], which [`run`] calls), a rank
//! that dies closes its connection, and a rank that does not come to a meeting is waited for no longer than the group's
//! [time-out](Settings::timeout).

mod fetch;
pub mod launcher;
mod local;
mod meeting;
pub mod nccl;
mod processes;
pub mod product;
pub mod profile;
mod select;
pub mod sort;
mod tcp;
mod vec;
pub mod verdict;

pub use local::Local;
pub use meeting::{Meeting, Seat};
pub use nccl::Nccl;
pub use processes::{Joined, Processes};
pub use tcp::{Rendezvous, Secret, Tcp, share, told};
pub use vec::{Counter, Part, Reducer, Scanner, ShardedVec, Total, Totals, seed_of};

use meeting::Witness;
use rungs::engine::{AnyBuffer, DeviceChoice, Engine, What};
use rungs::error::{Error, Result};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A member of a group of devices, as one rank sees it.
pub trait Group {
    /// The number of this member, from 0 on.
    fn rank(&self) -> usize;

    /// How many members there are.
    fn size(&self) -> usize;

    /// How data moves between the devices, for reports.
    fn transport(&self) -> &str;

    /// What each rank brings: a few bytes each, not necessarily as many.
    ///
    /// # Errors
    /// [`Error::Group`] if another rank failed, or did not come in time.
    fn all_gather_bytes(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>>;

    /// Moves parts of each rank's memory to the others. All ranks call it, with as many rounds; what one rank sends
    /// another is as long as what that one receives.
    ///
    /// Everything asked of the engine of [`Exchange::from`] before is done first. The copies are enqueued on the
    /// stream, round by round, and `after` is called with the number of each round once it is enqueued. When this
    /// returns, all of them have ended, and all ranks have what this one sent.
    ///
    /// # Errors
    /// [`Error::Usage`] for ranges outside of the memory; [`Error::Group`] if another rank failed or is late;
    /// [`Error::Cuda`] if a copy fails; the errors of `after`.
    fn exchange(&self, exchange: &Exchange<'_>, after: &mut dyn FnMut(usize) -> Result<()>) -> Result<()>;

    /// Tells all ranks that this one has failed; whatever they wait for ends with [`Error::Group`].
    fn abort(&self, why: &str);

    /// Frees memory that ranks have dropped, where that has to wait until the other ranks have unmapped it. All ranks
    /// call it; it is for those who are about to allocate much.
    ///
    /// # Errors
    /// As for [`Group::all_gather_bytes`]; [`Error::Cuda`] if the driver fails.
    fn reclaim(&self) -> Result<()> {
        Ok(())
    }

    /// Why data moves by another transport than the fastest one or the one asked for, if it does.
    fn note(&self) -> Option<&str> {
        None
    }
}

/// What moves in [`Group::exchange`].
pub struct Exchange<'a> {
    /// The stream that copies are enqueued on: the [second stream](Engine::second_stream) of the memory's engine.
    pub stream: &'a Engine,
    /// The memory that is sent; it is not written meanwhile.
    pub from: &'a dyn AnyBuffer,
    /// Other memory of the same engine, which receives.
    pub to: &'a dyn AnyBuffer,
    /// What is copied, in this order.
    pub rounds: &'a [Round],
}

/// The bytes of one round of an exchange, by rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The bytes of the sent memory for each rank.
    pub sends: Vec<Range<usize>>,
    /// Where the bytes of each rank go.
    pub receives: Vec<Range<usize>>,
}

/// Meets, and notes the meeting as what the host of an engine's rank did.
fn noted_meeting(
    engine: &Engine,
    mine: Vec<u8>,
    meet: impl FnOnce(Vec<u8>) -> Result<Arc<[Vec<u8>]>>,
) -> Result<Arc<[Vec<u8>]>> {
    let (start, sent) = (Instant::now(), mine.len());
    let all = meet(mine)?;
    engine.note_host(start, || {
        let received = all.iter().map(Vec::len).sum::<usize>() - sent;
        What::Exchange { name: "all-gather", peer: None, sent, received }
    });
    Ok(all)
}

impl Exchange<'_> {
    /// Notes the exchange of a rank, which began at `start` and has ended, as what the rank's host did.
    fn note(&self, start: Instant, rank: usize) {
        let others = |ranges: &[Range<usize>]| -> usize {
            ranges.iter().enumerate().filter(|(other, _)| *other != rank).map(|(_, range)| range.len()).sum()
        };
        self.stream.note_host(start, || What::Exchange {
            name: "exchange",
            peer: None,
            sent: self.rounds.iter().map(|round| others(&round.sends)).sum(),
            received: self.rounds.iter().map(|round| others(&round.receives)).sum(),
        });
    }

    /// Refuses ranges that are not inside the memory, or are not one per rank.
    fn check(&self, size: usize) -> Result<()> {
        let inside = |ranges: &[Range<usize>], memory: &dyn AnyBuffer| {
            ranges.len() == size && ranges.iter().all(|r| r.start <= r.end && r.end <= memory.bytes())
        };
        let is_right = |round: &Round| inside(&round.sends, self.from) && inside(&round.receives, self.to);
        let is_one = self.from.address() == self.to.address() && self.from.bytes() > 0 && self.to.bytes() > 0;
        if !self.rounds.iter().all(is_right) || is_one {
            return Err(Error::Usage("an exchange names memory outside of its buffers".into()));
        }
        // What is waited for before the copies is the engine of the memory that is sent: only of that engine is it
        // known that nothing uses the memory that receives.
        if !self.from.engine().is(self.to.engine()) {
            return Err(Error::Usage("an exchange is between buffers of one engine".into()));
        }
        Ok(())
    }
}

impl dyn Group + '_ {
    /// What each rank brings, by rank.
    ///
    /// # Errors
    /// [`Error::Group`] if another rank failed, did not come in time, or brought something else.
    pub fn all_gather<T: bytemuck::Pod>(&self, mine: &[T]) -> Result<Vec<Vec<T>>> {
        let all = self.all_gather_bytes(bytemuck::cast_slice(mine).to_vec())?;
        let parsed = all.iter().map(|bytes| {
            // The bytes may lie anywhere, so they are copied.
            let whole = bytes.len().is_multiple_of(size_of::<T>());
            whole.then(|| bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
        });
        parsed.collect::<Option<_>>().ok_or_else(|| Error::Group("the ranks do not run the same program".into()))
    }

    /// Waits for all ranks.
    ///
    /// # Errors
    /// As for [`Group::all_gather_bytes`].
    pub fn barrier(&self) -> Result<()> {
        self.all_gather_bytes(vec![]).map(|_| ())
    }

    /// The sum of one number of each rank, and the sum over the ranks before this one.
    ///
    /// # Errors
    /// As for [`Group::all_gather_bytes`].
    pub fn sum(&self, mine: u64) -> Result<(u64, u64)> {
        let all: Vec<u64> = self.all_gather(&[mine])?.concat();
        Ok((all.iter().sum(), all[..self.rank()].iter().sum()))
    }
}

/// How data moves between GPUs of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// A kernel where it reads the memory of two other GPUs or more at once, and otherwise copy engines, which are
    /// faster then and leave the SMs to other kernels. Simulators copy by the host.
    #[default]
    Suited,
    /// The GPUs' copy engines, whatever their number.
    Copies,
    /// A kernel, whatever the number of GPUs, and also on simulators.
    Kernel,
    /// NCCL.
    Nccl,
}

/// How a group is made.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How data moves between GPUs.
    pub transport: Transport,
    /// How long a rank waits for the others.
    pub timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { transport: Transport::default(), timeout: Duration::from_secs(120) }
    }
}

/// Runs `work` as a group of threads of this process, one for each device. Returns the ranks' results.
///
/// # Errors
/// As for [`run_with`].
pub fn run<R: Send>(
    devices: &[DeviceChoice],
    work: impl Fn(&dyn Group, &Engine) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    run_with(devices, Settings::default(), work)
}

/// Address space for a rank's thread: a stack of 2 MiB, and what it allocates before its first launch.
const RANK_BYTES: usize = 8 << 20;

/// [`run`] with settings.
///
/// # Errors
/// The first error of a rank that is its own; [`Error::Group`] if ranks were late; [`Error::Usage`] if the host has no
/// memory or no thread for a rank; as for [`Engine::open`] and [`Nccl::new`].
pub fn run_with<R: Send>(
    devices: &[DeviceChoice],
    settings: Settings,
    work: impl Fn(&dyn Group, &Engine) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let rank = |seat: Seat, witness: &Witness, device: DeviceChoice| {
        // Opened before the first meeting, and a failure is told there: no rank waits for one that has no device.
        let member = Engine::open(device).and_then(|engine| {
            let group: Box<dyn Group> = match settings.transport {
                Transport::Nccl => Box::new(Nccl::new(Box::new(seat), &engine)?),
                transport => Box::new(Local::new(seat, &engine, transport)?),
            };
            // The failure is told first: a group that has failed is left in another way.
            work(&*group, &engine).inspect_err(|error| group.abort(&error.to_string()))
        });
        member.inspect_err(|error| witness.fail(&error.to_string()))
    };
    // Asked for at once and given back: where memory ends between the ranks' threads, glibc aborts one that has just
    // started, in place of an error of the one that was not to be had.
    let mut room = Vec::<u8>::new();
    let bytes = devices.len() * RANK_BYTES;
    let why = |e| Error::Usage(format!("the host has no memory for {} ranks: {e}", devices.len()));
    room.try_reserve_exact(bytes).map_err(why)?;
    drop(std::hint::black_box(room));
    let results: Vec<Result<R>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (Seat::row(devices.len(), settings.timeout).into_iter().zip(devices))
            .map(|(seat, &device)| {
                let (rank, witness, spare) = (&rank, seat.witness(), seat.witness());
                let run = move || {
                    // The data that a panicking rank was at is its own; the others are told and end.
                    let outcome = catch_unwind(AssertUnwindSafe(|| rank(seat, &witness, device)));
                    let outcome = outcome.inspect_err(|_| witness.fail("it panicked"));
                    witness.leave();
                    outcome
                };
                std::thread::Builder::new().spawn_scoped(scope, run).map_err(|e| {
                    let why = format!("the host has no thread for rank {}: {e}", spare.rank);
                    spare.fail(&why);
                    Error::Usage(why)
                })
            })
            .collect();
        let ended = threads.into_iter().map(|thread| match thread?.join() {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) | Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    });
    let (mut done, mut first) = (vec![], None);
    for result in results {
        match (result, &first) {
            (Ok(result), _) => done.push(result),
            (Err(error), None) => first = Some(error),
            // That others failed is worth less than why.
            (Err(error), Some(Error::Group(_))) if !matches!(error, Error::Group(_)) => first = Some(error),
            (Err(_), Some(_)) => {}
        }
    }
    first.map_or(Ok(done), Err)
}
