//! # Saxpy
//!
//! y = a·x + y, the first thing that everybody writes on a GPU: once as a kernel, once as a functor that a library's
//! transform applies.

pub mod r1_kernel;
pub mod r2_transform;
