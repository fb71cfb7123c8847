//! Data that one thread hands to another by a flag: what the flag's order and scope have to promise.

use crate::prelude::*;

shared!(ONE: [u32; 1]);
shared!(FLAG: [u32; 1]);
shared!(TILE: [u32; BLOCK]);

/// Waits until the flag is set.
#[simt::device]
#[track_caller]
fn wait(flag: Global<u32>, i: u32, order: simt::atomic::Order, scope: Scope) {
    while flag.load(i, order, scope) == 0 {}
}

#[kernel(instances([Planted, Fixed]))]
pub fn relaxed_flag<V: Version>(data: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        data.set(0, 42);
        flag.store(0, 1, if V::FIXED { Release } else { Relaxed }, Scope::Device);
    } else {
        wait(flag, 0, if V::FIXED { Acquire } else { Relaxed }, Scope::Device);
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn release_without_acquire<V: Version>(data: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        data.set(0, 42);
        flag.store(0, 1, Release, Scope::Device);
    } else {
        wait(flag, 0, if V::FIXED { Acquire } else { Relaxed }, Scope::Device);
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn acquire_without_release<V: Version>(data: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        data.set(0, 42);
        flag.store(0, 1, if V::FIXED { Release } else { Relaxed }, Scope::Device);
    } else {
        wait(flag, 0, Acquire, Scope::Device);
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn flag_for_the_block<V: Version>(data: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    let scope = if V::FIXED { Scope::Device } else { Scope::Block };
    if block_idx_x() == 0 {
        data.set(0, 42);
        flag.store(0, 1, Release, scope);
    } else {
        wait(flag, 0, Acquire, scope);
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn flag_plain_store<V: Version>(data: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        data.set(0, 42);
        if V::FIXED {
            flag.store(0, 1, Release, Scope::Device);
        } else {
            flag.set(0, 1);
        }
    } else {
        wait(flag, 0, Acquire, Scope::Device);
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn fence_missing<V: Version>(data: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        data.set(0, 42);
        if V::FIXED {
            fence(AcqRel, Scope::Device); // the data before the flag
        }
        flag.store(0, 1, Relaxed, Scope::Device);
    } else {
        wait(flag, 0, Relaxed, Scope::Device);
        fence(AcqRel, Scope::Device); // the flag before the data
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn fence_on_one_side<V: Version>(data: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        data.set(0, 42);
        fence(AcqRel, Scope::Device); // the data before the flag
        flag.store(0, 1, Relaxed, Scope::Device);
    } else {
        wait(flag, 0, Relaxed, Scope::Device);
        if V::FIXED {
            fence(AcqRel, Scope::Device); // the flag before the data
        }
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn fence_for_the_block<V: Version>(data: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    let scope = if V::FIXED { Scope::Device } else { Scope::Block };
    if block_idx_x() == 0 {
        data.set(0, 42);
        fence(AcqRel, scope); // the data before the flag
        flag.store(0, 1, Relaxed, Scope::Device);
    } else {
        wait(flag, 0, Relaxed, Scope::Device);
        fence(AcqRel, scope); // the flag before the data
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn fence_after_the_flag<V: Version>(data: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        data.set(0, 42);
        if V::FIXED {
            fence(AcqRel, Scope::Device); // the data before the flag
        }
        flag.store(0, 1, Relaxed, Scope::Device);
        if !V::FIXED {
            fence(AcqRel, Scope::Device);
        }
    } else {
        wait(flag, 0, Relaxed, Scope::Device);
        fence(AcqRel, Scope::Device); // the flag before the data
        output.set(0, data.get(0));
    }
}

/// The last block to take a ticket adds up all blocks' sums.
#[kernel(instances([Planted, Fixed]))]
pub fn ticket_without_fence<V: Version>(
    input: Global<u32>,
    sums: Global<u32>,
    ticket: Global<u32>,
    total: Global<u32>,
) {
    let (blocks, one) = (thread::grid_dim_x(), ONE::view());
    let sum = warp::reduce_add(FULL, input.get(index_1d()));
    if thread_idx_x() == 0 {
        sums.set(block_idx_x(), sum);
        let order = if V::FIXED { AcqRel } else { Relaxed };
        one.set(0, ticket.fetch_add(0, 1, order, Scope::Device));
    }
    sync_threads(); // thread 0 has taken the ticket
    if one.get(0) == blocks - 1 && thread_idx_x() == 0 {
        let mut all = 0;
        for block in 0..blocks {
            all += sums.get(block);
        }
        total.set(0, all);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn ticket_for_the_block<V: Version>(
    input: Global<u32>,
    sums: Global<u32>,
    ticket: Global<u32>,
    total: Global<u32>,
) {
    let (blocks, one) = (thread::grid_dim_x(), ONE::view());
    let sum = warp::reduce_add(FULL, input.get(index_1d()));
    if thread_idx_x() == 0 {
        sums.set(block_idx_x(), sum);
        let scope = if V::FIXED { Scope::Device } else { Scope::Block };
        fence(AcqRel, scope); // the sum before the ticket
        one.set(0, ticket.fetch_add(0, 1, Relaxed, Scope::Device));
        fence(AcqRel, scope); // the ticket before the other blocks' sums
    }
    sync_threads(); // thread 0 has taken the ticket
    if one.get(0) == blocks - 1 && thread_idx_x() == 0 {
        let mut all = 0;
        for block in 0..blocks {
            all += sums.get(block);
        }
        total.set(0, all);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn published_too_early<V: Version>(input: Global<u32>, tile: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    let t = thread_idx_x();
    if block_idx_x() == 0 {
        tile.set(t, input.get(t) * 2);
        if V::FIXED {
            sync_threads(); // all threads have stored; thread 0's release then covers their elements
        }
        if t == 0 {
            flag.store(0, 1, Release, Scope::Device);
        }
    } else {
        wait(flag, 0, Acquire, Scope::Device);
        output.set(t, tile.get(t));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn acquired_by_one<V: Version>(input: Global<u32>, tile: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    let t = thread_idx_x();
    if block_idx_x() == 0 {
        tile.set(t, input.get(t) * 2);
        sync_threads(); // all threads have stored; thread 0's release then covers their elements
        if t == 0 {
            flag.store(0, 1, Release, Scope::Device);
        }
    } else {
        if t == 0 {
            wait(flag, 0, Acquire, Scope::Device);
        }
        if V::FIXED {
            sync_threads(); // what thread 0 has acquired, the block may read
        }
        output.set(t, tile.get(t));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn relay<V: Version>(data: Global<u32>, flags: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        data.set(0, 42);
        flags.store(0, 1, Release, Scope::Device);
    } else if block_idx_x() == 1 {
        wait(flags, 0, Acquire, Scope::Device);
        // Passes on what it has not touched itself.
        flags.store(1, 1, if V::FIXED { Release } else { Relaxed }, Scope::Device);
    } else {
        wait(flags, 1, Acquire, Scope::Device);
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn exchange_that_fails<V: Version>(data: Global<u32>, lock: Global<u32>, flag: Global<u32>, output: Global<u32>) {
    if block_idx_x() == 0 {
        data.set(0, 42);
        if V::FIXED {
            lock.fetch_add(0, 1, Release, Scope::Device);
        } else {
            // The lock is not 0, so nothing is stored and nothing released.
            lock.compare_exchange(0, 0, 2, Release, Scope::Device);
        }
        flag.store(0, 1, Relaxed, Scope::Device);
    } else {
        wait(flag, 0, Relaxed, Scope::Device);
        // What the flag says is not known of the lock: it is awaited by its value where it changes.
        while lock.load(0, Acquire, Scope::Device) == 1 && V::FIXED {}
        output.set(0, data.get(0));
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn lock_relaxed<V: Version>(lock: Global<u32>, account: Global<u32>) {
    let (acquire, release) = if V::FIXED { (Acquire, Release) } else { (Relaxed, Relaxed) };
    if thread_idx_x() == 0 {
        while lock.compare_exchange(0, 0, 1, acquire, Scope::Device) != 0 {}
        account.set(0, account.get(0) + block_idx_x() + 1);
        lock.store(0, 0, release, Scope::Device);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn lock_for_the_block<V: Version>(lock: Global<u32>, account: Global<u32>) {
    let scope = if V::FIXED { Scope::Device } else { Scope::Block };
    if thread_idx_x() == 0 {
        while lock.compare_exchange(0, 0, 1, Acquire, scope) != 0 {}
        account.set(0, account.get(0) + block_idx_x() + 1);
        lock.store(0, 0, Release, scope);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn lock_left_plainly<V: Version>(lock: Global<u32>, account: Global<u32>) {
    if thread_idx_x() == 0 {
        while lock.compare_exchange(0, 0, 1, Acquire, Scope::Device) != 0 {}
        account.set(0, account.get(0) + block_idx_x() + 1);
        if V::FIXED {
            lock.store(0, 0, Release, Scope::Device);
        } else {
            lock.set(0, 0);
        }
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn account_read_after_unlock<V: Version>(lock: Global<u32>, account: Global<u32>, log: Global<u32>) {
    if thread_idx_x() == 0 {
        while lock.compare_exchange(0, 0, 1, Acquire, Scope::Device) != 0 {}
        account.set(0, account.get(0) + block_idx_x() + 1);
        if V::FIXED {
            log.set(block_idx_x(), (account.get(0) > 0) as u32);
        }
        lock.store(0, 0, Release, Scope::Device);
        if !V::FIXED {
            log.set(block_idx_x(), (account.get(0) > 0) as u32);
        }
    }
}

/// The number of a block in the order in which blocks start, so that it waits only for blocks that run.
#[simt::device]
#[track_caller]
fn number(ticket: Global<u32>) -> u32 {
    let taken = if lane_id() == 0 { ticket.fetch_add(0, 1, Relaxed, Scope::Device) } else { 0 };
    warp::shuffle(FULL, taken, 0)
}

/// Each block publishes its sum with a tag, in two words; the next block waits for the tag.
#[kernel(instances([Planted, Fixed]))]
pub fn tag_apart_from_value<V: Version>(input: Global<u32>, states: Global<u32>, output: Global<u32>) {
    let block = number(states.slice(8, 1));
    let sum = warp::reduce_add(FULL, input.get(block * 32 + lane_id()));
    if lane_id() == 0 {
        let tags = states.slice(0, 4);
        let values = states.slice(4, 4);
        let mut before = 0;
        if block > 0 {
            if V::FIXED {
                // Tag and value are one word: nothing else has to be seen with it.
                let mut state = 0;
                while state == 0 {
                    state = tags.load(block - 1, Relaxed, Scope::Device);
                }
                before = state - 1;
            } else {
                wait(tags, block - 1, Relaxed, Scope::Device);
                before = values.load(block - 1, Relaxed, Scope::Device);
            }
        }
        if V::FIXED {
            tags.store(block, before + sum + 1, Relaxed, Scope::Device);
        } else {
            values.store(block, before + sum, Relaxed, Scope::Device);
            tags.store(block, 1, Relaxed, Scope::Device);
        }
        output.set(block, before + sum);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn tag_before_value<V: Version>(input: Global<u32>, states: Global<u32>, output: Global<u32>) {
    let block = number(states.slice(8, 1));
    let sum = warp::reduce_add(FULL, input.get(block * 32 + lane_id()));
    if lane_id() == 0 {
        let (tags, values) = (states.slice(0, 4), states.slice(4, 4));
        let mut before = 0;
        if block > 0 {
            wait(tags, block - 1, Acquire, Scope::Device);
            before = values.get(block - 1);
        }
        if V::FIXED {
            values.set(block, before + sum);
            tags.store(block, 1, Release, Scope::Device);
        } else {
            tags.store(block, 1, Release, Scope::Device);
            values.set(block, before + sum);
        }
        output.set(block, before + sum);
    }
}

#[kernel(instances([Planted, Fixed]))]
pub fn shared_flag<V: Version>(input: Global<u32>, output: Global<u32>) {
    let (t, flag, tile) = (thread_idx_x(), FLAG::view(), TILE::view());
    if t == 0 {
        flag.set(0, 0);
    }
    sync_threads(); // the flag is down before anyone looks at it
    if t < 32 {
        tile.set(t, input.get(t));
        sync_warp(FULL); // lane 0's release covers what the other lanes have stored
        if t == 0 {
            flag.store(0, 1, if V::FIXED { Release } else { Relaxed }, Scope::Block);
        }
        output.set(t, 0);
    } else {
        while flag.load(0, if V::FIXED { Acquire } else { Relaxed }, Scope::Block) == 0 {}
        output.set(t, tile.get(t - 32));
    }
}

#[cfg(not(target_os = "cuda"))]
const PAIR: Geometry = Geometry::linear(2, 1);

#[cfg(not(target_os = "cuda"))]
const GRID: Geometry = Geometry::linear(4, 32);

/// The run of a hand-off from block 0 to block 1.
#[cfg(not(target_os = "cuda"))]
macro_rules! hand_off {
    ($kernel:ident) => {
        |on| {
            let (data, flag, output) = (on.input([0])?, on.input([0])?, on.output(1)?);
            launch!(on, $kernel, PAIR, data.view(), flag.view(), output.view())?;
            on.ended(&output, [42])
        }
    };
}

/// The run of a sum whose last block adds up the blocks' sums.
#[cfg(not(target_os = "cuda"))]
macro_rules! ticket {
    ($kernel:ident) => {
        |on| {
            let x = numbers(128);
            let (input, sums) = (on.input(x.clone())?, on.scratch(4)?);
            let (ticket, total) = (on.input([0])?, on.output(1)?);
            launch!(on, $kernel, GRID, input.view(), sums.view(), ticket.view(), total.view())?;
            on.ended(&total, [x.iter().sum()])
        }
    };
}

/// The run of a tile that block 0 hands to block 1.
#[cfg(not(target_os = "cuda"))]
macro_rules! tile {
    ($kernel:ident) => {
        |on| {
            let x = numbers(BLOCK);
            let (input, tile) = (on.input(x.clone())?, on.scratch(BLOCK)?);
            let (flag, output) = (on.input([0])?, on.output(BLOCK)?);
            let geometry = Geometry::linear(2, BLOCK);
            launch!(on, $kernel, geometry, input.view(), tile.view(), flag.view(), output.view())?;
            on.ended(&output, x.iter().map(|v| 2 * v))
        }
    };
}

/// The run of blocks that add to an account under a lock.
#[cfg(not(target_os = "cuda"))]
macro_rules! lock {
    ($kernel:ident) => {
        |on| {
            let (lock, account) = (on.input([0])?, on.input([0])?);
            launch!(on, $kernel, GRID, lock.view(), account.view())?;
            on.ended(&account, [1 + 2 + 3 + 4])
        }
    };
}

/// The run of a scan over blocks by states.
#[cfg(not(target_os = "cuda"))]
macro_rules! chain {
    ($kernel:ident) => {
        |on| {
            let x = numbers(128);
            let (input, states, output) = (on.input(x.clone())?, on.input([0; 9])?, on.output(4)?);
            launch!(on, $kernel, GRID, input.view(), states.view(), output.view())?;
            on.ended(&output, (1..=4).map(|block| x[..32 * block].iter().sum()))
        }
    };
}

#[cfg(not(target_os = "cuda"))]
pub static CASES: &[Case] = &[
    Case {
        name: "relaxed-flag",
        bug: "A flag that is stored and loaded relaxed publishes data.",
        effect: "The flag may arrive before the data.",
        fix: "Release at the store, acquire at the load.",
        finds: &[GlobalRace],
        run: hand_off!(relaxed_flag),
    },
    Case {
        name: "release-without-acquire",
        bug: "The flag is stored with release and loaded relaxed.",
        effect: "The reader may load the data before it loads the flag.",
        fix: "Acquire at the load.",
        finds: &[GlobalRace],
        run: hand_off!(release_without_acquire),
    },
    Case {
        name: "acquire-without-release",
        bug: "The flag is stored relaxed and loaded with acquire.",
        effect: "The writer may store the flag before the data.",
        fix: "Release at the store.",
        finds: &[GlobalRace],
        run: hand_off!(acquire_without_release),
    },
    Case {
        name: "flag-for-the-block",
        bug: "Release and acquire with the scope of a block, between two blocks.",
        effect: "The data may stay in L1 of the writer's or of the reader's SM.",
        fix: "The scope of the device.",
        finds: &[ScopeTooSmall, GlobalRace],
        run: hand_off!(flag_for_the_block),
    },
    Case {
        name: "flag-plain-store",
        bug: "The flag is a plain store; the reader loads it with acquire.",
        effect: "The compiler and the memory may swap flag and data.",
        fix: "An atomic store with release.",
        finds: &[MixedAtomic, GlobalRace],
        run: hand_off!(flag_plain_store),
    },
    Case {
        name: "fence-missing",
        bug: "The reader has a fence between flag and data, the writer has none.",
        effect: "The flag may arrive before the data.",
        fix: "A fence between data and flag.",
        finds: &[GlobalRace],
        run: hand_off!(fence_missing),
    },
    Case {
        name: "fence-on-one-side",
        bug: "The writer has a fence between data and flag, the reader has none.",
        effect: "The reader may load the data before the flag.",
        fix: "A fence between flag and data.",
        finds: &[GlobalRace],
        run: hand_off!(fence_on_one_side),
    },
    Case {
        name: "fence-for-the-block",
        bug: "The fences on both sides have block scope, but the threads are in two blocks.",
        effect: "As without fences.",
        fix: "Fences with the scope of the device.",
        finds: &[ScopeTooSmall, GlobalRace],
        run: hand_off!(fence_for_the_block),
    },
    Case {
        name: "fence-after-the-flag",
        bug: "The writer's fence comes after the flag.",
        effect: "The flag may arrive before the data; the fence orders both before what follows.",
        fix: "The fence between data and flag.",
        finds: &[GlobalRace],
        run: hand_off!(fence_after_the_flag),
    },
    Case {
        name: "ticket-without-fence",
        bug: "Each block stores its sum and takes a ticket; the block with the last ticket adds up. The ticket is \
              relaxed.",
        effect: "The last block may add sums that have not arrived; seen once in many thousand launches.",
        fix: "The ticket acquires and releases.",
        finds: &[GlobalRace, UninitialisedGlobal],
        run: ticket!(ticket_without_fence),
    },
    Case {
        name: "ticket-for-the-block",
        bug: "Each block stores its sum and takes a ticket between two fences of block scope.",
        effect: "As without fences.",
        fix: "The scope of the device.",
        finds: &[ScopeTooSmall, GlobalRace],
        run: ticket!(ticket_for_the_block),
    },
    Case {
        name: "published-too-early",
        bug: "Thread 0 raises the flag for all threads of its block without waiting for them.",
        effect: "The release covers thread 0's own element alone.",
        fix: "A barrier of the block before the release.",
        finds: &[GlobalRace, UninitialisedGlobal],
        run: tile!(published_too_early),
    },
    Case {
        name: "acquired-by-one",
        bug: "Thread 0 waits for the flag; the other threads of its block do not wait for thread 0.",
        effect: "The other threads read the tile before it has arrived.",
        fix: "A barrier of the block after the wait.",
        finds: &[GlobalRace, UninitialisedGlobal],
        run: tile!(acquired_by_one),
    },
    Case {
        name: "relay",
        bug: "Block 1 waits for block 0 and signals block 2 by a relaxed store: the chain is broken in the middle.",
        effect: "Block 2 may see the second flag before block 0's data.",
        fix: "Block 1 also releases, and so passes on the writes that it has acquired.",
        finds: &[GlobalRace],
        run: |on| {
            let (data, flags, output) = (on.input([0])?, on.input([0; 2])?, on.output(1)?);
            launch!(on, relay, Geometry::linear(3, 1), data.view(), flags.view(), output.view())?;
            on.ended(&output, [42])
        },
    },
    Case {
        name: "exchange-that-fails",
        bug: "The release of a compare-exchange that fails is meant to publish data.",
        effect: "An exchange that fails stores nothing, so that there is nothing to acquire: the old data may be read.",
        fix: "An operation that stores.",
        finds: &[GlobalRace],
        run: |on| {
            let (data, lock) = (on.input([0])?, on.input([1])?);
            let (flag, output) = (on.input([0])?, on.output(1)?);
            let views = (data.view(), lock.view(), flag.view(), output.view());
            launch!(on, exchange_that_fails, Geometry::linear(2, 1), views.0, views.1, views.2, views.3)?;
            on.ended(&output, [42])
        },
    },
    Case {
        name: "lock-relaxed",
        bug: "A lock is acquired and released by relaxed atomics.",
        effect: "The account is read before the lock is held, or written after the lock is released.",
        fix: "Acquire when locking, release when unlocking.",
        finds: &[GlobalRace],
        run: lock!(lock_relaxed),
    },
    Case {
        name: "lock-for-the-block",
        bug: "A lock between blocks whose orders have the scope of a block.",
        effect: "Each SM sees its own copy of the account.",
        fix: "The scope of the device.",
        finds: &[ScopeTooSmall, GlobalRace],
        run: lock!(lock_for_the_block),
    },
    Case {
        name: "lock-left-plainly",
        bug: "A lock is taken atomically and released by a plain store.",
        effect: "The store may become visible before the data that the lock guards.",
        fix: "An atomic store with release.",
        finds: &[MixedAtomic, GlobalRace],
        run: lock!(lock_left_plainly),
    },
    Case {
        name: "account-read-after-unlock",
        bug: "The account is read once more after the lock is released.",
        effect: "The next holder may be writing it.",
        fix: "All reads are made while the lock is held.",
        finds: &[GlobalRace],
        run: |on| {
            let (lock, account, log) = (on.input([0])?, on.input([0])?, on.output(4)?);
            launch!(on, account_read_after_unlock, GRID, lock.view(), account.view(), log.view())?;
            on.ended(&log, [1; 4])
        },
    },
    Case {
        name: "tag-apart-from-value",
        bug: "A scan over blocks publishes tag and value in two words, relaxed: no access races, and the tag may \
              arrive before the value.",
        effect: "A block adds the value that was there before; seen under load only.",
        fix: "Tag and value in one word.",
        finds: &[WrongResult],
        run: chain!(tag_apart_from_value),
    },
    Case {
        name: "tag-before-value",
        bug: "A scan over blocks stores the tag first, with release, and the value after it.",
        effect: "The next block reads a value that is not there yet.",
        fix: "The value first, then the tag.",
        finds: &[GlobalRace],
        run: chain!(tag_before_value),
    },
    Case {
        name: "shared-flag",
        bug: "A warp passes a tile to another warp of its block by a relaxed flag in shared memory.",
        effect: "The compiler may move the tile's loads before the loop, and the stores after the flag.",
        fix: "Release and acquire with the scope of the block.",
        finds: &[SharedRace],
        run: |on| {
            let x = numbers(32);
            let (input, output) = (on.input(x.clone())?, on.output(BLOCK)?);
            launch!(on, shared_flag, Geometry::linear(1, BLOCK), input.view(), output.view())?;
            on.ended(&output, (0..64).map(|t| if t < 32 { 0 } else { x[t - 32] }))
        },
    },
];
