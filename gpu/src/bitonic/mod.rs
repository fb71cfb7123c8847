//! # Bitonic sort
//!
//! A sorting network: which keys are compared does not depend on the data, so all threads do the same at the same
//! time.

pub mod r1_global_step;
pub mod r2_shared_step;
pub mod r3_register_step;
pub mod tile;
