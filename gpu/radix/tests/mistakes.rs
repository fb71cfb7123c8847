//! What the source of the rungs `radix columns-…` gets wrong, put back one mistake at a time: the checks that every
//! rung of ours passes find each of them.
//!
//! The kernel here merges as the source does, one key a round. Without a mistake it sorts; with any of them it does
//! not. (The source is S4, the blog "cuda练习(三):使用gpu进行排序".)

use rungs_common::keys::UNSIGNED;
use rungs_common::ladder::sort::{Keys, Sort};
use rungs_common::ladder::{Entry, Launcher, Options, Result};
use rungs_radix::columns::{self, Columns};
use rungs_radix::{r1_columns_one_thread, r2_columns_atomic_min, r3_columns_tree, r4_columns_groups};
use rungs_testing::{difference, inputs, narrow, view};
use simt::atomic::{Order::Relaxed, Scope};
use simt::sim::Gpu;
use simt::{Global, Shared, kernel, shared, thread};

const NONE: u32 = 0;
/// The shared minimum is not set before its first use.
const UNSET_MINIMUM: u32 = 1;
/// Nobody waits between the reading of the minimum and its reset.
const NO_BARRIER: u32 = 2;
/// Every column whose head is the minimum moves on, for one key put out.
const LOSES_EQUAL_KEYS: u32 = 3;
/// The largest key means that nothing is left.
const SENTINEL_IS_A_KEY: u32 = 4;
/// The head of an exhausted column is read all the same.
const READS_PAST_THE_END: u32 = 5;

/// No head yet, and no winner yet.
const NOTHING: u32 = u32::MAX;

shared!(MINIMUM: [u32; 1]);
shared!(WINNER: [u32; 1]);

#[kernel]
fn source_merge(keys: Global<u32>, mistake: u32) {
    let (t, n) = (thread::thread_idx_x(), keys.len());
    let (columns, minimum, winner) = (Columns::new(n), MINIMUM::view(), WINNER::view());
    columns.load(keys);
    columns.sort();
    if t == 0 {
        if mistake != UNSET_MINIMUM {
            minimum.set(0, NOTHING);
        }
        winner.set(0, NOTHING);
    }
    thread::sync_threads(); // the columns are sorted, the words are set
    let head = |place: u32| {
        let past = mistake == READS_PAST_THE_END && place >= n;
        if past { Some(Shared::<u32>::dynamic(0, n).get(place)) } else { columns.key(place) }
    };
    let mut place = t;
    let mut to = 0;
    while to < n {
        let own = head(place);
        if let Some(key) = own {
            minimum.fetch_min(0, key, Relaxed, Scope::Block);
        }
        thread::sync_threads(); // all heads are in the minimum
        let least = minimum.get(0);
        if mistake == SENTINEL_IS_A_KEY && least == NOTHING {
            break;
        }
        if own == Some(least) {
            winner.fetch_min(0, t, Relaxed, Scope::Block);
        }
        thread::sync_threads(); // one column has won
        let wins = if mistake == LOSES_EQUAL_KEYS { own == Some(least) } else { winner.get(0) == t };
        if wins {
            keys.set(to, least);
            place = columns.below(place);
        }
        if mistake != NO_BARRIER {
            thread::sync_threads(); // everyone has read what is now reset
        }
        if t == 0 {
            minimum.set(0, NOTHING);
            winner.set(0, NOTHING);
        }
        thread::sync_threads(); // reset before the next round
        to += 1;
    }
}

/// The inputs of the check: those of every sort, and one of which no key is smaller than what unset memory may hold.
fn checked_inputs() -> Vec<(&'static str, Vec<u32>)> {
    let sizes = [1, 8, 9, 63, 200];
    let mut all: Vec<_> = sizes.iter().flat_map(|&n| inputs(n)).map(|(name, keys)| (name, narrow(&keys))).collect();
    all.push(("all large", (0..100).map(|i| u32::MAX - 1 - i).collect()));
    all
}

/// Few columns with many keys each.
const IN_COLUMNS: Options = Options { columns: Some(8), threads: None, blocks: None };

