//! A group of threads of one process: simulators, or GPUs that reach each other's memory.

use super::meeting::{Meeting, Purpose, Reading, failed_text};
use super::{Exchange, Group, Seat, Transport, noted_meeting};
use rungs::engine::cuda::CudaError;
use rungs::engine::{Engine, Geometry, What};
use rungs::error::{Error, Result};
use rungs_kernels::exchange::{BLOCKS, PIECES, THREADS, exchange_pull, pull};
use simt::{Global, Kernel, sim};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

/// A rank of a group in one process. Memory is fetched by those who receive it.
pub struct Local {
    seat: Seat,
    /// The context of each rank's GPU; null for a simulator.
    contexts: Vec<*mut c_void>,
    /// What copies data where no kernel does, for reports.
    copies: &'static str,
    /// Of how many peers at least a kernel fetches what they send in a round; nothing if none does.
    pulled_from: Option<usize>,
    /// Whether data of peers has been fetched by a kernel, and by copies.
    fetched: Cell<[bool; 2]>,
    engine: Engine,
}

/// Fewest peers in a round for which a kernel is faster than copy engines: copies out of one GPU run one at a time, in
/// the order in which its peers enqueued them.
const PULLED_FROM: usize = 2;

/// What a rank fetches from another one in a round.
#[derive(Clone, Copy)]
struct Piece {
    peer: usize,
    from: usize,
    to: usize,
    bytes: usize,
}

impl Piece {
    /// Both ends as a kernel's arguments; nothing if they are not whole words, or too many for a view.
    fn views(&self) -> Option<(Global<u32>, Global<u32>)> {
        const WORD: usize = size_of::<u32>();
        let words = u32::try_from(self.bytes / WORD).ok()?;
        // SAFETY: the addresses are whole words by the test below, and the maker of the piece knows the memory.
        let view = |address: usize| unsafe { Global::from_raw(address as *mut u32, words) };
        let whole = [self.from, self.to, self.bytes].iter().all(|number| number.is_multiple_of(WORD));
        whole.then(|| (view(self.from), view(self.to)))
    }
}

impl Local {
    /// The rank that has this seat, with its device. All ranks call it. NCCL as a transport is that of another group,
    /// and taken for the default here.
    ///
    /// # Errors
    /// [`Error::Usage`] for a group of GPUs and simulators; [`Error::Group`] if another rank failed;
    /// [`Error::Cuda`] if the driver refuses access to a GPU's memory for another reason than that there is no way to
    /// it, in which case copies go through the host.
    pub fn new(seat: Seat, engine: &Engine, transport: Transport) -> Result<Self> {
        let own = engine.as_cuda().map_or(ptr::null_mut(), |cuda| cuda.context_handle());
        let access = |peer| match engine.as_cuda() {
            // SAFETY: the peer's engine lives as long as its call of this function, which waits for this one.
            Some(cuda) => Ok(unsafe { cuda.let_access_peer(peer) }?),
            None => Ok(true),
        };
        Self::with_access(seat, engine, transport, own, access, || {
            // Compiled here, and not in the first exchange.
            let geometry = Geometry::linear(BLOCKS, THREADS);
            match engine.as_cuda().map(|cuda| cuda.prepare(exchange_pull::NAME, &geometry)) {
                None | Some(Ok(())) => Ok(true),
                // An engine that was opened with kernels of another crate alone.
                Some(Err(CudaError::NoKernel { .. })) => Ok(false),
                Some(Err(error)) => Err(error.into()),
            }
        })
    }

