//! What a check found, in words.

use super::observe::Space;
use super::words::plural;
use crate::Dim3;
use std::fmt;
use std::panic::Location;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Two threads of a block access a word of shared memory, one of them writes, and nothing orders the two.
    SharedRace,
    /// The same in global memory; blocks of one launch always run at the same time.
    GlobalRace,
    /// Two threads write the same value to one word, and nothing orders the two.
    SameValueWrite,
    /// A plain access and an atomic one to the same word, or two atomic ones of 4 and of 8 bytes, which nothing orders.
    MixedAtomic,
    /// Atomic accesses of two blocks, one of which holds for its own block alone.
    ScopeTooSmall,
    /// A read of shared memory that no thread has written since the block began.
    UninitialisedShared,
    /// A read of global memory that nothing has written since it was allocated.
    UninitialisedGlobal,
    /// An index past the end of a view, or before its beginning.
    OutOfBounds,
    /// An address that is not a multiple of the alignment of its access.
    Misaligned,
    /// Threads of a block that wait at two different barriers.
    DivergentBarrier,
    /// A barrier that some threads do not reach.
    MissedBarrier,
    /// A warp operation whose mask does not name its caller, or names lanes that do not come; or a call of a group of
    /// four warps that they do not all make alike.
    WarpMask,
    /// A shuffle that reads a lane outside of its mask.
    ShuffleOutsideMask,
    /// Memory that the launches should have written and did not.
    Unwritten,
    /// No thread of the launch is left that does not wait for another: at a barrier, or in a loop for its write.
    Deadlock,
    /// All threads that are left look at the same words in loops, and none is left that would write them.
    EndlessSpin,
    /// A copy that a block started, or a product that it began, and nobody waited for before the block ended; or an
    /// arrival at a barrier of a block of the cluster that may have ended, or a read of its shared memory.
    CopyInFlight,
    /// A bulk copy, or a product of the tensor cores, of shared memory that threads wrote, without the fence that shows
    /// their writes to it; a bulk copy to shared memory that threads read, without a fence after their reads; or such a
    /// copy that a barrier counts, or an arrival from another block, without the fence after the barrier's
    /// initialisation.
    MissingProxyFence,
    /// An access before the wait for the preceding launch, with which this one overlaps.
    BeforeWait,
    /// Anything else that ends a kernel: a panic, a stack overflow, a barrier misused; or that destroys a barrier.
    Fault,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 20] = [
        Self::SharedRace,
        Self::GlobalRace,
        Self::SameValueWrite,
        Self::MixedAtomic,
        Self::ScopeTooSmall,
        Self::UninitialisedShared,
        Self::UninitialisedGlobal,
        Self::OutOfBounds,
        Self::Misaligned,
        Self::DivergentBarrier,
        Self::MissedBarrier,
        Self::WarpMask,
        Self::ShuffleOutsideMask,
        Self::Unwritten,
        Self::Deadlock,
        Self::EndlessSpin,
        Self::CopyInFlight,
        Self::MissingProxyFence,
        Self::BeforeWait,
        Self::Fault,
    ];

    /// Whether threads wait for ever: found after a long wait, and found again under other schedules.
    pub fn hangs(self) -> bool {
        matches!(self, Self::Deadlock | Self::EndlessSpin)
    }

    /// Whether two accesses make it that nothing orders: which of the two came first is the schedule's doing.
    fn is_race(self) -> bool {
        matches!(
            self,
            Self::SharedRace | Self::GlobalRace | Self::SameValueWrite | Self::MixedAtomic | Self::ScopeTooSmall
        )
    }

    /// The kind of the mistake: two writes race, whether this run gave them one value or two.
    fn mistake(self, space: Option<Space>) -> Self {
        match (self, space) {
            (Self::SameValueWrite, Some(Space::Shared)) => Self::SharedRace,
            (Self::SameValueWrite, _) => Self::GlobalRace,
            _ => self,
        }
    }

    /// Causes come first in a report: what was read too early or not written, and who waits for ever, may follow from
    /// them.
    pub(super) fn follows(self) -> u8 {
        match self {
            Self::UninitialisedShared | Self::UninitialisedGlobal => 1,
            Self::Unwritten | Self::Deadlock | Self::EndlessSpin => 2,
            _ => 0,
        }
    }

    /// A short name, for listings and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::SharedRace => "shared-race",
            Self::GlobalRace => "global-race",
            Self::SameValueWrite => "same-value-write",
            Self::MixedAtomic => "mixed-atomic",
            Self::ScopeTooSmall => "scope-too-small",
            Self::UninitialisedShared => "uninitialised-shared",
            Self::UninitialisedGlobal => "uninitialised-global",
            Self::OutOfBounds => "out-of-bounds",
            Self::Misaligned => "misaligned",
            Self::DivergentBarrier => "divergent-barrier",
            Self::MissedBarrier => "missed-barrier",
            Self::WarpMask => "warp-mask",
            Self::ShuffleOutsideMask => "shuffle-outside-mask",
            Self::Unwritten => "unwritten",
            Self::Deadlock => "deadlock",
            Self::EndlessSpin => "endless-spin",
            Self::CopyInFlight => "copy-in-flight",
            Self::MissingProxyFence => "missing-proxy-fence",
            Self::BeforeWait => "before-wait",
            Self::Fault => "fault",
        }
    }

    /// What it means, in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::SharedRace => "two threads access a word of shared memory, one writes, and nothing orders them",
            Self::GlobalRace => "two threads access a word of global memory, one writes, and nothing orders them",
            Self::SameValueWrite => "two threads write the same value to one word, and nothing orders them",
            Self::MixedAtomic => "unordered plain and atomic accesses to a word, or atomic accesses of two sizes",
            Self::ScopeTooSmall => "atomic accesses of two blocks, of which one has only the scope of its own block",
            Self::UninitialisedShared => "a read of shared memory that no thread has written since the block began",
            Self::UninitialisedGlobal => "a read of global memory that nothing has written since it was allocated",
            Self::OutOfBounds => "an access outside of its view",
            Self::Misaligned => "an address that is not a multiple of the alignment of its access",
            Self::DivergentBarrier => "threads of one block wait at different barriers",
            Self::MissedBarrier => "a barrier that some threads of the block do not reach",
            Self::WarpMask => "an operation of a warp or warpgroup that some of the lanes in its mask do not execute",
            Self::ShuffleOutsideMask => "a shuffle that reads a lane outside of its mask",
            Self::Unwritten => "memory that should have been written and was not",
            Self::Deadlock => "all remaining threads wait for each other, at a barrier or in a loop",
            Self::EndlessSpin => "threads wait in loops for a change that no thread will make",
            Self::CopyInFlight => "a block ends before a copy or product that it has started",
            Self::MissingProxyFence => {
                "a copy or product of what threads wrote, a copy over what they read, or a new mbarrier's first use, \
                 without a proxy fence in between"
            }
            Self::BeforeWait => "an access before the wait for the launch that this one overlaps",
            Self::Fault => "the kernel ended with an error",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&Location<'_>> for Site {
    fn from(place: &Location) -> Self {
        Self { file: place.file().into(), line: place.line(), column: place.column() }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One of the accesses of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// What was done: "reads 4 bytes", say.
    pub what: String,
    /// Where, unless the host did it.
    pub site: Option<Site>,
    /// The block, and the thread in it.
    pub block: Dim3,
    /// The thread in its block.
    pub thread: Dim3,
    /// The thread's warp in its block.
    pub warp: u32,
    /// The value that it read or wrote, as bits, where that is known.
    pub value: Option<u64>,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, site, block, thread, warp, value } = self;
        write!(f, "block {block}, thread {thread} (warp {warp}) {what}")?;
        if let Some(value) = value {
            write!(f, ", value {value:#x}")?;
        }
        match site {
            Some(site) => write!(f, "\n      at {site}"),
            None => Ok(()),
        }
    }
}

