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
/// What who wants to join has to hash.
pub const CHALLENGE: u8 = 4;

/// More bytes than any message has; a length beyond is not one of ours.
const MOST: u64 = 1 << 30;

/// Bytes that a message is given memory for before any have come.
const PIECE: usize = 1 << 16;

/// A message.
pub struct Message {
    pub what: u8,
    pub bytes: Vec<u8>,
}

/// What others told, as a sentence that can be printed: their control characters must not reach a terminal.
pub fn told(bytes: &[u8]) -> String {
    let mut text = String::new();
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\'' | '"' | '\\' => text.push(c),
            _ => text.extend(c.escape_debug()),
        }
    }
    text
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
    // Memory grows with what has come, never because a header announces it.
    let (mut bytes, length) = (vec![], length as usize);
    while bytes.len() < length {
        let come = bytes.len();
        bytes.resize(length.min(come + come.max(PIECE)), 0);
        read(link, &mut bytes[come..], until)?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn text_of_others_is_escaped() {
        let said = b"rank 1's \"x\"\x1b[2J\x07\n\xe2\x80\xae\xff";
        assert_eq!(told(said), "rank 1's \"x\"\\u{1b}[2J\\u{7}\\n\\u{202e}\u{fffd}");
    }

    #[test]
    fn a_length_that_no_message_has_is_refused() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (link, until) = (listener.accept().unwrap().0, Instant::now() + Duration::from_secs(20));
        for length in [u64::MAX, MOST + 1] {
            other.write_all(&[&[PART][..], &length.to_le_bytes()].concat()).unwrap();
            assert_eq!(receive(&link, Some(until)).err().unwrap().kind(), ErrorKind::InvalidData, "{length}");
        }
        let bytes = vec![7; 3 * PIECE + 5];
        std::thread::scope(|scope| {
            scope.spawn(|| send(&other, PART, &bytes, until).unwrap());
            assert!(receive(&link, Some(until)).unwrap().bytes == bytes);
        });
    }
}
