//! `rungs lab`: the laboratory's program. A stream of integers in, the same sorted out.
//!
//! The stream is a 32-bit little-endian count and then as many 32-bit little-endian signed integers. The result is the
//! integers alone.

use super::Common;
use crate::algorithms::sort::{SortRung, order_of};
use crate::algorithms::{Parameters, Rung, keys::Keys, odd_even};
use crate::data::{Dtype, memory_check, refuse_terminal};
use crate::engine::Engine;
use crate::error::{Error, Result};
use clap::Command;
use std::io::{Read, Write};

const ABOUT: &str = "Sort a stream as the laboratory of 2020 does: a 32-bit little-endian count and as many 32-bit signed \
integers on standard input; the sorted integers on standard output";

const DETAILS: &str = "\
The input is refused with nothing written if it has fewer or more integers than its count says, or a negative count.
The result is the integers alone, little-endian, without the count. Families, types and files: see `rungs odd-even`.";

/// What the stream is called in messages.
const INPUT: &str = "standard input";

/// Bytes of the count and of each integer.
const WORD: usize = 4;

pub(super) fn command() -> Command {
    Command::new("lab").about(ABOUT).after_help(DETAILS)
}

pub(super) fn run(common: &Common) -> Result<()> {
    refuse_terminal(&std::io::stdout(), "standard output")?;
    // Nothing is written before all of the input was read and all of the work is done.
    let keys = read(&mut std::io::stdin().lock())?;
    let engine = common.engine()?;
    let sorted = sort(&engine, &keys)?;
    let mut out = std::io::stdout().lock();
    out.write_all(bytemuck::cast_slice(&sorted)).and_then(|()| out.flush()).map_err(|e| Error::printing(&e))?;
    common.note(&format!("{} integers sorted on the {}", sorted.len(), engine.info().kind));
    Ok(())
}

/// Reads a stream.
///
/// # Errors
/// [`Error::Read`] where it does not hold what its count says; [`Error::OutOfMemory`].
pub fn read(input: &mut impl Read) -> Result<Vec<i32>> {
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
        return Err(wrong(format!("its count is {count}, but more follows than so many integers")));
    }
    Ok(bytes.as_chunks::<WORD>().0.iter().map(|word| i32::from_le_bytes(*word)).collect())
}

/// Reads up to so many bytes; less only at the end of the stream.
fn take(input: &mut impl Read, bytes: u64, to: &mut Vec<u8>) -> Result<usize> {
    input.take(bytes).read_to_end(to).map_err(|e| Error::reading(INPUT, &e))
}

/// Sorts by the family's last rung.
///
/// # Errors
/// What the engine refuses.
pub fn sort(engine: &Engine, keys: &[i32]) -> Result<Vec<i32>> {
    let rung = odd_even::FAMILY.rungs.last().and_then(Rung::sorts);
    let rung: &dyn SortRung = rung.ok_or_else(|| Error::Usage("odd-even has no rung that sorts".into()))?;
    let mut sorter = rung.sorter(engine, keys.len() as u32, WORD as u32, &Parameters::default())?;
    let buffer = engine.upload(bytemuck::cast_slice::<i32, u32>(keys))?;
    sorter.sort(Keys::Bits32(buffer.view()), order_of(Dtype::I32))?;
    let words = buffer.download()?;
    Ok(bytemuck::cast_vec(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(count: i32, keys: &[i32]) -> Vec<u8> {
        std::iter::once(&count).chain(keys).flat_map(|word| word.to_le_bytes()).collect()
    }

    fn why(bytes: &[u8]) -> String {
        let error = read(&mut &bytes[..]).unwrap_err();
        assert_eq!(error.exit_code(), 4);
        error.to_string()
    }

    #[test]
    fn streams_are_read_whole() {
        for n in [0usize, 1, 2, 1023, 70_000] {
            let keys: Vec<i32> = (0..n as i32).map(|i| i.wrapping_mul(-1_640_531_527)).collect();
            assert_eq!(read(&mut &stream(n as i32, &keys)[..]).unwrap(), keys);
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
        assert!(why(&stream(2, &[5, 6, 7])).contains("more follows"));
        let mut one_byte_more = stream(0, &[]);
        one_byte_more.push(0);
        assert!(why(&one_byte_more).contains("more follows"));
        // The largest count, with nothing behind it: refused for want of memory or of integers, and not by a crash.
        assert!(read(&mut &stream(i32::MAX, &[])[..]).is_err());
    }

    #[test]
    fn signed_integers_are_sorted() {
        let engine = Engine::simulator();
        for n in [0u32, 1, 2, 1023, 1024, 1025, 20_011] {
            let keys: Vec<i32> = (0..n).map(|i| (i ^ (i >> 3)).wrapping_mul(0x9E37_79B9) as i32).collect();
            let mut want = [&keys[..], &[i32::MIN, i32::MAX, -1, 0]].concat();
            let got = sort(&engine, &want).unwrap();
            want.sort_unstable();
            assert_eq!(got, want, "n = {n}");
        }
    }
}
