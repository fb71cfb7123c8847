//! How the ranks of a job find each other: rank 0 listens, and lets in those who say that they belong to it.

use super::wire::{self, FAILED, STRANGER, WELCOME, is_late, left, send};
use super::{Rendezvous, gone, lead};
use crate::meeting::late_text;
use rungs::error::{Error, Result};
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How a process begins that wants to join a group. The version of the protocol follows.
const MAGIC: [u8; 7] = *b"rungs\0\0";

/// Ranks of another version are refused: they would not understand each other's messages.
const VERSION: u8 = 2;

/// Most bytes of a job's name.
pub const LONGEST_JOB: usize = 1024;

/// How long to wait before asking again for a connection, or whether one has come.
const PAUSE: Duration = Duration::from_millis(10);

/// How long one address is tried, how long who connects may take to say who it is, and how long a port may be taken
/// that is to be listened at: a connection that is being closed can hold it for a moment.
const TRY: Duration = Duration::from_secs(5);
const SAYING: Duration = Duration::from_secs(5);
const TAKEN: Duration = Duration::from_secs(1);

/// What a process says that wants to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello<'a> {
    pub rank: usize,
    pub size: usize,
    pub job: &'a str,
}

/// What was said by who connects, with the time that it waits for an answer.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// Not all of it has come.
    Part,
    /// That is none of ours.
    Noise,
    /// Another version.
    Version(u8),
    Hello {
        rank: usize,
        size: usize,
        job: String,
        patience: Duration,
    },
}

impl Hello<'_> {
    fn bytes(&self, patience: Duration) -> Vec<u8> {
        let numbers = [self.rank as u32, self.size as u32, self.job.len() as u32].map(u32::to_le_bytes);
        let micros = (patience.as_micros() as u64).to_le_bytes();
        [&MAGIC[..], &[VERSION], numbers.as_flattened(), &micros, self.job.as_bytes()].concat()
    }
}

fn parse(bytes: &[u8]) -> Said {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    if !MAGIC.iter().zip(bytes).all(|(a, b)| a == b) {
        return Said::Noise;
    }
    match bytes.get(MAGIC.len()) {
        None => return Said::Part,
        Some(&VERSION) => {}
        Some(&other) => return Said::Version(other),
    }
    let micros = bytes.get(20..28).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let (Some(rank), Some(size), Some(length), Some(micros)) = (number(8), number(12), number(16), micros) else {
        return Said::Part;
    };
    if length > LONGEST_JOB {
        return Said::Noise;
    }
    match bytes.get(28..28 + length) {
        None => Said::Part,
        Some(job) => {
            let (job, patience) = (String::from_utf8_lossy(job).into_owned(), Duration::from_micros(micros));
            Said::Hello { rank, size, job, patience }
        }
    }
}

/// A connection whose owner has not said all.
struct Guest {
    link: TcpStream,
    bytes: Vec<u8>,
    until: Instant,
}

