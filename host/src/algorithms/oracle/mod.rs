//! What is right: computed by the host from the input alone, in another way than the kernels compute it.

pub mod prefixes;
pub mod reduction;
