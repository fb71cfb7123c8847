//! PTX's memory model, as the manual states its axioms: which outcomes a test may have, and whether two of its accesses
//! race.
//!
//! All candidate executions are made: each thread runs with every value that its reads might give (traces.rs), each
//! read takes its value from some write, and writes to a location have some order. An execution counts if it breaks
//! none of the six axioms. A loop may go round [`ROUNDS`](crate::traces::ROUNDS) times.

use crate::relation::Relation;
use crate::test::{How, Outcome, Test, Variable};
use crate::traces::{Action, Event, Trace, traces};
use simt::atomic::{Order, Scope};
use std::collections::BTreeMap;

/// What the model says of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// The outcomes that it allows, and whether some order of all accesses, each taking effect at once, explains them.
    pub outcomes: BTreeMap<Outcome, bool>,
    /// Whether an execution has a data race.
    pub race: bool,
    /// Executions that break no axiom.
    pub executions: u64,
}

/// What the model says of a test.
///
/// # Errors
/// A test that is too large, or whose barriers not all threads of a block pass alike.
pub fn allowed(test: &Test) -> Result<Allowed, String> {
    let of_threads = traces(test)?;
    let mut allowed = Allowed::default();
    combine(test, &of_threads, &mut Vec::new(), &mut allowed)?;
    Ok(allowed)
}

/// Adds what the executions allow in which the first threads have these traces.
fn combine<'a>(
    test: &Test,
    of_threads: &'a [Vec<Trace>],
    chosen: &mut Vec<&'a Trace>,
    allowed: &mut Allowed,
) -> Result<(), String> {
    let Some(traces) = of_threads.get(chosen.len()) else {
        return Candidate::new(test, chosen).map(|candidate| candidate.executions(allowed));
    };
    for trace in traces {
        chosen.push(trace);
        // Most choices have a read of what nobody writes, and go no further.
        if chosen.len() < of_threads.len() || all_are_written(test, chosen) {
            combine(test, of_threads, chosen, allowed)?;
        }
        chosen.pop();
    }
    Ok(())
}

/// Whether each value that is read is written somewhere, or was there at first.
fn all_are_written(test: &Test, traces: &[&Trace]) -> bool {
    let events = || traces.iter().flat_map(|trace| &trace.events);
    events().filter(|event| event.action == Action::Read).all(|read| {
        let same = |write: &Event| write.action == Action::Write && (write.at, write.value) == (read.at, read.value);
        test.locations[read.at].first == read.value || events().any(same)
    })
}

/// One trace of each thread: the events, and what they alone decide.
struct Candidate<'a> {
    test: &'a Test,
    traces: &'a [&'a Trace],
    /// The locations' first values come first, as writes of no thread.
    events: Vec<Event>,
    thread: Vec<usize>,
    po: Relation,
    /// What a value or a branch depends on.
    dependent: Relation,
    /// The halves of read-modify-writes.
    rmw: Relation,
    /// Pairs of events whose scopes include each other, or of one thread; of memory events of one location.
    strong: Relation,
    /// From before a barrier to behind it.
    barriers: Relation,
    /// What begins a pattern of release, and the write that ends it; and the read and the end of one of acquire.
    releases: Relation,
    acquires: Relation,
    /// Pairs of accesses to one location, and those of two writes.
    same_place: Relation,
    writes: Relation,
    /// The writes that each read may have its value from.
    sources: Vec<(usize, Vec<usize>)>,
}

/// A relation between the events for which `holds`.
fn relation(n: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
    let mut all = Relation::new(n);
    (0..n).for_each(|a| (0..n).filter(|&b| holds(a, b)).for_each(|b| all.add(a, b)));
    all
}

