//! A meeting of processes over TCP: rank 0 listens, and passes on what the others bring.
//!
//! A few bytes move here, so one connection for each other rank is enough. Who connects is believed: the port is meant
//! for the hosts of one cluster, as those of other launchers are.

use super::meeting::{Meeting, failed_text, late_text};
use crate::error::{Error, Result};
use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How a process begins that belongs to the group: with these bytes, its rank and the size.
const HELLO: [u8; 8] = *b"rungs\0\0\x01";

/// What a message is: a part of a meeting, or the reason why a rank failed.
const PART: u8 = 0;
const FAILED: u8 = 1;

/// More bytes than any part has; a length beyond is not one of ours.
const MOST: u64 = 1 << 30;

/// How long to wait before asking again for a connection, or whether one has come.
const PAUSE: Duration = Duration::from_millis(20);

/// A process at a meeting of processes.
pub struct Tcp {
    rank: usize,
    size: usize,
    timeout: Duration,
    /// Of rank 0: the connections to ranks 1, 2, …; of another rank: that to rank 0.
    links: RefCell<Vec<TcpStream>>,
    failed: RefCell<Option<String>>,
}

impl Tcp {
    /// Rank `rank` of `size`. Rank 0 listens at the port, on all of its host's addresses; the others connect to it.
    ///
    /// # Errors
    /// [`Error::Group`] if the others do not come in time, or the port is taken; [`Error::Usage`] for a rank that is
    /// not below the size.
    pub fn new(rank: usize, size: usize, (host, port): (&str, u16), timeout: Duration) -> Result<Self> {
        if rank >= size {
            return Err(Error::Usage(format!("rank {rank} is none of {size}; the first is 0")));
        }
        let until = Instant::now() + timeout;
        let links = match rank {
            0 if size == 1 => vec![],
            0 => {
                let taken = |e: io::Error| {
                    Error::Group(format!("rank 0 cannot listen at port {port}: {e}; RUNGS_PORT names another"))
                };
                let listener = TcpListener::bind(("0.0.0.0", port)).map_err(taken)?;
                receive(&listener, size, until, timeout)?
            }
            _ => vec![connect((host, port), rank, size, until)?],
        };
        for link in &links {
            let set = link.set_nodelay(true).and_then(|()| link.set_write_timeout(Some(timeout)));
            set.map_err(|e| Error::Group(format!("a connection between ranks failed: {e}")))?;
        }
        Ok(Self { rank, size, timeout, links: RefCell::new(links), failed: RefCell::default() })
    }

    /// Ends the meetings of all ranks, and returns the error.
    fn end(&self, why: String) -> Error {
        let mut failed = self.failed.borrow_mut();
        if failed.is_none() {
            for link in self.links.borrow_mut().iter_mut() {
                // Who cannot be told finds the connection closed.
                let _ = send(link, FAILED, why.as_bytes());
            }
            *failed = Some(why);
        }
        Error::Group(failed.clone().unwrap_or_default())
    }

    fn verdict(&self) -> Result<()> {
        self.failed.borrow().as_ref().map_or(Ok(()), |why| Err(Error::Group(why.clone())))
    }

    /// The rank at the other end of a connection.
    fn peer(&self, link: usize) -> usize {
        if self.rank == 0 { link + 1 } else { 0 }
    }

    /// The next part that comes over a connection.
    fn part(&self, link: usize, until: Instant) -> Result<Vec<u8>> {
        let received = receive_message(&mut self.links.borrow_mut()[link], until);
        let peer = self.peer(link);
        match received {
            Ok((PART, bytes)) => Ok(bytes),
            Ok((_, why)) => Err(self.end(String::from_utf8_lossy(&why).into_owned())),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(self.end(late_text(&[peer], self.timeout)))
            }
            Err(e) => Err(self.end(gone(peer, &e))),
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
        // Rank 0 may find out about another rank only after the whole time, and then has to tell the others.
        let patience = if self.rank == 0 { self.timeout } else { self.timeout + self.timeout / 4 };
        let until = Instant::now() + patience;
        if self.rank == 0 {
            let mut all = vec![mine];
            for link in 0..self.size - 1 {
                all.push(self.part(link, until)?);
            }
            let packed = pack(&all);
            for link in 0..self.size - 1 {
                let sent = send(&mut self.links.borrow_mut()[link], PART, &packed);
                sent.map_err(|e| self.end(gone(self.peer(link), &e)))?;
            }
            return Ok(all.into());
        }
        let sent = send(&mut self.links.borrow_mut()[0], PART, &mine);
        // What rank 0 wrote before it went says more than that it is gone.
        if let Err(e) = sent {
            self.part(0, until)?;
            return Err(self.end(gone(0, &e)));
        }
        let packed = self.part(0, until)?;
        let all = unpack(&packed, self.size);
        all.ok_or_else(|| self.end(failed_text(0, "what it sent is not what all ranks brought"))).map(Arc::from)
    }

