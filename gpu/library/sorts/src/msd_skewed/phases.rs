//! How many blocks share the items of a phase in one launch.

use crate::steps::uniform;
use crate::wait::wait_for_items;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, shared, thread};

// The item of the block, and how many of the phase it has done. In shared memory, because registers are few.
shared!(ITEM: [u32; 1]);
shared!(MINE: [u32; 1]);

/// Bytes of static shared memory.
pub const PHASES_STATIC: u32 = 2 * 16;

/// Does items of a phase until none of `extent` is left. With `then_wait`, waits until other blocks have done theirs
/// too. All threads of the block do an item together. `phase`: the ticket, and the number of items that are done, see
/// [`Lists::phase`](super::lists::Lists::phase); asked for wherever it is used, so that it takes no registers.
///
/// A block takes items by a ticket. It waits for the end of a phase only after it has found no ticket left, so it waits
/// for items that running blocks have taken, and never for a block that has yet to start.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn each_item(
    phase: impl Fn() -> (Global<u32>, Global<u32>), extent: impl Fn() -> u32, then_wait: bool, item: impl Fn(u32),
) {
    if extent() == 0 {
        return; // without a ticket, which takes a trip to memory
    }
    let t = thread::thread_idx_x();
    if t == 0 {
        MINE::view().set(0, 0);
    }
    loop {
        thread::sync_threads(); // all have read the item before, and are done with what it had in shared memory
        if t == 0 {
            let (ticket, _) = phase();
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
        wait_for_items(phase, extent, || MINE::view().get(0));
    }
}
