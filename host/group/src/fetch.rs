//! How a rank fetches what its peers send, from memory that its own device can read.

use super::{Exchange, Transport};
use rungs::engine::cuda::CudaError;
use rungs::engine::{Engine, Geometry, What};
use rungs::error::{Error, Result};
use rungs_kernels::exchange::{BLOCKS, PIECES, THREADS, exchange_pull, pull};
use simt::{Global, Kernel, sim};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

/// Fetches, and notes by what.
pub(super) struct Fetcher {
    pub(super) rank: usize,
    /// The context of each rank's GPU; null for a simulator, and for a GPU whose memory is mapped into the context of
    /// this rank's.
    pub(super) contexts: Vec<*mut c_void>,
    /// What copies data where no kernel does, for reports.
    pub(super) copies: &'static str,
    /// Of how many peers at least a kernel fetches what they send in a round; nothing if none does.
    pub(super) pulled_from: Option<usize>,
    /// Whether data of peers has been fetched by a kernel, and by copies.
    pub(super) fetched: Cell<[bool; 2]>,
}

/// Fewest peers in a round for which a kernel is faster than copy engines: copies out of one GPU run one at a time, in
/// the order in which its peers enqueued them.
const PULLED_FROM: usize = 2;

/// From how many peers on a kernel is to fetch, in a group of this size whose ranks have GPUs or simulators; nothing if
/// none is to.
pub(super) fn pulled_from(transport: Transport, are_gpus: bool, size: usize) -> Option<usize> {
    let least = match transport {
        Transport::Copies => None,
        Transport::Kernel => Some(1),
        // The host copies faster than a simulated kernel does.
        Transport::Suited | Transport::Nccl => are_gpus.then_some(PULLED_FROM),
    };
    least.filter(|peers| *peers < size)
}

/// Whether an engine has the kernel, which is compiled here, and not in the first exchange.
pub(super) fn has_kernel(engine: &Engine) -> Result<bool> {
    let geometry = Geometry::linear(BLOCKS, THREADS);
    match engine.as_cuda().map(|cuda| cuda.prepare(exchange_pull::NAME, &geometry)) {
        None | Some(Ok(())) => Ok(true),
        // An engine that was opened with kernels of another crate alone.
        Some(Err(CudaError::NoKernel { .. })) => Ok(false),
        Some(Err(error)) => Err(error.into()),
    }
}

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

/// The words with which a rank tells what it sends: for each round and rank begin and end.
pub(super) fn ranges(exchange: &Exchange<'_>) -> impl Iterator<Item = usize> {
    exchange.rounds.iter().flat_map(|round| &round.sends).flat_map(|range| [range.start, range.end])
}

/// Bytes as words.
pub(super) fn words(bytes: &[u8]) -> Vec<usize> {
    bytes.chunks_exact(size_of::<usize>()).map(bytemuck::pod_read_unaligned).collect()
}

impl Fetcher {
    /// How data moves, for reports.
    pub(super) fn transport(&self) -> &'static str {
        let [pulled, copied] = self.fetched.get();
        let pulls = pulled || !copied && self.pulled_from.is_some();
        match (pulls, copied, self.copies) {
            (false, ..) => self.copies,
            (true, false, _) => "pull kernels",
            (true, true, "copy engines") => "pull kernels and copy engines",
            (true, true, _) => "pull kernels and memory of the host",
        }
    }

    /// Fetches what all ranks send, round by round, and waits for it. Each rank's offer is the address of what it sends
    /// and its [`ranges`].
    ///
    /// # Safety
    /// Each range of an offer is memory that this rank's device can read, and nobody frees or writes it before this has
    /// returned; after a failure, before the exchange's stream has come past its work.
    pub(super) unsafe fn copy(
        &self,
        exchange: &Exchange<'_>,
        offers: &[Vec<usize>],
        after: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let (me, size) = (self.rank, offers.len());
        let unlike = || Error::Group("the ranks do not run the same program".into());
        let copied = exchange.rounds.iter().enumerate().try_for_each(|(i, round)| {
            let mut pieces = vec![];
            // Each rank begins with another one, so that none is asked by all at once.
            for peer in (0..size).map(|k| (me + k) % size) {
                let to = &round.receives[peer];
                let at = 1 + 2 * (i * size + me);
                let Some(&[begin, end]) = offers[peer].get(at..at + 2) else { return Err(unlike()) };
                let sent = end.checked_sub(begin).ok_or_else(unlike)?;
                if sent != to.len() {
                    let expected = to.len();
                    let why = format!("rank {peer} sends {sent} bytes to rank {me}, which expects {expected}");
                    return Err(Error::Usage(why));
                }
                if !to.is_empty() {
                    let (from, at) = (offers[peer][0] + begin, exchange.to.address() as usize + to.start);
                    pieces.push(Piece { peer, from, to: at, bytes: to.len() });
                }
            }
            // SAFETY: as the caller says; what receives is inside its buffer, as the rank's own check has found.
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
        let (own, peers): (Vec<Piece>, Vec<Piece>) = pieces.iter().partition(|piece| piece.peer == self.rank);
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
    /// As for [`Fetcher::fetch`].
    unsafe fn copy_piece(&self, stream: &Engine, piece: &Piece) -> Result<()> {
        let Piece { peer, from, to, bytes } = *piece;
        let what = match peer == self.rank {
            true => What::Copy { direction: "DtoD", bytes },
            false => What::Exchange { name: "PtoP", peer: Some(peer), sent: 0, received: bytes },
        };
        stream.logged(what, || match (stream.as_cuda(), self.contexts[peer]) {
            (Some(cuda), context) if context.is_null() => {
                // SAFETY: as the caller says.
                Ok(unsafe { cuda.copy_from_mapped(to as u64, from as u64, bytes) }?)
            }
            (Some(cuda), context) => {
                // SAFETY: as the caller says.
                Ok(unsafe { cuda.copy_from_peer(to as u64, (from as u64, context), bytes) }?)
            }
            (None, _) => {
                // SAFETY: as the caller says; the memory that receives is another buffer.
                unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
                sim::host_wrote(to as *const u8, bytes);
                Ok(())
            }
        })
    }
}
