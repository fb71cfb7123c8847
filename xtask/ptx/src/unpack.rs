//! Reads texts that a build script compressed for its program.

use ruzstd::decoding::StreamingDecoder;
use std::io::{self, Read};

/// A text whose parts `embed_packed_from_build_script` compressed.
///
/// # Panics
/// For other bytes.
pub fn unpack(parts: &[&[u8]]) -> String {
    let unpacked = || -> io::Result<Vec<u8>> {
        let mut text = vec![];
        for packed in parts {
            StreamingDecoder::new(*packed).map_err(io::Error::other)?.read_to_end(&mut text)?;
        }
        Ok(text)
    };
    let text = unpacked().unwrap_or_else(|e| panic!("the program's PTX cannot be unpacked: {e}"));
    String::from_utf8(text).expect("PTX is text")
}