impl<'a> Candidate<'a> {
    fn new(test: &'a Test, traces: &'a [&'a Trace]) -> Result<Self, String> {
        let init = test.locations.len();
        let mut events: Vec<Event> = (0..init).map(|at| Event::first(at, test.locations[at].first)).collect();
        let mut thread = vec![usize::MAX; init];
        let (mut dependent, mut rmw) = (vec![], vec![]);
        for (t, trace) in traces.iter().enumerate() {
            let base = events.len();
            for (i, event) in trace.events.iter().enumerate() {
                dependent.extend((0..64).filter(|k| event.depends >> k & 1 == 1).map(|k| (base + k, base + i)));
                rmw.extend(event.completes.map(|read| (base + read, base + i)));
                events.push(*event);
                thread.push(t);
            }
        }
        let n = events.len();
        if n > Relation::MOST {
            return Err(format!("more than {} events", Relation::MOST));
        }
        let mut sources = Vec::new();
        for r in (init..n).filter(|&r| events[r].action == Action::Read) {
            let (at, value) = (events[r].at, events[r].value);
            let gives = |&w: &usize| {
                let write = &events[w];
                write.action == Action::Write
                    && write.at == at
                    && write.value == value
                    && (thread[w] != thread[r] || w < r)
            };
            sources.push((r, (0..n).filter(gives).collect()));
        }
        let same_thread = |a: usize, b: usize| thread[a] == thread[b];
        let po = relation(n, |a, b| a >= init && same_thread(a, b) && a < b);
        let reaches = |a: usize, b: usize| {
            let (from, to) = (&test.threads[thread[a]], &test.threads[thread[b]]);
            match events[a].how.scope {
                Scope::Block => (from.gpu, from.block) == (to.gpu, to.block),
                Scope::Device => from.gpu == to.gpu,
                Scope::System => true,
            }
        };
        let strong = relation(n, |a, b| {
            let (x, y) = (&events[a], &events[b]);
            let meet = a >= init && b >= init && a != b;
            let mutual = || x.is_strong() && y.is_strong() && reaches(a, b) && reaches(b, a);
            meet && (same_thread(a, b) || mutual()) && (!x.is_memory() || !y.is_memory() || x.at == y.at)
        });
        let barriers = relation(n, |a, b| match (events[a].action, events[b].action) {
            (Action::Arrive(i), Action::Leave(j)) if i == j => {
                let (x, y) = (&test.threads[thread[a]], &test.threads[thread[b]]);
                (x.gpu, x.block) == (y.gpu, y.block) && (!i.of_warp || x.warp == y.warp)
            }
            _ => false,
        });
        let releases = relation(n, |a, w| {
            let (x, write) = (&events[a], &events[w]);
            let ordered = matches!(x.how.order, Some(Order::Release | Order::AcqRel));
            let strong_write = write.action == Action::Write && write.is_strong();
            let own = x.action == Action::Write && ordered && (a == w || po.has(a, w) && x.at == write.at);
            strong_write && (own || x.is_fence() && po.has(a, w))
        });
        let acquires = relation(n, |r, b| {
            let (read, y) = (&events[r], &events[b]);
            let ordered = matches!(y.how.order, Some(Order::Acquire | Order::AcqRel));
            let strong_read = read.action == Action::Read && read.is_strong();
            let own = y.action == Action::Read && ordered && (r == b || po.has(r, b) && y.at == read.at);
            strong_read && (own || y.is_fence() && po.has(r, b))
        });
        let of = |pairs: Vec<(usize, usize)>| {
            let mut all = Relation::new(n);
            pairs.into_iter().for_each(|(a, b)| all.add(a, b));
            all
        };
        let (dependent, rmw) = (of(dependent), of(rmw));
        let same_place = relation(n, |a, b| {
            let (x, y) = (&events[a], &events[b]);
            x.is_memory() && y.is_memory() && x.at == y.at
        });
        let writes = same_place.filter(|a, b| events[a].action == Action::Write && events[b].action == Action::Write);
        Ok(Self {
            test,
            traces,
            events,
            thread,
            po,
            dependent,
            rmw,
            strong,
            barriers,
            releases,
            acquires,
            same_place,
            writes,
            sources,
        })
    }

    fn writes_to(&self, at: usize) -> Vec<usize> {
        let init = self.test.locations.len();
        (init..self.events.len())
            .filter(|&w| self.events[w].action == Action::Write && self.events[w].at == at)
            .collect()
    }

    /// Adds what all executions allow.
    fn executions(&self, allowed: &mut Allowed) {
        // The only write of a value may be a later one of the reader's own.
        if self.sources.iter().any(|(_, from)| from.is_empty()) {
            return;
        }
        let mut chosen = vec![0; self.sources.len()];
        'all: loop {
            let mut rf = Relation::new(self.events.len());
            self.sources.iter().zip(&chosen).for_each(|((r, from), &i)| rf.add(from[i], *r));
            // No value out of thin air: none depends on itself.
            if rf.or(&self.dependent).is_acyclic() {
                self.with_reads(&rf, allowed);
            }
            for (i, (_, from)) in chosen.iter_mut().zip(&self.sources) {
                *i += 1;
                if *i < from.len() {
                    continue 'all;
                }
                *i = 0;
            }
            return;
        }
    }

    /// The executions in which reads take their values so.
    fn with_reads(&self, rf: &Relation, allowed: &mut Allowed) {
        // What a strong read sees through operations that are each atomic.
        let direct = rf.and(&self.strong);
        let observed = direct.then(&self.rmw).closed().or_same().then(&direct);
        let synchronised = self.releases.then(&observed).then(&self.acquires).and(&self.strong);
        let n = self.events.len();
        let init = self.test.locations.len();
        let begins = relation(n, |a, b| a < init && b >= init);
        let base = self.po.or(&synchronised).or(&self.barriers).or(&begins);
        let fences: Vec<usize> = (0..n).filter(|&f| self.events[f].action == Action::Fence { sc: true }).collect();
        each_order(&fences, &mut |order| {
            // Sequentially consistent fences are in one order, as far as their scopes reach each other.
            let before = of_order(n, order).and(&self.strong);
            let caused = base.or(&before).closed();
            if fences.iter().any(|&f| caused.has(f, f)) {
                return;
            }
            let near = caused.and(&self.same_place);
            let cause = near.or(&observed.then(&near));
            self.with_cause(rf, &cause, allowed);
        });
    }

