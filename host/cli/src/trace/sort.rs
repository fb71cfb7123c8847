//! The steps of a sort: neighbouring words of memory that hold a permutation of the keys are the data.

use super::record::{Launch, Piece};
use super::{LOADED, Pair, STORED, Step, Worker, note};
use simt::sim::{Access, AccessKind, Space};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Bytes of a key.
const WORD: u64 = 4;

/// A word in memory: its address, in global memory with [`GLOBAL`].
type Place = u64;

/// The bit of places in global memory: no address has it.
const GLOBAL: Place = 1 << 63;

/// The place of a word that was accessed. Shared memory of several blocks is not told apart: only launches of one block
/// are examined between their barriers.
fn place(access: &Access) -> Place {
    access.address | if access.space == Space::Global { GLOBAL } else { 0 }
}

/// Finds the steps.
pub(super) fn steps(launches: &[Launch], input: &[u32], output: &[u32]) -> Vec<Step> {
    if input.is_empty() {
        return vec![];
    }
    let mut finder = Finder {
        n: input.len(),
        keys: input.iter().map(|&k| mix(k)).fold(0, u64::wrapping_add),
        memory: BTreeMap::new(),
        before: input.to_vec(),
        at: None,
        output: None,
        steps: vec![],
    };
    // The place of the output is known at the end only. Scratch memory may hold the sorted keys too; sorts work in
    // place, so the output is where the input was, which is read first.
    launches.iter().flat_map(|l| &l.pieces).for_each(|p| finder.remember(p));
    let sorted: Vec<_> = finder.windows().into_iter().filter(|&w| w >= GLOBAL && finder.values(w) == output).collect();
    let accesses = || launches.iter().flat_map(|l| &l.pieces).flat_map(|p| &p.accesses);
    let of = |access: &Access| sorted.iter().copied().find(|&w| index(place(access), w, finder.n).is_some());
    let first = accesses().filter(|access| access.kind == AccessKind::Read).find_map(of);
    finder.output = first.or(sorted.last().copied());
    finder.memory.clear();
    if let Some(start) = finder.output {
        finder.memory.extend(input.iter().enumerate().map(|(i, &key)| (start + i as u64 * WORD, key)));
        finder.at = finder.output;
    }
    for (i, launch) in launches.iter().enumerate() {
        finder.launch(i + 1, launch);
    }
    finder.steps
}

struct Finder {
    n: usize,
    /// The hash of all keys, whatever their order.
    keys: u64,
    /// Every word that was read or written, with its value.
    memory: BTreeMap<Place, u32>,
    /// The data of the step before.
    before: Vec<u32>,
    /// The place of the data in the step before.
    at: Option<Place>,
    /// The place of the final output.
    output: Option<Place>,
    steps: Vec<Step>,
}

impl Finder {
    fn launch(&mut self, number: usize, launch: &Launch) {
        // Shared memory does not outlive its block.
        self.memory = self.memory.split_off(&GLOBAL);
        let first = self.steps.len();
        let mut written_output = BTreeSet::new();
        let mut since: Vec<Access> = vec![];
        let mut barriers = 0;
        for (i, piece) in launch.pieces.iter().enumerate() {
            self.remember(piece);
            since.extend(&piece.accesses);
            barriers += piece.barriers;
            let last = i + 1 == launch.pieces.len();
            if let Some(step) = self.step(number, launch.kernel, &since, barriers, last, &mut written_output) {
                self.steps.push(step);
                since.clear();
                barriers = 0;
            } else {
                barriers += 1;
            }
        }
        if let [step] = &mut self.steps[first..] {
            step.whole_launch = true;
        }
    }

    fn remember(&mut self, piece: &Piece) {
        for access in piece.accesses.iter().filter(|a| u64::from(a.bytes) == WORD) {
            self.memory.insert(place(access), access.value as u32);
        }
    }

    /// The step that ends here, if there is one.
    fn step(
        &mut self,
        launch: usize,
        kernel: &'static str,
        since: &[Access],
        barriers: usize,
        last: bool,
        written_output: &mut BTreeSet<usize>,
    ) -> Option<Step> {
        let mut written: Vec<Place> = since.iter().filter(|a| a.kind != AccessKind::Read).map(place).collect();
        written.sort_unstable();
        written.dedup();
        let of = |window: Place| {
            let before = |end: Place| written.partition_point(|&place| place < end);
            &written[before(window)..before(window + self.n as u64 * WORD)]
        };
        // The data is at the place with the most writes; of two such places, at its former place or at the place of the
        // output.
        let likely = |w: Place| (of(w).len(), Some(w) == self.at, Some(w) == self.output, w);
        let found = self.windows().into_iter().map(likely).filter(|found| found.0 > 0).max().map(|found| found.3);
        let step = Step {
            label: String::new(),
            launch,
            kernel,
            note: String::new(),
            values: vec![],
            workers: vec![None; self.n],
            pairs: vec![],
            whole_launch: false,
        };
        if let Some(window) = found {
            // Data that comes from another place is compared there, before it is written here.
            let from = self.at.filter(|_| !reads(since, window, self.n)).unwrap_or(window);
            let values = self.values(window);
            let pairs = if barriers == 0 { pairs(since, from, &self.before, &values) } else { vec![] };
            let mut step = Step {
                values: values.iter().copied().map(Some).collect(),
                workers: workers(since, window, self.n),
                pairs,
                ..step
            };
            let moved = self.at.is_none_or(|at| at & GLOBAL != window & GLOBAL)
                && values == self.before
                && step.pairs.is_empty();
            step.note = match moved {
                true if window < GLOBAL => LOADED.into(),
                true if self.at.is_some() => STORED.into(),
                _ => note(&step),
            };
            self.before = values;
            self.at = Some(window);
            return Some(step);
        }
        if let Some(window) = self.output.filter(|&output| !of(output).is_empty()) {
            // The output is being written.
            written_output.extend(of(window).iter().filter_map(|&place| index(place, window, self.n)));
            let value = |i: usize| self.memory.get(&(window + i as u64 * WORD)).copied();
            let values = (0..self.n).map(|i| value(i).filter(|_| written_output.contains(&i))).collect();
            let mut step = Step { values, workers: workers(since, window, self.n), ..step };
            step.note = note(&step);
            return Some(step);
        }
        // A launch that does not touch the data, or comparisons that changed nothing.
        let at = self.at.or(self.output)?;
        let pairs = if barriers == 0 && (last || written.is_empty()) {
            pairs(since, at, &self.before, &self.before)
        } else {
            vec![]
        };
        let told = self.steps.last().is_some_and(|s| s.launch == launch);
        if pairs.is_empty() && (!last || told) {
            return None;
        }
        let mut step = Step {
            values: self.before.iter().copied().map(Some).collect(),
            workers: workers(since, at, self.n),
            pairs,
            ..step
        };
        step.note = note(&step);
        Some(step)
    }

