//! # Scan by any operator
//!
//! Element i of the result combines the elements up to i, in their order: with element i itself, or without it. The
//! operator is associative; it need not be commutative. Of an operator that is not associative the results combine the
//! right elements in the right order, but in which groups may differ from call to call.
//!
//! Two kernels do it. On compute capability 9.0 elements of 4 and 8 bytes are scanned by the course's
//! [look-ahead](rungs_scan::r6_look_ahead). All others are scanned here: a block takes a tile of [`TILE`] elements,
//! each thread consecutive ones, and looks back for what stands before the tile.
//!
//! **Bottleneck.** Memory, with pauses while a block looks back, as in [`crate::compact`].

use crate::look_back::{self, Carry, Combined, next_tile, prefix, prefix_words};
use crate::{BLOCK, load, store};
use rungs_common::operator::Operator;
use simt::{Global, Scalar, Shared, thread};

/// Elements per thread; odd, so that threads with consecutive elements meet in no bank of shared memory.
pub const ITEMS: usize = 15;

/// Elements of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

/// Words of shared memory before the tile: those of [`prefix`], with elements of up to 8 bytes; the tile's number.
const NUMBER: u32 = 18;
const WORDS: u32 = 20;
const _: () =
    assert!(prefix_words::<Combined<u64, rungs_common::operator::Sum>>() <= NUMBER && WORDS.is_multiple_of(2));

/// Blocks for `n` elements, one per tile.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Bytes of dynamic shared memory.
pub const fn shared_bytes<T>() -> u32 {
    4 * WORDS + TILE * size_of::<T>() as u32
}

/// Scans `input` into `output`, which may be the same; `exclusive` is 1 or 0. Every word of `workspace` is zero before.
#[simt::device]
pub fn scan<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>, workspace: Global<u64>, exclusive: u32) {
    let (t, words) = (thread::thread_idx_x(), Shared::<u32>::dynamic(0, WORDS));
    let tile = Shared::<T>::dynamic(4 * WORDS, TILE);
    if t == 0 {
        words.set(NUMBER, next_tile(workspace));
    }
    thread::sync_threads(); // the number is written before all threads read it
    let (number, first) = (words.get(NUMBER), t * ITEMS as u32);
    let start = number * TILE;
    let len = (input.len() - start).min(TILE);
    load::<T, ITEMS>(len, |i| input.get(start + i), tile);
    thread::sync_threads(); // the stripes are stored before threads take consecutive elements

    let (mut items, mut own) = ([Combined::<T, O>::NOTHING; ITEMS], Combined::NOTHING);
    simt::unroll::<ITEMS>(|i| {
        if first + (i as u32) < len {
            items[i] = Combined::new(tile.get(first + i as u32));
        }
        own = own.then(items[i]);
    });
    let mut running = prefix(workspace, number, own, words).start;
    simt::unroll::<ITEMS>(|i| {
        let before = running;
        running = running.then(items[i]);
        // No other thread reads or writes this thread's places between the barriers.
        tile.set(first + i as u32, if exclusive != 0 { before.value } else { running.value });
    });
    thread::sync_threads(); // the results are staged before they leave in stripes
    store::<T, ITEMS>(tile, output.slice(start, len));
}

/// Words of the workspace for `n` elements; all are zero before a launch.
pub const fn workspace<T: Scalar, O: Operator<T>>(n: u32) -> u32 {
    look_back::workspace::<Combined<T, O>>(grid(n))
}

/// Threads per block of [`scan_ahead`].
pub const AHEAD_BLOCK: u32 = 320;

/// Whether elements of this type are scanned by looking ahead where the device can.
pub const fn ahead<T>() -> bool {
    size_of::<T>() >= 4
}

/// The scan that looks ahead; see [`rungs_scan::r6_look_ahead::scan_by`].
#[cfg(any(sm_90, not(target_os = "cuda")))]
#[simt::device]
pub fn scan_ahead<T: Scalar, O: Operator<T>>(
    input: Global<T>,
    output: Global<T>,
    workspace: Global<u64>,
    exclusive: u32,
) {
    const { assert!(AHEAD_BLOCK == rungs_scan::r6_look_ahead::BLOCK) };
    // Of smaller elements nothing is launched.
    if ahead::<T>() {
        rungs_scan::r6_look_ahead::scan_by::<T, O>(input, output, workspace, exclusive)
    }
}