    /// The executions with that order of causality.
    fn with_cause(&self, rf: &Relation, cause: &Relation, allowed: &mut Allowed) {
        let n = self.events.len();
        let init = self.test.locations.len();
        // Coherence orders writes that are morally strong, and follows causality; no others are in order.
        let caused = cause.and(&self.writes);
        let ordered = caused.or(&self.strong.and(&self.writes));
        let own_place = self.po.and(&self.same_place);
        let per_place: Vec<Vec<usize>> = (0..init).map(|at| self.writes_to(at)).collect();
        each_order_of_all(&per_place, &mut |orders| {
            let mut total = Relation::new(n);
            for (first, order) in orders.iter().enumerate() {
                let with_first: Vec<usize> = [first].into_iter().chain(order.iter().copied()).collect();
                total = total.or(&of_order(n, &with_first));
            }
            if !caused.is_within(&total) {
                return;
            }
            let co = total.and(&ordered).closed();
            let fr = rf.inverse().then(&co);
            let atomic = || !fr.and(&self.strong).then(&co.and(&self.strong)).meets(&self.rmw);
            let communicates = rf.or(&co).or(&fr).and(&self.strong);
            let per_location = || communicates.or(&own_place).is_acyclic();
            let causal = || rf.or(&fr).then(cause).is_irreflexive();
            if !(causal() && atomic() && per_location()) {
                return;
            }
            allowed.executions += 1;
            let all_fr = rf.inverse().then(&total);
            let sequential = self.po.or(&self.barriers).or(rf).or(&total).or(&all_fr).is_acyclic()
                && !all_fr.then(&total).meets(&self.rmw);
            let last = |at: usize| orders[at].last().copied().unwrap_or(at);
            let value = |&variable: &Variable| match variable {
                Variable::Register(thread, register) => self.traces[thread].registers[register],
                Variable::Location(at) => self.events[last(at)].value,
            };
            let outcome: Outcome = self.test.observed().iter().map(value).collect();
            *allowed.outcomes.entry(outcome).or_default() |= sequential;
            allowed.race |= self.races(cause);
        });
    }

    /// Whether two accesses conflict that are neither morally strong nor in order.
    ///
    /// To the manual a read-modify-write is one operation: what observed its write is behind its read as well.
    fn races(&self, cause: &Relation) -> bool {
        let cause = cause.or(&self.rmw.then(cause));
        let init = self.test.locations.len();
        let all = init..self.events.len();
        let writes = |e: usize| self.events[e].action == Action::Write;
        all.clone().any(|a| {
            all.clone().any(|b| {
                let (x, y) = (&self.events[a], &self.events[b]);
                let conflict = writes(a) && y.is_memory() && x.at == y.at && self.thread[a] != self.thread[b];
                conflict && !self.strong.has(a, b) && !cause.has(a, b) && !cause.has(b, a)
            })
        })
    }
}

impl Event {
    /// The first value of a location.
    fn first(at: usize, value: u32) -> Self {
        let how = How { order: None, scope: Scope::System };
        Self { action: Action::Write, at, value, how, depends: 0, completes: None }
    }

    fn is_memory(&self) -> bool {
        matches!(self.action, Action::Read | Action::Write)
    }

    fn is_fence(&self) -> bool {
        matches!(self.action, Action::Fence { .. })
    }

    fn is_strong(&self) -> bool {
        self.is_fence() || self.is_memory() && self.how.order.is_some()
    }
}

/// Each before all that follow it.
fn of_order(n: usize, order: &[usize]) -> Relation {
    let mut all = Relation::new(n);
    for (i, &a) in order.iter().enumerate() {
        order[i + 1..].iter().for_each(|&b| all.add(a, b));
    }
    all
}

/// Calls `with` with each order of the items.
fn each_order(items: &[usize], with: &mut impl FnMut(&[usize])) {
    fn from(at: usize, items: &mut Vec<usize>, with: &mut impl FnMut(&[usize])) {
        if at + 1 >= items.len() {
            return with(items);
        }
        for i in at..items.len() {
            items.swap(at, i);
            from(at + 1, items, with);
            items.swap(at, i);
        }
    }
    from(0, &mut items.to_vec(), with);
}

/// Calls `with` with each combination of an order of each list.
fn each_order_of_all(lists: &[Vec<usize>], with: &mut dyn FnMut(&[Vec<usize>])) {
    fn from(lists: &[Vec<usize>], chosen: &mut Vec<Vec<usize>>, with: &mut dyn FnMut(&[Vec<usize>])) {
        let Some(list) = lists.get(chosen.len()) else { return with(chosen) };
        each_order(list, &mut |order| {
            chosen.push(order.to_vec());
            from(lists, chosen, with);
            chosen.pop();
        });
    }
    from(lists, &mut Vec::new(), with);
}
