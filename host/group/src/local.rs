//! A group of threads of one process: simulators, or GPUs whose copy engines reach each other's memory.

use super::meeting::{Meeting, Purpose, Reading, failed_text};
use super::{Exchange, Group, Seat, noted_meeting};
use rungs::engine::{Engine, What};
use rungs::error::{Error, Result};
use simt::sim;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

/// A rank of a group in one process. Memory is fetched by those who receive it.
pub struct Local {
    seat: Seat,
    /// The context of each rank's GPU; null for a simulator.
    contexts: Vec<*mut c_void>,
    transport: &'static str,
    engine: Engine,
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
        Self::with_access(seat, engine, own, |peer| match engine.as_cuda() {
            // SAFETY: the peer's engine lives as long as its call of this function, which waits for this one.
            Some(cuda) => Ok(unsafe { cuda.let_access_peer(peer) }?),
            None => Ok(true),
        })
    }

    /// The rank whose device has this context, and asks for access to the memory of each peer's by `access`.
    fn with_access(
        seat: Seat,
        engine: &Engine,
        own: *mut c_void,
        mut access: impl FnMut(*mut c_void) -> Result<bool>,
    ) -> Result<Self> {
        // A context that others may ask for access to has to live until none of them does so any more, also if this
        // rank fails.
        let reading = seat.read();
        let met = Self::meet_all(&seat, own, &mut access);
        drop(reading);
        if met.is_err() {
            seat.wait_for_readers();
        }
        let (contexts, direct) = met?;
        let transport = match (own.is_null(), direct) {
            (true, _) => "memory of the host",
            (false, true) => "copy engines",
            (false, false) => "copies through the host",
        };
        Ok(Self { seat, contexts, transport, engine: engine.clone() })
    }

    /// The contexts of all ranks, and whether each has access to the memory of the others: all say the same.
    fn meet_all(
        seat: &Seat,
        own: *mut c_void,
        access: &mut dyn FnMut(*mut c_void) -> Result<bool>,
    ) -> Result<(Vec<*mut c_void>, bool)> {
        let all = seat.meet(Purpose::Contexts, (own as usize).to_ne_bytes().to_vec())?;
        let context = |bytes: &Vec<u8>| usize::from_ne_bytes(std::array::from_fn(|i| bytes[i])) as *mut c_void;
        let contexts: Vec<_> = all.iter().map(context).collect();
        if contexts.iter().any(|context| context.is_null() != own.is_null()) {
            return Err(Error::Usage("a group has GPUs or simulators, not both".into()));
        }
        let peers = || contexts.iter().copied().filter(|&peer| peer != own);
        let direct: Result<bool> = peers().try_fold(true, |direct, peer| Ok(access(peer)? && direct));
        // No access and a failure are told alike, so that no rank goes on as if another one had joined.
        let told = match &direct {
            Ok(direct) => vec![u8::from(*direct)],
            Err(error) => failed_text(seat.rank(), &error.to_string()).into_bytes(),
        };
        let all = seat.meet(Purpose::Done, told)?;
        direct?;
        match all.iter().find(|told| told.len() > 1) {
            Some(why) => Err(Error::Group(String::from_utf8_lossy(why).into_owned())),
            None => Ok((contexts, all.iter().all(|direct| direct[0] == 1))),
        }
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
        noted_meeting(&self.engine, mine, |mine| self.seat.all_gather(mine))
    }

    fn exchange(&self, exchange: &Exchange<'_>, after: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        let start = Instant::now();
        exchange.check(self.size())?;
        exchange.from.engine().synchronize()?;
        let mut reads =
            Reads { seat: &self.seat, stream: exchange.stream, reading: Some(self.seat.read()), met: false };
        self.copy(exchange, after)?;
        reads.reading = None;
        self.seat.meet(Purpose::Done, vec![])?;
        // All ranks have been at this meeting, and read nothing that was offered before it.
        reads.met = true;
        exchange.note(start, self.rank());
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
        // Only offers come to this meeting, so each begins with an address.
        let offers: Vec<Vec<usize>> =
            self.seat.meet(Purpose::Offers, offer(exchange))?.iter().map(|bytes| words(bytes)).collect();
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
                if to.is_empty() {
                    continue;
                }
                let (from, bytes) = (offers[peer][0] + begin, to.len());
                let what = match peer == me {
                    true => What::Copy { direction: "DtoD", bytes },
                    false => What::Exchange { name: "PtoP", peer: Some(peer), sent: 0, received: bytes },
                };
                // SAFETY: the range is inside the peer's memory, as its own check has found, and the peer neither
                // frees nor writes it before this rank has ceased to read.
                exchange.stream.logged(what, || unsafe { self.fetch(exchange, to.start, from, peer, bytes) })?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    /// What each of three ranks says, each with a GPU of its own, where `access` decides by rank and peer.
    fn three(access: impl Fn(usize, usize) -> Result<bool> + Sync) -> Vec<Result<String>> {
        let (seats, access) = (Seat::row(3, Duration::from_secs(20)), &access);
        thread::scope(|scope| {
            let join = |(rank, seat): (usize, Seat)| {
                scope.spawn(move || {
                    let (engine, own) = (Engine::simulator(), (rank + 1) as *mut c_void);
                    let group = Local::with_access(seat, &engine, own, |peer| access(rank, peer as usize - 1));
                    group.map(|group| group.transport().to_owned())
                })
            };
            let ranks: Vec<_> = seats.into_iter().enumerate().map(join).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_ranks_agree_on_how_data_moves() {
        let all = |said: Vec<Result<String>>| said.into_iter().map(Result::unwrap).collect::<Vec<_>>();
        assert_eq!(all(three(|_, _| Ok(true))), ["copy engines"; 3]);
        assert_eq!(all(three(|rank, peer| Ok((rank, peer) != (2, 0)))), ["copies through the host"; 3]);
    }

    #[test]
    fn a_refusal_on_one_rank_is_told_to_all_and_none_leaves_before() {
        let (start, asking) = (Instant::now(), AtomicUsize::new(0));
        let said = three(|rank, _| {
            if rank == 1 {
                return Err(Error::Cuda("asking for access to a peer's memory: refused".into()));
            }
            // Long enough for the rank that failed to leave, if it did not wait.
            asking.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(100));
            Ok(true)
        });
        let said: Vec<_> = said.into_iter().map(|said| said.unwrap_err().to_string()).collect();
        let own = "asking for access to a peer's memory: refused";
        assert!(said[1].ends_with(own), "{}", said[1]);
        for told in [&said[0], &said[2]] {
            assert!(told.starts_with("rank 1 failed: ") && told.ends_with(own), "{told}");
        }
        assert_eq!(asking.into_inner(), 4);
        assert!(start.elapsed() < Duration::from_secs(10), "the others waited for the time-out");
    }

    #[test]
    fn numbers_are_not_taken_for_addresses() {
        let seats = Seat::row(2, Duration::from_secs(20));
        let said: Vec<_> = thread::scope(|scope| {
            let meet = |(rank, seat): (usize, Seat)| {
                scope.spawn(move || {
                    let purpose = if rank == 0 { Purpose::Bytes } else { Purpose::Offers };
                    seat.meet(purpose, vec![0; 8]).unwrap_err().to_string()
                })
            };
            let ranks: Vec<_> = seats.into_iter().enumerate().map(meet).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        assert!(said[0] == said[1] && said[0].ends_with("the ranks do not run the same program"), "{said:?}");
    }
}
