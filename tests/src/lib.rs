//! What proves the project:
//!
//! | test | what it holds |
//! | --- | --- |
//! | `tests/rungs.rs` | every rung on every engine: all sizes, types and distributions, against oracles of the input |
//! | `tests/stress.rs` | the upper rungs, called many times: random sizes, workspaces that last, two streams at once |
//! | `tests/program.rs` | the program `rungs`: reports, files, wrong input, exit codes |
//! | `tests/bench.rs` | `rungs bench`, with peers that are made up |
//! | `tests/sources.rs` | registry, files, heads and PTX symbols against each other |
