//! What a published sort gets wrong, put back one mistake at a time: columns of keys, merged by one `atomicMin` per key
//! put out. (The blog "cuda练习(三):使用gpu进行排序"; docs/sources.md.)

use crate::prelude::*;

/// Columns, a thread each.
#[cfg(not(target_os = "cuda"))]
const COLUMNS: u32 = 8;

/// No head yet, and no winner yet.
const NOTHING: u32 = u32::MAX;

const NONE: u32 = 0;
const UNSET_MINIMUM: u32 = 1;
const NO_BARRIER: u32 = 2;
const EQUAL_KEYS: u32 = 3;
const SENTINEL: u32 = 4;
const PAST_THE_END: u32 = 5;

shared!(MINIMUM: [u32; 1]);
shared!(WINNER: [u32; 1]);

/// Merges sorted columns of `rows` keys each, which are stored contiguously.
#[simt::device]
#[track_caller]
fn merge(columns: Global<u32>, output: Global<u32>, rows: u32, mistake: u32) {
    let (t, minimum, winner) = (thread_idx_x(), MINIMUM::view(), WINNER::view());
    if t == 0 {
        if mistake != UNSET_MINIMUM {
            minimum.set(0, NOTHING);
        }
        winner.set(0, NOTHING);
    }
    sync_threads(); // the words are set
    let mut row = 0;
    for to in 0..output.len() {
        let there = row < rows;
        let head = if there || mistake == PAST_THE_END { columns.get(t * rows + row) } else { NOTHING };
        if there || mistake == PAST_THE_END {
            minimum.fetch_min(0, head, Relaxed, Scope::Block);
        }
        sync_threads(); // all heads are in the minimum
        let least = minimum.get(0);
        if mistake == SENTINEL && least == NOTHING {
            break; // "nothing is left"
        }
        if there && head == least {
            winner.fetch_min(0, t, Relaxed, Scope::Block);
        }
        sync_threads(); // one column has won
        let wins = if mistake == EQUAL_KEYS { there && head == least } else { winner.get(0) == t };
        if wins {
            output.set(to, least);
            row += 1;
        }
        if mistake != NO_BARRIER {
            sync_threads(); // everyone has read what is now reset
        }
        if t == 0 {
            minimum.set(0, NOTHING);
            winner.set(0, NOTHING);
        }
        sync_threads(); // reset before the next round
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn s4_minimum_not_set<V: Version>(columns: Global<u32>, output: Global<u32>, rows: u32) {
    merge(columns, output, rows, if V::FIXED { NONE } else { UNSET_MINIMUM });
}

#[kernel(instances([Planted, Fixed]))]
pub fn s4_read_and_reset<V: Version>(columns: Global<u32>, output: Global<u32>, rows: u32) {
    merge(columns, output, rows, if V::FIXED { NONE } else { NO_BARRIER });
}

#[kernel(instances([Planted, Fixed]))]
pub fn s4_equal_keys<V: Version>(columns: Global<u32>, output: Global<u32>, rows: u32) {
    merge(columns, output, rows, if V::FIXED { NONE } else { EQUAL_KEYS });
}

#[kernel(instances([Planted, Fixed]))]
pub fn s4_sentinel<V: Version>(columns: Global<u32>, output: Global<u32>, rows: u32) {
    merge(columns, output, rows, if V::FIXED { NONE } else { SENTINEL });
}

#[kernel(instances([Planted, Fixed]))]
pub fn s4_past_the_end<V: Version>(columns: Global<u32>, output: Global<u32>, rows: u32) {
    merge(columns, output, rows, if V::FIXED { NONE } else { PAST_THE_END });
}

#[kernel]
pub fn s4_input_not_reloaded(columns: Global<u32>, output: Global<u32>, rows: u32) {
    merge(columns, output, rows, NONE);
}

/// The run of a merge of these keys.
#[cfg(not(target_os = "cuda"))]
macro_rules! merges {
    ($kernel:ident, $keys:expr) => {
        |on| {
            let mut keys: Vec<u32> = $keys;
            let rows = keys.len() as u32 / COLUMNS;
            keys.chunks_mut(rows as usize).for_each(|column| column.sort_unstable());
            let (columns, output) = (on.input(keys.clone())?, on.output(keys.len() as u32)?);
            launch!(on, $kernel, Geometry::linear(1, COLUMNS), columns.view(), output.view(), rows)?;
            keys.sort_unstable();
            on.ended(&output, keys)
        }
    };
}

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "s4-minimum-not-set",
        bug: "The shared minimum is not set before its first use.",
        effect: "Whatever the memory held is the first minimum, if it is smaller than all keys.",
        fix: "Thread 0 sets it, and a barrier follows.",
        finds: &[UninitialisedShared],
        run: merges!(s4_minimum_not_set, numbers(40)),
    },
    Case {
        name: "s4-read-and-reset",
        bug: "No barrier separates the reads of winner and minimum from their reset.",
        effect: "A late thread reads the reset values, and its key is lost.",
        fix: "A barrier of the block between the two.",
        finds: &[SharedRace, Unwritten],
        run: merges!(s4_read_and_reset, numbers(40)),
    },
    Case {
        name: "s4-equal-keys",
        bug: "Every column whose head is the minimum advances, but only one key is output.",
        effect: "Only one of several equal keys remains.",
        fix: "One winner per round.",
        finds: &[SameValueWrite, Unwritten],
        run: merges!(s4_equal_keys, numbers(40).iter().map(|v| v / 200).collect()),
    },
    Case {
        name: "s4-sentinel",
        bug: "The largest number marks the end, but it is also a valid key.",
        effect: "Keys of that value are lost, and others with them.",
        fix: "The number of output keys decides when the sort ends.",
        finds: &[Unwritten],
        run: merges!(s4_sentinel, numbers(40).iter().map(|v| if v % 5 == 0 { u32::MAX } else { *v }).collect()),
    },
    Case {
        name: "s4-past-the-end",
        bug: "The head of an exhausted column is still read: it is the next column's first key.",
        effect: "Keys of other columns count twice; the last column reads past the end of the array.",
        fix: "An exhausted column has no head.",
        finds: &[OutOfBounds, Unwritten],
        run: merges!(s4_past_the_end, (0..40).rev().collect()),
    },
    Case {
        name: "s4-input-not-reloaded",
        bug: "Several sorts are timed on the same array without reloading it: all but the first sort sorted keys.",
        effect: "Any kernel that leaves sorted keys alone passes.",
        fix: "The keys are loaded again, and the output is poisoned.",
        finds: &[Unwritten],
        run: |on| {
            // The second sort is an empty launch. With the mistake its output is the first one's.
            let mut keys = numbers(40);
            keys.chunks_mut(5).for_each(|column| column.sort_unstable());
            let (columns, first, second) = (on.input(keys.clone())?, on.scratch(40)?, on.output(40)?);
            let one = Geometry::linear(1, COLUMNS);
            on.launch(s4_input_not_reloaded, one, (columns.view(), first.view(), 5))?;
            let rows = if on.fixed { 5 } else { 0 };
            if rows > 0 {
                on.launch(s4_input_not_reloaded, one, (columns.view(), second.view(), rows))?;
            }
            keys.sort_unstable();
            on.ended(&second, keys)
        },
    },
];
