//! Messages over a connection: what one is, its length, its bytes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What a message is: a part of a meeting.
pub const PART: u8 = 0;
/// Why the group has ended, or why who wants to join it is refused for good.
pub const FAILED: u8 = 1;
/// That all ranks have come.
pub const WELCOME: u8 = 2;
/// That another job is met here; the right one may come after it.
pub const STRANGER: u8 = 3;

/// More bytes than any message has; a length beyond is not one of ours.
const MOST: u64 = 1 << 30;

/// A message.
pub struct Message {
    pub what: u8,
    pub bytes: Vec<u8>,
}

impl Message {
    /// The bytes as a sentence.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// The time up to a deadline.
///
/// # Errors
/// [`ErrorKind::TimedOut`] if there is none left.
pub fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Whether a call ended because its time was up.
pub fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Sends a message, or fails at the deadline.
pub fn send(link: &TcpStream, what: u8, bytes: &[u8], until: Instant) -> io::Result<()> {
    write(link, &[&[what][..], &(bytes.len() as u64).to_le_bytes(), bytes].concat(), until)
}

/// Writes all bytes, or fails at the deadline.
pub fn write(mut link: &TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        link.set_write_timeout(Some(left(until)?))?;
        match link.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// The next message; fails at the deadline, where there is one.
pub fn receive(link: &TcpStream, until: Option<Instant>) -> io::Result<Message> {
    let mut head = [0; 9];
    read(link, &mut head, until)?;
    let length = u64::from_le_bytes(std::array::from_fn(|i| head[1 + i]));
    if length > MOST {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length as usize];
    read(link, &mut bytes, until)?;
    Ok(Message { what: head[0], bytes })
}

/// Reads all of `bytes`; fails at the deadline, where there is one.
fn read(mut link: &TcpStream, mut bytes: &mut [u8], until: Option<Instant>) -> io::Result<()> {
    while !bytes.is_empty() {
        link.set_read_timeout(until.map(left).transpose()?)?;
        match link.read(bytes) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => bytes = &mut bytes[read..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
