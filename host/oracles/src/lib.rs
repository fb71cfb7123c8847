//! Oracles: the expected results, computed by the host from the input alone and in another way than by the kernels.
//!
//! A package of its own, because they are optimised in debug builds too, and the program that calls them is not.

pub mod arithmetic;
pub mod prefixes;
pub mod products;
pub mod reduction;
