//! A loop in which one thread fills a ring of stages, and how often each compiler has a round of it.
//!
//! A round waits until a stage is empty, announces the bytes that it has copied, and starts the copies. Their number
//! depends on how the operands lie, so kernels have other counts each; but any operation of a round is there as often
//! as the round is, or a multiple of that. This compares operation by operation: one that a compiler copied or lost
//! within a round is noticed.

use super::{code_of, statements};
use std::collections::BTreeMap;

/// How the operation begins that threads outside of the loop have too: of theirs both compilers have equally many.
const WAITS: &str = "mbarrier.try_wait.";
/// How the operation begins that each round has once.
const ANNOUNCES: &str = "mbarrier.arrive.expect_tx.";

/// Whether the operations of `kind` are what two compilers leave if they have this many rounds of the loop.
pub fn explain(rounds: [u32; 2], bodies: [&str; 2], kind: &str) -> bool {
    let [mine, theirs] = bodies.map(operations);
    let count = |of: &BTreeMap<&str, u32>, name: &str| of.get(name).copied().unwrap_or(0);
    let announces = |of: &BTreeMap<&str, u32>| -> u32 {
        of.iter().filter(|(name, _)| name.starts_with(ANNOUNCES)).map(|(_, count)| count).sum()
    };
    let fits = |name: &str| {
        let (a, b) = (count(&mine, name), count(&theirs, name));
        let waits = name.starts_with(WAITS) && a + rounds[1] == b + rounds[0];
        a == b || a * rounds[1] == b * rounds[0] || waits
    };
    let all = mine.keys().chain(theirs.keys());
    [&mine, &theirs].map(announces) == rounds
        && all.filter(|name| super::kind_of(name) == Some(kind)).all(|name| fits(name))
}

/// How often a kernel has each instruction.
fn operations(body: &str) -> BTreeMap<&str, u32> {
    let mut operations = BTreeMap::new();
    for name in statements(body).filter_map(|statement| code_of(statement).next()) {
        *operations.entry(name).or_default() += 1;
    }
    operations
}

#[cfg(test)]
mod tests {
    use super::super::{COPIES, MBARRIERS};
    use super::*;

    const WAIT: &str = "mbarrier.try_wait.parity.shared::cta.b64 ended, [%r1], %r2;";
    const ANNOUNCE: &str = "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], %r3;";
    const COPY: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], %r5, [%r1];";
    const WAITS_FOR_READS: &str = "cp.async.bulk.wait_group.read 0;";

    /// A kernel with this many rounds, and `more`.
    fn kernel(rounds: usize, more: &str) -> String {
        let round = format!("{{ {WAIT} }}\n{ANNOUNCE}\n{COPY}\n{COPY}\n");
        format!("mbarrier.init.shared::cta.b64 [%r1], 1;\n{}{WAIT}\n{WAITS_FOR_READS}\n{more}", round.repeat(rounds))
    }

    fn of(rounds: [u32; 2], one: &str, other: &str) -> [bool; 2] {
        [MBARRIERS, COPIES].map(|kind| explain(rounds, [one, other], kind))
    }

    #[test]
    fn rounds_of_one_loop_are_explained() {
        assert_eq!(of([3, 1], &kernel(3, ""), &kernel(1, "")), [true; 2]);
        assert_eq!(of([1, 2], &kernel(1, ""), &kernel(2, "")), [true; 2]);
    }

    #[test]
    fn other_numbers_of_rounds_are_not() {
        for rounds in [[3, 2], [2, 1], [1, 3]] {
            assert_eq!(of(rounds, &kernel(3, ""), &kernel(1, "")), [false; 2], "{rounds:?}");
        }
    }

    #[test]
    fn what_a_round_has_once_more_or_less_is_noticed() {
        let whole = kernel(3, "");
        assert_eq!(of([3, 1], &whole, &kernel(1, COPY)), [true, false]);
        assert_eq!(of([3, 1], &whole, &kernel(1, WAITS_FOR_READS)), [true, false]);
        assert_eq!(of([3, 1], &whole, &kernel(1, "").replacen(COPY, "", 1)), [true, false]);
        assert_eq!(of([3, 1], &whole, &kernel(1, WAIT)), [false, true]);
        assert_eq!(of([3, 1], &whole, &kernel(1, "mbarrier.arrive.shared::cta.b64 _, [%r1];")), [false, true]);
        assert_eq!(of([3, 1], &whole, &kernel(1, ANNOUNCE)), [false; 2]);
    }
}
