//! What a thread knows: vector clocks, in a form that stays small.
//!
//! Every thread counts its own time, which advances when it makes its past known to others (a barrier, a release). An
//! access is stamped with its thread's time; another thread knows the access if it knows that thread up to that time. A
//! barrier gives all threads of a block one time, so that one number, a floor, says what a thread knows of its whole
//! block, and one what it knows of its warp. What it knows beyond the floors, of single threads and of other blocks,
//! stands in persistent trees: a message between threads shares them, and a join visits only the nodes in which two
//! trees differ.

use std::rc::Rc;

/// Children of a node.
const WIDTH: usize = 16;

/// Bits of a key that a node decides.
const BITS: u32 = WIDTH.trailing_zeros();

#[derive(Clone)]
enum Node {
    Leaf([u32; WIDTH]),
    Inner([Option<Rc<Node>>; WIDTH]),
}

/// A persistent map from numbers to times; a number that was never raised has time 0.
#[derive(Clone, Default)]
pub(super) struct Times {
    root: Option<Rc<Node>>,
    /// Inner levels above the leaves.
    height: u32,
}

impl Times {
    pub(super) fn get(&self, key: u32) -> u32 {
        let Some(mut node) = self.root.as_ref() else { return 0 };
        if key as u64 >> (BITS * (self.height + 1)) != 0 {
            return 0;
        }
        let mut level = self.height;
        loop {
            let at = (key >> (BITS * level)) as usize % WIDTH;
            match &**node {
                Node::Leaf(times) => return times[at],
                Node::Inner(children) => match &children[at] {
                    Some(child) => node = child,
                    None => return 0,
                },
            }
            level -= 1;
        }
    }

    /// Makes the time of `key` at least `time`.
    pub(super) fn raise(&mut self, key: u32, time: u32) {
        if self.get(key) >= time {
            return;
        }
        while key as u64 >> (BITS * (self.height + 1)) != 0 {
            self.grow();
        }
        let mut level = self.height;
        let mut place = &mut self.root;
        loop {
            let at = (key >> (BITS * level)) as usize % WIDTH;
            let empty = || Rc::new(if level == 0 { Node::Leaf([0; WIDTH]) } else { Node::Inner(Default::default()) });
            match Rc::make_mut(place.get_or_insert_with(empty)) {
                Node::Leaf(times) => return times[at] = time,
                Node::Inner(children) => place = &mut children[at],
            }
            level -= 1;
        }
    }

    /// Adds a level at the top.
    fn grow(&mut self) {
        if let Some(root) = self.root.take() {
            let mut children: [Option<Rc<Node>>; WIDTH] = Default::default();
            children[0] = Some(root);
            self.root = Some(Rc::new(Node::Inner(children)));
        }
        self.height += 1;
    }

    /// Makes every time at least that of `other`.
    pub(super) fn join(&mut self, other: &Self) {
        if other.root.is_none() {
            return;
        }
        if self.root.is_none() {
            return self.clone_from(other);
        }
        while self.height < other.height {
            self.grow();
        }
        let mut raised;
        let mut other = other;
        if other.height < self.height {
            raised = other.clone();
            while raised.height < self.height {
                raised.grow();
            }
            other = &raised;
        }
        self.root = join(self.root.as_ref(), other.root.as_ref());
    }
}

/// The join of two nodes of one level; one of the two itself where that is the result, so that both stay shared.
fn join(a: Option<&Rc<Node>>, b: Option<&Rc<Node>>) -> Option<Rc<Node>> {
    let (a, b) = match (a, b) {
        (None, other) | (other, None) => return other.cloned(),
        (Some(a), Some(b)) if Rc::ptr_eq(a, b) => return Some(a.clone()),
        (Some(a), Some(b)) => (a, b),
    };
    match (&**a, &**b) {
        (Node::Leaf(x), Node::Leaf(y)) => {
            let most: [u32; WIDTH] = std::array::from_fn(|i| x[i].max(y[i]));
            Some(match () {
                _ if most == *x => a.clone(),
                _ if most == *y => b.clone(),
                _ => Rc::new(Node::Leaf(most)),
            })
        }
        (Node::Inner(x), Node::Inner(y)) => {
            let both: [Option<Rc<Node>>; WIDTH] = std::array::from_fn(|i| join(x[i].as_ref(), y[i].as_ref()));
            let same = |z: &[Option<Rc<Node>>; WIDTH]| {
                both.iter().zip(z).all(|(p, q)| match (p, q) {
                    (Some(p), Some(q)) => Rc::ptr_eq(p, q),
                    (None, None) => true,
                    _ => false,
                })
            };
            Some(match () {
                _ if same(x) => a.clone(),
                _ if same(y) => b.clone(),
                _ => Rc::new(Node::Inner(both)),
            })
        }
        _ => unreachable!("the levels of the two trees are equal"),
    }
}

