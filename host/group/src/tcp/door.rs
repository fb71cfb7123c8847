//! How the ranks of a job find each other: rank 0 listens, and lets in those who prove that they belong to it.
//!
//! | who | says |
//! | --- | --- |
//! | a rank | rank, size, patience, and a number that it has drawn |
//! | rank 0 | a number that it has drawn |
//! | the rank | a hash of both, by what the ranks of this job know: its name and its secret |
//! | rank 0, once all have come | another hash of both |
//!
//! So neither end tells the name or the secret, nobody is let in by words that were heard before, and a rank does not
//! join whoever happens to listen.

use super::wire::{self, CHALLENGE, FAILED, STRANGER, WELCOME, is_late, left, send, told};
use super::{Rendezvous, gone, lead};
use crate::meeting::late_text;
use hmac::{Hmac, KeyInit, Mac};
use rungs::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How a process begins that wants to join a group. The version of the protocol follows.
const MAGIC: [u8; 7] = *b"rungs\0\0";

/// Ranks of another version are refused: they would not understand each other's messages.
const VERSION: u8 = 4;

/// Bytes of a greeting.
const HELLO: usize = 40;

/// How long to wait before asking again for a connection, or whether one has come.
const PAUSE: Duration = Duration::from_millis(10);

/// How long one address is tried, how long who connects may take to say who it is, and how long a port may be taken
/// that is to be listened at: a connection that is being closed can hold it for a moment.
const TRY: Duration = Duration::from_secs(5);
const SAYING: Duration = Duration::from_secs(5);
const TAKEN: Duration = Duration::from_secs(1);

/// Connections beyond the ranks whose owners may be silent at one time; and how long each may be, if others wait for
/// its place.
const GUESTS: usize = 64;
const TURN: Duration = Duration::from_millis(100);

/// A number that is used once.
pub type Nonce = [u8; 16];

/// The standard library draws the keys of its hashers at random.
pub fn nonce() -> Nonce {
    let half = |_| RandomState::new().hash_one(0).to_le_bytes();
    bytemuck::cast([0, 1].map(half))
}

/// What a rank proves with, and what rank 0 does.
const RANK: &[u8] = b"rank";
const FIRST: &[u8] = b"rank 0";

/// The hash that only those can tell who know the job's name and its secret.
fn proof(at: &Rendezvous, whose: &[u8], hello: &[u8; HELLO], nonce: &Nonce) -> Hmac<Sha256> {
    let mut key = [0; 64];
    key[..32].copy_from_slice(&Sha256::digest(&at.secret.0));
    let parts = [&hello[..], nonce, whose, &[0], at.job.as_bytes()];
    parts.into_iter().fold(Hmac::new(&key.into()), Mac::chain_update)
}

/// What a process says that wants to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hello {
    rank: usize,
    size: usize,
    /// How long it waits for an answer.
    patience: Duration,
    nonce: Nonce,
}

/// What was said by who connects.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// Not all of it has come.
    Part,
    /// That is none of ours.
    Noise,
    /// Another version.
    Version(u8),
    /// Another job, or another secret.
    Stranger,
    Hello(Hello),
}

impl Hello {
    fn bytes(&self) -> [u8; HELLO] {
        let numbers = [self.rank as u32, self.size as u32].map(u32::to_le_bytes);
        let micros = (self.patience.as_micros() as u64).to_le_bytes();
        let all = [&MAGIC[..], &[VERSION], numbers.as_flattened(), &micros, &self.nonce].concat();
        std::array::from_fn(|i| all[i])
    }
}

fn parse(bytes: &[u8]) -> Said {
    if !MAGIC.iter().zip(bytes).all(|(a, b)| a == b) {
        return Said::Noise;
    }
    match bytes.get(MAGIC.len()) {
        None => return Said::Part,
        Some(&VERSION) => {}
        Some(&other) => return Said::Version(other),
    }
    if bytes.len() < HELLO {
        return Said::Part;
    }
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i])) as usize;
    let patience = Duration::from_micros(u64::from_le_bytes(std::array::from_fn(|i| bytes[16 + i])));
    Said::Hello(Hello { rank: number(8), size: number(12), patience, nonce: std::array::from_fn(|i| bytes[24 + i]) })
}

/// A connection whose owner has not said all.
struct Guest {
    link: TcpStream,
    bytes: Vec<u8>,
    since: Instant,
    /// What it was asked, once it has said who it is.
    asked: Option<Nonce>,
}

