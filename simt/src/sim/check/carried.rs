//! What synchronisation carries from thread to thread, and what is under way: the state of atomic words, of barriers in
//! shared memory, of copies and products, and of calls that warps make together.

use super::super::map::Map;
use super::clock::{Clock, Known, Place};
use std::collections::VecDeque;
use std::panic::Location;
use std::rc::Rc;

/// What an atomic word carries: the knowledge of those who released it, through all operations since.
#[derive(Clone, Default)]
pub(super) struct Word {
    /// For acquires of device scope.
    pub(super) device: Option<Rc<Known>>,
    /// For acquires in the block of that number, whatever their scope.
    pub(super) block: Option<(u32, Rc<Known>)>,
    /// What was released for a block alone, whichever.
    pub(super) narrow: Option<Rc<Known>>,
    /// The values before the last operation, the latest first: for loads that may still give them.
    pub(super) older: Vec<Older>,
    /// Who made the last operation, and when; the value that it left, and the plain write that came before it.
    pub(super) last: (u32, u32),
    pub(super) left: (u64, (u32, u32)),
    /// Who has loaded what that operation left, and when first. Whoever knows of such a load finds nothing older.
    pub(super) readers: Vec<(u32, u32)>,
}

/// The atomic operations on a word that may have written it, in this launch, if each has read what the one before left.
///
/// PTX orders such an operation before all that follows, in program order or by what orders threads, the last of the
/// operations: what an operation has observed is before it, though nobody released it. So the block that finds by a
/// relaxed count that it is the last one may reset the counter by a plain store.
pub(super) struct Chain {
    /// Who made the last, and when; none if one of them was a store behind others, which reads nothing.
    pub(super) last: Option<(u32, u32)>,
    /// The size of all of them.
    pub(super) bytes: u32,
    /// Who has loaded what the last left, and when first: what such a load has observed is before what follows it, too.
    pub(super) seen: Map<u32, u32>,
}

/// What a thread has released by an operation on a word: for the device, if its scope reaches that, and for the block.
pub(super) type Released = (Option<Rc<Known>>, Rc<Known>);

/// What a thread has read relaxed from a word: released for the device, and for its block.
pub(super) type Observed = (Option<Rc<Known>>, Option<Rc<Known>>);

/// A value that an atomic word had, what it carried then, and the rest as of the [`Word`].
#[derive(Clone)]
pub(super) struct Older {
    pub(super) value: u64,
    pub(super) device: Option<Rc<Known>>,
    pub(super) block: Option<(u32, Rc<Known>)>,
    pub(super) last: (u32, u32),
    pub(super) readers: Vec<(u32, u32)>,
}

/// Values of an atomic word that are kept behind the last.
pub(super) const OLDER: usize = 4;

/// A barrier in shared memory.
#[derive(Default)]
pub(super) struct Mbarrier {
    /// What those that have arrived in this phase know.
    pub(super) gathering: Option<Rc<Known>>,
    /// What those of the last phase of each parity knew.
    pub(super) ended: [Option<Rc<Known>>; 2],
    /// The same of those from other blocks of the cluster: for who waits at the scope of the cluster.
    pub(super) gathering_wide: Option<Rc<Known>>,
    pub(super) ended_wide: [Option<Rc<Known>>; 2],
    /// The last arrivals of threads of other blocks: agent, time and place.
    pub(super) from_others: Vec<(u32, u32, &'static Location<'static>)>,
    pub(super) parity: usize,
    /// Its number in the block, for its copies' agent, and the number of the running phase.
    pub(super) number: u32,
    pub(super) phase: u32,
    /// The place of a copy that it counts and that no thread has waited for.
    pub(super) unseen: Option<(&'static Location<'static>, u32)>,
    /// The thread that initialised it, and where.
    pub(super) maker: u32,
    pub(super) made: u32,
    /// The maker's time at its first fences behind that: `fence_init`, and one for the copy engines.
    pub(super) fenced: Option<u32>,
    pub(super) shown: Option<u32>,
    /// The last arrival or copy of the last phase of each parity.
    pub(super) enders: [Option<(u32, u32)>; 2],
}

/// The asynchronous copies of a block.
#[derive(Default)]
pub(super) struct Engines {
    /// Bulk copies to global memory, and copies of the threads' own, by thread.
    pub(super) stores: Map<u32, Groups>,
    pub(super) copies: Map<u32, Groups>,
    /// Products of the tensor cores that each thread does not wait for at once.
    pub(super) products: Map<u32, Begun>,
    /// The proxy fences of each thread.
    pub(super) fences: Map<u32, Fences>,
    /// Where bulk copies to this block's shared memory act as fences.
    loads: VecDeque<Load>,
}

/// The proxy fences of one thread.
#[derive(Default)]
pub(super) struct Fences {
    /// The thread's time at each.
    times: Vec<u32>,
    /// The last of them, and what the thread knew then.
    recent: VecDeque<(u32, Clock)>,
    /// The last products that the thread waited for: when, and what it knew when it began them.
    products: VecDeque<(u32, Clock)>,
}

/// Entries of a thread that [`Fences`] and [`Engines::loads`] keep.
const KEPT: usize = 32;

/// Adds the latest of entries.
fn keep<T>(entries: &mut VecDeque<T>, latest: T) {
    if entries.len() == KEPT {
        entries.pop_front();
    }
    entries.push_back(latest);
}

impl Fences {
    /// The thread calls `bulk::fence`.
    pub(super) fn fence(&mut self, clock: &Clock) {
        self.times.push(clock.own);
        keep(&mut self.recent, (clock.own, clock.knowledge()));
    }

