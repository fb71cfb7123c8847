//! The tests of the project:
//!
//! | test | what it checks |
//! | --- | --- |
//! | `tests/rungs.rs` | every rung on every engine, against oracles of the input; and under the simulator's checks |
//! | `tests/stress.rs` | the upper rungs, called many times: random sizes, workspaces that last, two streams at once |
//! | `tests/vectors` | `rungs::vec`: every algorithm on vectors, and the examples of their pages |
//! | `tests/plans.rs` | algorithms on a stream, in a context and in memory of the caller's, and in graphs |
//! | `tests/driver.rs` | what these ask of the driver, with a driver made for the test |
//! | `tests/program.rs` | the program `rungs`: reports, files, wrong input, exit codes |
//! | `tests/bench.rs` | `rungs bench`, with peers made for the test |
//! | `tests/sources.rs` | that registry, files, heads and PTX symbols agree |

/// Edge i of equal parts of a range of integers.
pub fn whole(low: impl Into<i128>, high: impl Into<i128>, i: usize, parts: usize) -> i128 {
    let (low, high) = (low.into(), high.into());
    low + (high - low) * i as i128 / parts as i128
}

/// Edge i of equal parts of a range of floats.
pub fn real(low: impl Into<f64>, high: impl Into<f64>, i: usize, parts: usize) -> f64 {
    let (low, high) = (low.into(), high.into());
    if i == parts { high } else { (low + (high - low) * (i as f64 / parts as f64)).min(high) }
}
