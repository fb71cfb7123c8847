//! Which accesses of the lanes of a warp are one request.
//!
//! The simulator runs the threads one after another, a GPU runs the lanes of a warp together. What is known of a lane
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

use super::Addresses;
use super::cost::lanes;

/// A place in the source with what is done there, by number.
pub(super) type Site = u16;

/// The accesses of one lane that have not been grouped yet, in order.
#[derive(Default)]
pub(super) struct Lane {
    pub sites: Vec<Site>,
    pub addresses: Vec<u64>,
}

impl Lane {
    #[inline(always)]
    pub fn push(&mut self, site: Site, address: u64) {
        self.sites.push(site);
        self.addresses.push(address);
    }

    pub fn len(&self) -> usize {
        self.sites.len()
    }

    pub fn clear(&mut self) {
        self.sites.clear();
        self.addresses.clear();
    }

    fn drop_first(&mut self, n: usize) {
        if n == self.len() {
            self.clear();
        } else {
            self.sites.drain(..n);
            self.addresses.drain(..n);
        }
    }
}

/// Levels of nested loops that are told apart; deeper ones count as part of the last.
const LOOPS: usize = 3;

/// A place in time, the same for lanes that are there together: for each loop from the outermost inwards its first
/// access and the round, then the access; 16 bits each, because a lane's sequence is shorter than 2^16.
type Moment = u128;

/// Groups the accesses of the lanes of one warp.
#[derive(Default)]
pub(super) struct Aligner {
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
        let active: u32 = (0..warp.len()).filter(|&i| warp[i].len() > 0).fold(0, |mask, i| mask | 1 << i);
        let cut = cut & active;
        let at = if active == 0 {
            return;
        } else if is_uniform(warp, active) {
            let end = if cut == 0 { usize::MAX } else { self.end(warp, order, cut, urgent) };
            group_by_number(warp, active, end, request);
            std::array::from_fn(|i| warp.get(i).map_or(0, |lane| lane.len().min(end)))
        } else {
            self.group_apart(warp, order, active, cut, urgent, request)
        };
        for (lane, n) in warp.iter_mut().zip(at) {
            lane.drop_first(n);
        }
        if cut == 0 {
            order.clear();
        }
    }

    /// How many accesses of each lane to group, of lanes with equal sequences, so that those of `cut` stand at the
    /// begin of a round afterwards.
    fn end(&mut self, warp: &[Lane], order: &mut Vec<Site>, cut: u32, urgent: Option<usize>) -> usize {
        let shortest = lanes(cut).min_by_key(|&i| warp[i].len()).unwrap_or(0);
        self.find_moments(warp, order, 1 << shortest, cut);
        let until = self.limit(1 << shortest, urgent.map(|_| shortest));
        let all = &self.moments[shortest];
        until.map_or(all.len(), |until| all.partition_point(|&moment| moment < until))
    }

    /// Finds the moments of the accesses of these lanes.
    fn find_moments(&mut self, warp: &[Lane], order: &mut Vec<Site>, of: u32, cut: u32) {
        self.find_order(warp, order, of, cut);
        self.find_loops(warp, of);
        for i in lanes(of) {
            let moments = moments(&warp[i].sites, &self.place, &self.loops);
            self.moments[i].clear();
            self.moments[i].extend(moments);
        }
        order.iter().for_each(|&site| self.place[usize::from(site)] = NOWHERE);
    }

    /// Groups accesses of lanes whose sequences differ; returns how many of each lane.
    fn group_apart(
        &mut self,
        warp: &[Lane],
        order: &mut Vec<Site>,
        active: u32,
        cut: u32,
        urgent: Option<usize>,
        request: &mut impl FnMut(Site, u32, &Addresses),
    ) -> [usize; 32] {
        self.find_moments(warp, order, active, cut);
        let until = self.limit(cut, urgent);
        let mut next = [0_usize; 32];
        let mut heads = [Moment::MAX; 32];
        lanes(active).for_each(|i| heads[i] = self.moments[i].first().copied().unwrap_or(Moment::MAX));
        loop {
            let now = heads.into_iter().min().unwrap_or(Moment::MAX);
            if now == Moment::MAX || until.is_some_and(|until| now >= until) {
                break;
            }
            let (mut addresses, mut site) = ([0; 32], 0);
            let here = lanes(active).filter(|&i| heads[i] == now).fold(0_u32, |mask, i| mask | 1 << i);
            for i in lanes(here) {
                (addresses[i], site) = (warp[i].addresses[next[i]], warp[i].sites[next[i]]);
                next[i] += 1;
                heads[i] = self.moments[i].get(next[i]).copied().unwrap_or(Moment::MAX);
            }
            request(site, here, &addresses);
        }
        next
    }

    /// Merges the sequences into one order of places: a new place stands before the next that is known, or behind the
    /// one before it if the sequence then goes back, or is cut; else at the end.
    fn find_order(&mut self, warp: &[Lane], order: &mut Vec<Site>, active: u32, cut: u32) {
        let most = lanes(active).flat_map(|i| &warp[i].sites).chain(&*order).max().map_or(0, |&site| usize::from(site));
        if self.place.len() <= most {
            self.place.resize(most + 1, NOWHERE);
        }
        let renumber = |order: &[Site], from: usize, place: &mut [u32]| {
            order.iter().enumerate().skip(from).for_each(|(at, &site)| place[usize::from(site)] = at as u32);
        };
        renumber(order, 0, &mut self.place);
        for i in lanes(active) {
            let sites = &warp[i].sites;
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
    fn find_loops(&mut self, warp: &[Lane], active: u32) {
        self.loops.clear();
        for i in lanes(active) {
            for pair in warp[i].sites.windows(2) {
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

/// Whether the sequence of each lane is that of the others, or their begin.
fn is_uniform(warp: &[Lane], active: u32) -> bool {
    let longest = lanes(active).max_by_key(|&i| warp[i].len()).map_or(&[][..], |i| &warp[i].sites);
    lanes(active).all(|i| longest.starts_with(&warp[i].sites))
}

/// Groups the first `end` accesses of each lane, of lanes with equal sequences, by their number.
fn group_by_number(warp: &[Lane], active: u32, end: usize, request: &mut impl FnMut(Site, u32, &Addresses)) {
    let mut left = active;
    let mut addresses = [0; 32];
    for k in 0..end {
        left = lanes(left).filter(|&i| k < warp[i].len()).fold(0, |mask, i| mask | 1 << i);
        if left == 0 {
            break;
        }
        lanes(left).for_each(|i| addresses[i] = warp[i].addresses[k]);
        request(warp[left.trailing_zeros() as usize].sites[k], left, &addresses);
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
