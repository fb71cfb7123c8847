//! A group of processes of one host: simulators, or GPUs whose memory all of them have mapped.
//!
//! What a rank sends is read where it is. Its allocation is mapped by the others once, for as long as it lives. The
//! driver demands that nobody has it mapped any more when it is freed, so that takes two meetings of any kind: at the
//! first the rank tells that it has freed the allocation, and the others end their mappings; when all have come to the
//! second, the memory is given back ([`Group::reclaim`] holds both).
//!
//! A simulator's memory is told to all with each exchange, and read from that copy.

use super::fetch::{Fetcher, has_kernel, pulled_from, ranges, words};
use super::meeting::Meeting;
use super::{Exchange, Group, Transport, noted_meeting};
use rungs::engine::cuda::{Cuda, Exporter, Mapped, Name, Retired};
use rungs::engine::{Buffer, Engine};
use rungs::error::{Error, Result};
use simt::launcher::Memory as _;
use simt::sim::{self, HostMemory};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// What a meeting is about. Ranks that run the same program agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Purpose {
    /// Bytes of whoever uses the group.
    Bytes,
    /// What this module tells before there is a group.
    Begin,
    /// Memory that others read, until all have come to the meeting after.
    Offers,
    /// The meeting after.
    Done,
    /// Nobody has anything mapped any more.
    End,
}

/// How long after a process its connections may end: the system takes its memory first.
const GONE: Duration = Duration::from_millis(500);

/// Bytes of a name.
const NAME: usize = size_of::<Name>();

/// A rank of a group of processes of one host.
pub struct Processes {
    rank: Rank,
    fetcher: Fetcher,
    engine: Engine,
}

/// A rank, and what it shares with the others.
struct Rank {
    meeting: Box<dyn Meeting>,
    /// Nothing on a simulator.
    shared: Option<Shared>,
    /// Whether no exchange has failed.
    is_well: Cell<bool>,
}

/// The memory of a GPU that others may have mapped, and that of others that is mapped here.
struct Shared {
    exporter: Exporter,
    /// What is mapped, by name.
    mapped: RefCell<HashMap<Name, Mapped>>,
    /// What the others were told, at the last meeting, to be freed.
    told: RefCell<Vec<Retired>>,
}

impl Shared {
    /// Where an allocation of another process begins here.
    fn address(&self, name: Name) -> Result<u64> {
        if let Some(mapped) = self.mapped.borrow().get(&name) {
            return Ok(mapped.address());
        }
        let mapped = self.exporter.map(name)?;
        let address = mapped.address();
        self.mapped.borrow_mut().insert(name, mapped);
        Ok(address)
    }

    /// Ends the mapping of an allocation, if there is one.
    fn unmap(&self, name: &Name) -> Result<()> {
        match self.mapped.borrow_mut().remove(name) {
            // SAFETY: mappings are read in exchanges alone, which have ended.
            Some(mapped) => Ok(unsafe { self.exporter.unmap(mapped) }?),
            None => Ok(()),
        }
    }
}

impl Rank {
    /// What each rank brings to a meeting for this purpose. The ranks tell each other, too, what each has freed.
    fn meet(&self, purpose: Purpose, mut mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        let retired = self.shared.as_ref().map_or(vec![], |shared| shared.exporter.retired());
        // At the end, so that what is brought stays where it is.
        retired.iter().for_each(|retired| mine.extend(retired.name));
        mine.extend((retired.len() as u32).to_ne_bytes());
        mine.push(purpose as u8);
        let mut all = self.meeting.all_gather(mine)?;
        let mut freed: Vec<Name> = vec![];
        for brought in Arc::make_mut(&mut all) {
            let split = brought.split_last_chunk::<5>().filter(|(_, end)| end[4] == purpose as u8);
            let names = split.and_then(|(rest, &[a, b, c, d, _])| {
                let bytes = (u32::from_ne_bytes([a, b, c, d]) as usize).checked_mul(NAME)?;
                rest.split_at_checked(rest.len().checked_sub(bytes)?)
            });
            let Some((own, names)) = names else { return Err(self.unlike()) };
            freed.extend(names.chunks_exact(NAME).map(bytemuck::pod_read_unaligned::<Name>));
            let length = own.len();
            brought.truncate(length);
        }
        if let Some(shared) = &self.shared {
            freed.iter().try_for_each(|name| shared.unmap(name))?;
            // SAFETY: all have come to this meeting, and ended their mappings before, after the one where they were
            // told of it.
            unsafe { shared.exporter.free(shared.told.replace(retired)) }?;
        }
        Ok(all)
    }