/// What is known of others: of whole blocks, of whole warps, of single agents, and of the launches before.
///
/// An agent is a thread, or an engine that copies on a thread's behalf.
#[derive(Clone, Default)]
pub(super) struct Known {
    blocks: Times,
    warps: Times,
    pub(super) agents: Times,
    /// The time up to which all accesses of earlier launches are known.
    launch: u32,
}

impl Known {
    pub(super) fn raise_warp(&mut self, warp: u32, time: u32) {
        self.warps.raise(warp, time);
    }

    /// Whether it covers what `agent` of `block` did at `time`.
    pub(super) fn covers(&self, agent: u32, block: Option<u32>, time: u32) -> bool {
        self.agents.get(agent) >= time
            || block.is_some_and(|b| self.blocks.get(b) >= time || self.warps.get(agent / 32) >= time)
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.blocks.join(&other.blocks);
        self.warps.join(&other.warps);
        self.agents.join(&other.agents);
        self.launch = self.launch.max(other.launch);
    }
}

/// Adds what `other` says to `known`.
pub(super) fn merge(known: &mut Option<Rc<Known>>, other: &Rc<Known>) {
    match known {
        Some(known) if Rc::ptr_eq(known, other) => {}
        Some(known) => Rc::make_mut(known).join(other),
        None => *known = Some(other.clone()),
    }
}

/// A thread's place among the agents of a launch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) agent: u32,
    /// The first agent of the block, and how many threads' places it has.
    pub(super) first: u32,
    pub(super) stride: u32,
}

impl Place {
    /// Whether an agent is a thread of the same block.
    #[inline]
    pub(super) fn has_block_of(self, agent: u32) -> bool {
        agent.wrapping_sub(self.first) < self.stride
    }
}

/// The clock of one thread.
#[derive(Clone, Default)]
pub(super) struct Clock {
    /// The thread's own time.
    pub(super) own: u32,
    /// The times up to which all accesses of earlier launches, of the block and of the warp are known.
    pub(super) launch: u32,
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) rest: Option<Rc<Known>>,
    /// What the thread's last fence of that scope made ready for a relaxed store to publish.
    pub(super) fenced_block: Option<Rc<Known>>,
    pub(super) fenced_device: Option<Rc<Known>>,
    /// What relaxed loads have read and the next fence of that scope takes over.
    pub(super) read_block: Option<Rc<Known>>,
    pub(super) read_device: Option<Rc<Known>>,
    /// What operations would have taken over if their scopes, or those of the releases, were wider.
    pub(super) too_narrow: Option<Rc<Known>>,
}

/// A thread's numbers, which say all of what it knows of most accesses.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    pub(super) agent: u32,
    /// Its own time.
    pub(super) own: u32,
    /// The first agent of the block, and how many threads' places it has.
    first: u32,
    stride: u32,
    /// The times up to which all accesses of earlier launches, of the block and of the warp are known.
    launch: u32,
    block: u32,
    warp: u32,
}

impl Numbers {
    /// Whether all threads of the block know, by their block's last barrier, what an agent did.
    #[inline(always)]
    pub(super) fn block_knows(self, agent: u32, time: u32) -> bool {
        time <= self.launch || agent.wrapping_sub(self.first) < self.stride && time <= self.block
    }

    /// Whether the access was made in an earlier launch.
    #[inline(always)]
    pub(super) fn launch_knows(self, time: u32) -> bool {
        time <= self.launch
    }

    /// Whether the numbers tell that the thread knows what an agent did.
    #[inline(always)]
    pub(super) fn know(self, agent: u32, time: u32) -> bool {
        let near = agent.wrapping_sub(self.first) < self.stride;
        time <= self.launch || near && (time <= self.block || agent / 32 == self.agent / 32 && time <= self.warp)
    }
}