    /// The places at which a permutation of the keys begins, in order.
    fn windows(&self) -> Vec<Place> {
        let mut windows = vec![];
        let words: Vec<(Place, u64)> = self.memory.iter().map(|(&place, &value)| (place, mix(value))).collect();
        for run in words.chunk_by(|(a, _), (b, _)| a + WORD == *b) {
            if run.len() < self.n {
                continue;
            }
            let mut sum = run[..self.n].iter().map(|w| w.1).fold(0, u64::wrapping_add);
            for i in 0.. {
                if sum == self.keys {
                    windows.push(run[i].0);
                }
                let Some(next) = run.get(i + self.n) else { break };
                sum = sum.wrapping_add(next.1).wrapping_sub(run[i].1);
            }
        }
        windows
    }

    /// The words of a window.
    fn values(&self, start: Place) -> Vec<u32> {
        self.memory.range(start..).take(self.n).map(|(_, &value)| value).collect()
    }
}

/// A hash of a key, so that sums of hashes rarely coincide by chance (the finaliser of splitmix64).
fn mix(key: u32) -> u64 {
    let mut z = u64::from(key).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// The element of a window at a place.
fn index(place: Place, window: Place, n: usize) -> Option<usize> {
    let distance = place.checked_sub(window)?;
    let i = (distance / WORD) as usize;
    (distance % WORD == 0 && i < n).then_some(i)
}

/// Whether any thread reads the window.
fn reads(since: &[Access], window: Place, n: usize) -> bool {
    since.iter().any(|a| a.kind == AccessKind::Read && index(place(a), window, n).is_some())
}

/// The thread that worked on each element: the last that wrote it, or the last that read it if no thread wrote it.
fn workers(since: &[Access], window: Place, n: usize) -> Vec<Option<Worker>> {
    let mut workers = vec![None; n];
    for writes in [false, true] {
        for access in since.iter().filter(|a| (a.kind != AccessKind::Read) == writes) {
            if let Some(i) = index(place(access), window, n) {
                workers[i] = Some(Worker { block: access.block, thread: access.thread });
            }
        }
    }
    workers
}

/// The pairs that threads compared: each reads two elements and then writes back none, one or both of the values to
/// their two places. There are none if any thread does something else, or if the data changed in another way than by
/// exchanging such pairs.
fn pairs(since: &[Access], window: Place, before: &[u32], after: &[u32]) -> Vec<Pair> {
    let n = before.len();
    let mut threads: HashMap<Worker, Vec<(usize, bool, u32)>> = HashMap::new();
    for access in since {
        if let Some(i) = index(place(access), window, n) {
            let worker = Worker { block: access.block, thread: access.thread };
            let read = access.kind == AccessKind::Read;
            threads.entry(worker).or_default().push((i, read, access.value as u32));
        }
    }
    let mut pairs = vec![];
    for (worker, accesses) in threads {
        let mut rest = &accesses[..];
        while let [(a, true, va), (b, true, vb), tail @ ..] = rest {
            let written = tail.iter().take_while(|(_, read, _)| !read).count();
            let fits = tail[..written].iter().all(|(i, _, v)| (i == a || i == b) && (v == va || v == vb));
            if a == b || !fits || written > 2 {
                return vec![];
            }
            let changed = before[*a] != after[*a] || before[*b] != after[*b];
            pairs.push(Pair { a: *a.min(b), b: *a.max(b), changed, worker });
            rest = &tail[written..];
        }
        if !rest.is_empty() {
            return vec![];
        }
    }
    let mut kept = before.to_vec();
    let mut used = vec![false; n];
    for pair in &pairs {
        if std::mem::replace(&mut used[pair.a], true) || std::mem::replace(&mut used[pair.b], true) {
            return vec![];
        }
        if pair.changed {
            kept.swap(pair.a, pair.b);
        }
    }
    if kept != after {
        return vec![];
    }
    pairs.sort_unstable();
    pairs
}