    /// Ends the group, because what a rank brought is not what this one expects.
    fn unlike(&self) -> Error {
        let why = "the ranks do not run the same program";
        self.meeting.fail(why);
        Error::Group(why.into())
    }

    /// The failure to report where a call of the driver failed: that of a rank whose memory was in use, if it is gone.
    fn blame(&self, error: Error) -> Error {
        let until = Instant::now() + GONE;
        while matches!(error, Error::Cuda(_)) && Instant::now() < until {
            if let Err(gone) = self.meeting.look() {
                return gone;
            }
            thread::sleep(GONE / 50);
        }
        error
    }

    /// Whether all ranks can, or why the first one cannot that cannot.
    fn agree(&self, own: std::result::Result<(), String>) -> Result<std::result::Result<(), String>> {
        let all = self.meet(Purpose::Begin, own.err().unwrap_or_default().into_bytes())?;
        let first = all.iter().enumerate().find(|(_, why)| !why.is_empty());
        Ok(first.map_or(Ok(()), |(rank, why)| Err(format!("rank {rank} {}", super::told(why)))))
    }

    /// Ends all mappings, here and then everywhere. All ranks call it.
    fn leave(&mut self) -> Result<()> {
        if let Some(shared) = &self.shared {
            for (_, mapped) in shared.mapped.take() {
                // SAFETY: mappings are read in exchanges alone, which have ended.
                unsafe { shared.exporter.unmap(mapped) }?;
            }
        }
        if thread::panicking() || !self.is_well.get() {
            return Ok(());
        }
        self.meeting.look()?;
        self.meet(Purpose::End, vec![])?;
        if let Some(Shared { exporter, told, .. }) = self.shared.take() {
            // SAFETY: all have ended their mappings before they came to the last meeting.
            unsafe {
                exporter.free(told.into_inner())?;
                exporter.finish()?;
            }
        }
        Ok(())
    }
}

/// A group, or the meeting of ranks that cannot read each other's memory, and why.
pub type Joined = std::result::Result<Processes, (Box<dyn Meeting>, String)>;

impl Processes {
    /// The rank that this meeting knows, with its device. All ranks call it. NCCL as a transport is that of another
    /// group, and taken for the default here.
    ///
    /// # Errors
    /// [`Error::Usage`] for a group of GPUs and simulators; [`Error::Group`] if another rank failed or is late, or is
    /// another version of this package; [`Error::Cuda`] if the driver fails.
    pub fn join(meeting: Box<dyn Meeting>, engine: &Engine, transport: Transport) -> Result<Joined> {
        let mut rank = Rank { meeting, shared: None, is_well: Cell::new(true) };
        match Self::reach(&mut rank, engine, transport) {
            Ok(Ok(fetcher)) => Ok(Ok(Self { rank, fetcher, engine: engine.clone() })),
            Ok(Err(why)) => Ok(Err((rank.meeting, why))),
            Err(error) => {
                // Told before the connections are closed.
                rank.meeting.fail(&error.to_string());
                Err(error)
            }
        }
    }

    /// What fetches, once each rank can read the memory of the others; or why that cannot be.
    fn reach(rank: &mut Rank, engine: &Engine, transport: Transport) -> Result<std::result::Result<Fetcher, String>> {
        Self::greet(rank, engine)?;
        let (me, size) = (rank.meeting.rank(), rank.meeting.size());
        if let Some(cuda) = engine.as_cuda()
            && let Err(why) = Self::connect(rank, engine, cuda)?
        {
            rank.leave()?;
            return Ok(Err(why));
        }
        let pulled_from = pulled_from(transport, engine.as_cuda().is_some(), size);
        let kernel = match pulled_from {
            Some(_) if !has_kernel(engine)? => Err("has no kernel that fetches".into()),
            _ => Ok(()),
        };
        let all_have = rank.agree(kernel)?.is_ok();
        let copies = if engine.is_simulator() { "memory of the host" } else { "copy engines" };
        let (contexts, pulled_from) = (vec![ptr::null_mut(); size], pulled_from.filter(|_| all_have));
        Ok(Ok(Fetcher { rank: me, contexts, copies, pulled_from, fetched: Cell::default() }))
    }

