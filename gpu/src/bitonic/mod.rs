//! # Bitonic sort
//!
//! A sorting network: which keys are compared does not depend on the data, so all threads do the same at the same
//! time.

pub mod r1_global_step;
