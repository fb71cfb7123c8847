//! Why the simulator and a GPU count differently, where they do.

use super::{CONFLICTS, LOADS, STORES};

/// The assembler makes one access of 8 bytes of two neighbouring ones of 4, where it knows that they are aligned: fewer
/// requests, and halves of a warp instead of every second word.
const MERGED: &str = "ptxas merges two neighbouring accesses into one of 8 bytes";

/// The lanes of the last warp leave the loop in different places of its unrolled body.
const UNROLLED: &str = "the compiler unrolls the loop; lanes that end in different copies of the load ask separately";

/// How often a thread looks before it sees what it waits for depends on time.
const POLLS: &str = "blocks poll the state of blocks before them; how often depends on time";

/// The hardware's counter has conflicts also where one lane alone accesses shared memory (the stores of grid-atomic), or
/// lanes that want neighbouring words (its loads), so it counts more than conflicts inside of a request.
const ARBITRATION: &str = "the GPU's counter also counts turns that a request loses to other accesses";

/// Nothing that was looked at gives the hardware's number: not the addresses of the lanes, and not the instructions,
/// none of which ptxas merged.
const UNEXPLAINED: &str = "not explained";

/// Family, rung, the measures, and why they differ.
const REASONS: &[(&str, &str, &[&str], &str)] = &[
    ("bubble", "one-block", CONFLICTS, MERGED),
    ("scan", "blelloch", CONFLICTS, MERGED),
    ("radix", "columns-one-thread", CONFLICTS, UNEXPLAINED),
    ("radix", "columns-atomic-min", CONFLICTS, UNEXPLAINED),
    ("radix", "columns-tree", CONFLICTS, UNEXPLAINED),
    ("radix", "columns-groups", CONFLICTS, UNEXPLAINED),
    ("radix", "onesweep", &[LOADS, STORES], POLLS),
    ("cubes", "one-block", &[LOADS], UNROLLED),
    ("cubes", "block-sum", CONFLICTS, ARBITRATION),
    ("cubes", "warp-shuffle", CONFLICTS, ARBITRATION),
    ("cubes", "grid-atomic", CONFLICTS, ARBITRATION),
    ("reduce", "vector-loads", CONFLICTS, ARBITRATION),
    ("reduce", "single-launch", CONFLICTS, ARBITRATION),
    ("scan", "look-back", &[LOADS], POLLS),
    ("scan", "look-ahead", &[LOADS], POLLS),
    ("scan", "look-ahead", CONFLICTS, ARBITRATION),
];

/// The reason why a measure of a rung differs.
pub(super) fn of(family: &str, rung: &str, measure: &str) -> Option<&'static str> {
    let fits =
        |(f, r, measures, _): &&(&str, &str, &[&str], &str)| *f == family && *r == rung && measures.contains(&measure);
    REASONS.iter().find(fits).map(|(.., why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::family;

    #[test]
    fn reasons_are_of_rungs_that_are_there() {
        for (name, rung, measures, _) in REASONS {
            family(name).unwrap().rung(rung).unwrap();
            let known = |measure: &&str| super::super::MEASURES.iter().any(|m| m.name == *measure);
            assert!(!measures.is_empty() && measures.iter().all(known), "{name} {rung}");
        }
    }
}