impl Guest {
    /// What has been said so far, without waiting.
    fn hear(&mut self, at: &Rendezvous) -> Said {
        let mut more = [0; 256];
        match self.link.read(&mut more) {
            Ok(0) => return Said::Noise,
            Ok(read) => self.bytes.extend(&more[..read]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Said::Part,
            Err(_) => return Said::Noise,
        }
        let said = parse(&self.bytes);
        let (Said::Hello(_), Some((hello, answer))) = (&said, self.bytes.split_first_chunk()) else { return said };
        match (self.asked, answer.len()) {
            (None, 0) => {
                let asked = *self.asked.insert(nonce());
                match send(&self.link, CHALLENGE, &asked, Instant::now() + PAUSE) {
                    Ok(()) => Said::Part,
                    Err(_) => Said::Noise,
                }
            }
            (Some(_), 0..32) => Said::Part,
            (Some(asked), 32) if proof(at, RANK, hello, &asked).verify_slice(answer).is_ok() => said,
            (Some(_), 32) => Said::Stranger,
            // Nobody who waits for the question says more.
            _ => Said::Noise,
        }
    }

    /// What rank 0 answers, so that it is believed.
    fn answer(&self, at: &Rendezvous) -> Vec<u8> {
        let known = self.bytes.first_chunk().zip(self.asked);
        known.map_or(vec![], |(hello, asked)| proof(at, FIRST, hello, &asked).finalize().into_bytes().to_vec())
    }
}

/// The listener of rank 0, on the address of its host that the others are told, or that it is to listen at.
pub fn listen(at: &Rendezvous, until: Instant) -> Result<TcpListener> {
    let host = at.listen.as_ref().unwrap_or(&at.host);
    let taken = until.min(Instant::now() + TAKEN);
    loop {
        // A name may not be known at once.
        let (bound, until) = match addresses(host, at.port, until) {
            Ok(all) => (TcpListener::bind(&all[..]), taken),
            Err(e) => (Err(e), until),
        };
        match bound {
            Ok(listener) => return Ok(listener),
            Err(_) if Instant::now() + PAUSE < until => thread::sleep(PAUSE),
            Err(e) => {
                let (host, port) = (host.escape_debug(), at.port);
                let other = "RUNGS_LISTEN names another address, RUNGS_PORT another port";
                return Err(Error::Group(format!("rank 0 cannot listen at {host}, port {port}: {e}; {other}")));
            }
        }
    }
}

/// What to say besides the absence of others, if they may have had no way here: a host's own name is often that of a
/// loopback address in its own table of names.
fn hint(at: &Rendezvous, listener: &TcpListener) -> String {
    let own = listener.local_addr().ok().map(|address| address.ip());
    let is_name = at.listen.is_none() && at.host != "localhost" && at.host.parse::<IpAddr>().is_err();
    let closed = own.filter(|own| is_name && own.is_loopback());
    closed.map_or(String::new(), |own| {
        format!("; rank 0 listens at {own}, which other hosts do not reach: RUNGS_LISTEN names another address")
    })
}

/// A connection to a rank, and what tells it that this is rank 0.
type Link = (TcpStream, Vec<u8>);

/// Connections from ranks 1, 2, …, in this order. If they do not all come, those that have are told why.
pub fn receive(at: &Rendezvous, size: usize, until: Instant, timeout: Duration) -> Result<Vec<TcpStream>> {
    let listener = listen(at, until)?;
    let mut links: Vec<Option<Link>> = (1..size).map(|_| None).collect();
    let outcome = fill(&listener, at, &mut links, until, timeout).and_then(|()| {
        let until = until.max(Instant::now() + lead(timeout));
        (1..).zip(links.iter().flatten()).try_for_each(|(rank, (link, answer))| {
            let told = link.set_nonblocking(false).and_then(|()| send(link, WELCOME, answer, until));
            told.map_err(|e| gone(rank, &e))
        })
    });
    if let Err(why) = outcome {
        let until = Instant::now() + lead(timeout);
        for (link, _) in links.iter().flatten() {
            // Who cannot be told finds the connection closed.
            let _ = link.set_nonblocking(false).and_then(|()| send(link, FAILED, why.as_bytes(), until));
        }
        return Err(Error::Group(why));
    }
    Ok(links.into_iter().flatten().map(|(link, _)| link).collect())
}

/// Fills the places of those who come.
fn fill(
    listener: &TcpListener,
    at: &Rendezvous,
    links: &mut [Option<Link>],
    mut until: Instant,
    timeout: Duration,
) -> std::result::Result<(), String> {
    listener.set_nonblocking(true).map_err(|e| format!("rank 0 cannot wait for the other ranks: {e}"))?;
    let (mut guests, mut trouble) = (Vec::<Guest>::new(), None);
    while links.iter().any(Option::is_none) {
        let has_room = guests.len() <= links.len() + GUESTS;
        let come = if has_room { listener.accept() } else { Err(io::Error::other("too many say nothing")) };
        match come {
            Ok((link, _)) if link.set_nonblocking(true).is_ok() => {
                guests.push(Guest { link, bytes: vec![], since: Instant::now(), asked: None });
                trouble = None;
            }
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(e) => {
                // Strangers may have taken all files or memory, and a network may be down for a while. Neither ends
                // the job before its time: who has been silent longest makes room, after its turn.
                match guests.first() {
                    Some(first) if first.since.elapsed() > TURN => drop(guests.remove(0)),
                    _ => thread::sleep(PAUSE),
                }
                trouble = Some(e);
            }
        }
        // Nobody is waited for here, so that one who says nothing does not keep the others from coming.
        for mut guest in std::mem::take(&mut guests) {
            match guest.hear(at) {
                Said::Part if guest.since.elapsed() < SAYING => guests.push(guest),
                Said::Part | Said::Noise => {}
                Said::Version(version) => {
                    let why = format!("rank 0 speaks version {VERSION} of the protocol between ranks, not {version}");
                    refuse(&guest.link, FAILED, &why);
                }
                // It is told no name: it says itself what it is not.
                Said::Stranger => refuse(&guest.link, STRANGER, ""),
                Said::Hello(hello) => match judge(links, &hello) {
                    Ok(place) => {
                        // Who came first has waited longest: the wait of all ends in time for the word to reach it.
                        until = until.min(Instant::now() + hello.patience.saturating_sub(lead(timeout)));
                        let answer = guest.answer(at);
                        *place = Some((guest.link, answer));
                    }
                    Err(why) => refuse(&guest.link, FAILED, &why),
                },
            }
        }
        let absent: Vec<_> = (1..).zip(&*links).filter_map(|(rank, link)| link.is_none().then_some(rank)).collect();
        if !absent.is_empty() && Instant::now() > until {
            let trouble = trouble.map_or(String::new(), |e| format!("; rank 0 could not take a connection: {e}"));
            return Err(late_text(&absent, timeout) + &trouble + &hint(at, listener));
        }
    }
    Ok(())
}

/// The place of a rank, or why it has none.
fn judge<'a>(links: &'a mut [Option<Link>], hello: &Hello) -> std::result::Result<&'a mut Option<Link>, String> {
    let (&Hello { rank, size, .. }, own) = (hello, links.len() + 1);
    if size != own {
        return Err(format!("rank 0 is one of {own} ranks, and rank {rank} one of {size}"));
    }
    // Who has come and gone may come again.
    match rank.checked_sub(1).map(|place| links.get_mut(place)) {
        Some(None) => Err(format!("rank {rank} is none of {own}; the first is 0")),
        Some(Some(place)) if place.as_ref().is_none_or(|(link, _)| is_closed(link)) => Ok(place),
        _ => Err(format!("another process is rank {rank} already")),
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
pub fn connect(at: &Rendezvous, rank: usize, size: usize, until: Instant, timeout: Duration) -> Result<TcpStream> {
    loop {
        match attempt(at, rank, size, until, timeout) {
            Ok(link) => return Ok(link),
            Err(Refused::Final(why)) => return Err(Error::Group(why)),
            Err(Refused::For(pause, why)) => {
                if Instant::now() + pause >= until {
                    let (late, host) = (late_text(&[0], timeout), at.host.escape_debug());
                    return Err(Error::Group(format!("{late} at {host}, port {}: {why}", at.port)));
                }
                thread::sleep(pause);
            }
        }
    }
}

fn attempt(
    at: &Rendezvous,
    rank: usize,
    size: usize,
    until: Instant,
    timeout: Duration,
) -> std::result::Result<TcpStream, Refused> {
    let again = |e: io::Error| Refused::For(PAUSE, e.to_string());
    let mut dialled = Err(ErrorKind::AddrNotAvailable.into());
    for address in addresses(&at.host, at.port, until).map_err(again)? {
        dialled = dial(&address, until);
        if dialled.is_ok() {
            break;
        }
    }
    let link = dialled.map_err(again)?;
    let hello = Hello { rank, size, patience: left(until).map_err(again)?, nonce: nonce() }.bytes();
    wire::write(&link, &hello, until).map_err(again)?;
    let mut asked = None;
    loop {
        let answer = wire::receive(&link, Some(until)).map_err(|e| match is_late(&e) {
            true => Refused::Final(late_text(&[0], timeout)),
            false => again(e),
        })?;
        match (answer.what, &answer.bytes[..].try_into(), asked) {
            (CHALLENGE, Ok(nonce), None) => {
                let own = proof(at, RANK, &hello, nonce).finalize().into_bytes();
                wire::write(&link, &own, until).map_err(again)?;
                asked = Some(*nonce);
            }
            (WELCOME, _, Some(nonce)) if proof(at, FIRST, &hello, &nonce).verify_slice(&answer.bytes).is_ok() => {
                return Ok(link);
            }
            (FAILED, ..) => return Err(Refused::Final(told(&answer.bytes))),
            // The port may become the right one's when those who meet there now have met.
            (STRANGER | WELCOME, ..) => {
                let own = if at.job.is_empty() { "a job without a name".into() } else { format!("job '{}'", at.job) };
                let other = "or its RUNGS_SECRET is another; RUNGS_PORT names another port";
                return Err(Refused::For(10 * PAUSE, format!("another job meets there, not {own}, {other}")));
            }
            _ => return Err(again(ErrorKind::InvalidData.into())),
        }
    }
}

/// The addresses of a host. Asked for again each time, because the name may not be known at once; on a thread of its
/// own, because the system waits for a name as long as it likes.
fn addresses(host: &str, port: u16, until: Instant) -> io::Result<Vec<SocketAddr>> {
    let ((tell, told), host) = (mpsc::channel(), host.to_owned());
    let ask = move || tell.send((host.as_str(), port).to_socket_addrs().map(Vec::from_iter));
    thread::Builder::new().spawn(ask)?;
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
        let hello = Hello { rank: 3, size: 5, patience: Duration::from_millis(1500), nonce: nonce() };
        let bytes = hello.bytes();
        assert!((0..HELLO).all(|n| parse(&bytes[..n]) == Said::Part));
        assert_eq!(parse(&bytes), Said::Hello(hello));
        assert_ne!(hello.nonce, nonce());
        assert_eq!(parse(b"GET / HTTP/1.1"), Said::Noise);
        // What the first version said: rank and size follow.
        assert_eq!(parse(b"rungs\0\0\x01\x01\0\0\0\x02\0\0\0"), Said::Version(1));
    }

    #[test]
    fn a_proof_is_of_all_that_was_said_and_known() {
        let at = |job: &str, secret: &str| Rendezvous {
            job: job.into(),
            secret: secret.to_string().into(),
            ..Default::default()
        };
        let of =
            |at: &Rendezvous, whose: &[u8], hello, nonce| proof(at, whose, &[hello; HELLO], &[nonce; 16]).finalize();
        let right = of(&at("one", "x"), RANK, 1, 2);
        assert!(right == of(&at("one", "x"), RANK, 1, 2));
        let wrong = [
            of(&at("two", "x"), RANK, 1, 2),
            of(&at("one", "y"), RANK, 1, 2),
            of(&at("one", ""), RANK, 1, 2),
            of(&at("one", "x"), FIRST, 1, 2),
            of(&at("one", "x"), RANK, 0, 2),
            of(&at("one", "x"), RANK, 1, 0),
        ];
        assert!(wrong.into_iter().all(|wrong| wrong != right));
    }

    #[test]
    fn a_rank_without_a_place_is_told_why() {
        let said = |rank, size| {
            let hello = Hello { rank, size, patience: Duration::ZERO, nonce: nonce() };
            judge(&mut [None, None], &hello).map(|_| ()).unwrap_err()
        };
        assert_eq!(said(3, 3), "rank 3 is none of 3; the first is 0");
        assert_eq!(said(0, 3), "another process is rank 0 already");
        assert_eq!(said(1, 2), "rank 0 is one of 3 ranks, and rank 1 one of 2");
    }

    #[test]
    fn rank_0_listens_where_the_others_are_told() {
        let until = Instant::now() + Duration::from_secs(20);
        let listener = |host: &str, listen: Option<&str>| {
            let at = Rendezvous { host: host.into(), listen: listen.map(Into::into), ..Default::default() };
            listen_and_hint(&at, until)
        };
        assert_eq!(listener("127.0.0.1", None), ("127.0.0.1".into(), String::new()));
        assert!(listener("localhost", None).1.is_empty());
        assert_eq!(listener("no.such.host.invalid", Some("0.0.0.0")), ("0.0.0.0".into(), String::new()));
        // An address that no host has: it is kept for examples.
        let nowhere = Rendezvous { host: "192.0.2.7".into(), ..Default::default() };
        let error = listen(&nowhere, Instant::now() + PAUSE).unwrap_err().to_string();
        assert!(
            error.starts_with("rank 0 cannot listen at 192.0.2.7, port 0: ") && error.contains("RUNGS_LISTEN"),
            "{error}"
        );
        // A name that means the host itself, in its own table alone.
        let own = Rendezvous { host: "first".into(), ..Default::default() };
        let loopback = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        assert!(hint(&own, &loopback).contains("rank 0 listens at 127.0.0.1, which other hosts do not reach"));
    }

    fn listen_and_hint(at: &Rendezvous, until: Instant) -> (String, String) {
        let listener = listen(at, until).unwrap();
        (listener.local_addr().unwrap().ip().to_string(), hint(at, &listener))
    }
}
