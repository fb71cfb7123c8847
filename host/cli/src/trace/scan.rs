//! The steps of a scan: each word of shared memory stands for the element that was first written to it, and the data
//! are the values last written to the words of each element, in shared memory or in the output.

use super::record::{Launch, Piece};
use super::{LOADED, Pair, Step, Worker, note};
use simt::sim::{Access, AccessKind, Space};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// Bytes of an element.
const WORD: u64 = 4;

/// Finds the steps.
pub(super) fn steps(launches: &[Launch], input: &[u32], output: &[u32]) -> Vec<Step> {
    if input.is_empty() {
        return vec![];
    }
    let memory = |writes: bool| -> BTreeMap<u64, u32> {
        let accesses = launches.iter().flat_map(|l| &l.pieces).flat_map(|p| &p.accesses);
        let fit = accesses.filter(|a| a.space == Space::Global && (a.kind != AccessKind::Read) == writes);
        let mut memory = BTreeMap::new();
        for access in fit.filter(|a| u64::from(a.bytes) == WORD) {
            if writes {
                memory.insert(access.address, access.value as u32);
            } else {
                // The values read first are the input, even if the output overwrites them.
                memory.entry(access.address).or_insert(access.value as u32);
            }
        }
        memory
    };
    let mut data = Elements {
        input: find(&memory(false), input),
        output: find(&memory(true), output),
        values: input.to_vec(),
        homes: HashMap::new(),
        owned: HashMap::new(),
    };
    let mut steps: Vec<Step> = vec![];
    for (i, launch) in launches.iter().enumerate() {
        let first_step = steps.len();
        data.homes.clear();
        let mut pending = Step { values: vec![], workers: vec![None; input.len()], ..empty(i + 1, launch.kernel) };
        let mut loaded = false;
        for (k, piece) in launch.pieces.iter().enumerate() {
            let before = data.values.clone();
            let (touched, pairs) = data.apply(piece);
            for (element, worker) in touched {
                pending.workers[element] = Some(worker);
            }
            pending.pairs.extend(pairs);
            let last = k + 1 == launch.pieces.len();
            let first = !loaded && pending.workers.iter().all(Option::is_some) && data.values == before;
            if data.values == before && !first && !last {
                pending.workers = vec![None; input.len()];
                pending.pairs.clear();
                continue;
            }
            loaded = true;
            pending.values = data.values.iter().copied().map(Some).collect();
            for pair in &mut pending.pairs {
                pair.changed = before[pair.a] != data.values[pair.a] || before[pair.b] != data.values[pair.b];
            }
            pending.note = if first && !last { LOADED.into() } else { note(&pending) };
            let next = Step { workers: vec![None; input.len()], ..empty(i + 1, launch.kernel) };
            steps.push(std::mem::replace(&mut pending, next));
        }
        if let [step] = &mut steps[first_step..] {
            step.whole_launch = true;
        }
    }
    // Writes that the simulator does not observe (by a copy engine) show in the final output.
    if let Some(last) = steps.last_mut() {
        last.values = output.iter().copied().map(Some).collect();
    }
    steps
}

fn empty(launch: usize, kernel: &'static str) -> Step {
    Step {
        label: String::new(),
        launch,
        kernel,
        note: String::new(),
        values: vec![],
        workers: vec![],
        pairs: vec![],
        whole_launch: false,
    }
}

/// The place of `data` in memory, in neighbouring words.
fn find(memory: &BTreeMap<u64, u32>, data: &[u32]) -> Option<u64> {
    let fits = |&start: &u64| data.iter().enumerate().all(|(i, v)| memory.get(&(start + i as u64 * WORD)) == Some(v));
    memory.keys().copied().find(fits)
}

struct Elements {
    /// The first address of the input.
    input: Option<u64>,
    /// The first address of the output.
    output: Option<u64>,
    values: Vec<u32>,
    /// The element that a word of a block's shared memory stands for.
    homes: HashMap<(u32, u64), usize>,
    /// The elements that a thread has read from the input.
    owned: HashMap<Worker, Vec<usize>>,
}

