//! Compresses texts for a program that [unpacks](crate::unpack) them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Mutex;
use std::{fs, io, thread};

/// How a file with a compressed part ends.
const ENDING: &str = ".zst";

/// The name of the file with a compressed part: the hash of its text.
pub(crate) fn file_of(part: &str) -> String {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    format!("{:016x}{ENDING}", hasher.finish())
}

/// Leaves a file in a folder for each part of the texts, and none for other parts. What has its file is not compressed
/// again: the compressor of a build script is not optimised, and the kernels of all packages take it seconds.
pub(crate) fn pack_into<'a>(folder: &Path, parts: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let files: BTreeMap<_, _> = parts.map(|part| (file_of(part), part)).collect();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(ENDING) && !files.contains_key(&name) {
            fs::remove_file(folder.join(name))?;
        }
    }
    let left = Mutex::new(files.iter().filter(|(name, _)| !folder.join(name).exists()));
    let take = || left.lock().expect("an iterator does not panic").next();
    let work = || {
        while let Some((name, part)) = take() {
            // Under its name only when it is whole.
            let unfinished = folder.join(name).with_extension("part");
            fs::write(&unfinished, pack(part)?)?;
            fs::rename(&unfinished, folder.join(name))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|one| one.join().expect("compression does not panic"))
    })
}

/// Compresses a text. Kernels of several types are alike but megabytes apart, so the window is large; larger ones
/// [`crate::unpack`] refuses.
fn pack(text: &str) -> io::Result<Vec<u8>> {
    // Higher levels take twice the time and save nothing here.
    let mut packer = zstd::bulk::Compressor::new(9)?;
    packer.long_distance_matching(true)?;
    packer.window_log(26)?;
    packer.compress(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unpack;

    #[test]
    fn packed_parts_are_unpacked() {
        let text = ".visible .entry a()\n".repeat(100_000);
        let packed = pack(&text).unwrap();
        assert!(packed.len() < 10_000, "{} bytes", packed.len());
        assert_eq!(unpack(&[&packed]), text);
        assert_eq!(unpack(&[&packed, &pack("").unwrap(), &packed]), text.repeat(2));
        assert_eq!(unpack(&[]), "");
    }

    #[test]
    fn a_part_is_compressed_once_and_goes_with_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let files = || {
            let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut names: Vec<_> = names.collect();
            names.sort();
            names
        };
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        fs::write(folder.join("ptx.rs"), "").unwrap();
        pack_into(folder, ["one", "two", "one"].into_iter()).unwrap();
        assert_eq!(files(), sorted(vec![file_of("one"), file_of("two"), "ptx.rs".into()]));
        assert_eq!(unpack(&[&fs::read(folder.join(file_of("two"))).unwrap()]), "two");
        fs::write(folder.join(file_of("one")), "kept").unwrap();
        pack_into(folder, ["three", "one"].into_iter()).unwrap();
        assert_eq!(files(), sorted(vec![file_of("one"), file_of("three"), "ptx.rs".into()]));
        assert_eq!(fs::read(folder.join(file_of("one"))).unwrap(), b"kept");
        assert_eq!(unpack(&[&fs::read(folder.join(file_of("three"))).unwrap()]), "three");
    }
}
