//! Who waits for what, when no thread of a launch is left that does anything but wait.

use super::error::{Fault, LaunchError};
use super::finding::{Kind, Memory, Side, Site};
use super::observe::Space;
use crate::Dim3;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::Location;

/// Things that are told of, at most.
const TOLD: usize = 4;

/// What a thread waits for. Barriers and shared memory of different blocks are alike here: each block then waits for
/// its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Awaited {
    /// A barrier of the block, by its number.
    Barrier(u8),
    /// The other lanes of a warp operation.
    Warp,
    /// Registers that other threads give back.
    Registers,
    /// The other threads of the cluster.
    Cluster,
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
    fn place(&self) -> Option<Place> {
        self.site.map(|site| (site.file(), site.line(), site.column()))
    }

    /// Whether it is a loop that looks at memory: another thread's write may end it.
    fn looks(&self) -> bool {
        matches!(self.awaited, Awaited::Words(_))
    }

    /// Whether it is the same kind of wait at the same place, though for something else.
    fn is_beside(&self, other: &Self) -> bool {
        (self.rank(), self.place()) == (other.rank(), other.place())
    }

    /// Which is told of first: the lowest. A loop shows more than the barrier at which the others wait for its thread.
    fn rank(&self) -> u8 {
        match self.awaited {
            Awaited::Words(_) => 0,
            Awaited::Phase { .. } => 1,
            Awaited::Warp | Awaited::Registers | Awaited::Cluster | Awaited::Barrier(_) => 2,
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
/// `place` names a word.
pub(super) fn looks(words: &[(Space, u64, u32, u64)], place: impl Fn(Space, u64, u32) -> Memory) -> (Awaited, String) {
    let awaited = Awaited::Words(words.iter().map(|&(space, address, ..)| (space, address)).collect());
    let first = words.first().map(|&(space, address, bytes, value)| {
        let memory = place(space, address, bytes);
        format!("{memory}, which stays {value:#x}")
    });
    let what = match (first, words.len()) {
        (None, _) => "waits in a loop that looks at no memory".into(),
        (Some(first), 1) => format!("looks in a loop at {first}"),
        (Some(first), n) => format!("looks in a loop at {n} words, the first of them {first}"),
    };
    (awaited, what)
}

/// A place in a source file.
type Place = (&'static str, u32, u32);

/// All that wait: one for each thing and place, whatever the number of threads.
#[derive(Clone, Default)]
pub(super) struct Waits(HashMap<(Awaited, Option<Place>), Wait>);

impl Waits {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds threads that wait.
    pub(super) fn add(&mut self, wait: Wait) {
        match self.0.entry((wait.awaited.clone(), wait.place())) {
            Entry::Vacant(place) => _ = place.insert(wait),
            Entry::Occupied(mut known) => {
                let threads = known.get().threads + wait.threads;
                if wait.first < known.get().first {
                    known.insert(wait);
                }
                known.get_mut().threads = threads;
            }
        }
    }

    /// Adds those of another block.
    pub(super) fn extend(&mut self, of_block: Self) {
        of_block.0.into_values().for_each(|wait| self.add(wait));
    }
}

/// What is wrong if all threads of a launch wait so, and who waits for what: first the one who is told of first.
///
/// Threads that wait for different things wait for each other, which is a deadlock: each might do what another waits
/// for. So do those that keep blocks from beginning (`waiting`), and those that wait at barriers. If all look at the
/// same words in loops, nobody is left who might change one.
fn judge(waits: Waits, waiting: bool) -> (Kind, Vec<Side>) {
    let mut waits: Vec<Wait> = waits.0.into_values().collect();
    // In an order that is not the schedule's, so that the finding is the same under another.
    waits.sort_by(|a, b| (a.rank(), a.place(), a.first).cmp(&(b.rank(), b.place(), b.first)));
    let alike = waits.iter().all(|wait| wait.looks() && wait.awaited == waits[0].awaited);
    let kind = if alike && !waiting { Kind::EndlessSpin } else { Kind::Deadlock };
    // One of each place, and then the others of the same places.
    let seen: Vec<bool> = (0..waits.len()).map(|i| i > 0 && waits[i].is_beside(&waits[i - 1])).collect();
    let of_kind = |again: bool| waits.iter().zip(&seen).filter(move |&(_, &seen)| seen == again).map(|(wait, _)| wait);
    let mut told: Vec<&Wait> = of_kind(false).chain(of_kind(true)).collect();
    let untold: u64 = told.split_off(told.len().min(TOLD)).iter().map(|wait| wait.threads).sum();
    let mut sides: Vec<Side> = told.into_iter().map(Wait::side).collect();
    if let (Some(last), 1..) = (sides.last_mut(), untold) {
        last.what += &format!("; {untold} more threads wait, for other things");
    }
    (kind, sides)
}

/// The error of threads that wait for ever, some of them in loops. `waiting` says whether blocks have not begun.
pub(super) fn error(kernel: &'static str, waits: Waits, waiting: bool) -> LaunchError {
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
            let mut waits = Waits::default();
            awaited.into_iter().zip(0..).for_each(|(awaited, i)| waits.add(wait(awaited, "waits", i, 1)));
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
    fn not_every_word_is_told_of() {
        let mut waits = Waits::default();
        (0..9).for_each(|i| waits.add(wait(word(4 * i), &format!("looks at {i}"), i, 0)));
        waits.add(wait(Awaited::Barrier(0), "waits at the barrier", 0, 1));
        let whats = |sides: Vec<Side>| sides.into_iter().map(|side| side.what).collect::<Vec<_>>();
        let last = "looks at 2; 6 more threads wait, for other things";
        assert_eq!(whats(judge(waits, false).1), ["looks at 0", "waits at the barrier", "looks at 1", last]);
    }

    #[test]
    fn threads_that_wait_for_the_same_are_one_side() {
        let mut waits = Waits::default();
        let same = [(1, 3), (0, 40), (0, 7)].map(|(block, thread)| wait(word(0), "waits", block, thread));
        same.into_iter().for_each(|wait| waits.add(wait));
        let (kind, sides) = judge(waits, false);
        assert_eq!((kind, sides.len(), &*sides[0].what), (Kind::EndlessSpin, 1, "waits, as 2 others do"));
        assert_eq!((sides[0].block.0, sides[0].thread.0, sides[0].warp), ([0; 3], [7, 0, 0], 0));
    }
}
