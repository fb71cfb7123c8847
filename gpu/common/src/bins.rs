//! How many bins a histogram has.

/// Most bins: the tables in shared memory are laid out for this number.
pub const MAX_BINS: u32 = 4096;
