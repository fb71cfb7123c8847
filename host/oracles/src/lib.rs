//! Oracles: the expected results, computed by the host from the input alone and in another way than by the kernels. And
//! what else the host does to all elements: the inputs that it makes, the sorts that kernels are compared with.
//!
//! A package of its own, because it is optimised and the program that calls it is not: that would take a minute. A
//! generic function is compiled where it is called, so no function here has type parameters.

pub mod arithmetic;
pub mod baseline;
pub mod eight;
pub mod inputs;
pub mod low_half;
pub mod prefixes;
pub mod products;
pub mod reduction;
pub mod segments;
pub mod selections;
pub mod sums;
