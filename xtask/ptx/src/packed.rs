//! Texts compressed by a build script for its program.

use std::io;

/// Compresses a text. Kernels of several types are alike but megabytes apart, so the window is as large as the text.
#[cfg(feature = "compile")]
pub(crate) fn pack(text: &str) -> io::Result<Vec<u8>> {
    let mut packer = zstd::bulk::Compressor::new(12)?;
    packer.long_distance_matching(true)?;
    packer.window_log(27)?;
    packer.compress(text.as_bytes())
}

/// A text that `embed_packed_from_build_script` compressed.
///
/// # Panics
/// For other bytes.
pub fn unpack(packed: &[u8]) -> String {
    let unpacked = || -> io::Result<Vec<u8>> {
        let mut unpacker = zstd::stream::Decoder::new(packed)?;
        unpacker.window_log_max(27)?;
        let mut text = vec![];
        io::Read::read_to_end(&mut unpacker, &mut text)?;
        Ok(text)
    };
    let text = unpacked().unwrap_or_else(|e| panic!("the program's PTX cannot be unpacked: {e}"));
    String::from_utf8(text).expect("PTX is text")
}

#[cfg(all(test, feature = "compile"))]
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
