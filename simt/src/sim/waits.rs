//! Who waits for what, when no thread of a launch is left that does anything but wait.

use super::check::{BlockState, Kind, Memory, Side, Site};
use super::error::{Fault, LaunchError};
use super::observe::Space;
use crate::Dim3;
use std::panic::Location;

/// What a thread waits for. Barriers and shared memory of different blocks are alike here: each block then waits for
/// its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A barrier of the block, by its number.
    Barrier(u8),
    /// The other lanes of a warp operation.
    Warp,
    /// A phase of the barrier at an address of shared memory.
    Phase { address: u32, parity: u32 },
    /// Another value of one of these words, which a loop looks at.
    Words(Vec<(Space, u64)>),
}

/// Threads that wait for the same at the same place.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub(super) awaited: Awaited,
    /// The same in words.
    pub(super) what: String,
    pub(super) site: Option<&'static Location<'static>>,
    /// The first of them: the number of its block, and its own there; and as indices.
    pub(super) first: (u64, usize),
    pub(super) block: Dim3,
    pub(super) thread: Dim3,
    /// How many there are.
    pub(super) threads: u64,
}

impl Wait {
    fn place(&self) -> Option<(&str, u32, u32)> {
        self.site.map(|site| (site.file(), site.line(), site.column()))
    }

    /// Whether it is a loop that looks at memory: another thread's write may end it.
    fn looks(&self) -> bool {
        matches!(self.awaited, Awaited::Words(_))
    }

    /// Which is told of first: the lowest. A loop shows more than the barrier at which the others wait for its thread.
    fn rank(&self) -> u8 {
        match self.awaited {
            Awaited::Words(_) => 0,
            Awaited::Phase { .. } => 1,
            Awaited::Warp | Awaited::Barrier(_) => 2,
        }
    }

    /// As a side of a finding.
    fn side(&self) -> Side {
        let what = match self.threads - 1 {
            0 => self.what.clone(),
            1 => format!("{}, as 1 other does", self.what),
            n => format!("{}, as {n} others do", self.what),
        };
        let (block, thread, warp) = (self.block, self.thread, self.first.1 as u32 / 32);
        Side { what, site: self.site.map(Site::from), block, thread, warp, value: None }
    }
}

/// What a thread waits for that looks at these words in a loop: space, address, bytes and value of each.
pub(super) fn looks(
    words: &[(Space, u64, u32, u64)],
    views: &[(u64, u64)],
    state: Option<&BlockState>,
) -> (Awaited, String) {
    let awaited = Awaited::Words(words.iter().map(|&(space, address, ..)| (space, address)).collect());
    let first = words.first().map(|&(space, address, bytes, value)| {
        let memory = match (space, state) {
            (Space::Global, _) => Memory::in_views(views, address, bytes),
            (Space::Shared, Some(state)) => state.place(address, bytes),
            (Space::Shared, None) => Memory { space, parameter: None, element: None, offset: address, bytes },
        };
        format!("{memory}, which stays {value:#x}")
    });
    let what = match (first, words.len()) {
        (None, _) => "waits in a loop that looks at no memory".into(),
        (Some(first), 1) => format!("looks in a loop at {first}"),
        (Some(first), n) => format!("looks in a loop at {n} words, the first of them {first}"),
    };
    (awaited, what)
}

/// Adds a thread to those that wait.
pub(super) fn add(waits: &mut Vec<Wait>, wait: Wait) {
    let same = |other: &&mut Wait| other.awaited == wait.awaited && other.place() == wait.place();
    match waits.iter_mut().find(same) {
        None => waits.push(wait),
        Some(known) => {
            let threads = known.threads + wait.threads;
            if wait.first < known.first {
                *known = wait;
            }
            known.threads = threads;
        }
    }
}

/// What is wrong if all threads of a launch wait so, and who waits for what: first the one who is told of first.
///
/// Threads that wait for different things wait for each other, which is a deadlock: each might do what another waits
/// for. So do those that keep blocks from beginning (`waiting`), and those that wait at barriers. If all look at the same
/// words in loops, nobody is left who might change one.
fn judge(mut waits: Vec<Wait>, waiting: bool) -> (Kind, Vec<Side>) {
    // In an order that is not the schedule's, so that the finding is the same under another.
    waits.sort_by(|a, b| (a.rank(), a.place(), a.first).cmp(&(b.rank(), b.place(), b.first)));
    let alike = waits.iter().all(|wait| wait.looks() && wait.awaited == waits[0].awaited);
    let kind = if alike && !waiting { Kind::EndlessSpin } else { Kind::Deadlock };
    (kind, waits.iter().map(Wait::side).collect())
}

/// The error of threads that wait for ever, some of them in loops. `waiting` says whether blocks have not begun.
pub(super) fn error(kernel: &'static str, waits: Vec<Wait>, waiting: bool) -> LaunchError {
    let (kind, mut sides) = judge(waits, waiting);
    let Side { what, site, block, thread, warp, .. } = sides.remove(0);
    let what = match kind {
        Kind::EndlessSpin => format!("spins for ever: it {what}, and no thread is left that would change it"),
        _ if waiting => format!("{what}; blocks that have not begun wait for this one to end"),
        _ => what,
    };
    LaunchError::Fault(Box::new(Fault { kernel, block, thread, warp, site, kind, what, waits: sides }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn wait(awaited: Awaited, what: &str, block: u64, thread: usize) -> Wait {
        let site = Some(Location::caller());
        let (first, dims) = ((block, thread), (Dim3([block as u32, 0, 0]), Dim3([thread as u32, 0, 0])));
        Wait { awaited, what: what.into(), site, first, block: dims.0, thread: dims.1, threads: 1 }
    }

    fn word(i: u64) -> Awaited {
        Awaited::Words(vec![(Space::Global, i)])
    }

    #[test]
    fn threads_that_wait_for_different_things_are_deadlocked() {
        let judged = |awaited: [Awaited; 2], waiting| {
            let mut waits = vec![];
            awaited.into_iter().zip(0..).for_each(|(awaited, i)| add(&mut waits, wait(awaited, "waits", i, 1)));
            judge(waits, waiting)
        };
        assert_eq!(judged([word(4), word(4)], false).0, Kind::EndlessSpin);
        assert_eq!(judged([word(4), word(4)], true).0, Kind::Deadlock);
        assert_eq!(judged([word(4), word(8)], false).0, Kind::Deadlock);
        let (kind, sides) = judged([Awaited::Barrier(0), word(4)], false);
        assert_eq!((kind, sides.len()), (Kind::Deadlock, 2));
        assert_eq!(sides[0].block.0, [1, 0, 0], "the loop is told of first");
        assert_eq!(judged([Awaited::Barrier(0), Awaited::Barrier(0)], false).0, Kind::Deadlock);
    }

    #[test]
    fn threads_that_wait_for_the_same_are_one_side() {
        let mut waits = vec![];
        let same = [(1, 3), (0, 40), (0, 7)].map(|(block, thread)| wait(word(0), "waits", block, thread));
        same.into_iter().for_each(|wait| add(&mut waits, wait));
        let (kind, sides) = judge(waits, false);
        assert_eq!((kind, sides.len(), &*sides[0].what), (Kind::EndlessSpin, 1, "waits, as 2 others do"));
        assert_eq!((sides[0].block.0, sides[0].thread.0, sides[0].warp), ([0; 3], [7, 0, 0], 0));
    }
}
