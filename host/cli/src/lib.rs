//! The library below the program `rungs`: families and rungs, problems, reports, the commands.
//!
//! | module | contents |
//! | --- | --- |
//! | [`algorithms`] | families and rungs, their problems and oracles |
//! | [`mod@bench`] | measuring rungs, next to libraries |
//! | [`checks`] | what the simulator's checks find |
//! | [`contest`] | a reader's launches against a rung |
//! | [`counters`] | what the simulator counts of kernels, by line of the source |
//! | [`data`] | elements: types, generators, files |
//! | [`fidelity`] | the simulator's counters next to those of NVIDIA's profiler |
//! | [`job`] | a problem that several devices solve together |
//! | [`measure`] | running a rung: verified, then timed |
//! | [`report`] | tables, JSON, CSV |
//! | [`streams`] | the standard streams: closed, full or fine |
//! | [`timeline`] | a profile as a file for viewers |
//! | [`trace`] | the data after each step of a rung |
//! | [`cli`] | the program's commands |

// A note that cannot be written must not end the work: [`streams`].
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod algorithms;
pub mod bench;
pub mod checks;
pub mod cli;
pub mod contest;
pub mod counters;
pub mod data;
pub mod fidelity;
pub mod job;
pub mod job_files;
pub mod measure;
pub mod mutants;
pub mod report;
pub mod streams;
pub mod timeline;
pub mod trace;
