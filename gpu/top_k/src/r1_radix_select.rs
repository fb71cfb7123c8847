//! # Top k, radix select
//!
//! **Idea.** Count how often each value of the keys' top digit occurs. Add the counts from the largest value down. The
//! value at which the sum reaches k is the threshold's top digit. Continue with the next digit, but count only the keys
//! with the known digits. After four digits the threshold is known, and one more read writes the keys above it.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Memory: every pass reads all keys, although after the first pass only one in 256 random keys is
//! counted. The next rung writes these to a list.
//!
//! **Cost.** Five reads of each key; 9 launches, and the clearing of the state before them; 2 barriers per block that
//! counts; one shared atomic per key and pass that counts it.
//!
//! **Threads.** Blocks of 256 threads, one per count; neighbouring threads read neighbouring keys, in steps of the
//! grid's threads.
//!
//! **Limits.** Any n, any k up to n. Equal keys share one counter, which makes counting slow.
//!
//! **Source.** T. Alabi, J. D. Blanchard, B. Gordon, R. Steinbach, "Fast k-selection algorithms for graphics processing
//! units" (2012), its radixSelect. Changed: the keys above the threshold are written too, and floats.

use super::{BINS, Known, add_counts, append, digit, each};
use rungs_common::keys::Word;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = BINS;

/// Blocks that keep an SM of 2048 threads full.
const BLOCKS_PER_SM: u32 = 2048 / BLOCK;

/// Words of the state: the threshold as far as it is known, its rank among the keys that agree with it, the places of
/// the output that are taken, and the counts of a digit.
const WORD: u32 = 0;
const RANK: u32 = 1;
const TAKEN: u32 = 2;
const COUNTS: u32 = 32;

/// Words of the state in all.
pub const STATE: u32 = COUNTS + BINS;

shared!(
    /// The counts of the block.
    COUNTED: [u32; BINS]
);

/// Blocks for `n` keys on a device with the given number of SMs.
pub const fn grid(n: u32, sms: u32) -> u32 {
    let (needed, most) = (n.div_ceil(BLOCK), sms * BLOCKS_PER_SM);
    if needed < most { needed } else { most }
}

/// Adds to the counts how often each value of digit `number` occurs among the keys that agree with the known digits.
#[kernel(max_threads = BLOCK)]
pub fn top_k_radix_select_count(keys: Global<u32>, order: u32, number: u32, state: Global<u32>) {
    let (t, counted) = (thread::thread_idx_x(), COUNTED::view());
    counted.set(t, 0);
    thread::sync_threads(); // all counters are zero before the first key is counted
    let known = Known { word: state.get(WORD), rank: 0 };
    each(keys.len(), |i| {
        if let Some(word) = i.map(|i| keys.get(i).encode(order))
            && known.agrees(word, number)
        {
            counted.fetch_add(digit(word, number), 1, Relaxed, Scope::Block);
        }
    });
    thread::sync_threads(); // all keys of the block are counted before the counts leave
    add_counts(counted, state.slice(COUNTS, BINS));
}

/// Finds digit `number` of the threshold by its counts, and clears them for the next. One block.
#[kernel(max_threads = BLOCK)]
pub fn top_k_radix_select_pick(state: Global<u32>, number: u32, k: u32) {
    let counts = state.slice(COUNTS + BINS - 1 - thread::thread_idx_x(), 1);
    let known = Known { word: state.get(WORD), rank: if number == 0 { k } else { state.get(RANK) } };
    // Its barrier: all threads have read what is known before one of them writes it.
    if let Some(known) = known.narrow(number, counts.get(0)) {
        state.set(WORD, known.word);
        state.set(RANK, known.rank);
    }
    counts.set(0, 0);
}

/// Writes the keys above the threshold, and copies of it at the end of the output.
#[kernel(max_threads = BLOCK)]
pub fn top_k_radix_select_gather(keys: Global<u32>, order: u32, state: Global<u32>, output: Global<u32>) {
    let (threshold, copies) = (state.get(WORD), state.get(RANK));
    each(keys.len(), |i| {
        let key = i.map(|i| keys.get(i)).filter(|key| key.encode(order) > threshold);
        append(state.slice(TAKEN, 1), output, key);
    });
    each(copies, |i| {
        if let Some(i) = i {
            output.set(output.len() - 1 - i, threshold.decode(order));
        }
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: count and pick for each digit, then gather.

    use super::*;
    use rungs_common::ladder::top_k::*;

    /// The rung.
    pub static RUNG: Entry<&dyn TopK> =
        rung!("r1_radix_select.rs", [top_k_radix_select_count, top_k_radix_select_pick, top_k_radix_select_gather])
            .with_tiles(&[BLOCK as u64])
            .run_by(&RadixSelect);

    struct RadixSelect;

    impl FindsLargest for RadixSelect {
        /// The state.
        type Memory = Scratch<u32>;

        fn scratch(on: &dyn Launcher, _: u32, _: u32) -> Result<Scratch<u32>> {
            on.scratch(STATE)
        }

        fn find(on: &dyn Launcher, Keys { input, output, order }: Keys, state: &mut Scratch<u32>) -> Result {
            let (state, k) = (state.view(), output.len());
            let all = Geometry::linear(grid(input.len(), on.device().multiprocessors), BLOCK);
            on.clear(state)?;
            for number in 0..crate::DIGITS {
                on.launch(top_k_radix_select_count, all, (input, order, number, state))?;
                on.launch(top_k_radix_select_pick, Geometry::linear(1, BLOCK), (state, number, k))?;
            }
            on.launch(top_k_radix_select_gather, all, (input, order, state, output))
        }
    }
}