impl Elements {
    /// Processes the accesses up to a barrier. Returns the thread that wrote each element, and the elements that were
    /// combined.
    fn apply(&mut self, piece: &Piece) -> (Vec<(usize, Worker)>, Vec<Pair>) {
        let mut waiting: HashMap<Worker, VecDeque<(usize, u64)>> = HashMap::new();
        let mut read: HashMap<Worker, Vec<usize>> = HashMap::new();
        let mut touched = vec![];
        let mut pairs = vec![];
        self.adopt(piece);
        for access in &piece.accesses {
            let worker = Worker { block: access.block, thread: access.thread };
            let writes = access.kind != AccessKind::Read;
            let element = match (access.space, writes) {
                (Space::Global, false) => {
                    if let Some(i) = self.index(self.input, access) {
                        waiting.entry(worker).or_default().push_back((i, access.value));
                        self.owned.entry(worker).or_default().push(i);
                    }
                    None
                }
                (Space::Global, true) => self.index(self.output, access),
                (Space::Shared, false) => {
                    if let Some(&i) = self.homes.get(&(access.block, access.address)) {
                        read.entry(worker).or_default().push(i);
                    }
                    None
                }
                (Space::Shared, true) => {
                    let key = (access.block, access.address);
                    let queue = waiting.entry(worker).or_default();
                    if let Some(at) = queue.iter().position(|&(_, v)| v == access.value)
                        && let Some((i, _)) = queue.remove(at)
                    {
                        self.homes.entry(key).or_insert(i);
                    }
                    self.homes.get(&key).copied()
                }
            };
            if let (Some(i), true) = (element, writes) {
                self.values[i] = access.value as u32;
                touched.push((i, worker));
            }
        }
        for (worker, elements) in read {
            // A thread with one element that reads another's and writes its own has combined the two.
            let own = self.owned.get(&worker).filter(|own| own.len() == 1).map(|own| own[0]);
            let own = own.filter(|&own| touched.contains(&(own, worker)));
            let (a, b) = match (&elements[..], own) {
                (&[a, b], _) if a != b => (a.min(b), a.max(b)),
                (&[a], Some(own)) if a != own => (a.min(own), a.max(own)),
                _ => continue,
            };
            pairs.push(Pair { a, b, changed: false, worker });
        }
        pairs.sort_unstable();
        (touched, pairs)
    }

    /// Gives words that stand for nothing yet to the elements of the threads that write them, if every thread that has
    /// an element writes one such word, all at the same distance: another generation of the data.
    fn adopt(&mut self, piece: &Piece) {
        let mut writes: HashMap<Worker, Vec<u64>> = HashMap::new();
        for access in piece.accesses.iter().filter(|a| a.space == Space::Shared && a.kind == AccessKind::Write) {
            let worker = Worker { block: access.block, thread: access.thread };
            if self.owned.contains_key(&worker) && !self.homes.contains_key(&(access.block, access.address)) {
                writes.entry(worker).or_default().push(access.address);
            }
        }
        let own = |w: &Worker| self.owned.get(w).filter(|own| own.len() == 1).map(|own| own[0]);
        let mut found = vec![];
        for (worker, addresses) in &writes {
            let (Some(element), &[address]) = (own(worker), &addresses[..]) else { return };
            found.push((worker.block, address, element));
        }
        let starts: HashSet<_> = found.iter().map(|&(_, address, i)| address.wrapping_sub(i as u64 * WORD)).collect();
        if found.len() == self.owned.len() && starts.len() == 1 {
            self.homes.extend(found.into_iter().map(|(block, address, i)| ((block, address), i)));
        }
    }

    fn index(&self, start: Option<u64>, access: &Access) -> Option<usize> {
        let i = (access.address.checked_sub(start?)? / WORD) as usize;
        (i < self.values.len() && u64::from(access.bytes) == WORD).then_some(i)
    }
}
