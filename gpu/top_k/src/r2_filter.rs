//! # Top k, a filter while reading
//!
//! **Idea.** When a pass knows one more digit, each key is above the known digits, below them, or agrees with them. A
//! key above belongs to the result and is written; a key below is dropped; a key that agrees stays a *candidate*. The
//! pass writes the candidates to a list and counts their next digit at the same time. The next pass reads only the
//! list.
//!
//! **Changed from the rung before.** A pass writes the keys that it decides, and the later passes read only the
//! undecided ones. One kernel filters by a digit and counts the next one, so there are as many launches as before.
//!
//! **Bottleneck.** Memory: all keys are read twice, once to count the top digit and once to filter by it. Equal keys,
//! and keys with few distinct top digits, stay candidates to the end and are written, too. The next rung guesses the
//! threshold before it reads.
//!
//! **Cost.** Two reads of each key, and for each key that agrees with 1, 2 or 3 digits one write and one read; 9
//! launches, and the clearing of the state before them; 2 barriers per block that filters; scratch memory for two lists
//! of n keys.
//!
//! **Threads.** As in the rung before.
//!
//! **Limits.** Any n, any k up to n.
//!
//! **Source.** J. Zhang, A. Naruse, X. Li, Y. Wang, "Parallel top-K algorithms on GPU: a comprehensive study and new
//! methods" (2023), its AIR top-K. Changed: digits of 8 bits, a kernel of its own that picks, no adaptive choice.

use super::{BINS, DIGITS, Known, add_counts, append, digit, each};
use rungs_common::keys::Word;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = BINS;

/// Blocks that keep an SM of 2048 threads full.
const BLOCKS_PER_SM: u32 = 2048 / BLOCK;

/// Words of the state: the threshold as far as it is known, its rank among the keys that agree with it, the places of
/// the output that are taken, the keys in the list that each pass writes, and the counts of a digit.
const WORD: u32 = 0;
const RANK: u32 = 1;
const TAKEN: u32 = 2;
const LISTED: u32 = 8;
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

/// Pass `number` knows this many digits: writes the keys above them to `output`, those that agree to `next`, and counts
/// their next digit. Passes 0 and 1 read all keys, later ones the list of the pass before. The last pass, for which no
/// digit is left, writes copies of the threshold in place of a list.
#[kernel(max_threads = BLOCK)]
pub fn top_k_filter_pass(
    keys: Global<u32>,
    order: u32,
    number: u32,
    state: Global<u32>,
    next: Global<u32>,
    output: Global<u32>,
) {
    let (t, counted) = (thread::thread_idx_x(), COUNTED::view());
    counted.set(t, 0);
    thread::sync_threads(); // all counters are zero before the first key is counted
    let known = Known { word: state.get(WORD), rank: state.get(RANK) };
    let len = if number < 2 { keys.len() } else { state.get(LISTED + number - 1) };
    let (taken, listed) = (state.slice(TAKEN, 1), state.slice(LISTED + number, 1));
    each(len, |i| {
        let key = i.map(|i| keys.get(i));
        let agrees = key.filter(|key| number == DIGITS || known.agrees(key.encode(order), number));
        if number > 0 {
            // Unknown digits of the threshold are zero: they do not hide a key that is above in a known one.
            append(taken, output, key.filter(|key| above(key.encode(order), known, number)));
        }
        if (1..DIGITS).contains(&number) {
            append(listed, next, agrees);
        }
        if number < DIGITS
            && let Some(key) = agrees
        {
            counted.fetch_add(digit(key.encode(order), number), 1, Relaxed, Scope::Block);
        }
    });
    thread::sync_threads(); // all keys of the block are counted before the counts leave
    if number < DIGITS {
        add_counts(counted, state.slice(COUNTS, BINS));
        return;
    }
    each(known.rank, |i| {
        if let Some(i) = i {
            output.set(output.len() - 1 - i, known.word.decode(order));
        }
    });
}

/// Whether a word is above the known digits.
#[simt::device]
fn above(word: u32, known: Known, number: u32) -> bool {
    word > known.word && (number == DIGITS || !known.agrees(word, number))
}

/// Finds digit `number` of the threshold by its counts, and clears them for the next. One block.
#[kernel(max_threads = BLOCK)]
pub fn top_k_filter_pick(state: Global<u32>, number: u32, k: u32) {
    let counts = state.slice(COUNTS + BINS - 1 - thread::thread_idx_x(), 1);
    let known = Known { word: state.get(WORD), rank: if number == 0 { k } else { state.get(RANK) } };
    // Its barrier: all threads have read what is known before one of them writes it.
    if let Some(known) = known.narrow(number, counts.get(0)) {
        state.set(WORD, known.word);
        state.set(RANK, known.rank);
    }
    counts.set(0, 0);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: a pass and a pick for each digit, then the last pass.

    use super::*;
    use rungs_common::ladder::top_k::*;

    /// The rung.
    pub static RUNG: Entry<&dyn TopK> =
        rung!("r2_filter.rs", [top_k_filter_pass, top_k_filter_pick]).with_tiles(&[BLOCK as u64]).run_by(&Filter);

    struct Filter;

    impl FindsLargest for Filter {
        /// The state, and the lists of the keys that are left: of odd passes, and of even ones.
        type Memory = [Scratch<u32>; 3];

        fn scratch(on: &dyn Launcher, n: u32, _: u32) -> Result<Self::Memory> {
            Ok([on.scratch(STATE)?, on.scratch(n)?, on.scratch(n)?])
        }

        fn find(on: &dyn Launcher, Keys { input, output, order }: Keys, memory: &mut Self::Memory) -> Result {
            let [state, odd, even] = memory.each_ref().map(Scratch::view);
            let all = Geometry::linear(grid(input.len(), on.device().multiprocessors), BLOCK);
            on.clear(state)?;
            for number in 0..=DIGITS {
                let (next, list) = if number % 2 == 1 { (odd, even) } else { (even, odd) };
                let keys = if number < 2 { input } else { list };
                on.launch(top_k_filter_pass, all, (keys, order, number, state, next, output))?;
                if number < DIGITS {
                    on.launch(top_k_filter_pick, Geometry::linear(1, BLOCK), (state, number, output.len()))?;
                }
            }
            Ok(())
        }
    }
}
