//! A group of threads of one process: simulators, or GPUs that reach each other's memory.

use super::fetch::{Fetcher, has_kernel, pulled_from, ranges, words};
use super::meeting::{Meeting, Purpose, Reading, failed_text};
use super::{Exchange, Group, Seat, Transport, noted_meeting};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

/// A rank of a group in one process. Memory is fetched by those who receive it.
pub struct Local {
    seat: Seat,
    fetcher: Fetcher,
    engine: Engine,
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
        Self::with_access(seat, engine, transport, own, access, || has_kernel(engine))
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
        let pulled_from = pulled_from(transport, !own.is_null(), seat.size());
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
        let fetcher = Fetcher { rank: seat.rank(), contexts, copies, pulled_from, fetched: Cell::default() };
        Ok(Self { seat, fetcher, engine: engine.clone() })
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
    std::iter::once(exchange.from.address() as usize).chain(ranges(exchange)).flat_map(usize::to_ne_bytes).collect()
}

impl Group for Local {
    fn rank(&self) -> usize {
        self.seat.rank()
    }

    fn size(&self) -> usize {
        self.seat.size()
    }

    fn transport(&self) -> &str {
        self.fetcher.transport()
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
        // Only offers come to this meeting, so each begins with an address.
        let offers = self.seat.meet(Purpose::Offers, offer(exchange))?;
        let offers: Vec<Vec<usize>> = offers.iter().map(|bytes| words(bytes)).collect();
        // SAFETY: each range is inside a rank's memory, as its own check has found, and nobody frees or writes what is
        // read before this rank has ceased to read.
        unsafe { self.fetcher.copy(exchange, &offers, after) }?;
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

    /// The same of this many ranks, where `kernel` decides which have the kernel.
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
