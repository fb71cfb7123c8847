//! The laboratory's stream: a count, then the integers.

use super::memory_check;
use rungs::error::{Error, Result};
use std::io::Read;

/// The name of the stream in messages.
const INPUT: &str = "standard input";

/// Bytes of the count and of each integer.
const WORD: usize = 4;

/// Reads integers with their count before them: both 32 bits, signed, little-endian.
///
/// # Errors
/// [`Error::Read`] if the stream does not hold as many integers as its count says; [`Error::OutOfMemory`] if they do
/// not fit in free memory.
pub fn read_counted(input: &mut impl Read) -> Result<Vec<i32>> {
    let wrong = |what: String| Error::Read { path: INPUT.into(), what };
    let mut head = Vec::with_capacity(WORD);
    take(input, WORD as u64, &mut head)?;
    let head: [u8; WORD] = head.try_into().map_err(|head: Vec<u8>| {
        wrong(format!(
            "it ends after {} bytes; a stream begins with a count of {WORD} bytes, little-endian",
            head.len()
        ))
    })?;
    let count = u64::try_from(i32::from_le_bytes(head)).map_err(|_| {
        wrong(format!("its count is {}, which is negative; it says how many integers follow", i32::from_le_bytes(head)))
    })?;
    // As bytes, as integers, on the device and on their way back.
    memory_check("integers and the room to sort them", count, 4 * WORD)?;
    let mut bytes = vec![];
    take(input, count * WORD as u64, &mut bytes)?;
    if bytes.len() as u64 != count * WORD as u64 {
        let (whole, rest) = (bytes.len() / WORD, bytes.len() % WORD);
        let rest = if rest == 0 { String::new() } else { format!(" and {rest} bytes") };
        return Err(wrong(format!("its count is {count}, but only {whole} integers{rest} follow")));
    }
    let mut more = vec![];
    take(input, 1, &mut more)?;
    if !more.is_empty() {
        return Err(wrong(format!("its count is {count}, but more bytes follow")));
    }
    Ok(bytemuck::pod_collect_to_vec(&bytes))
}

/// Reads up to `bytes` bytes; fewer only at the end of the stream.
fn take(input: &mut impl Read, bytes: u64, to: &mut Vec<u8>) -> Result<usize> {
    input.take(bytes).read_to_end(to).map_err(|e| Error::reading(INPUT, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(count: i32, keys: &[i32]) -> Vec<u8> {
        std::iter::once(&count).chain(keys).flat_map(|word| word.to_le_bytes()).collect()
    }

    fn why(bytes: &[u8]) -> String {
        let error = read_counted(&mut &bytes[..]).unwrap_err();
        assert_eq!(error.exit_code(), 4);
        error.to_string()
    }

    #[test]
    fn streams_are_read_whole() {
        for n in [0usize, 1, 2, 1023, 70_000] {
            let keys: Vec<i32> = (0..n as i32).map(|i| i.wrapping_mul(-1_640_531_527)).collect();
            assert_eq!(read_counted(&mut &stream(n as i32, &keys)[..]).unwrap(), keys);
        }
    }

    #[test]
    fn wrong_counts_are_refused() {
        assert!(why(&[]).contains("after 0 bytes"));
        assert!(why(&[1, 0, 0]).contains("after 3 bytes"));
        assert!(why(&stream(-1, &[5])).contains("-1, which is negative"));
        assert!(why(&stream(i32::MIN, &[])).contains("negative"));
        assert!(why(&stream(3, &[5, 6])).contains("only 2 integers follow"));
        let mut torn = stream(3, &[5, 6, 7]);
        torn.pop();
        assert!(why(&torn).contains("only 2 integers and 3 bytes follow"));
        assert!(why(&stream(2, &[5, 6, 7])).contains("more bytes follow"));
        let mut one_byte_more = stream(0, &[]);
        one_byte_more.push(0);
        assert!(why(&one_byte_more).contains("more bytes follow"));
        // The largest count, with nothing behind it: refused because memory or integers are missing, without a crash.
        assert!(read_counted(&mut &stream(i32::MAX, &[])[..]).is_err());
    }
}
