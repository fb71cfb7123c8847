//! A meeting of processes over TCP: rank 0 listens, and passes on what the others bring.
//!
//! A few bytes move here, so one connection for each other rank is enough. Who connects has to know the job's name,
//! which keeps jobs apart that use one port by accident, and the job's secret, if it has one. Who has been let in is
//! believed, and so is the network: messages are neither encrypted nor signed.
//!
//! No call takes longer than the time-out. The first rank that comes to a meeting begins its time; rank 0, which knows
//! who is absent, ends the meeting a little before that time is up, so that all are told.

#[cfg(target_os = "linux")]
mod board;
mod door;
mod wire;

use super::meeting::{LONGEST, Meeting, failed_text, late_text};
#[cfg(target_os = "linux")]
pub use board::share;
use rungs::error::{Error, Result};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};
pub use wire::told;
use wire::{FAILED, Message, PART, is_late, left, send};

/// Where the processes of a group find each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendezvous {
    /// The host of rank 0.
    pub host: String,
    /// The port where rank 0 listens.
    pub port: u16,
    /// The name of the job; processes of another job are refused. It is not sent.
    pub job: String,
    /// What the processes of the job know, and nobody else; it may be empty.
    pub secret: Secret,
    /// The address that rank 0 listens at; that of `host` if none.
    pub listen: Option<String>,
}

/// A secret, which is not sent, and not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(secret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A process at a meeting of processes.
pub struct Tcp {
    rank: usize,
    size: usize,
    timeout: Duration,
    /// Of rank 0: the connections to ranks 1, 2, …; of another rank: that to rank 0.
    links: Vec<TcpStream>,
    /// What comes over them.
    inbox: Receiver<Arrival>,
    /// What has come, by connection, with the time when it did: parts of meetings, or why there are no more.
    parts: RefCell<Vec<VecDeque<(Instant, Part)>>>,
    failed: RefCell<Option<String>>,
}

/// A part of a meeting, or why there are no more.
type Part = std::result::Result<Vec<u8>, String>;

/// What has come over a connection, and when.
struct Arrival {
    link: usize,
    at: Instant,
    message: io::Result<Message>,
}

/// The meeting itself: elsewhere processes share no memory.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn share(tcp: Tcp) -> Result<Box<dyn Meeting>> {
    Ok(Box::new(tcp))
}

/// How much earlier than the time-out rank 0 ends a meeting that not all have come to, so that those who wait are told.
fn lead(timeout: Duration) -> Duration {
    (timeout / 8).min(Duration::from_millis(500))
}

/// How long another rank tries to tell rank 0 that it has failed: its own time may be up.
const TELL: Duration = Duration::from_millis(20);

impl Tcp {
    /// Rank `rank` of `size`, once all have come. Rank 0 listens at the port; the others connect to it.
    ///
    /// # Errors
    /// [`Error::Group`] if the others do not come in time, with the same words on all ranks that have come, or rank 0
    /// cannot listen; [`Error::Usage`] for a rank that is not below the size.
    pub fn new(rank: usize, size: usize, at: &Rendezvous, timeout: Duration) -> Result<Self> {
        if rank >= size {
            return Err(Error::Usage(format!("rank {rank} is none of {size}; the first is 0")));
        }
        let timeout = timeout.min(LONGEST);
        let until = Instant::now() + timeout;
        let links = match rank {
            0 if size == 1 => vec![],
            0 => door::receive(at, size, until, timeout)?,
            _ => vec![door::connect(at, rank, size, until, timeout)?],
        };
        let (tell, inbox) = mpsc::channel();
        for (link, stream) in links.iter().enumerate() {
            let failed = |e| Error::Group(format!("a connection between ranks failed: {e}"));
            stream.set_nodelay(true).map_err(failed)?;
            let (stream, tell) = (stream.try_clone().map_err(failed)?, tell.clone());
            // It reads up to the end, also when nobody listens any more: a connection that is closed with something
            // unread takes with it what the other end has not read yet.
            let read = move || {
                loop {
                    let message = wire::receive(&stream, None);
                    let is_end = message.is_err();
                    let _ = tell.send(Arrival { link, at: Instant::now(), message });
                    if is_end {
                        break;
                    }
                }
            };
            thread::Builder::new().spawn(read).map_err(failed)?;
        }
        let parts = RefCell::new(links.iter().map(|_| VecDeque::new()).collect());
        Ok(Self { rank, size, timeout, links, inbox, parts, failed: RefCell::default() })
    }

    /// Ends the meetings of all ranks, and returns the error.
    fn end(&self, why: String) -> Error {
        let is_first = self.failed.borrow().is_none();
        let why = self.failed.borrow_mut().get_or_insert(why).clone();
        if is_first {
            let until = Instant::now() + if self.rank == 0 { lead(self.timeout) } else { TELL };
            for link in &self.links {
                // Who cannot be told finds the connection closed.
                let _ = send(link, FAILED, why.as_bytes(), until);
            }
        }
        Error::Group(why)
    }