impl Clock {
    /// The numbers of the thread at a place, for judgements of times of the running launch, and of launches before it
    /// that all have ended.
    #[inline(always)]
    pub(super) fn numbers(&self, Place { agent, first, stride, .. }: Place) -> Numbers {
        let Self { own, launch, block, warp, .. } = *self;
        Numbers { agent, own, first, stride, launch, block, warp }
    }

    /// What it knows now, for [`Clock::knows`] later.
    pub(super) fn knowledge(&self) -> Self {
        let Self { own, launch, block, warp, .. } = *self;
        Self { own, launch, block, warp, rest: self.rest.clone(), ..Self::default() }
    }

    /// Whether the thread at `place` knows what `agent` did at `time`; `block` gives the agent's block.
    #[inline]
    pub(super) fn knows(&self, place: Place, agent: u32, block: impl FnOnce() -> Option<u32>, time: u32) -> bool {
        if time <= self.launch || agent == place.agent {
            return true;
        }
        let near = place.has_block_of(agent);
        if near && (time <= self.block || agent / 32 == place.warp && time <= self.warp) {
            return true;
        }
        self.rest.as_ref().is_some_and(|rest| rest.covers(agent, block(), time))
    }

    /// Whether this [`Clock::knowledge`] of the thread at `place` has what an agent of a block did at a time, be it the
    /// thread itself.
    pub(super) fn covers(&self, place: Place, (agent, time): (u32, u32), block: u32) -> bool {
        if agent == place.agent { time <= self.own } else { self.knows(place, agent, || Some(block), time) }
    }

    /// All that the thread knows, itself included, as a message; the thread's time advances.
    pub(super) fn release(&mut self, place: Place) -> Rc<Known> {
        let mut all = self.rest.as_deref().cloned().unwrap_or_default();
        all.launch = all.launch.max(self.launch);
        all.blocks.raise(place.block, self.block);
        all.warps.raise(place.warp, self.warp);
        all.agents.raise(place.agent, self.own);
        self.own += 1;
        Rc::new(all)
    }

    /// Takes a message over.
    pub(super) fn acquire(&mut self, place: Place, message: &Rc<Known>) {
        self.launch = self.launch.max(message.launch);
        self.block = self.block.max(message.blocks.get(place.block));
        self.warp = self.warp.max(message.warps.get(place.warp));
        merge(&mut self.rest, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_a_map_whatever_the_keys() {
        let mut times = Times::default();
        let keys = [0, 1, 15, 16, 255, 256, 70_000, u32::MAX, 3];
        for (i, &key) in keys.iter().enumerate() {
            assert_eq!(times.get(key), 0);
            times.raise(key, i as u32 + 1);
        }
        for (i, &key) in keys.iter().enumerate() {
            assert_eq!(times.get(key), i as u32 + 1);
        }
        times.raise(16, 1);
        assert_eq!(times.get(16), 4, "a time never falls");
    }

    #[test]
    fn joins_take_the_later_time_and_share_what_is_equal() {
        let (mut a, mut b) = (Times::default(), Times::default());
        for key in 0..100 {
            a.raise(key, key % 7);
            b.raise(3 * key, 5);
        }
        let before = a.clone();
        a.join(&b);
        for key in 0..300 {
            let of_b = if key % 3 == 0 { 5 } else { 0 };
            assert_eq!(a.get(key), before.get(key).max(of_b), "{key}");
        }
        let again = a.clone();
        a.join(&b);
        assert!(Rc::ptr_eq(a.root.as_ref().unwrap(), again.root.as_ref().unwrap()));
    }

    #[test]
    fn a_message_orders_what_came_before_it_and_no_more() {
        let place = |agent: u32| {
            let block = agent / 64;
            Place { block, warp: agent / 32, agent, first: block * 64, stride: 64 }
        };
        let (writer, reader) = (place(3), place(100));
        let (mut w, mut r) = (Clock { own: 1, ..Clock::default() }, Clock { own: 1, ..Clock::default() });
        let message = w.release(writer);
        assert!(!r.knows(reader, 3, || Some(0), 1));
        r.acquire(reader, &message);
        assert!(r.knows(reader, 3, || Some(0), 1));
        assert!(!r.knows(reader, 3, || Some(0), w.own), "what the writer does after the message is not in it");
        assert!(!r.knows(reader, 4, || Some(0), 1), "nor what its neighbour did");
    }
}
