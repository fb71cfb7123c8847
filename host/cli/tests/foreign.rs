//! The readers of foreign bytes, on the seeds of the fuzz targets and on thousands of mutations of them: they return,
//! with a result or an error, and take little more memory than there are bytes.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What the fuzz targets run.
#[path = "../../../fuzz/src/lib.rs"]
mod readers;

/// The system's allocator, which counts what a thread holds and has held at most.
struct Counting;

thread_local! {
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(bytes: isize) {
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that `work` holds in addition to those held before.
fn most_held(work: impl FnOnce()) -> usize {
    let before = HELD.get().0;
    HELD.set((before, before));
    work();
    (HELD.get().1 - before) as usize
}

/// A step of a reader that does not know the length of its input: 2²⁰ bytes, and as many again while it grows.
const STEP: usize = 2 << 20;

/// Mutations of each seed.
const MUTATIONS: u64 = 250;

/// Runs a reader over its seeds and their mutations.
fn survives(target: &str, read: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut seeds: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    seeds.sort();
    assert!(seeds.len() > 2, "{} has no seeds", folder.display());
    for (number, seed) in seeds.iter().enumerate() {
        let bytes = fs::read(seed).unwrap();
        for mutation in 0..MUTATIONS {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(mutation + ((number as u64) << 32));
            // The first is the seed itself.
            let bytes = if mutation == 0 { bytes.clone() } else { mutated(bytes.clone(), &mut random) };
            let most = most_held(|| read(&bytes));
            assert!(
                most <= STEP + 64 * bytes.len(),
                "{}, mutation {mutation}: {most} bytes of memory for {} bytes",
                seed.display(),
                bytes.len()
            );
        }
    }
}

/// Values to insert: those that break lengths, counts and texts first.
const PIECES: &[&[u8]] = &[
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"18446744073709551615",
    b"18446744073709551616",
    b"4294967296, ",
    b"99999999999999999999999999999999",
    b"-1",
    b"1e999",
    b"((((((((",
    b"[[[[{{{{",
    b"'''",
    b"\\",
    b"\x00",
    b"\xc3\xa9",
    b"\x93NUMPY",
    b"null",
    b"\"",
];

fn mutated(mut bytes: Vec<u8>, random: &mut impl Rng) -> Vec<u8> {
    let mut below = |limit: usize| (random.next_u64() % limit.max(1) as u64) as usize;
    for _ in 0..=below(4) {
        let (at, until) = (below(bytes.len() + 1), below(bytes.len() + 1));
        match below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at.min(until)..at.max(until))),
            2 => bytes.splice(at..at, PIECES[below(PIECES.len())].iter().copied()).for_each(drop),
            3 => {
                let copy = bytes[at.min(until)..at.max(until)].to_vec();
                bytes.splice(at..at, copy).for_each(drop);
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << below(8),
            _ => bytes.push(below(256) as u8),
        }
    }
    bytes
}

#[test]
fn arrays() {
    survives("npy", readers::npy);
}

#[test]
fn raw_elements() {
    survives("raw", readers::raw);
}

#[test]
fn the_laboratorys_stream() {
    survives("lab", readers::lab);
}

#[test]
fn reports() {
    survives("report", readers::report);
}

#[test]
fn every_fuzz_target_has_a_test_here() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let names = |folder: &str| {
        let entries = fs::read_dir(fuzz.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names("fuzz_targets"), names("seeds"));
    for name in names("fuzz_targets") {
        assert!(include_str!("foreign.rs").contains(&format!("survives(\"{name}\", readers::{name});")), "{name}");
        let target = fs::read_to_string(fuzz.join("fuzz_targets").join(&name).with_extension("rs")).unwrap();
        assert!(target.contains(&format!("rungs_fuzz::{name}(bytes)")), "{target}");
    }
}