impl Guest {
    /// What has been said so far, without waiting.
    fn hear(&mut self) -> Said {
        let mut more = [0; 2048];
        match self.link.read(&mut more) {
            Ok(0) => Said::Noise,
            Ok(read) => {
                self.bytes.extend(&more[..read]);
                parse(&self.bytes)
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Said::Part,
            Err(_) => Said::Noise,
        }
    }
}

/// The listener of rank 0, on all of its host's addresses.
pub fn listen(port: u16, until: Instant) -> Result<TcpListener> {
    let until = until.min(Instant::now() + TAKEN);
    loop {
        match TcpListener::bind(("0.0.0.0", port)) {
            Ok(listener) => return Ok(listener),
            Err(e) if e.kind() == ErrorKind::AddrInUse && Instant::now() + PAUSE < until => thread::sleep(PAUSE),
            Err(e) => {
                let why = format!("rank 0 cannot listen at port {port}: {e}; RUNGS_PORT names another");
                return Err(Error::Group(why));
            }
        }
    }
}

/// Connections from ranks 1, 2, …, in this order. If they do not all come, those that have are told why.
pub fn receive(listener: &TcpListener, own: &Hello, until: Instant, timeout: Duration) -> Result<Vec<TcpStream>> {
    let mut links: Vec<Option<TcpStream>> = (1..own.size).map(|_| None).collect();
    let outcome = fill(listener, own, &mut links, until, timeout).and_then(|()| {
        let until = until.max(Instant::now() + lead(timeout));
        (1..).zip(links.iter().flatten()).try_for_each(|(rank, link)| {
            let told = link.set_nonblocking(false).and_then(|()| send(link, WELCOME, &[], until));
            told.map_err(|e| gone(rank, &e))
        })
    });
    if let Err(why) = outcome {
        let until = Instant::now() + lead(timeout);
        for link in links.iter().flatten() {
            // Who cannot be told finds the connection closed.
            let _ = link.set_nonblocking(false).and_then(|()| send(link, FAILED, why.as_bytes(), until));
        }
        return Err(Error::Group(why));
    }
    Ok(links.into_iter().flatten().collect())
}

/// Fills the places of those who come.
fn fill(
    listener: &TcpListener,
    own: &Hello,
    links: &mut [Option<TcpStream>],
    mut until: Instant,
    timeout: Duration,
) -> std::result::Result<(), String> {
    let failed = |e: io::Error| format!("rank 0 cannot wait for the other ranks: {e}");
    listener.set_nonblocking(true).map_err(failed)?;
    let mut guests: Vec<Guest> = vec![];
    while links.iter().any(Option::is_none) {
        match listener.accept() {
            Ok((link, _)) if link.set_nonblocking(true).is_ok() => {
                guests.push(Guest { link, bytes: vec![], until: Instant::now() + SAYING });
            }
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
            Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(failed(e)),
            Err(_) => thread::sleep(PAUSE),
        }
        // Nobody is waited for here, so that one who says nothing does not keep the others from coming.
        for mut guest in std::mem::take(&mut guests) {
            match guest.hear() {
                Said::Part if Instant::now() < guest.until => guests.push(guest),
                Said::Part | Said::Noise => {}
                Said::Version(version) => {
                    let why = format!("rank 0 speaks version {VERSION} of the protocol between ranks, not {version}");
                    refuse(&guest.link, FAILED, &why);
                }
                Said::Hello { rank, size, job, patience } => match judge(own, links, rank, size, &job) {
                    Ok(place) => {
                        // Who came first has waited longest: the wait of all ends in time for the word to reach it.
                        until = until.min(Instant::now() + patience.saturating_sub(lead(timeout)));
                        *place = Some(guest.link);
                    }
                    Err((what, why)) => refuse(&guest.link, what, &why),
                },
            }
        }
        let absent: Vec<_> = (1..own.size).filter(|rank| links[rank - 1].is_none()).collect();
        if !absent.is_empty() && Instant::now() > until {
            return Err(late_text(&absent, timeout));
        }
    }
    Ok(())
}

/// The place of one who says this, or why it has none.
fn judge<'a>(
    own: &Hello,
    links: &'a mut [Option<TcpStream>],
    rank: usize,
    size: usize,
    job: &str,
) -> std::result::Result<&'a mut Option<TcpStream>, (u8, String)> {
    if job != own.job {
        let named = |job: &str| if job.is_empty() { "a job without a name".into() } else { format!("job '{job}'") };
        let (here, its) = (named(own.job), named(job));
        return Err((STRANGER, format!("{here} meets there, not {its}; RUNGS_PORT names another port")));
    }
    if size != own.size {
        return Err((FAILED, format!("rank 0 is one of {} ranks, and rank {rank} one of {size}", own.size)));
    }
    let place = rank.checked_sub(1).and_then(|place| links.get_mut(place));
    // Who has come and gone may come again.
    match place {
        Some(place) if place.as_ref().is_none_or(is_closed) => Ok(place),
        _ => Err((FAILED, format!("another process is rank {rank} already"))),
    }
}

/// Whether the other end of a connection, which is not waited for, has been closed.
fn is_closed(link: &TcpStream) -> bool {
    match link.peek(&mut [0]) {
        Ok(read) => read == 0,
        Err(e) => e.kind() != ErrorKind::WouldBlock,
    }
}

/// Says why; who does not read it finds the connection closed.
fn refuse(link: &TcpStream, what: u8, why: &str) {
    let _ = send(link, what, why.as_bytes(), Instant::now() + PAUSE);
}

/// Why there is no connection: after some reasons it can be tried again.
enum Refused {
    Final(String),
    For(Duration, String),
}

