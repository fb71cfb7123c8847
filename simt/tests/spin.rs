//! Threads that wait in a loop: the wait ends, by whatever access they poll, or the launch ends with a fault.

use simt::atomic::{Order::*, Scope};
use simt::mbarrier::{self, Mbarrier};
use simt::sim::{Event, Kind, LaunchError, Options, launch, observe};
use simt::{Global, Kernel, Shared, clock, kernel, shared, thread};

shared!(FLAG: [u32; 4]);
shared!(BARRIER: [u64; 1]);

/// 16-byte aligned words.
#[repr(align(16))]
struct Aligned([u32; 8]);

/// The result of a launch of `block` threads, and the eight words afterwards.
fn run<K: Kernel<Args = (Global<u32>, u32)>>(
    kernel: K,
    grid: u32,
    block: u32,
    comes: u32,
) -> (Result<(), LaunchError>, [u32; 8]) {
    let mut words = Aligned([0; 8]);
    // SAFETY: the words outlive the launch.
    let view = unsafe { Global::from_raw(words.0.as_mut_ptr(), 8) };
    let result = launch(kernel, [grid, 1, 1], [block, 1, 1], 0, (view, comes), Options { workers: grid as usize });
    (result, words.0)
}

/// Makes a kernel of a way to wait: thread 0 runs first and waits, thread 1 ends the wait or does not, the others wait
/// at a barrier.
macro_rules! waits {
    ($($name:ident: |$words:ident, $flag:ident| wait $wait:expr, set $set:expr;)*) => {$(
        mod $name {
            use super::*;

            #[kernel]
            pub(super) fn waiting(words: Global<u32>, comes: u32) {
                let ($words, $flag) = (words, FLAG::view());
                if thread::thread_idx_x() == 2 {
                    $flag.set(0, 0);
                    let barrier = Mbarrier::at(BARRIER::view(), 0);
                    barrier.init(1);
                    mbarrier::fence_init();
                }
                thread::sync_threads(); // the flag is cleared and the barrier exists
                if thread::thread_idx_x() == 0 {
                    $wait;
                    words.set(7, 7);
                } else if thread::thread_idx_x() == 1 && comes != 0 {
                    $set;
                }
                thread::sync_threads(); // no thread ends before the wait has ended
            }

            #[test]
            fn ends_when_it_comes() {
                let (result, words) = run(waiting, 1, 64, 1);
                result.unwrap();
                assert_eq!(words[7], 7);
            }

            #[test]
            fn is_a_fault_when_it_does_not_come() {
                let (result, words) = run(waiting, 1, 64, 0);
                let Err(LaunchError::Fault(fault)) = result else { panic!("{result:?}") };
                assert!(fault.location().contains("spin.rs:"), "{fault}");
                assert_eq!((fault.kernel, fault.thread.0, fault.block.0), ("waiting", [0; 3], [0; 3]), "{fault}");
                // It waits for another's write, and all others wait at the barrier for it.
                assert_eq!(fault.kind, Kind::Deadlock, "{fault}");
                let [others] = &fault.waits[..] else { panic!("{fault}") };
                assert_eq!(others.what, "waits at the barrier of its block, as 62 others do");
                assert_eq!(words[7], 0);
            }
        }
    )*};
}

waits! {
    global_get: |words, _flag| wait while words.get(0) == 0 {}, set words.set(0, 1);
    global_get_pack: |words, _flag| wait while words.get_pack(0)[1] == 0 {}, set words.set(1, 1);
    global_two_words: |words, _flag| wait while words.get(0) + words.get(3) < 2 {},
        set { words.set(0, 1); words.set(3, 1) };
    global_load: |words, _flag| wait while words.load(0, Acquire, Scope::Device) == 0 {},
        set words.store(0, 1, Release, Scope::Device);
    global_compare_exchange: |words, _flag| wait while words.compare_exchange(0, 1, 2, AcqRel, Scope::Device) != 1 {},
        set words.store(0, 1, Release, Scope::Device);
    global_exchange: |words, _flag| wait while words.exchange(0, 0, AcqRel, Scope::Device) == 0 {},
        set words.exchange(0, 1, AcqRel, Scope::Device);
    global_fetch_add: |words, _flag| wait while words.fetch_add(0, 0, AcqRel, Scope::Device) == 0 {},
        set words.fetch_add(0, 1, AcqRel, Scope::Device);
    shared_get: |_words, flag| wait while flag.get(0) == 0 {}, set flag.set(0, 1);
    shared_get_pack: |_words, flag| wait while flag.get_pack(0)[0] == 0 {}, set flag.set(0, 1);
    shared_load: |_words, flag| wait while flag.load(0, Acquire, Scope::Block) == 0 {},
        set flag.store(0, 1, Release, Scope::Block);
    shared_compare_exchange: |_words, flag| wait while flag.compare_exchange(0, 1, 2, AcqRel, Scope::Block) != 1 {},
        set flag.store(0, 1, Release, Scope::Block);
    shared_exchange: |_words, flag| wait while flag.exchange(0, 0, AcqRel, Scope::Block) == 0 {},
        set flag.exchange(0, 1, AcqRel, Scope::Block);
    shared_fetch_max: |_words, flag| wait while flag.fetch_max(0, 0, AcqRel, Scope::Block) == 0 {},
        set flag.fetch_max(0, 1, AcqRel, Scope::Block);
    get_and_sleep: |words, _flag| wait while words.get(0) == 0 { clock::nanosleep(20) }, set words.set(0, 1);
    mbarrier_wait: |_words, _flag| wait Mbarrier::at(BARRIER::view(), 0).wait(0),
        set Mbarrier::at(BARRIER::view(), 0).arrive();
}

