//! How many blocks share the items of a phase in one launch.

use super::lists::Lists;
use simt::atomic::{self, Order, Order::Relaxed, Scope};
use simt::{clock, shared, thread, warp};

// The item of the block, and how many of the phase it has done. In shared memory, because registers are few.
shared!(ITEM: [u32; 1]);
shared!(MINE: [u32; 1]);

/// Bytes of static shared memory.
pub const PHASES_STATIC: u32 = 2 * 16;

/// Does items of phase `number` until none of `extent` is left. With `then_wait`, waits until other blocks have done
/// theirs too. All threads of the block do an item together.
///
/// A block takes items by a ticket. It waits for the end of a phase only after it has found no ticket left, so it waits
/// for items that running blocks have taken, and never for a block that has yet to start.
#[inline(always)]
#[track_caller]
pub fn each_item(lists: Lists, number: u32, extent: impl Fn() -> u32, then_wait: bool, item: impl Fn(u32)) {
    if extent() == 0 {
        return; // without a ticket, which takes a trip to memory
    }
    let (ticket, done) = lists.phase(number);
    let t = thread::thread_idx_x();
    if t == 0 {
        MINE::view().set(0, 0);
    }
    loop {
        thread::sync_threads(); // all have read the item before, and are done with what it had in shared memory
        if t == 0 {
            ITEM::view().set(0, ticket.fetch_add(0, 1, Relaxed, Scope::Device));
        }
        thread::sync_threads(); // the item is known
        let i = uniform(ITEM::view().get(0));
        if i >= extent() {
            break;
        }
        item(i);
        if t == 0 {
            MINE::view().set(0, MINE::view().get(0) + 1);
        }
    }
    if then_wait {
        if t == 0 {
            // What this block wrote becomes visible before its items count as done; the barriers above have collected
            // the writes of all its threads.
            atomic::fence(Order::AcqRel, Scope::Device);
            done.fetch_add(0, MINE::view().get(0), Relaxed, Scope::Device);
            while done.load(0, Relaxed, Scope::Device) != extent() {
                clock::nanosleep(20);
            }
            // What other blocks wrote is read after their items count as done.
            atomic::fence(Order::AcqRel, Scope::Device);
        }
        thread::sync_threads(); // all wait for thread 0, and see what it sees
    }
}

/// The last index below `n` that satisfies `is_before`, which is true for 0 and false from some index on. All `threads`
/// of the block call it: each round, they test evenly spaced indices of the interval that is left.
#[inline(always)]
#[track_caller]
pub fn find_last(threads: u32, n: u32, is_before: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut span) = (0, n);
    while span > 1 {
        let stride = span.div_ceil(threads);
        let at = thread::thread_idx_x() * stride;
        let is_before = at < span && is_before(low + at);
        low += (thread::sync_threads_count(is_before) - 1) * stride;
        span = stride.min(n - low);
    }
    uniform(low)
}

/// `value`, which is the same in all lanes, in a form that tells the compiler so: it goes to one register per warp.
#[inline(always)]
#[track_caller]
pub fn uniform(value: u32) -> u32 {
    warp::reduce_or(warp::FULL, value)
}