    /// The thread waits, now, for a product that it began when it knew that much.
    pub(super) fn product(&mut self, now: u32, begun: Clock) {
        keep(&mut self.products, (now, begun));
    }
}

/// A bulk copy to shared memory.
pub(super) struct Load {
    /// The engine that makes it, and when.
    pub(super) engine: (u32, u32),
    /// The thread that started it, and what that knew.
    pub(super) by: Place,
    pub(super) started: Clock,
}

/// The products that one thread has begun.
#[derive(Default)]
pub(super) struct Begun {
    pub(super) count: u32,
    /// The place of the last, until the thread waits for it, and what the thread knew when it began it.
    pub(super) open: Option<(&'static Location<'static>, Clock)>,
}

/// The groups of copies of one thread.
#[derive(Default)]
pub(super) struct Groups {
    /// Groups that were closed.
    pub(super) closed: u32,
    /// The last group with a copy, from 1 on; the open one is behind those that were closed.
    pub(super) last: u32,
    /// Groups that the thread has waited for.
    pub(super) done: u32,
    pub(super) site: Option<&'static Location<'static>>,
}

impl Groups {
    /// A copy is started in the open group.
    pub(super) fn start(&mut self, site: &'static Location<'static>) {
        self.last = self.closed + 1;
        self.site = Some(site);
    }

    /// The thread waits until all but its last `n` closed groups are done.
    pub(super) fn wait(&mut self, n: u32) -> u32 {
        self.done = self.done.max(self.closed.saturating_sub(n));
        self.done
    }
}

impl Engines {
    /// Barriers in shared memory of a block that have an agent of their own; the others share the last.
    pub(super) const BARRIERS: u32 = 64;

    /// Warps of the largest block. They are a multiple of 32, so that reads by the warps of one group share an entry.
    const WARPS: u32 = 32;

    /// Agents per block of `stride` threads.
    pub(super) fn per_block(stride: u32) -> u32 {
        Self::BARRIERS + 3 * stride + Self::WARPS
    }

    /// Whether a fence stands between what a thread of the block `home`, whose engines these are, did at a time, and
    /// the thread at `me` with that clock: it is after the access, and the thread knows of it. Any thread may have made
    /// it that knew of the access: the one that made it at any time, another among its last fences.
    pub(super) fn fenced(&self, home: u32, me: Place, clock: &Clock, (agent, time): (u32, u32)) -> bool {
        // The agent's first fence after the access.
        let own = self.fences.get(&agent.wrapping_sub(home * me.stride)).and_then(|fences| {
            let before = fences.times.partition_point(|&fence| fence < time);
            fences.times.get(before)
        });
        own.is_some_and(|&fence| clock.knows(me, agent, || Some(home), fence))
            || self.by_another(home, me, clock, (agent, time), |fences| &fences.recent)
    }

    /// Whether the thread at `me` knows an entry of a thread of the block `home` that knew what `agent` did at a time.
    fn by_another(
        &self,
        home: u32,
        me: Place,
        clock: &Clock,
        (agent, time): (u32, u32),
        entries: impl Fn(&Fences) -> &VecDeque<(u32, Clock)>,
    ) -> bool {
        let (block, first) = (|| Some(home), home * me.stride);
        let covers = |(&thread, fences): (&u32, &Fences)| {
            let by = first + thread;
            let place = Place { block: home, warp: by / 32, agent: by, first, ..me };
            // The last that it knows covers the most.
            let known = entries(fences).iter().rev().find(|(at, _)| clock.knows(me, by, block, *at));
            known.is_some_and(|(_, knew)| knew.covers(place, (agent, time), home))
        };
        self.fences.get_key_value(&me.agent.wrapping_sub(first)).is_some_and(covers) || self.fences.iter().any(covers)
    }

    /// A bulk copy to this block's shared memory starts.
    pub(super) fn load(&mut self, load: Load) {
        // Copies of one phase end together, and the last of a thread's knows the most.
        let same = |old: &Load| (old.engine, old.by) == (load.engine, load.by);
        match self.loads.back_mut().filter(|old| same(old)) {
            Some(old) => *old = load,
            None => keep(&mut self.loads, load),
        }
    }

    /// Whether the shared memory of the block `home` that a thread of it has read at a time may be overwritten by a
    /// copy which the thread at `me` starts: there is a fence in between, or a product or copy that the reader, or a
    /// thread that knew of the read, started and that the thread at `me` knows to have completed.
    pub(super) fn fenced_read(&self, home: u32, me: Place, clock: &Clock, read: (u32, u32)) -> bool {
        let of_load = |load: &Load| {
            let (engine, time) = load.engine;
            clock.knows(me, engine, || None, time) && load.started.covers(load.by, read, home)
        };
        self.fenced(home, me, clock, read)
            || self.by_another(home, me, clock, read, |fences| &fences.products)
            || self.loads.iter().any(of_load)
    }

    /// Whether an agent, counted from the first engine of the launch on, is that of a warp's products.
    pub(super) fn multiplies(number: u32, stride: u32) -> bool {
        number % Self::per_block(stride) >= Self::BARRIERS + 3 * stride
    }
}

/// Warps of a group.
pub(super) const WARPS: u32 = 4;

/// What the warps of a group have called.
#[derive(Default)]
pub(super) struct Group {
    /// Calls that not all warps have made: the place, and the warp that made it first.
    pub(super) calls: VecDeque<(&'static Location<'static>, u32)>,
    /// Calls that all have made, and those of each warp.
    pub(super) by_all: u32,
    pub(super) made: [u32; WARPS as usize],
}