    /// The rank whose device has this context, asks for access to the memory of each peer's by `access`, and whether it
    /// has the kernel by `kernel`.
    fn with_access(
        seat: Seat,
        engine: &Engine,
        transport: Transport,
        own: *mut c_void,
        mut access: impl FnMut(*mut c_void) -> Result<bool>,
        mut kernel: impl FnMut() -> Result<bool>,
    ) -> Result<Self> {
        let pulled_from = match transport {
            Transport::Copies => None,
            Transport::Kernel => Some(1),
            // The host copies faster than a simulated kernel does.
            Transport::Suited | Transport::Nccl => (!own.is_null()).then_some(PULLED_FROM),
        };
        let pulled_from = pulled_from.filter(|peers| *peers < seat.size());
        // A context that others may ask for access to has to live until none of them does so any more, also if this
        // rank fails.
        let reading = seat.read();
        let met = Self::meet_all(&seat, own, &mut access, &mut || Ok(pulled_from.is_some() && kernel()?));
        drop(reading);
        if met.is_err() {
            seat.wait_for_readers();
        }
        let (contexts, [direct, kernel]) = met?;
        let copies = match (own.is_null(), direct) {
            (true, _) => "memory of the host",
            (false, true) => "copy engines",
            (false, false) => "copies through the host",
        };
        let pulled_from = pulled_from.filter(|_| direct && kernel);
        Ok(Self { seat, contexts, copies, pulled_from, fetched: Cell::default(), engine: engine.clone() })
    }