    /// The ranks tell each other what they are.
    fn greet(rank: &Rank, engine: &Engine) -> Result<()> {
        let kind = if engine.is_simulator() { "a simulator" } else { "a GPU" };
        let mine = format!("{}: {kind}", env!("CARGO_PKG_VERSION"));
        let all = rank.meet(Purpose::Begin, mine.into_bytes())?;
        let all: Vec<_> = all.iter().map(|told| super::told(told)).collect();
        let parts = |told: &str| told.split_once(": ").map(|(version, kind)| (version.to_owned(), kind.to_owned()));
        let Some((version, kind)) = parts(&all[0]) else { return Err(rank.unlike()) };
        for (number, told) in all.iter().enumerate() {
            let Some((other, other_kind)) = parts(told) else { return Err(rank.unlike()) };
            if other != version {
                let why = format!("rank 0 is version {version} of rungs-group and rank {number} is {other}");
                return Err(Error::Group(why + ": all need the same"));
            }
            if other_kind != kind {
                return Err(Error::Usage("a group has GPUs or simulators, not both".into()));
            }
        }
        Ok(())
    }

    /// Lets the ranks read the memory of each other's GPU, and tries it.
    fn connect(rank: &mut Rank, engine: &Engine, cuda: &Cuda) -> Result<std::result::Result<(), String>> {
        let shared = |exporter| Shared { exporter, mapped: RefCell::default(), told: RefCell::default() };
        rank.shared = cuda.exporter().map(shared);
        let own = rank.shared.as_ref().map(|_| ()).ok_or("shares its GPU's memory with another group".into());
        match (rank.agree(own)?, &rank.shared) {
            (Ok(()), Some(shared)) => Self::try_out(rank, shared, engine),
            (can, _) => Ok(can),
        }
    }

    /// Whether all ranks find the memory of all others, also where two small allocations may be parts of one.
    fn try_out(rank: &Rank, shared: &Shared, engine: &Engine) -> Result<std::result::Result<(), String>> {
        const BYTES: usize = 256;
        let pattern = |rank: usize, which: usize| vec![(3 * rank + which + 1) as u8; BYTES];
        let me = rank.meeting.rank();
        let own: Vec<Buffer<u8>> = (0..2).map(|which| engine.upload(&pattern(me, which))).collect::<Result<_>>()?;
        let (target, mut offers) = (engine.alloc::<u8>(BYTES)?, vec![]);
        let mut outcome = Ok(());
        for buffer in &own {
            match shared.exporter.export(buffer.as_ptr() as u64, BYTES) {
                Ok((name, at)) => offers.extend([&name[..], &at.to_ne_bytes()].concat()),
                Err(error) => outcome = Err(format!("cannot share its memory: {error}")),
            }
        }
        engine.synchronize()?;
        let agreed = rank.agree(outcome)?;
        if agreed.is_err() {
            return Ok(agreed);
        }
        let all = rank.meet(Purpose::Begin, offers)?;
        let read = |peer: usize, which: usize| -> Result<bool> {
            let offer = all[peer].chunks_exact(NAME + 8).nth(which).ok_or_else(|| rank.unlike())?;
            let (name, at) = offer.split_at(NAME);
            let at = u64::from_ne_bytes(std::array::from_fn(|i| at[i]));
            let from = shared.address(bytemuck::pod_read_unaligned(name))? + at;
            if let Some(cuda) = engine.as_cuda() {
                // SAFETY: the other rank told the place of as many bytes, and writes nothing there before it leaves
                // this function, after all have met once more.
                unsafe { cuda.copy_from_mapped(target.as_ptr() as u64, from, BYTES) }?;
            }
            Ok(target.download()? == pattern(peer, which))
        };
        let mut outcome = Ok(());
        for peer in (0..all.len()).filter(|&peer| peer != me) {
            for which in 0..2 {
                let failed = match read(peer, which) {
                    Ok(true) => continue,
                    Ok(false) => "it finds other bytes there".into(),
                    Err(error @ Error::Group(_)) => return Err(error),
                    Err(error) => error.to_string(),
                };
                outcome = Err(format!("cannot read the memory of rank {peer}: {failed}"));
            }
        }
        rank.agree(outcome)
    }

