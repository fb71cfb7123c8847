//! Vectors, matrices and algorithms on a GPU, or on a simulator of one: what you add to your own program.
//!
//! ```
//! use rungs::{DeviceChoice, DeviceVec, Engine, Operation};
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::open(DeviceChoice::Auto)?; // a GPU, or else the simulator
//! let mut keys = DeviceVec::from_slice(&engine, &[3.5f32, -1.0, 2.0])?;
//! keys.sort()?;
//! assert_eq!(keys.to_vec()?, [-1.0, 2.0, 3.5]);
//! assert_eq!(keys.reduce(Operation::Max)?, 3.5);
//! # Ok(())
//! # }
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`engine`] | where kernels run: a GPU through CUDA, or the simulator |
//! | [`mod@vec`] | vectors on an engine with sort, reduce, scan, transform |
//! | [`matrix`] | matrices on an engine, batches of them, and their products |
//! | [`plan`] | the same algorithms on a stream and in memory of the caller's, and in graphs |
//! | [`data`] | elements: types, order, generators |
//! | [`keys`], [`verify`] | keys of sorts, and results checked on an engine |
//! | [`profile`] | each copy and launch of a run |
//!
//! Several devices that work on one problem are the package `rungs-group`; the program is `rungs-cli`.

// Whoever prints in a library ends programs whose standard streams are closed or full.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod data;
pub mod engine;
pub mod error;
pub mod keys;
pub mod matrix;
pub mod plan;
pub mod profile;
pub mod vec;
pub mod verify;

pub use engine::{DeviceChoice, Engine};
pub use error::{Error, Result};
pub use matrix::DeviceMatrix;
pub use rungs_kernels::operator::Operation;
pub use vec::DeviceVec;