/// The connection to rank 0, once all ranks have come.
pub fn connect(at: &Rendezvous, own: &Hello, until: Instant, timeout: Duration) -> Result<TcpStream> {
    loop {
        match attempt(at, own, until, timeout) {
            Ok(link) => return Ok(link),
            Err(Refused::Final(why)) => return Err(Error::Group(why)),
            Err(Refused::For(pause, why)) => {
                if Instant::now() + pause >= until {
                    let late = late_text(&[0], timeout);
                    return Err(Error::Group(format!("{late} at {}, port {}: {why}", at.host, at.port)));
                }
                thread::sleep(pause);
            }
        }
    }
}

fn attempt(at: &Rendezvous, own: &Hello, until: Instant, timeout: Duration) -> std::result::Result<TcpStream, Refused> {
    let again = |e: io::Error| Refused::For(PAUSE, e.to_string());
    let mut dialled = Err(ErrorKind::AddrNotAvailable.into());
    for address in addresses(at, until).map_err(again)? {
        dialled = dial(&address, until);
        if dialled.is_ok() {
            break;
        }
    }
    let link = dialled.map_err(again)?;
    let said = left(until).and_then(|patience| wire::write(&link, &own.bytes(patience), until));
    said.map_err(again)?;
    match wire::receive(&link, Some(until)) {
        Ok(answer) => match answer.what {
            WELCOME => Ok(link),
            FAILED => Err(Refused::Final(answer.text())),
            // The port may become the right one's when those who meet there now have met.
            STRANGER => Err(Refused::For(10 * PAUSE, answer.text())),
            _ => Err(again(ErrorKind::InvalidData.into())),
        },
        Err(e) if is_late(&e) => Err(Refused::Final(late_text(&[0], timeout))),
        Err(e) => Err(again(e)),
    }
}

/// The addresses of rank 0's host. Asked for anew each time, because the name may not be known at once; on a thread of
/// its own, because the system waits for a name as long as it likes.
fn addresses(at: &Rendezvous, until: Instant) -> io::Result<Vec<SocketAddr>> {
    let ((tell, told), (host, port)) = (mpsc::channel(), (at.host.clone(), at.port));
    thread::spawn(move || tell.send((host.as_str(), port).to_socket_addrs().map(Vec::from_iter)));
    told.recv_timeout(left(until)?).unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()))
}

fn dial(address: &SocketAddr, until: Instant) -> io::Result<TcpStream> {
    let link = TcpStream::connect_timeout(address, left(until)?.min(TRY))?;
    // Where nobody listens at a port of this host, the system may choose the same port for this end: then TCP connects
    // the socket with itself.
    if link.local_addr()? == link.peer_addr()? {
        return Err(io::Error::new(ErrorKind::ConnectionRefused, "nobody listens there: the connection met itself"));
    }
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_meets_itself_is_refused() {
        // Linux gives connections even ports first, and listeners odd ones.
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let address = SocketAddr::from(([127, 0, 0, 1], free & !1));
        let until = Instant::now() + Duration::from_secs(60);
        // The system goes through its ports, and comes to this one.
        loop {
            let error = dial(&address, until).expect_err("nobody listens there");
            assert!(Instant::now() < until, "no attempt has met itself, the last one: {error}");
            if error.to_string().ends_with("the connection met itself") {
                break;
            }
        }
    }

    #[test]
    fn what_is_said_is_understood_once_all_has_come() {
        let hello = Hello { rank: 3, size: 5, job: "Ω 7" };
        let bytes = hello.bytes(Duration::from_millis(1500));
        assert!((0..bytes.len()).all(|n| parse(&bytes[..n]) == Said::Part));
        let patience = Duration::from_millis(1500);
        assert_eq!(parse(&bytes), Said::Hello { rank: 3, size: 5, job: "Ω 7".into(), patience });
        assert_eq!(parse(b"GET / HTTP/1.1"), Said::Noise);
        // What the first version said: rank and size follow.
        assert_eq!(parse(b"rungs\0\0\x01\x01\0\0\0\x02\0\0\0"), Said::Version(1));
        let long = Hello { rank: 1, size: 2, job: &"j".repeat(LONGEST_JOB + 1) };
        assert_eq!(parse(&long.bytes(patience)), Said::Noise);
    }
}
