//! Barriers in shared memory. Their state is kept beside the memory, under their address, so that the use of a word
//! that is not a barrier is detected.

use std::cell::{RefCell, RefMut};

/// One barrier.
struct State {
    address: u32,
    /// Arrivals per phase.
    arrivals: u32,
    /// Arrivals that this phase still waits for.
    pending: u32,
    /// Bytes announced and not yet copied; less than zero while a copy is ahead of its announcement.
    bytes: i64,
    /// Parity of the running phase.
    phase: u32,
}

/// The barriers of a block.
#[derive(Default)]
pub(super) struct Barriers(RefCell<Vec<State>>);

impl Barriers {
    /// Forgets those of the block before.
    pub(super) fn reset(&self) {
        self.0.borrow_mut().clear();
    }

    #[track_caller]
    pub(super) fn init(&self, address: u32, arrivals: u32) {
        let most = crate::machine::MBARRIER_MAX;
        assert!((1..=most).contains(&arrivals), "a barrier waits for 1 to {most} arrivals, not for {arrivals}");
        let mut all = self.0.borrow_mut();
        all.retain(|b| b.address != address);
        all.push(State { address, arrivals, pending: arrivals, bytes: 0, phase: 0 });
    }

    #[track_caller]
    pub(super) fn arrive(&self, address: u32, bytes: u32) {
        let mut b = self.at(address);
        assert!(b.pending > 0, "more threads arrive at a barrier than the {} of a phase", b.arrivals);
        b.pending -= 1;
        b.count(bytes as i64);
    }

    #[track_caller]
    pub(super) fn copied(&self, address: u32, bytes: u32) {
        self.at(address).count(-(bytes as i64));
    }

    /// Whether the phase of that parity has ended.
    #[track_caller]
    pub(super) fn ended(&self, address: u32, parity: u32) -> bool {
        self.at(address).phase != parity & 1
    }

    #[track_caller]
    fn at(&self, address: u32) -> RefMut<'_, State> {
        let all = self.0.borrow_mut();
        let Some(i) = all.iter().position(|b| b.address == address) else {
            panic!("no barrier was initialised at the shared address {address}")
        };
        RefMut::map(all, |all| &mut all[i])
    }
}

impl State {
    /// Counts bytes announced, or copied where negative; ends the phase if nothing is missing.
    #[track_caller]
    fn count(&mut self, bytes: i64) {
        let most = crate::machine::MBARRIER_MAX as i64;
        self.bytes += bytes;
        assert!(self.bytes.abs() <= most, "a barrier counts at most {most} bytes, not {}", self.bytes);
        if self.pending == 0 && self.bytes == 0 {
            (self.pending, self.phase) = (self.arrivals, self.phase ^ 1);
        }
    }
}
