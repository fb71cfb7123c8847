//! Barriers in shared memory. Their state is kept next to the memory, under their address, so that the use of a word
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

    /// A thread arrives, and announces bytes. Returns whether that ended the phase.
    #[track_caller]
    pub(super) fn arrive(&self, address: u32, bytes: u32) -> bool {
        let mut b = self.at(address);
        assert!(b.pending > 0, "more threads arrive at a barrier than the {} of a phase", b.arrivals);
        b.pending -= 1;
        b.count(bytes as i64)
    }

    /// Bytes have been copied. Returns whether that ended the phase.
    #[track_caller]
    pub(super) fn copied(&self, address: u32, bytes: u32) -> bool {
        self.at(address).count(-(bytes as i64))
    }

    /// What the phase of that parity lacks, in words.
    pub(super) fn lacks(&self, address: u32, parity: u32) -> String {
        let all = self.0.borrow();
        let Some(b) = all.iter().find(|b| b.address == address) else { return String::new() };
        let State { pending, bytes, phase, .. } = b;
        format!(
            "waits for the phase of parity {} of the barrier at the shared address {address}; the running phase has \
             parity {phase}, and {pending} arrivals and {bytes} bytes are missing",
            parity & 1
        )
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
    /// Counts bytes announced, or copied where negative; ends the phase if nothing is missing, and says so.
    #[track_caller]
    fn count(&mut self, bytes: i64) -> bool {
        let most = crate::machine::MBARRIER_MAX as i64;
        self.bytes += bytes;
        assert!(self.bytes.abs() <= most, "a barrier counts at most {most} bytes, not {}", self.bytes);
        let ends = self.pending == 0 && self.bytes == 0;
        if ends {
            (self.pending, self.phase) = (self.arrivals, self.phase ^ 1);
        }
        ends
    }
}
