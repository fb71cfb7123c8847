//! Which elements of a view are missing, in words.

/// Elements that are named one by one.
const NAMED: usize = 4;

/// Elements of a view that nobody has written, in ascending order.
#[derive(Default)]
pub(super) struct Missing {
    pub(super) count: u64,
    named: Vec<u64>,
    last: u64,
    /// The distance between neighbours, as long as it is the same for all.
    step: Option<u64>,
    uneven: bool,
}

impl Missing {
    /// Adds element `i`, which is behind all others.
    pub(super) fn add(&mut self, i: u64) {
        if self.count > 0 {
            let step = i - self.last;
            self.uneven |= *self.step.get_or_insert(step) != step;
        }
        if self.named.len() < NAMED {
            self.named.push(i);
        }
        self.last = i;
        self.count += 1;
    }

    /// The first of them.
    pub(super) fn first(&self) -> Option<u64> {
        self.named.first().copied()
    }

    /// Which of `len` elements they are.
    pub(super) fn words(&self, len: u64) -> String {
        let Self { count, last, step, uneven, .. } = *self;
        let first = self.first().unwrap_or(0);
        let listed = || self.named.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        match step.filter(|_| !uneven) {
            _ if count == len => "all of them".into(),
            _ if count == 1 => format!("element {first} alone"),
            Some(1) if last + 1 == len => format!("elements {first} to {last}, the last {count}"),
            Some(1) if first == 0 => format!("elements 0 to {last}, the first {count}"),
            Some(1) => format!("elements {first} to {last}"),
            Some(step) if count > 2 => format!("every {step}{} element from {first} to {last}", ordinal(step)),
            _ if self.named.len() as u64 == count => format!("elements {}", listed()),
            _ => format!("elements {} and others, up to {last}", listed()),
        }
    }
}

/// The ending of an ordinal number.
fn ordinal(n: u64) -> &'static str {
    match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(elements: impl IntoIterator<Item = u64>) -> String {
        let mut missing = Missing::default();
        elements.into_iter().for_each(|i| missing.add(i));
        missing.words(100)
    }

    #[test]
    fn a_pattern_is_named() {
        assert_eq!(words(0..100), "all of them");
        assert_eq!(words([7]), "element 7 alone");
        assert_eq!(words([99]), "element 99 alone");
        assert_eq!(words(96..100), "elements 96 to 99, the last 4");
        assert_eq!(words(0..32), "elements 0 to 31, the first 32");
        assert_eq!(words(32..64), "elements 32 to 63");
        assert_eq!(words((1..100).step_by(2)), "every 2nd element from 1 to 99");
        assert_eq!(words((3..100).step_by(32)), "every 32nd element from 3 to 99");
        assert_eq!(words((12..100).step_by(12)), "every 12th element from 12 to 96");
        assert_eq!(words((0..100).step_by(33)), "every 33rd element from 0 to 99");
        assert_eq!(words([3, 9]), "elements 3, 9");
        assert_eq!(words([3, 9, 10, 40]), "elements 3, 9, 10, 40");
        assert_eq!(words([3, 9, 10, 40, 41, 90]), "elements 3, 9, 10, 40 and others, up to 90");
    }
}