    fn look(&self) -> Result<()> {
        self.verdict()?;
        for link in 0..self.links.borrow().len() {
            let mut first = [PART];
            let seen = {
                let links = self.links.borrow();
                let peeked = links[link].set_nonblocking(true).and_then(|()| links[link].peek(&mut first));
                let _ = links[link].set_nonblocking(false);
                peeked
            };
            match seen {
                Ok(0) => return Err(self.end(gone(self.peer(link), &ErrorKind::UnexpectedEof.into()))),
                Ok(_) if first[0] == FAILED => {
                    self.part(link, Instant::now() + self.timeout)?;
                }
                Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(self.end(gone(self.peer(link), &e))),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    fn fail(&self, why: &str) {
        let _ = self.end(failed_text(self.rank, why));
    }
}

/// That a rank's connection is closed.
fn gone(rank: usize, error: &io::Error) -> String {
    format!("rank {rank} is gone: {error}")
}

/// Connections from ranks 1, 2, …, in this order.
fn receive(listener: &TcpListener, size: usize, until: Instant, timeout: Duration) -> Result<Vec<TcpStream>> {
    let mut links: Vec<Option<TcpStream>> = (1..size).map(|_| None).collect();
    let failed = |e: io::Error| Error::Group(format!("rank 0 cannot wait for the other ranks: {e}"));
    listener.set_nonblocking(true).map_err(failed)?;
    while links.iter().any(Option::is_none) {
        match listener.accept() {
            // A stranger, who does not say what a rank says, is not let in.
            Ok((mut link, _)) => {
                let is_set = link.set_nonblocking(false).is_ok();
                if let Some(rank) = is_set.then(|| hello(&mut link, size, until)).flatten() {
                    links[rank - 1].get_or_insert(link);
                }
            }
            Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(failed(e)),
            Err(_) if Instant::now() > until => {
                let absent: Vec<_> = (1..size).filter(|rank| links[rank - 1].is_none()).collect();
                return Err(Error::Group(late_text(&absent, timeout)));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
    Ok(links.into_iter().flatten().collect())
}

/// The rank of one who connects, if it is of this group.
fn hello(link: &mut TcpStream, size: usize, until: Instant) -> Option<usize> {
    // One who says nothing is not waited for as long as a rank.
    let until = until.min(Instant::now() + Duration::from_secs(5));
    let mut said = [0; 16];
    read_until(link, &mut said, until).ok()?;
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| said[at + i])) as usize;
    (said[..8] == HELLO && number(12) == size && (1..size).contains(&number(8))).then(|| number(8))
}

fn connect(place: (&str, u16), rank: usize, size: usize, until: Instant) -> Result<TcpStream> {
    let said = [&HELLO[..], &(rank as u32).to_le_bytes(), &(size as u32).to_le_bytes()].concat();
    loop {
        // Asked for anew each time: the name of a host may not be known at once.
        let addresses = place.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        let tried = addresses.and_then(|all| {
            let mut last = Err(ErrorKind::AddrNotAvailable.into());
            for address in all {
                last = TcpStream::connect_timeout(&address, Duration::from_secs(5));
                if last.is_ok() {
                    break;
                }
            }
            let mut link = last?;
            link.write_all(&said).map(|()| link)
        });
        match tried {
            Ok(link) => return Ok(link),
            Err(e) if Instant::now() > until => {
                let (host, port) = place;
                return Err(Error::Group(format!("rank 0 did not answer at {host}, port {port}: {e}")));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn send(link: &mut TcpStream, what: u8, bytes: &[u8]) -> io::Result<()> {
    let head = [&[what][..], &(bytes.len() as u64).to_le_bytes()].concat();
    link.write_all(&head)?;
    link.write_all(bytes)
}

fn receive_message(link: &mut TcpStream, until: Instant) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 9];
    read_until(link, &mut head, until)?;
    let length = u64::from_le_bytes(std::array::from_fn(|i| head[1 + i]));
    if length > MOST {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    read_until(link, &mut bytes, until)?;
    Ok((head[0], bytes))
}

/// Reads all of `bytes`, or fails at that time.
fn read_until(link: &mut TcpStream, mut bytes: &mut [u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        link.set_read_timeout(Some(left))?;
        match link.read(bytes) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => bytes = &mut bytes[read..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
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
