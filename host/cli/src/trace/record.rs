//! The kernels' accesses, launch by launch, cut into pieces at the barriers.

use simt::sim::{Access, Event, observe};
use std::cell::RefCell;
use std::rc::Rc;

/// One launch.
pub(super) struct Launch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The accesses up to each barrier of the whole block and, in the last piece, up to the end. A launch of several
    /// blocks is one piece: the blocks do not wait for each other, so there is no "after the first barrier".
    pub pieces: Vec<Piece>,
    /// The accesses that each block makes before its first barrier, between its first and its second, and so on.
    pub phases: Vec<Vec<Access>>,
}

/// The accesses between two barriers.
#[derive(Default)]
pub(super) struct Piece {
    /// All accesses, thread after thread.
    pub accesses: Vec<Access>,
    /// Barriers inside, which only a launch of several blocks has.
    pub barriers: usize,
}

/// Runs `work` and records the events of its kernels.
pub(super) fn record<R>(work: impl FnOnce() -> R) -> (Vec<Launch>, R) {
    let launches: Rc<RefCell<Vec<Launch>>> = Rc::default();
    let log = launches.clone();
    let mut single = false;
    // The phase of each block that has met at a barrier.
    let mut phases: Vec<usize> = vec![];
    let watch = move |event| {
        let mut launches = log.borrow_mut();
        if let Event::Launch { kernel, grid, .. } = event {
            single = grid.0 == [1; 3];
            phases.clear();
            launches.push(Launch { kernel, pieces: vec![Piece::default()], phases: vec![vec![]] });
        }
        let Some(launch) = launches.last_mut() else { return };
        let Some(piece) = launch.pieces.last_mut() else { return };
        match event {
            Event::Access(access) => {
                piece.accesses.push(access);
                let phase = phases.get(access.block as usize).copied().unwrap_or(0);
                if launch.phases.len() <= phase {
                    launch.phases.resize_with(phase + 1, Vec::new);
                }
                launch.phases[phase].push(access);
            }
            Event::Barrier { id: 0, block, .. } => {
                if phases.len() <= block as usize {
                    phases.resize(block as usize + 1, 0);
                }
                phases[block as usize] += 1;
                if single {
                    launch.pieces.push(Piece::default());
                } else {
                    piece.barriers += 1;
                }
            }
            Event::Barrier { .. } => piece.barriers += 1,
            _ => {}
        }
    };
    let result = observe(watch, work);
    (launches.take(), result)
}
