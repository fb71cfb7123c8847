//! The library and program rungs: engines, algorithms, reports.

pub mod data;
mod error;

pub use error::{Error, Result};