    fn verdict(&self) -> Result<()> {
        self.failed.borrow().as_ref().map_or(Ok(()), |why| Err(Error::Group(why.clone())))
    }

    /// The rank at the other end of a connection.
    fn peer(&self, link: usize) -> usize {
        if self.rank == 0 { link + 1 } else { 0 }
    }

    /// Puts what has come to what has come before over the same connection.
    fn note(&self, Arrival { link, at, message }: Arrival) {
        let peer = self.peer(link);
        let part = match message {
            Ok(Message { what: PART, bytes }) => Ok(bytes),
            Ok(message) if message.what == FAILED => Err(told(&message.bytes)),
            Ok(_) => Err(failed_text(peer, "what it sent is no part of a meeting")),
            Err(e) => Err(gone(peer, &e)),
        };
        self.parts.borrow_mut()[link].push_back((at, part));
    }

    /// Why a connection has ended, or a rank has failed, if so.
    fn ended(&self) -> Option<String> {
        let parts = self.parts.borrow();
        parts.iter().flatten().find_map(|(_, part)| part.as_ref().err().cloned())
    }

    /// A part over each connection. A meeting that began at `begun`, or when the first part came, ends `early` before
    /// its time is up; with it the meetings of all ranks, if a part is missing.
    fn collect(&self, begun: Instant, early: Duration) -> Result<Vec<Vec<u8>>> {
        loop {
            // Before any deadline: what has come has come.
            self.inbox.try_iter().for_each(|arrival| self.note(arrival));
            let mut first = begun;
            let mut absent = vec![];
            for (link, parts) in self.parts.borrow().iter().enumerate() {
                match parts.front() {
                    Some((at, Ok(_))) => first = first.min(*at),
                    _ => absent.push(self.peer(link)),
                }
            }
            // Rank 0 has told what all brought before it is gone: then the meeting has taken place. Others who have
            // brought their part wait for that: if one of them has ended, it has given up.
            let ended = self.ended();
            if absent.is_empty() && (self.rank > 0 || ended.is_none()) {
                let mut parts = self.parts.borrow_mut();
                return Ok(parts
                    .iter_mut()
                    .filter_map(VecDeque::pop_front)
                    .filter_map(|(_, part)| part.ok())
                    .collect());
            }
            if let Some(why) = ended {
                return Err(self.end(why));
            }
            let rest = left(first + self.timeout - early).unwrap_or_default();
            match self.inbox.recv_timeout(rest) {
                Ok(arrival) => self.note(arrival),
                Err(_) => return Err(self.end(late_text(&absent, self.timeout))),
            }
        }
    }
}

impl Meeting for Tcp {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn all_gather(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        self.verdict()?;
        let (begun, early) = (Instant::now(), lead(self.timeout));
        if self.rank == 0 {
            let all = [vec![mine], self.collect(begun, early)?].concat();
            let packed = pack(&all);
            let until = (begun + self.timeout).max(Instant::now() + early);
            for (link, stream) in self.links.iter().enumerate() {
                let peer = self.peer(link);
                send(stream, PART, &packed, until).map_err(|e| match is_late(&e) {
                    true => self.end(late_text(&[peer], self.timeout)),
                    false => self.end(gone(peer, &e)),
                })?;
            }
            return Ok(all.into());
        }
        // If this fails, what rank 0 wrote before it went says why, or the end of the connection does.
        let _ = send(&self.links[0], PART, &mine, begun + self.timeout);
        let packed = self.collect(begun, Duration::ZERO)?.concat();
        let all = unpack(&packed, self.size);
        all.ok_or_else(|| self.end(failed_text(0, "what it sent is not what all ranks brought"))).map(Arc::from)
    }

    fn look(&self) -> Result<()> {
        self.verdict()?;
        self.inbox.try_iter().for_each(|arrival| self.note(arrival));
        self.ended().map_or(Ok(()), |why| Err(self.end(why)))
    }

    fn fail(&self, why: &str) {
        let _ = self.end(failed_text(self.rank, why));
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        for link in &self.links {
            // The other end reads what was sent, and then that this is the end.
            let _ = link.shutdown(Shutdown::Write);
        }
    }
}

/// That a rank's connection is closed.
fn gone(rank: usize, error: &io::Error) -> String {
    format!("rank {rank} is gone: {error}")
}

/// What all ranks brought, as one part.
fn pack(all: &[Vec<u8>]) -> Vec<u8> {
    let lengths = all.iter().flat_map(|bytes| (bytes.len() as u64).to_le_bytes());
    lengths.chain(all.iter().flatten().copied()).collect()
}

/// The inverse of [`pack`].
fn unpack(packed: &[u8], size: usize) -> Option<Vec<Vec<u8>>> {
    let (lengths, mut rest) = packed.split_at_checked(8 * size)?;
    let mut all = vec![];
    for length in lengths.chunks_exact(8) {
        let (bytes, others) = rest.split_at_checked(u64::from_le_bytes(length.try_into().ok()?) as usize)?;
        all.push(bytes.to_vec());
        rest = others;
    }
    Some(all)
}
