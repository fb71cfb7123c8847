//! Which accesses of the lanes of a warp are one request.
//!
//! The simulator runs the threads in sequence, a GPU runs the lanes of a warp together. What is known of a lane
//! since it last met the others is the sequence of its accesses, each with its place in the source. Lanes whose
//! sequences are equal, which is nearly always, made each access together.
//!
//! Otherwise lanes have left each other at a branch, and met again behind it. Two things tell where: the order of the
//! places, which is merged from all sequences, and loops, which are seen where a sequence goes back in that order. An
//! access inside a loop belongs to a round of it; accesses of the same place in the same rounds are one request. So an
//! access behind a branch or behind a loop is one request for all lanes again, whatever each lane did before.
//!
//! A round of a loop in which a lane accesses nothing cannot be seen, and two loops are taken for one if the inner one
//! begins or ends at the same access as the outer one. Lanes that differ are then grouped as if such rounds had not
//! been.

use super::cost::{Addresses, lanes};

/// A place in the source with what is done there, by number, from 1 on.
pub(super) type Site = u16;

/// The accesses of one lane that have not been grouped yet, in order.
#[derive(Default)]
pub(super) struct Lane {
    sites: Vec<Site>,
    addresses: Vec<u64>,
    /// The last eight sites: all of a short sequence.
    last: u128,
}

/// Sites in [`Lane::last`].
const SHORT: usize = 8;

impl Lane {
    #[inline(always)]
    pub fn push(&mut self, site: Site, address: u64) {
        self.sites.push(site);
        self.addresses.push(address);
        self.last = self.last << 16 | u128::from(site);
    }

    pub fn len(&self) -> usize {
        self.sites.len()
    }

    pub fn clear(&mut self) {
        self.sites.clear();
        self.addresses.clear();
        self.last = 0;
    }

    fn drop_first(&mut self, n: usize) {
        if n == self.len() {
            self.clear();
        } else if n > 0 {
            self.sites.drain(..n);
            self.addresses.drain(..n);
            self.last = self.sites.iter().fold(0, |last, &site| last << 16 | u128::from(site));
        }
    }
}

/// Lanes of a warp that have made the same accesses in the same order.
#[derive(Clone, Copy)]
struct Class {
    /// The last eight sites of each, and their number.
    last: u128,
    len: usize,
    /// Whether the lanes are those of the cut.
    of_cut: bool,
    /// One of the lanes, and all of them.
    first: usize,
    lanes: u32,
    /// Accesses that have been grouped.
    done: usize,
}

/// The requests that the accesses of classes make up, in order: the site, and the classes of which it is the next
/// access.
type Plan = Vec<(Site, u32)>;

/// Levels of nested loops that are told apart; deeper ones count as part of the last.
const LOOPS: usize = 3;

/// A place in time, the same for lanes that are there together: for each loop from the outermost inwards its first
/// access and the round, then the access; 16 bits each, because a lane's sequence is shorter than 2^16.
type Moment = u128;

/// The most classes of a plan that is remembered, and the most such plans.
const CLASSES: usize = 4;
const PLANS: usize = 256;

/// The short sequences of the classes of a plan; 0 behind the last.
type Key = [u128; CLASSES];

/// Groups the accesses of the lanes of one warp.
#[derive(Default)]
pub(super) struct Aligner {
    classes: Vec<Class>,
    /// Plans made lately, by a hash of their keys: most warps do between two barriers what others have done there.
    plans: Vec<(Key, Plan)>,
    /// The place of each site in the order, by site.
    place: Vec<u32>,
    /// First and last place of each loop.
    loops: Vec<(u32, u32)>,
    moments: [Vec<Moment>; 32],
}

/// Of places that are not in the order.
const NOWHERE: u32 = u32::MAX;

impl Aligner {
    /// Reports each request: site, lanes, and the address of each of these lanes. The lanes of `cut` have not come to
    /// the place yet where they meet the others; what they will do next is not known, so accesses that may belong to it
    /// are kept. At least one access of `urgent` is grouped. `order` is that of the sites, as far as it is known since
    /// the lanes met.
    pub fn group(
        &mut self,
        warp: &mut [Lane],
        order: &mut Vec<Site>,
        cut: u32,
        urgent: Option<usize>,
        request: &mut impl FnMut(Site, u32, &Addresses),
    ) {
        self.classify(warp, cut);
        if self.classes.is_empty() {
            return;
        }
        let short = |class: &Class| class.len <= SHORT;
        if cut == 0 && order.is_empty() && self.classes.len() <= CLASSES && self.classes.iter().all(short) {
            let slot = self.remembered(warp);
            follow(&self.plans[slot].1, warp, &mut self.classes, request);
        } else {
            let plan = self.plan(warp, order, cut, urgent);
            follow(&plan, warp, &mut self.classes, request);
        }
        for class in &self.classes {
            lanes(class.lanes).for_each(|lane| warp[lane].drop_first(class.done));
        }
        if cut == 0 {
            order.clear();
        }
    }

