//! The tests of the project:
//!
//! | test | what it checks |
//! | --- | --- |
//! | `tests/rungs.rs` | every rung on every engine, against oracles of the input; and under the simulator's checks |
//! | `tests/stress.rs` | the upper rungs, called many times: random sizes, workspaces that last, two streams at once |
//! | `tests/plans.rs` | algorithms on a stream, in a context and in memory of the caller's, and in graphs |
//! | `tests/driver.rs` | what these ask of the driver, with a driver made for the test |
//! | `tests/program.rs` | the program `rungs`: reports, files, wrong input, exit codes |
//! | `tests/bench.rs` | `rungs bench`, with peers made for the test |
//! | `tests/sources.rs` | that registry, files, heads and PTX symbols agree |
