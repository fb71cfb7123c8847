//! Turns the counts of a sample by slices into the table of the map.

use super::map::{NUMBER_BITS, Range, SLICES};
use crate::msd::Key;
use crate::steps::block_scan;
use simt::{Shared, shared, thread, unroll, warp};

/// Threads per block that learns.
pub const LEARN_THREADS: u32 = 1024;
pub(super) const WARPS: u32 = LEARN_THREADS / warp::WARP;

/// How many numbers are wanted, about, of 2¹⁶: a slice may get one more than its share.
pub const ABOUT: u32 = 15 << (NUMBER_BITS - 4);
/// A slice gets a number more from this share of a number on.
const LEAST_SHARE: f32 = 0.15;
/// Less than this share of a number is shared with neighbours: together they have at most 1.4.
const LIGHT: f32 = 0.4;
/// The share of a number grows by this factor while there are too many of them.
const GROWTH: f32 = 1.05;

shared!(SUMS: [u32; 2 * WARPS]);

/// The least and the greatest key of either span; the greatest is below the least if there are none.
pub type Ends<W> = [(W, W); 2];

/// Counts the slice in which the keys of a span end, and the next one outside, as if they were as dense as the next one
/// inside. Keys fill a part of the first, which would get too few numbers for them. One thread calls it.
#[simt::device]
fn extend_ends<W: Key>(counts: Shared<u32>, range: Range<W>, ends: Ends<W>) {
    unroll::<2>(|i| {
        let (least, greatest) = ends[i];
        if least <= greatest {
            let (first, last) = (range.slice(least), range.slice(greatest));
            for [inside, end, outside] in
                [[first + 1, first, first.wrapping_sub(1)], [last.wrapping_sub(1), last, last + 1]]
            {
                let dense = if inside < SLICES { counts.get(inside) } else { 0 };
                counts.set(end, counts.get(end).max(dense));
                if outside < SLICES {
                    counts.set(outside, counts.get(outside).max(dense));
                }
            }
        }
    });
}

/// Gives each slice its share of the numbers, by the `counts` of the sample. Thread t has written those of slices 4t to
/// 4t + 3, and gets their words of the table. A barrier comes behind the last count that is read.
#[simt::device]
#[track_caller]
pub fn make_table<W: Key>(counts: Shared<u32>, range: Range<W>, ends: Ends<W>) -> [u32; 4] {
    thread::sync_threads(); // the counts of all slices are there
    if thread::thread_idx_x() == 0 {
        extend_ends(counts, range, ends);
    }
    thread::sync_threads(); // the counts are as they stay before neighbours are read
    let t = thread::thread_idx_x();
    let (sums, light_sums) = (SUMS::view().slice(0, WARPS), SUMS::view().slice(WARPS, WARPS));
    // Four times the keys of a slice, smoothed: neighbours are alike, and a sample is noisy. Never much fewer than were
    // found.
    let weight = |i: u32| {
        let at = |i: u32| if i < SLICES { counts.get(i) } else { 0 };
        (at(i.wrapping_sub(1)) + 2 * at(i) + at(i + 1)).max(3 * at(i))
    };
    let mut weights = [0; 4];
    let mut mine = 0;
    unroll::<4>(|j| {
        weights[j] = weight(4 * t + j as u32);
        mine += weights[j];
    });
    let before = if t > 0 { weight(4 * t - 1) } else { u32::MAX };
    let (_, total) = block_scan::<WARPS>(mine, sums);
    // A heavy slice has numbers for itself, light ones share numbers.
    let mut number = total as f32 / ABOUT as f32;
    loop {
        thread::sync_threads(); // all have read the sums before the next ones are written
        let inverse = 1.0 / number;
        let is_light = |weight: u32| (weight as f32) < LIGHT * number;
        let of_heavy = |weight: u32| ((weight as f32 * inverse + (1.0 - LEAST_SHARE)) as u32).max(1);
        let (mut own, mut light) = (0, 0);
        let mut after_light = t > 0 && is_light(before);
        unroll::<4>(|j| {
            if is_light(weights[j]) {
                light += weights[j];
            } else {
                // The number that light slices before this one share ends here.
                own += of_heavy(weights[j]) + after_light as u32;
            }
            after_light = is_light(weights[j]);
        });
        let (mut own_before, own_all) = block_scan::<WARPS>(own, sums);
        let (mut light_before, light_all) = block_scan::<WARPS>(light, light_sums);
        let shared = |light: u32| (light as f32 * inverse) as u32;
        // The same in all threads. There are fewer with each round, and two at last.
        if own_all + shared(light_all) + 2 > 1 << NUMBER_BITS {
            number *= GROWTH;
            continue;
        }
        let mut words = [0; 4];
        let mut after_light = t > 0 && is_light(before);
        unroll::<4>(|j| {
            let first = own_before + shared(light_before);
            if is_light(weights[j]) {
                words[j] = first << 16;
                light_before += weights[j];
            } else {
                let (skipped, numbers) = (after_light as u32, of_heavy(weights[j]));
                words[j] = (first + skipped) << 16 | numbers;
                own_before += skipped + numbers;
            }
            after_light = is_light(weights[j]);
        });
        return words;
    }
}
