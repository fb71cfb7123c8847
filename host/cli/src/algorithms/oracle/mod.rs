//! Oracles: the expected results, computed by the host from the input alone and in another way than by the kernels.

pub mod arithmetic;
pub mod prefixes;
pub mod products;
pub mod reduction;
