//! Why the simulator and a GPU count differently, where they do.

use super::{CONFLICTS, LOADS, STORES};

/// The assembler makes one access of 8 bytes of two neighbouring ones of 4, where it knows that they are aligned: fewer
/// requests, and halves of a warp instead of every second word.
const MERGED: &str = "ptxas merges two neighbouring accesses into one of 8 bytes";

/// The lanes of the last warp leave the loop in different places of its unrolled body.
const UNROLLED: &str = "the compiler unrolls the loop; lanes that end in different copies of the load ask separately";

/// Lanes at the edge of a matrix or behind the last key leave out some copies of an unrolled loop. The simulator sees
/// accesses and not copies, so it takes the second copy of one lane and the first of another for one request. The GPU's
/// numbers of thread-tile's and vector-loads' stores come out exactly if the lanes are grouped by the copy, and so do
/// those of producer-consumer's stores (2,993 sectors by 189 requests) and of tensor-map's loads (289 sectors of two
/// matrices of 33 × 33, which it packs as tensor-group does).
const SKIPPED: &str = "lanes at the edge skip copies of an unrolled loop, which the simulator cannot tell apart";

/// The last of a thread's loads has a guard in the machine code (`@!P LDG`) and none in the source.
const GUARDED: &str = "the compiler removes a load past the end, whose value is not used";

/// Binary searches, one per lane.
const SEARCHES: &str = "lanes end a search in different rounds, which the simulator has to guess";

/// Atomic operations hand out places: in another order in each run.
const PLACES: &str = "blocks get their places in the order in which they arrive, which depends on time";

/// How often a thread looks before it sees what it waits for depends on time.
const POLLS: &str = "blocks poll the state of blocks before them; how often depends on time";

/// The hardware's counter has conflicts also where one lane alone accesses shared memory (the stores of grid-atomic),
/// or lanes that want neighbouring words (its loads), so it counts more than conflicts inside of a request.
const ARBITRATION: &str = "the GPU's counter also counts turns that a request loses to other accesses";

/// Nothing that was looked at gives the hardware's number: not the addresses of the lanes, and not the instructions,
/// none of which ptxas merged.
const UNEXPLAINED: &str = "not explained";

/// Family, rung, the measures, and why they differ.
const REASONS: &[(&str, &str, &[&str], &str)] = &[
    ("bubble", "one-block", CONFLICTS, MERGED),
    ("bubble", "ring", &[LOADS], POLLS),
    ("scan", "blelloch", CONFLICTS, MERGED),
    ("radix", "columns-one-thread", CONFLICTS, UNEXPLAINED),
    ("radix", "columns-atomic-min", CONFLICTS, UNEXPLAINED),
    ("radix", "columns-tree", CONFLICTS, UNEXPLAINED),
    ("radix", "columns-groups", CONFLICTS, UNEXPLAINED),
    ("radix", "onesweep", &[LOADS, STORES], POLLS),
    ("radix", "msd-pairs", &[LOADS], POLLS),
    ("radix", "msd-pairs", &[STORES], SKIPPED),
    ("odd-even", "persistent", &[LOADS], POLLS),
    ("merge", "merge-path", &[LOADS], GUARDED),
    ("merge", "multi-way", &[LOADS], GUARDED),
    ("merge", "multi-way", &[LOADS], SEARCHES),
    ("merge", "multi-way", CONFLICTS, SEARCHES),
    ("merge", "all-runs", &[LOADS], GUARDED),
    ("merge", "all-runs", &[LOADS], SEARCHES),
    ("merge", "all-runs", CONFLICTS, SEARCHES),
    ("merge", "sample", &[LOADS], GUARDED),
    ("merge", "sample", &[LOADS], SEARCHES),
    ("merge", "sample", &[CONFLICTS[0]], SEARCHES),
    ("merge", "sample", &[CONFLICTS[1]], PLACES),
    ("merge", "stable", &[LOADS], GUARDED),
    ("merge", "stable", &[LOADS], SEARCHES),
    ("merge", "stable", CONFLICTS, SEARCHES),
    ("matmul", "thread-tile", &[LOADS, STORES], SKIPPED),
    ("matmul", "thread-tile", CONFLICTS, ARBITRATION),
    ("matmul", "vector-loads", &[LOADS, STORES], SKIPPED),
    ("matmul", "warp-tile", &[LOADS], SKIPPED),
    ("matmul", "async-copy", &[LOADS], SKIPPED),
    ("matmul", "producer-consumer", &[STORES], SKIPPED),
    ("matmul", "tensor-mma", &[STORES], SKIPPED),
    ("matmul", "tensor-map", &[LOADS], SKIPPED),
    ("matmul", "tensor-cluster", &[LOADS], SKIPPED),
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

/// The reasons why a measure of a rung differs, at one size or another.
pub(super) fn of(family: &str, rung: &str, measure: &str) -> Vec<&'static str> {
    let fits =
        |(f, r, measures, _): &&(&str, &str, &[&str], &str)| *f == family && *r == rung && measures.contains(&measure);
    REASONS.iter().filter(fits).map(|(.., why)| *why).collect()
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
