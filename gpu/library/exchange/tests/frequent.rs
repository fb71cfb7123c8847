//! The kernels of frequent keys on the simulator, against the host.

use rungs_common::keys::{FLOAT, SIGNED, UNSIGNED};
use rungs_exchange::frequent::{COUNTERS, Counted, FILL_THREADS, SIFT_THREADS, SLOTS, Sift, Sifts, TABLE, WINDOW};
use rungs_testing::{Buffer, random, with_multiprocessors};
use simt::sim::{Check, check};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Keys of 4 bytes of a tile of each kernel.
const SIFT_TILE: usize = 16 * SIFT_THREADS as usize;
const FILL_TILE: usize = 16 * FILL_THREADS as usize;

/// A multiplier that gives the words of [`keys`] that are in the table slots of their own.
const MULTIPLIER: u64 = 0x9E37_79B9_9E37_79B9;

/// The first word of the window: it goes on at zero behind the largest word.
fn first<W: Counted>() -> u64 {
    (u64::MAX >> (64 - 8 * size_of::<W>())) - 99
}

/// Words outside of the window that are in the table.
const IN_TABLE: [u64; 3] = [1 << 31, 1_000_000, 77_777];

/// Keys of all kinds: of the window on both sides of zero, of the table, rare ones.
fn keys<W: Counted>(n: usize, order: u32) -> Vec<W> {
    let word = |i: u64| match random(i) % 4 {
        0 => first::<W>().wrapping_add(random(i) >> 40 & 15),
        1 => random(i) >> 40 & 31,
        2 => IN_TABLE[(random(i) >> 40) as usize % 3],
        _ => 1 << 30 | (random(i) >> 35),
    };
    (0..n as u64).map(|i| W::from_bits_64(word(i)).decode(order)).collect()
}

/// The number of each frequent word, and the rare ones in order.
type Sifted = (BTreeMap<u64, u32>, Vec<u64>);

fn wanted<W: Counted>(keys: &[W], order: u32) -> Sifted {
    let (mut frequent, mut rare) = (BTreeMap::new(), vec![]);
    for key in keys {
        let word = key.encode(order);
        let is_frequent = word.offset(W::from_bits_64(first::<W>())) < WINDOW;
        match word.to_bits_64() {
            bits if is_frequent || IN_TABLE.contains(&bits) => *frequent.entry(bits).or_default() += 1,
            bits => rare.push(bits),
        }
    }
    rare.sort_unstable();
    (frequent, rare)
}

fn sifted<W: Sifts>(keys: &[W], order: u32, offset: usize) -> Sifted {
    let slot = |word: u64| W::from_bits_64(word).slot(W::from_bits_64(MULTIPLIER));
    let mut table = vec![W::from_bits_64(first::<W>()); TABLE as usize];
    IN_TABLE.iter().for_each(|&word| table[slot(word) as usize] = W::from_bits_64(word));
    table[SLOTS as usize + 1] = W::from_bits_64(MULTIPLIER);
    let (mut from, mut table) = (Buffer::new(keys, offset), Buffer::new(&table, 0));
    let (mut counts, mut rare) = (Buffer::new(&vec![0; COUNTERS as usize + 1], 0), Buffer::poisoned(keys.len(), 1));
    let args = Sift { keys: from.view(), order, table: table.view(), counts: counts.view(), rare: rare.view() };
    W::sift(&with_multiprocessors(1), args).unwrap_or_else(|e| panic!("{e}"));
    counts.check_guards("counts");
    rare.check_guards("rare");
    let (counts, mask) = (counts.slice(), u64::MAX >> (64 - 8 * size_of::<W>()));
    let window = (0..WINDOW).map(|i| (first::<W>().wrapping_add(i.into()) & mask, counts[i as usize]));
    let others = IN_TABLE.iter().map(|&word| (word, counts[(WINDOW + slot(word)) as usize]));
    let frequent = window.chain(others).filter(|(_, count)| *count > 0).collect();
    let mut found: Vec<u64> =
        rare.slice()[..counts[COUNTERS as usize] as usize].iter().map(|w: &W| w.to_bits_64()).collect();
    found.sort_unstable();
    (frequent, found)
}

#[test]
fn frequent_keys_are_counted_and_rare_ones_collected() {
    for n in [0, 1, 2, 5, 31, 32, 33, 1009, SIFT_TILE - 1, SIFT_TILE, SIFT_TILE + 1] {
        let of_u32 = keys::<u32>(n, UNSIGNED);
        assert_eq!(sifted(&of_u32, UNSIGNED, n % 5), wanted(&of_u32, UNSIGNED), "{n} keys");
    }
    // More tiles than blocks.
    let many = keys::<u32>(9 * SIFT_TILE + 77, FLOAT);
    assert_eq!(sifted(&many, FLOAT, 3), wanted(&many, FLOAT));
    let wide = keys::<u64>(SIFT_TILE + 7, SIGNED);
    assert_eq!(sifted(&wide, SIGNED, 1), wanted(&wide, SIGNED));
}

/// Writes runs of these lengths at a number of elements behind a multiple of 128 bytes.
fn fills<W: Sifts + Debug>(lengths: &[usize], order: u32, offset: usize) {
    let words: Vec<W> = (0..lengths.len() as u64).map(|i| W::from_bits_64(random(i))).collect();
    let starts: Vec<u32> = lengths.iter().scan(0, |end, &n| Some(std::mem::replace(end, *end + n as u32))).collect();
    let runs = words.iter().zip(lengths);
    let want: Vec<W> = runs.flat_map(|(word, &n)| std::iter::repeat_n(word.decode(order), n)).collect();
    let (mut words, mut starts) = (Buffer::new(&words, 1), Buffer::new(&starts, 1));
    let mut output = Buffer::poisoned(want.len(), offset);
    W::fill(&with_multiprocessors(1), (words.view(), starts.view()), order, output.view()).unwrap();
    output.check_guards("output");
    let wrong = output.slice().iter().zip(&want).position(|(got, want)| got != want);
    assert_eq!(wrong, None, "of {} keys in {} runs, from {offset} on", want.len(), lengths.len());
}

#[test]
fn runs_of_every_length_are_filled_in() {
    for n in [1, 2, 31, 32, 33, 1009, FILL_TILE - 1, FILL_TILE, FILL_TILE + 1, 9 * FILL_TILE + 5] {
        fills::<u32>(&[n], UNSIGNED, n % 4);
        fills::<u32>(&[1, n, 1], FLOAT, (n + 1) % 4);
    }
    // As many runs as keys, in more than a tile; lengths of all kinds.
    fills::<u32>(&vec![1; FILL_TILE + 9], SIGNED, 2);
    let lengths: Vec<usize> = (0..300).map(|i| 1 + random(i) as usize % [2, 9, 5000][i as usize % 3]).collect();
    fills::<u32>(&lengths, UNSIGNED, 3);
    fills::<u64>(&lengths[..60], FLOAT, 1);
}

#[test]
fn no_schedule_shows_a_race() {
    let keys = keys::<u32>(SIFT_TILE + 900, UNSIGNED);
    let checked = check(Check { schedules: 4, ..Check::default() }, || {
        fills::<u32>(&[700, 1, 1, FILL_TILE, 3], UNSIGNED, 1);
        sifted(&keys, UNSIGNED, 1)
    });
    let findings: Vec<_> = checked.report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    assert!(checked.results.len() == 4 && checked.results.iter().all(|found| *found == wanted(&keys, UNSIGNED)));
}