    /// The contexts of all ranks, and whether each has access to the memory of the others, and the kernel: all say the
    /// same.
    fn meet_all(
        seat: &Seat,
        own: *mut c_void,
        access: &mut dyn FnMut(*mut c_void) -> Result<bool>,
        kernel: &mut dyn FnMut() -> Result<bool>,
    ) -> Result<(Vec<*mut c_void>, [bool; 2])> {
        let all = seat.meet(Purpose::Contexts, (own as usize).to_ne_bytes().to_vec())?;
        let context = |bytes: &Vec<u8>| usize::from_ne_bytes(std::array::from_fn(|i| bytes[i])) as *mut c_void;
        let contexts: Vec<_> = all.iter().map(context).collect();
        if contexts.iter().any(|context| context.is_null() != own.is_null()) {
            return Err(Error::Usage("a group has GPUs or simulators, not both".into()));
        }
        let peers = || contexts.iter().copied().filter(|&peer| peer != own);
        let direct: Result<bool> = peers().try_fold(true, |direct, peer| Ok(access(peer)? && direct));
        let can = direct.and_then(|direct| Ok([direct, kernel()?]));
        // What a rank cannot do and a failure are told alike, so that no rank goes on as if another one had joined.
        let told = match &can {
            Ok(can) => can.map(u8::from).to_vec(),
            Err(error) => failed_text(seat.rank(), &error.to_string()).into_bytes(),
        };
        let all = seat.meet(Purpose::Done, told)?;
        can?;
        match all.iter().find(|told| told.len() > 2) {
            Some(why) => Err(Error::Group(String::from_utf8_lossy(why).into_owned())),
            None => Ok((contexts, [0, 1].map(|i| all.iter().all(|can| can[i] == 1)))),
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
        let [pulled, copied] = self.fetched.get();
        let pulls = pulled || !copied && self.pulled_from.is_some();
        match (pulls, copied, self.copies) {
            (false, ..) => self.copies,
            (true, false, _) => "pull kernels",
            (true, true, "copy engines") => "pull kernels and copy engines",
            (true, true, _) => "pull kernels and memory of the host",
        }
    }

    fn all_gather_bytes(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        noted_meeting(&self.engine, mine, |mine| self.seat.all_gather(mine))
    }

    fn exchange(&self, exchange: &Exchange<'_>, after: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        let start = Instant::now();
        exchange.check(self.size())?;
        let context = |engine: &Engine| engine.as_cuda().map(|cuda| cuda.context_handle());
        if [exchange.stream, exchange.from.engine()].iter().any(|engine| context(engine) != context(&self.engine)) {
            // Only of that one have ranks access to each other's memory.
            return Err(Error::Usage(
                "an exchange is between buffers of the devices that the group was made of".into(),
            ));
        }
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
            let mut pieces = vec![];
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
                if !to.is_empty() {
                    let (from, at) = (offers[peer][0] + begin, exchange.to.address() as usize + to.start);
                    pieces.push(Piece { peer, from, to: at, bytes: to.len() });
                }
            }
            // SAFETY: each range is inside a rank's memory, as its own check has found, and nobody frees or writes what
            // is read before this rank has ceased to read.
            unsafe { self.fetch(exchange.stream, &pieces) }?;
            after(i)
        });
        copied.and(exchange.stream.synchronize())
    }

    /// Fetches pieces of a round, those of peers by one kernel if that suits them.
    ///
    /// # Safety
    /// The memory at both ends of each piece is there, and stays as it is until the stream has come past this.
    unsafe fn fetch(&self, stream: &Engine, pieces: &[Piece]) -> Result<()> {
        let (own, peers): (Vec<Piece>, Vec<Piece>) = pieces.iter().partition(|piece| piece.peer == self.rank());
        let are_enough = self.pulled_from.is_some_and(|least| peers.len() >= least);
        let views: Option<Vec<_>> = if are_enough { peers.iter().map(Piece::views).collect() } else { None };
        let [pulled, copied] = self.fetched.get();
        self.fetched.set([pulled || views.is_some(), copied || views.is_none() && !peers.is_empty()]);
        let to_copy = if views.is_some() { &own } else { pieces };
        // SAFETY: as the caller says.
        to_copy.iter().try_for_each(|piece| unsafe { self.copy_piece(stream, piece) })?;
        for (pieces, views) in peers.chunks(PIECES).zip(views.unwrap_or_default().chunks(PIECES)) {
            let received = pieces.iter().map(|piece| piece.bytes).sum();
            let (geometry, args) = pull(views);
            let what = What::Exchange { name: "pull", peer: None, sent: 0, received };
            // SAFETY: as the caller says; this GPU has access to the memory of all peers.
            stream.logged(what, || unsafe { stream.launch_on_others(exchange_pull, geometry, args) })?;
        }
        Ok(())
    }

    /// Copies a piece.
    ///
    /// # Safety
    /// As for [`Local::fetch`].
    unsafe fn copy_piece(&self, stream: &Engine, piece: &Piece) -> Result<()> {
        let Piece { peer, from, to, bytes } = *piece;
        let what = match peer == self.rank() {
            true => What::Copy { direction: "DtoD", bytes },
            false => What::Exchange { name: "PtoP", peer: Some(peer), sent: 0, received: bytes },
        };
        stream.logged(what, || match stream.as_cuda() {
            Some(cuda) => {
                // SAFETY: as the caller says.
                Ok(unsafe { cuda.copy_from_peer(to as u64, (from as u64, self.contexts[peer]), bytes) }?)
            }
            None => {
                // SAFETY: as the caller says; the memory that receives is another buffer.
                unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
                sim::host_wrote(to as *const u8, bytes);
                Ok(())
            }
        })
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
        some(3, Transport::Suited, access, |_| Ok(true))
    }

    /// The same of so many ranks, where `kernel` decides which have the kernel.
    fn some(
        size: usize,
        transport: Transport,
        access: impl Fn(usize, usize) -> Result<bool> + Sync,
        kernel: impl Fn(usize) -> Result<bool> + Sync,
    ) -> Vec<Result<String>> {
        let (seats, access, kernel) = (Seat::row(size, Duration::from_secs(20)), &access, &kernel);
        thread::scope(|scope| {
            let join = |(rank, seat): (usize, Seat)| {
                scope.spawn(move || {
                    let (engine, own) = (Engine::simulator(), (rank + 1) as *mut c_void);
                    let access = |peer: *mut c_void| access(rank, peer as usize - 1);
                    let group = Local::with_access(seat, &engine, transport, own, access, || kernel(rank));
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
        assert_eq!(all(three(|_, _| Ok(true))), ["pull kernels"; 3]);
        assert_eq!(all(three(|rank, peer| Ok((rank, peer) != (2, 0)))), ["copies through the host"; 3]);
        let of =
            |size, transport, has: fn(usize) -> bool| all(some(size, transport, |_, _| Ok(true), |rank| Ok(has(rank))));
        assert_eq!(of(3, Transport::Suited, |rank| rank != 1), ["copy engines"; 3]);
        assert_eq!(of(3, Transport::Copies, |_| panic!("nobody asked for it")), ["copy engines"; 3]);
        assert_eq!(of(2, Transport::Suited, |_| panic!("two need none")), ["copy engines"; 2]);
        assert_eq!(of(2, Transport::Kernel, |_| true), ["pull kernels"; 2]);
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