/// Sorts by the source's merge with a mistake in it.
fn by_source(mistake: u32, keys: Global<u32>) -> Result {
    let on: &dyn Launcher = &Gpu::default();
    on.launch(source_merge, columns::geometry(keys.len(), &IN_COLUMNS), (keys, mistake))
}

/// Sorts by a rung.
fn by_rung(rung: &'static Entry<Sort>, keys: Global<u32>) -> Result {
    let on: &dyn Launcher = &Gpu::default();
    rung.sorter(on, keys.len(), IN_COLUMNS)?.run(on, Keys { keys, order: UNSIGNED })
}

/// What the check finds wrong: the input, and the difference or the launch's error.
fn findings(sort: impl Fn(Global<u32>) -> Result) -> Vec<(&'static str, String)> {
    let find = |keys: &[u32]| {
        let mut got = keys.to_vec();
        match sort(view(&mut got)) {
            Ok(()) => difference(keys, &got, UNSIGNED),
            Err(e) => Some(e.to_string()),
        }
    };
    checked_inputs().iter().filter_map(|(name, keys)| Some((*name, find(keys)?))).collect()
}

/// Whether the check finds a mistake by that input.
fn found(mistake: u32, input: &str, what: &str) -> bool {
    findings(|keys| by_source(mistake, keys)).iter().any(|(name, error)| *name == input && error.contains(what))
}

#[test]
fn the_check_finds_nothing_where_nothing_is_wrong() {
    assert_eq!(findings(|keys| by_source(NONE, keys)), []);
    for rung in [
        &r1_columns_one_thread::launches::RUNG,
        &r2_columns_atomic_min::launches::RUNG,
        &r3_columns_tree::launches::RUNG,
        &r4_columns_groups::launches::RUNG,
    ] {
        assert_eq!(findings(|keys| by_rung(rung, keys)), [], "{}", rung.rung.name);
    }
}

#[test]
fn minimum_that_is_not_set() {
    // The simulator begins a block with bytes 0xCD in shared memory: smaller than these keys, and the head of nobody.
    assert!(found(UNSET_MINIMUM, "all large", "place 0 holds"));
}

#[test]
fn no_barrier_between_read_and_reset() {
    // Thread 0 resets before the others have read who won.
    assert!(found(NO_BARRIER, "random", "instead of"));
}

#[test]
fn equal_keys_are_lost() {
    assert!(found(LOSES_EQUAL_KEYS, "few distinct", "instead of"));
}

#[test]
fn sentinel_that_is_a_key() {
    assert!(found(SENTINEL_IS_A_KEY, "largest and smallest", "instead of"));
}

#[test]
fn head_of_an_exhausted_column() {
    assert!(found(READS_PAST_THE_END, "random", "shared index"));
    assert!(found(READS_PAST_THE_END, "random", "out of bounds"));
}

/// Sorts in one way and then in another, for which the keys are loaded again or not; whether both results are right.
fn one_after_the_other(
    first: impl Fn(Global<u32>) -> Result,
    second: impl Fn(Global<u32>) -> Result,
    reload: bool,
) -> bool {
    let input = narrow(&inputs(200)[0].1);
    let mut keys = input.clone();
    first(view(&mut keys)).unwrap();
    let first_is_right = difference(&input, &keys, UNSIGNED).is_none();
    if reload {
        keys.copy_from_slice(&input);
    }
    second(view(&mut keys)).unwrap();
    first_is_right && difference(&input, &keys, UNSIGNED).is_none()
}

#[test]
fn keys_that_are_not_reloaded() {
    let sorts = |keys| by_rung(&r2_columns_atomic_min::launches::RUNG, keys);
    let other = |keys| by_rung(&r3_columns_tree::launches::RUNG, keys);
    let does_nothing = |_: Global<u32>| Ok(());
    assert!(one_after_the_other(sorts, other, true));
    assert!(!one_after_the_other(sorts, does_nothing, true));
    // With the mistake whatever leaves sorted keys alone passes, even this: the result says nothing about it.
    assert!(one_after_the_other(sorts, does_nothing, false));
}