/// One thing that is wrong with a kernel. A loop that does the same wrong thing many times makes one finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// The kernel.
    pub kernel: &'static str,
    /// The memory that it is about, where it is about memory.
    pub memory: Option<Memory>,
    /// The earlier access, where there are two.
    pub first: Option<Side>,
    /// The access, or the thread, that showed it.
    pub second: Side,
    /// What would have been right.
    pub advice: String,
    /// How often it was seen in one run.
    pub count: u64,
    /// The seed of the first schedule that showed it.
    pub seed: u64,
}

impl Finding {
    /// Whether the other is the same mistake: of that kind, at those places of that kernel. Races are compared by
    /// their lines, in either order, and by their view or array: `x.set(i, x.get(i) + 1)` is one mistake, whichever
    /// of its accesses meet. Two writes race whether they have one value or two.
    pub fn is_same(&self, other: &Self) -> bool {
        let kind = |finding: &Self| finding.kind.mistake(finding.memory.map(|memory| memory.space));
        if kind(self) != kind(other) || self.kernel != other.kernel {
            return false;
        }
        let sites =
            |finding: &Self| [finding.first.as_ref().and_then(|side| side.site.clone()), finding.second.site.clone()];
        let ([a, b], [c, d]) = (sites(self), sites(other));
        if !self.kind.is_race() {
            return (a, b) == (c, d);
        }
        let view = |finding: &Self| finding.memory.map(|memory| (memory.parameter, memory.element.map(|e| e.array)));
        let line = |site: &Option<Site>| site.as_ref().map(|site| (site.file.clone(), site.line));
        let (a, b, c, d) = (line(&a), line(&b), line(&c), line(&d));
        view(self) == view(other) && (a == c && b == d || a == d && b == c)
    }

