//! Relations between a few events, as rows of bits.

/// A relation between events 0 to n.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Relation {
    rows: Vec<u64>,
}

impl Relation {
    /// Most events.
    pub(crate) const MOST: usize = 64;

    /// The empty one between `n` events.
    pub(crate) fn new(n: usize) -> Self {
        Self { rows: vec![0; n] }
    }

    pub(crate) fn add(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }

    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    fn zip(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self { rows: self.rows.iter().zip(&other.rows).map(|(&a, &b)| of(a, b)).collect() }
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// Whether both have a pair in common.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.rows.iter().zip(&other.rows).any(|(a, b)| a & b != 0)
    }

    /// Whether every pair is one of the other's.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.rows.iter().zip(&other.rows).all(|(a, b)| a & !b == 0)
    }

    /// The pairs for which `keep`.
    pub(crate) fn filter(&self, keep: impl Fn(usize, usize) -> bool) -> Self {
        let mut kept = Self::new(self.rows.len());
        self.pairs().filter(|&(a, b)| keep(a, b)).for_each(|(a, b)| kept.add(a, b));
        kept
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.rows.len())
            .flat_map(move |a| (0..self.rows.len()).filter(move |&b| self.has(a, b)).map(move |b| (a, b)))
    }

    /// A step of this one and then a step of the other.
    pub(crate) fn then(&self, other: &Self) -> Self {
        let step = |&row: &u64| {
            let all = other.rows.iter().enumerate().filter(|(b, _)| row >> b & 1 == 1);
            all.fold(0, |to, (_, next)| to | next)
        };
        Self { rows: self.rows.iter().map(step).collect() }
    }

    pub(crate) fn inverse(&self) -> Self {
        let mut inverse = Self::new(self.rows.len());
        self.pairs().for_each(|(a, b)| inverse.add(b, a));
        inverse
    }

    /// One step or more.
    pub(crate) fn closed(&self) -> Self {
        let mut rows = self.rows.clone();
        for via in 0..rows.len() {
            let next = rows[via];
            rows.iter_mut().filter(|row| **row >> via & 1 == 1).for_each(|row| *row |= next);
        }
        Self { rows }
    }

    /// The same, or no step.
    pub(crate) fn or_same(mut self) -> Self {
        (0..self.rows.len()).for_each(|a| self.add(a, a));
        self
    }

    pub(crate) fn is_irreflexive(&self) -> bool {
        (0..self.rows.len()).all(|a| !self.has(a, a))
    }

    pub(crate) fn is_acyclic(&self) -> bool {
        self.closed().is_irreflexive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(pairs: [(usize, usize); N]) -> Relation {
        let mut all = Relation::new(5);
        pairs.into_iter().for_each(|(a, b)| all.add(a, b));
        all
    }

    #[test]
    fn relations_are_sets_of_pairs() {
        let (a, b) = (of([(0, 1), (1, 2)]), of([(1, 2), (2, 4)]));
        assert_eq!(a.or(&b), of([(0, 1), (1, 2), (2, 4)]));
        assert_eq!(a.and(&b), of([(1, 2)]));
        assert!(a.meets(&b) && !a.meets(&of([(2, 1)])));
        assert!(a.and(&b).is_within(&a) && !b.is_within(&a));
        assert_eq!(a.then(&b), of([(0, 2), (1, 4)]));
        assert_eq!(a.inverse(), of([(1, 0), (2, 1)]));
        assert_eq!(b.filter(|from, _| from == 2), of([(2, 4)]));
    }

    #[test]
    fn a_cycle_is_a_way_back() {
        let chain = of([(0, 1), (1, 2), (3, 0)]);
        assert_eq!(chain.closed(), of([(0, 1), (0, 2), (1, 2), (3, 0), (3, 1), (3, 2)]));
        assert!(chain.is_acyclic() && !chain.or(&of([(2, 3)])).is_acyclic());
        assert!(!of([(4, 4)]).is_irreflexive() && of([]).or_same().has(3, 3));
    }
}