    /// Finds the classes of the lanes that have accesses, in the order of their first lanes. Lanes of `cut` have their
    /// own.
    fn classify(&mut self, warp: &[Lane], cut: u32) {
        self.classes.clear();
        for (i, lane) in warp.iter().enumerate().filter(|(_, lane)| lane.len() > 0) {
            let Lane { last, .. } = *lane;
            let (len, of_cut) = (lane.len(), cut >> i & 1 == 1);
            let like = |class: &&mut Class| {
                class.last == last
                    && (class.len, class.of_cut) == (len, of_cut)
                    && (len <= SHORT || warp[class.first].sites == lane.sites)
            };
            match self.classes.iter_mut().find(like) {
                Some(class) => class.lanes |= 1 << i,
                None => self.classes.push(Class { last, len, of_cut, first: i, lanes: 1 << i, done: 0 }),
            }
        }
    }

    /// Where the plan for the classes, of short sequences, is remembered.
    fn remembered(&mut self, warp: &[Lane]) -> usize {
        let mut key: Key = [0; CLASSES];
        self.classes.iter().zip(&mut key).for_each(|(class, key)| *key = class.last);
        let mix = |hash: u64, part: u64| (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let slot = key.iter().fold(0, |hash, &last| mix(mix(hash, last as u64), (last >> 64) as u64)) as usize % PLANS;
        if self.plans.is_empty() {
            self.plans.resize(PLANS, Default::default());
        }
        // One by one: as a whole they would be compared as bytes, by a call.
        if (0..CLASSES).any(|i| self.plans[slot].0[i] != key[i]) {
            self.plans[slot] = (key, self.plan(warp, &mut Vec::new(), 0, None));
        }
        slot
    }

    /// The requests that the accesses of the classes make up.
    fn plan(&mut self, warp: &[Lane], order: &mut Vec<Site>, cut: u32, urgent: Option<usize>) -> Plan {
        let kept = std::mem::take(&mut self.classes);
        let classes = &kept[..];
        let sequences: Vec<&[Site]> = classes.iter().map(|class| &warp[class.first].sites[..]).collect();
        let of = |lanes: u32| (0..classes.len()).filter(move |&i| classes[i].lanes & lanes != 0);
        let cut = of(cut).fold(0, |mask, i| mask | 1 << i);
        let urgent = urgent.and_then(|lane| of(1 << lane).next());
        let longest = sequences.iter().max_by_key(|sequence| sequence.len()).copied().unwrap_or_default();
        let plan = if sequences.iter().all(|sequence| longest.starts_with(sequence)) {
            let end = if cut == 0 { longest.len() } else { self.end(&sequences, order, cut, urgent) };
            let here = |k: usize| (0..sequences.len()).filter(|&i| k < sequences[i].len()).fold(0, |m, i| m | 1 << i);
            let step = |(k, &site)| (site, here(k));
            longest.iter().take(end).enumerate().map(step).collect()
        } else {
            self.plan_apart(&sequences, order, cut, urgent)
        };
        self.classes = kept;
        plan
    }

    /// How many accesses of each class to group, of classes one of which begins as the others do, so that those of
    /// `cut` stand at the begin of a round afterwards.
    fn end(&mut self, sequences: &[&[Site]], order: &mut Vec<Site>, cut: u32, urgent: Option<usize>) -> usize {
        let shortest = lanes(cut).min_by_key(|&i| sequences[i].len()).unwrap_or(0);
        self.find_moments(sequences, order, 1 << shortest, cut);
        let until = self.limit(1 << shortest, urgent.map(|_| shortest));
        let all = &self.moments[shortest];
        until.map_or(all.len(), |until| all.partition_point(|&moment| moment < until))
    }

    /// Finds the moments of the accesses of these classes.
    fn find_moments(&mut self, sequences: &[&[Site]], order: &mut Vec<Site>, of: u32, cut: u32) {
        self.find_order(sequences, order, of, cut);
        self.find_loops(sequences, of);
        for i in lanes(of) {
            let moments = moments(sequences[i], &self.place, &self.loops);
            self.moments[i].clear();
            self.moments[i].extend(moments);
        }
        order.iter().for_each(|&site| self.place[usize::from(site)] = NOWHERE);
    }

    /// The plan for classes whose sequences differ.
    fn plan_apart(&mut self, sequences: &[&[Site]], order: &mut Vec<Site>, cut: u32, urgent: Option<usize>) -> Plan {
        let all = u32::MAX >> (32 - sequences.len());
        self.find_moments(sequences, order, all, cut);
        let until = self.limit(cut, urgent);
        let mut next = [0_usize; 32];
        let mut heads = [Moment::MAX; 32];
        lanes(all).for_each(|i| heads[i] = self.moments[i].first().copied().unwrap_or(Moment::MAX));
        let mut plan = Plan::new();
        loop {
            let now = heads.into_iter().min().unwrap_or(Moment::MAX);
            if now == Moment::MAX || until.is_some_and(|until| now >= until) {
                return plan;
            }
            let (mut site, mut here) = (0, 0);
            for i in lanes(all).filter(|&i| heads[i] == now) {
                (site, here) = (sequences[i][next[i]], here | 1 << i);
                next[i] += 1;
            }
            lanes(here).for_each(|i| heads[i] = self.moments[i].get(next[i]).copied().unwrap_or(Moment::MAX));
            plan.push((site, here));
        }
    }

    /// Merges the sequences into one order of places: a new place stands before the next that is known, or behind the
    /// one before it if the sequence then goes back, or is cut; else at the end.
    fn find_order(&mut self, sequences: &[&[Site]], order: &mut Vec<Site>, of: u32, cut: u32) {
        let most = lanes(of).flat_map(|i| sequences[i]).chain(&*order).max().map_or(0, |&site| usize::from(site));
        if self.place.len() <= most {
            self.place.resize(most + 1, NOWHERE);
        }
        let renumber = |order: &[Site], from: usize, place: &mut [u32]| {
            order.iter().enumerate().skip(from).for_each(|(at, &site)| place[usize::from(site)] = at as u32);
        };
        renumber(order, 0, &mut self.place);
        for i in lanes(of) {
            let sites = sequences[i];
            let mut before: Option<u32> = None;
            for (k, &site) in sites.iter().enumerate() {
                let place = |site: &Site| Some(self.place[usize::from(*site)]).filter(|&place| place != NOWHERE);
                if place(&site).is_none() {
                    let behind = before.map_or(0, |before| before as usize + 1);
                    let to = match sites[k..].iter().find_map(place) {
                        Some(next) if before.is_none_or(|before| next > before) => next as usize,
                        // It ends a round of a loop, as far as is known.
                        Some(_) => behind,
                        None if cut >> i & 1 == 1 => behind,
                        None => order.len(),
                    };
                    order.insert(to, site);
                    renumber(order, to, &mut self.place);
                }
                before = Some(self.place[usize::from(site)]);
            }
        }
    }

    /// Finds the loops: where a sequence goes back, from the target up to there. Loops that overlap, or that share an
    /// end, are one.
    fn find_loops(&mut self, sequences: &[&[Site]], of: u32) {
        self.loops.clear();
        for i in lanes(of) {
            for pair in sequences[i].windows(2) {
                let (from, to) = (self.place[usize::from(pair[0])], self.place[usize::from(pair[1])]);
                if to <= from && !self.loops.contains(&(to, from)) {
                    self.loops.push((to, from));
                }
            }
        }
        let apart =
            |a: &(u32, u32), b: &(u32, u32)| a.1 < b.0 || b.1 < a.0 || a.0 < b.0 && b.1 < a.1 || b.0 < a.0 && a.1 < b.1;
        let mut i = 0;
        while i < self.loops.len() {
            let this = self.loops[i];
            match self.loops.iter().enumerate().position(|(k, other)| k != i && !apart(&this, other)) {
                None => i += 1,
                Some(k) => {
                    let other = self.loops.swap_remove(k.max(i));
                    let kept = &mut self.loops[k.min(i)];
                    *kept = (kept.0.min(other.0), kept.1.max(other.1));
                    i = 0;
                }
            }
        }
        // The outer ones first.
        self.loops.sort_unstable_by_key(|&(first, last)| (first, u32::MAX - last));
    }

    /// The moment from which on accesses are kept, so that the lanes of `cut` may still join them.
    fn limit(&self, cut: u32, urgent: Option<usize>) -> Option<Moment> {
        let mut last = lanes(cut).filter_map(|i| self.moments[i].last().copied());
        let earliest = last.by_ref().min()?;
        // Whole rounds of the outermost loop if possible, so that the lanes stand at the begin of one afterwards.
        [96, 64, 32, 0].map(|bits| earliest >> bits << bits).into_iter().find(|&limit| {
            let first = urgent.map_or(Some(0), |i| self.moments[i].first().copied());
            first.is_none_or(|first| first < limit)
        })
    }
}

/// Reports the requests of a plan, and counts the accesses of each class that are done by them.
fn follow(plan: &Plan, warp: &[Lane], classes: &mut [Class], request: &mut impl FnMut(Site, u32, &Addresses)) {
    let mut addresses = [0; 32];
    for &(site, here) in plan {
        let mut mask = 0;
        for i in lanes(here) {
            let Class { lanes: of_class, done, .. } = &mut classes[i];
            lanes(*of_class).for_each(|lane| addresses[lane] = warp[lane].addresses[*done]);
            *done += 1;
            mask |= *of_class;
        }
        request(site, mask, &addresses);
    }
}

/// The moment of each access of a sequence.
fn moments<'a>(sites: &'a [Site], place: &'a [u32], loops: &'a [(u32, u32)]) -> impl Iterator<Item = Moment> + 'a {
    // The loops around the access before, from the outermost inwards, with their rounds.
    let mut around: [(usize, u32); LOOPS] = [(usize::MAX, 0); LOOPS];
    let mut before = None;
    sites.iter().map(move |&site| {
        let here = place[usize::from(site)];
        let back = before.is_some_and(|before| here <= before);
        let mut now = [(usize::MAX, 0); LOOPS];
        let inside = loops.iter().enumerate().filter(|(_, (first, last))| (*first..=*last).contains(&here));
        let mut depth = 0;
        for ((number, _), level) in inside.zip(&mut now) {
            *level = (number, 0);
            depth += 1;
        }
        // The loops that the access before was in too go on; going back begins a round of the innermost of these.
        let shared = (0..depth).take_while(|&level| now[level].0 == around[level].0).count();
        for level in 0..shared {
            now[level].1 = around[level].1 + (back && level + 1 == shared) as u32;
        }
        (around, before) = (now, Some(here));
        let mut moment = 0;
        for &(number, round) in &now[..depth] {
            moment = moment << 32 | Moment::from(loops[number].0) << 16 | Moment::from(round);
        }
        (moment << 32 | Moment::from(here) << 16) << (32 * (LOOPS - depth))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests, with the addresses of their lanes.
    type Requests = Vec<(Site, u32, Vec<u64>)>;

    fn noted(requests: &mut Requests) -> impl FnMut(Site, u32, &Addresses) {
        |site, mask, addresses| requests.push((site, mask, lanes(mask).map(|lane| addresses[lane]).collect()))
    }

    /// A warp whose lanes go through a loop with a branch in it, some of them fewer times.
    fn warp(mut seed: u64) -> Vec<Lane> {
        let mut below = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % n
        };
        let (rounds, branches) = (below(4), below(3));
        let lane = |i: u64| {
            let mut lane = Lane::default();
            let mut push = |site: u64| lane.push(site as Site, 100 * i + site);
            push(1);
            for _ in 0..rounds + below(2) {
                push(2);
                if branches > 0 && below(branches + 1) == 0 {
                    push(3 + below(2));
                }
            }
            push(5);
            lane
        };
        (0..32).map(lane).collect()
    }

    #[test]
    fn lanes_that_did_the_same_are_grouped_as_if_each_were_alone() {
        let mut aligner = Aligner::default();
        // Miri takes a hundred times as long.
        let seeds = if cfg!(miri) { 2 } else { 200 };
        for seed in (0..seeds).chain(0..seeds) {
            let (mut together, mut apart) = (Requests::new(), Requests::new());
            aligner.group(&mut warp(seed), &mut vec![], 0, None, &mut noted(&mut together));
            let (alone, mut fresh) = (warp(seed), Aligner::default());
            let class = |i: usize| Class { last: 0, len: 0, of_cut: false, first: i, lanes: 1 << i, done: 0 };
            fresh.classes = (0..32).map(class).collect();
            let plan = fresh.plan(&alone, &mut vec![], 0, None);
            follow(&plan, &alone, &mut fresh.classes, &mut noted(&mut apart));
            assert_eq!(together, apart, "seed {seed}");
        }
        assert!(
            cfg!(miri) || aligner.plans.iter().filter(|(key, _)| key[1] != 0).count() > 5,
            "plans of several classes are remembered"
        );
    }
}