    /// How much it tells of its mistake: two values more than one, and threads that are further apart more than those
    /// whom a narrower barrier would order.
    pub(super) fn weight(&self) -> Weight {
        let apart = match &self.first {
            Some(first) if first.block != self.second.block => 2,
            Some(first) if first.warp != self.second.warp => 1,
            _ => 0,
        };
        (self.kind != Kind::SameValueWrite, apart)
    }
}

/// As [`Finding::weight`] says.
pub(super) type Weight = (bool, u8);

/// A word of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Which memory.
    pub space: Space,
    /// The kernel's parameter that views it, counted from 0, where that is known.
    pub parameter: Option<usize>,
    /// The element of a static array of shared memory.
    pub element: Option<Element>,
    /// Bytes from the beginning of that view, or of shared memory; an address where the view is not known.
    pub offset: u64,
    /// Bytes that were accessed.
    pub bytes: u32,
}

impl Memory {
    /// Bytes of global memory, as a place in one of a launch's views, which are given by address and bytes.
    pub(super) fn in_views(views: &[(u64, u64)], address: u64, bytes: u32) -> Self {
        let holds = |view: &(u64, u64)| (view.0..view.0 + view.1).contains(&address);
        let parameter = views.iter().position(holds);
        let offset = parameter.map_or(address, |n| address - views[n].0);
        Self { space: Space::Global, parameter, element: None, offset, bytes }
    }
}

impl Memory {
    /// Which element it is, briefly.
    pub(super) fn element_in_words(&self) -> String {
        match self.element {
            Some(element) => element.to_string(),
            None if self.bytes > 0 && self.offset.is_multiple_of(u64::from(self.bytes)) => {
                match (self.space, self.parameter) {
                    (Space::Global, None) => format!("the word at {:#x}", self.offset),
                    _ => format!("element {}", self.offset / u64::from(self.bytes)),
                }
            }
            None => format!("byte {}", self.offset),
        }
    }
}

/// An element of an array that [`shared!`](macro@crate::shared) declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The array's name.
    pub array: &'static str,
    /// The element.
    pub index: u32,
    /// The first byte of the element that was accessed.
    pub byte: u32,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { array, index, byte } = self;
        match byte {
            0 => write!(f, "{array}[{index}]"),
            byte => write!(f, "{array}[{index}], byte {byte} of it"),
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { space, parameter, element: of_array, offset, bytes } = self;
        let element = match bytes {
            1 => String::new(),
            _ if offset.is_multiple_of(u64::from(*bytes)) => {
                format!(" (element {} of {bytes} bytes)", offset / u64::from(*bytes))
            }
            _ => String::new(),
        };
        match (space, of_array, parameter) {
            (Space::Shared, Some(element), _) => write!(f, "shared memory, {element}"),
            (Space::Shared, None, _) => write!(f, "shared memory, byte {offset}{element}"),
            (Space::Global, _, Some(n)) => write!(f, "the view that is parameter {n}, byte {offset}{element}"),
            (Space::Global, _, None) => write!(f, "global memory at {offset:#x}"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, kernel, memory, first, second, advice, count, seed } = self;
        write!(f, "{kind}: {}\n  kernel {kernel}", kind.meaning())?;
        if let Some(memory) = memory {
            write!(f, ", {memory}")?;
        }
        if let Some(first) = first {
            write!(f, "\n    {first}")?;
        }
        write!(f, "\n    {second}")?;
        if !advice.is_empty() {
            write!(f, "\n  {advice}")?;
        }
        write!(f, "\n  seen {count} {} under schedule {seed}", plural(*count, "time"))
    }
}