/// Waits for the other block, and counts how often it looked.
#[kernel]
fn waits_for_the_next_block(words: Global<u32>, comes: u32) {
    if thread::block_idx_x() == 1 && comes != 0 {
        words.set(0, 1);
    } else if thread::block_idx_x() == 0 {
        while words.get(0) == 0 {}
        words.set(7, 7);
    }
}

#[test]
fn between_blocks_too() {
    let (result, words) = run(waits_for_the_next_block, 3, 1024, 1);
    result.unwrap();
    assert_eq!(words[7], 7);
    let (result, _) = run(waits_for_the_next_block, 3, 1024, 0);
    let Err(LaunchError::Fault(fault)) = result else { panic!("{result:?}") };
    // Nobody is left but those who look.
    assert_eq!((fault.kind, fault.waits.len()), (Kind::EndlessSpin, 0), "{fault}");
    let word = "the view that is parameter 0, byte 0 (element 0 of 4 bytes), which stays 0x0, as 1023 others do";
    assert!(fault.what.starts_with(&format!("spins for ever: it looks in a loop at {word}")), "{fault}");
}

/// Two blocks, each of which waits for the other's word before it writes its own.
#[kernel]
fn each_waits_for_the_other(words: Global<u32>, _comes: u32) {
    let own = thread::block_idx_x();
    if own > 1 {
        return; // there for the simulator to have several blocks run at a time
    }
    while words.load(1 - own, Acquire, Scope::Device) == 0 {}
    words.store(own, 1, Release, Scope::Device);
}

#[test]
fn blocks_that_wait_for_each_other_are_deadlocked() {
    let (result, _) = run(each_waits_for_the_other, 3, 1024, 0);
    let Err(LaunchError::Fault(fault)) = result else { panic!("{result:?}") };
    assert_eq!(fault.kind, Kind::Deadlock, "{fault}");
    let [other] = &fault.waits[..] else { panic!("{fault}") };
    assert_eq!((fault.block.0, other.block.0), ([0; 3], [1, 0, 0]));
    let at =
        |element: u32| format!("byte {} (element {element} of 4 bytes), which stays 0x0, as 1023 oth", 4 * element);
    assert!(fault.what.contains(&at(1)) && other.what.contains(&at(0)), "{fault}");
}

/// Each thread waits for the next; the last for none.
#[kernel]
fn chain(words: Global<u32>, _comes: u32) {
    let (t, links) = (thread::thread_idx_x(), Shared::<u32>::dynamic(0, 1024));
    links.set(t, 0);
    thread::sync_threads(); // all links are open
    while t + 1 < thread::block_dim_x() && links.get(t + 1) == 0 {}
    links.set(t, 1);
    if t == 0 {
        words.set(7, 7);
    }
}

#[test]
fn a_block_of_spinning_threads_finishes() {
    let mut words = [0; 8];
    // SAFETY: the words outlive the launch.
    let view = unsafe { Global::from_raw(words.as_mut_ptr(), 8) };
    launch(chain, [1; 3], [1024, 1, 1], 4096, (view, 1), Options::default()).unwrap();
    assert_eq!(words[7], 7);
}

/// A loop that counts its polls changes memory in each round.
#[kernel]
fn counts_polls(words: Global<u32>, comes: u32) {
    if thread::thread_idx_x() == 0 {
        while words.get(0) == 0 {
            words.fetch_add(1, 1, Relaxed, Scope::Device);
        }
        words.set(7, 7);
    } else if comes != 0 {
        words.set(0, 1);
    }
}

#[test]
fn counting_polls_is_no_obstacle() {
    let (result, words) = run(counts_polls, 1, 2, 1);
    result.unwrap();
    assert!(words[1] > 0 && words[7] == 7, "{words:?}");
}

/// Much work on one word, and much reading of what does not change, by one thread.
#[kernel]
fn works_long(words: Global<u32>, _comes: u32) {
    if thread::thread_idx_x() == 0 {
        (0..10_000_000).for_each(|_| words.set(0, words.get(0) + 1 + words.get(1)));
        words.set(7, (0..10_000_000).fold(7, |sum: u32, _| sum + words.get(1)));
    }
    thread::sync_threads(); // the others wait for thread 0
}

#[test]
fn work_is_not_taken_for_a_spin() {
    let (result, words) = run(works_long, 1, 64, 1);
    result.unwrap();
    assert_eq!((words[0], words[7]), (10_000_000, 7));
}

#[test]
fn an_observed_spin_ends_too() {
    let observed = |comes: u32| observe(|_: Event| {}, || run(global_get::waiting, 1, 64, comes).0);
    observed(1).unwrap();
    assert!(matches!(observed(0), Err(LaunchError::Fault(f)) if f.what.starts_with("looks in a loop at the view")));
}
