//! Texts compressed by a build script for its program.

use ruzstd::decoding::StreamingDecoder;
use std::io::{self, Read};

/// Compresses a text. Kernels of several types are alike but megabytes apart, so the window is large; larger
/// ones [`unpack`] refuses.
#[cfg(feature = "embed")]
pub(crate) fn pack(text: &str) -> io::Result<Vec<u8>> {
    let mut packer = zstd::bulk::Compressor::new(12)?;
    packer.long_distance_matching(true)?;
    packer.window_log(26)?;
    packer.compress(text.as_bytes())
}

/// A text that `embed_packed_from_build_script` compressed.
///
/// # Panics
/// For other bytes.
pub fn unpack(packed: &[u8]) -> String {
    let unpacked = || -> io::Result<Vec<u8>> {
        let mut text = vec![];
        StreamingDecoder::new(packed).map_err(io::Error::other)?.read_to_end(&mut text)?;
        Ok(text)
    };
    let text = unpacked().unwrap_or_else(|e| panic!("the program's PTX cannot be unpacked: {e}"));
    String::from_utf8(text).expect("PTX is text")
}

#[cfg(all(test, feature = "embed"))]
mod tests {
    use super::*;

    #[test]
    fn a_packed_text_is_unpacked() {
        let text = ".visible .entry a()\n".repeat(100_000);
        let packed = pack(&text).unwrap();
        assert!(packed.len() < 10_000, "{} bytes", packed.len());
        assert_eq!(unpack(&packed), text);
        assert_eq!(unpack(&pack("").unwrap()), "");
    }
}