    /// What each rank offers: where this one finds it, and its ranges.
    fn offers(&self, exchange: &Exchange<'_>, kept: &mut Vec<HostMemory>) -> Result<Vec<Vec<usize>>> {
        let (me, from) = (self.rank.meeting.rank(), exchange.from);
        let ranges: Vec<u8> = ranges(exchange).flat_map(usize::to_ne_bytes).collect();
        let length = 2 * exchange.rounds.len() * self.size() * size_of::<usize>();
        let own = from.address() as usize;
        // After the ranges: where a GPU's memory is, or what is in a simulator's.
        let memory = match &self.rank.shared {
            Some(_) if from.bytes() == 0 => vec![],
            Some(shared) => {
                let (name, at) = shared.exporter.export(own as u64, from.bytes())?;
                [&name[..], &at.to_ne_bytes()].concat()
            }
            None => {
                let mut bytes = vec![0; from.bytes()];
                // SAFETY: the memory has this number of bytes, and the simulator has finished whatever was asked of it.
                unsafe { ptr::copy_nonoverlapping(from.address(), bytes.as_mut_ptr(), bytes.len()) };
                bytes
            }
        };
        let all = self.rank.meet(Purpose::Offers, [ranges, memory].concat())?;
        let offer = |(rank, told): (usize, &Vec<u8>)| {
            let (ranges, memory) = told.split_at_checked(length).ok_or_else(|| self.rank.unlike())?;
            let address = match &self.rank.shared {
                _ if rank == me => own,
                Some(_) if memory.is_empty() => 0,
                Some(shared) => {
                    let (name, at) = memory.split_first_chunk::<NAME>().ok_or_else(|| self.rank.unlike())?;
                    let at: [u8; 8] = at.try_into().map_err(|_| self.rank.unlike())?;
                    shared.address(*name)? as usize + u64::from_ne_bytes(at) as usize
                }
                None => {
                    let copy = HostMemory::new(memory.len());
                    // SAFETY: the copy has this number of bytes, and nobody else has it.
                    unsafe { ptr::copy_nonoverlapping(memory.as_ptr(), copy.address(), memory.len()) };
                    sim::host_wrote(copy.address(), memory.len());
                    kept.push(copy);
                    kept[kept.len() - 1].address() as usize
                }
            };
            let words = words(ranges);
            // Of a simulator's memory nothing is read that was not told.
            if self.rank.shared.is_none() && rank != me && words.iter().any(|&end| end > memory.len()) {
                return Err(self.rank.unlike());
            }
            Ok([vec![address], words].concat())
        };
        all.iter().enumerate().map(offer).collect()
    }
}

impl Group for Processes {
    fn rank(&self) -> usize {
        self.rank.meeting.rank()
    }

    fn size(&self) -> usize {
        self.rank.meeting.size()
    }

    fn transport(&self) -> &str {
        self.fetcher.transport()
    }

    fn all_gather_bytes(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        noted_meeting(&self.engine, mine, |mine| self.rank.meet(Purpose::Bytes, mine))
    }

    fn exchange(&self, exchange: &Exchange<'_>, after: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        let start = Instant::now();
        exchange.check(self.size())?;
        let context = |engine: &Engine| engine.as_cuda().map(Cuda::context_handle);
        if [exchange.stream, exchange.from.engine()].iter().any(|engine| context(engine) != context(&self.engine)) {
            // Only of that one have ranks mapped each other's memory.
            return Err(Error::Usage("an exchange is between buffers of the device that the group was made of".into()));
        }
        exchange.from.engine().synchronize()?;
        let mut kept = vec![];
        let mut reads = Reads { rank: &self.rank, stream: exchange.stream, met: false };
        let fetched = self.offers(exchange, &mut kept).and_then(|offers| {
            // SAFETY: each range is inside a rank's memory, as its own check has found: memory that is mapped here, or
            // of which there is a copy. Nobody writes or frees it before all have come to the next meeting.
            unsafe { self.fetcher.copy(exchange, &offers, after) }
        });
        fetched.map_err(|error| self.rank.blame(error))?;
        self.rank.meet(Purpose::Done, vec![])?;
        reads.met = true;
        exchange.note(start, self.rank());
        Ok(())
    }

    fn abort(&self, why: &str) {
        self.rank.meeting.fail(why);
    }

    fn reclaim(&self) -> Result<()> {
        // At the first all are told what each has freed, and when all have come to the second, nobody has it mapped.
        self.barrier_bytes()?;
        self.barrier_bytes()
    }
}

impl Processes {
    fn barrier_bytes(&self) -> Result<()> {
        self.rank.meet(Purpose::Bytes, vec![]).map(|_| ())
    }
}

/// What a rank reads of the others' memory. After a failure nothing of it is read any more when an exchange returns.
/// The others may still read this rank's, which is therefore not freed before the process ends.
struct Reads<'a> {
    rank: &'a Rank,
    stream: &'a Engine,
    /// Whether all ranks have met since.
    met: bool,
}

impl Drop for Reads<'_> {
    fn drop(&mut self) {
        if !self.met {
            self.rank.is_well.set(false);
            // The failure that led here is the one to report.
            let _ = self.stream.synchronize();
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        // A failure cannot be reported here. What was exported then stays until the context goes.
        let _ = self.rank.leave();
    }
}
