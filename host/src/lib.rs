//! The library below the program `rungs`: engines, algorithms, data, reports.
//!
//! | module | contents |
//! | --- | --- |
//! | [`engine`] | where kernels run: a GPU through CUDA, or the simulator |
//! | [`algorithms`] | families and rungs, their problems and oracles |
//! | [`bench`] | measuring rungs, beside libraries |
//! | [`counters`] | what the simulator counts of kernels, by line of the source |
//! | [`data`] | elements: types, generators, files |
//! | [`matrix`] | matrices on an engine, batches of them, and their products |
//! | [`measure`] | running a rung: verified, then timed |
//! | [`vec`] | vectors on an engine with sort, reduce, scan, transform |
//! | [`group`] | several devices that work on one problem: sort, reduce, scan |
//! | [`plan`] | the same algorithms on a stream and in memory of the caller's, and in graphs |
//! | [`report`] | tables, JSON, CSV |
//! | [`fidelity`] | the simulator's counters beside those of NVIDIA's profiler |
//! | [`profile`] | each copy and launch of a run |
//! | [`trace`] | the data after each step of a rung |
//! | [`cli`] | the program's commands |

pub mod algorithms;
pub mod bench;
pub mod checks;
pub mod cli;
pub mod contest;
pub mod counters;
pub mod data;
pub mod engine;
pub mod error;
pub mod fidelity;
pub mod group;
pub mod matrix;
pub mod measure;
pub mod plan;
pub mod profile;
pub mod report;
pub mod trace;
pub mod vec;

pub use error::{Error, Result};
