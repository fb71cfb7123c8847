//! A group of threads of one process: simulators, or GPUs whose copy engines reach each other's memory.

use super::meeting::{Meeting, Reading};
use super::{Exchange, Group, Seat};
use crate::engine::Engine;
use crate::error::{Error, Result};
use simt::sim;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

/// A rank of a group in one process. Memory is fetched by those who receive it.
pub struct Local {
    seat: Seat,
    /// The context of each rank's GPU; null for a simulator.
    contexts: Vec<*mut c_void>,
    transport: &'static str,
}

impl Local {
    /// The rank that has this seat, with its device. All ranks call it.
    ///
    /// # Errors
    /// [`Error::Usage`] for a group of GPUs and simulators; [`Error::Group`] if another rank failed;
    /// [`Error::Cuda`] if the driver refuses access to a GPU's memory for another reason than that there is no way to
    /// it, in which case copies go through the host.
    pub fn new(seat: Seat, engine: &Engine) -> Result<Self> {
        let own = engine.as_cuda().map_or(ptr::null_mut(), |cuda| cuda.context_handle());
        let all = seat.all_gather((own as usize).to_ne_bytes().to_vec())?;
        let context = |bytes: &Vec<u8>| usize::from_ne_bytes(std::array::from_fn(|i| bytes[i])) as *mut c_void;
        let contexts: Vec<_> = all.iter().map(context).collect();
        if contexts.iter().any(|context| context.is_null() != own.is_null()) {
            return Err(Error::Usage("a group has GPUs or simulators, not both".into()));
        }
        let mut direct = true;
        if let Some(cuda) = engine.as_cuda() {
            for peer in contexts.iter().copied().filter(|&peer| peer != own) {
                // SAFETY: the peer's engine lives: its thread is in this meeting, or waits for the next one.
                direct &= unsafe { cuda.let_access_peer(peer) }?;
            }
        }
        // So that no peer's engine is gone before all have access, and all say the same.
        let direct = seat.all_gather(vec![u8::from(direct)])?.iter().all(|direct| direct[0] == 1);
        let transport = match (own.is_null(), direct) {
            (true, _) => "memory of the host",
            (false, true) => "copy engines",
            (false, false) => "copies through the host",
        };
        Ok(Self { seat, contexts, transport })
    }
}

/// The words with which a rank tells where the others find what it sends them: the address, and for each round and rank
/// begin and end.
fn offer(exchange: &Exchange<'_>) -> Vec<u8> {
    let ranges = exchange.rounds.iter().flat_map(|round| &round.sends).flat_map(|range| [range.start, range.end]);
    let words = std::iter::once(exchange.from.address() as usize).chain(ranges);
    words.flat_map(usize::to_ne_bytes).collect()
}

impl Group for Local {
    fn rank(&self) -> usize {
        self.seat.rank()
    }

    fn size(&self) -> usize {
        self.seat.size()
    }

    fn transport(&self) -> &str {
        self.transport
    }

    fn all_gather_bytes(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        self.seat.all_gather(mine)
    }

    fn exchange(&self, exchange: &Exchange<'_>, after: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        exchange.check(self.size())?;
        exchange.from.engine().synchronize()?;
        let mut reads =
            Reads { seat: &self.seat, stream: exchange.stream, reading: Some(self.seat.read()), met: false };
        self.copy(exchange, after)?;
        reads.reading = None;
        self.seat.all_gather(vec![])?;
        // All ranks have been at this meeting, and read nothing that was offered before it.
        reads.met = true;
        Ok(())
    }

    fn abort(&self, why: &str) {
        self.seat.fail(why);
    }
}

/// What a rank reads of the others' memory, and they of its own. After a failure, and when `after` panics, too, neither
/// is read any more when an exchange returns: memory may be freed then.
struct Reads<'a> {
    seat: &'a Seat,
    stream: &'a Engine,
    reading: Option<Reading<'a>>,
    /// Whether all ranks have met since.
    met: bool,
}

impl Drop for Reads<'_> {
    fn drop(&mut self) {
        if !self.met {
            // The failure that led here is the one to report.
            let _ = self.stream.synchronize();
            self.reading = None;
            self.seat.wait_for_readers();
        }
    }
}

impl Local {
    /// Fetches what all others send, and waits for it.
    fn copy(&self, exchange: &Exchange<'_>, after: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        let (me, size) = (self.rank(), self.size());
        let offers: Vec<Vec<usize>> = self.seat.all_gather(offer(exchange))?.iter().map(|bytes| words(bytes)).collect();
        let copied = exchange.rounds.iter().enumerate().try_for_each(|(i, round)| {
            // Each rank begins with another one, so that none is asked by all at once.
            for peer in (0..size).map(|k| (me + k) % size) {
                let to = &round.receives[peer];
                let at = 1 + 2 * (i * size + me);
                let [begin, end] = match offers[peer].get(at..at + 2) {
                    Some(range) => [range[0], range[1]],
                    None => return Err(Error::Group("the ranks do not run the same program".into())),
                };
                if end - begin != to.len() {
                    let (sent, expected) = (end - begin, to.len());
                    let why = format!("rank {peer} sends {sent} bytes to rank {me}, which expects {expected}");
                    return Err(Error::Usage(why));
                }
                // SAFETY: the range is inside the peer's memory, as its own check has found, and the peer neither
                // frees nor writes it before this rank has ceased to read.
                unsafe { self.fetch(exchange, to.start, offers[peer][0] + begin, peer, to.len()) }?;
            }
            after(i)
        });
        copied.and(exchange.stream.synchronize())
    }

    /// Copies `bytes` bytes at an address of a peer's memory to those from `to` on of the memory that receives.
    ///
    /// # Safety
    /// The bytes are the peer's, and stay as they are until the stream has come past the copy.
    unsafe fn fetch(&self, exchange: &Exchange<'_>, to: usize, from: usize, peer: usize, bytes: usize) -> Result<()> {
        let to = exchange.to.address().wrapping_add(to);
        match exchange.stream.as_cuda() {
            Some(cuda) => {
                // SAFETY: as the caller says.
                Ok(unsafe { cuda.copy_from_peer(to as u64, (from as u64, self.contexts[peer]), bytes) }?)
            }
            None => {
                // SAFETY: as the caller says; the memory that receives is another buffer, and was checked to be so
                // long.
                unsafe { ptr::copy_nonoverlapping(from as *const u8, to, bytes) };
                sim::host_wrote(to, bytes);
                Ok(())
            }
        }
    }
}

/// Bytes as words.
fn words(bytes: &[u8]) -> Vec<usize> {
    bytes.chunks_exact(size_of::<usize>()).map(bytemuck::pod_read_unaligned).collect()
}
