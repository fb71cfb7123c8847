//! `rungs lab`: the laboratory's program. A stream of integers in, the same sorted out.
//!
//! The stream is a 32-bit little-endian count and then as many 32-bit little-endian signed integers. The result is the
//! integers alone.

use super::Common;
use crate::data::{Dtype, read_counted, refuse_terminal};
use crate::streams;
use clap::Command;
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use rungs::keys::order_of;
use rungs_kernels::ladder::Options;
use rungs_kernels::ladder::sort::Keys;
use rungs_kernels::odd_even;
use simt::sim::plural;
use std::io::Write;

const ABOUT: &str = "Sort a stream as the laboratory of 2020 does: a 32-bit little-endian count and as many 32-bit \
signed integers on standard input; the sorted integers on standard output";

const DETAILS: &str = "\
The input is refused with nothing written if it has fewer or more integers than its count says, or a negative count.
The result is the integers alone, little-endian, without the count. Families, types and files: see `rungs odd-even`.";

pub(super) fn command() -> Command {
    Command::new("lab").about(ABOUT).after_help(DETAILS).arg(super::check_argument())
}

pub(super) fn run(common: &Common) -> Result<()> {
    refuse_terminal(&std::io::stdout(), "standard output")?;
    // Nothing is written before all input has been read and sorted.
    let keys = read_counted(&mut streams::input().map_err(|e| Error::reading("standard input", &e))?)?;
    let engine = common.engine()?;
    common.vet(|| sort(&engine, &keys).map(drop))?;
    let sorted = sort(&engine, &keys)?;
    let mut out = streams::output().map_err(|e| Error::printing(&e))?;
    out.write_all(bytemuck::cast_slice(&sorted)).and_then(|()| out.flush()).map_err(|e| Error::printing(&e))?;
    let (n, kind) = (sorted.len(), engine.info().kind);
    common.note(&format!("{n} {} sorted on the {kind}", plural(n as u64, "integer")));
    Ok(())
}

/// Sorts by the family's default rung.
///
/// # Errors
/// [`Error::OutOfMemory`](rungs::Error::OutOfMemory), [`Error::Launch`](rungs::Error::Launch) or
/// [`Error::Cuda`](rungs::Error::Cuda) if the engine has no room or the sort fails.
pub fn sort(engine: &Engine, keys: &[i32]) -> Result<Vec<i32>> {
    let mut sorter = odd_even::LADDER.default.sorter::<u32>(engine, keys.len() as u32, Options::default())?;
    let buffer = engine.upload(bytemuck::cast_slice::<i32, u32>(keys))?;
    sorter.run(engine, Keys { keys: buffer.view(), order: order_of(Dtype::I32) })?;
    let words = buffer.download()?;
    Ok(bytemuck::cast_vec(words))
}

#[cfg(test)]
mod tests {
    use super::*;

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
