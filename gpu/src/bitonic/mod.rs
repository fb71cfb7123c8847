//! # Bitonic sort
//!
//! A sorting network: the data does not decide which keys are compared, so all threads do the same at the same time.

pub mod r1_global_step;
pub mod r2_shared_step;
pub mod r3_register_step;
pub mod r4_transpose;
pub mod r5_strides;
pub mod r6_backwards;
pub mod tile;
pub mod transposed;

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use crate::ladder::sort::*;

    /// The ladder, from the textbook up.
    pub static LADDER: Ladder<Sort> = Ladder {
        family: "bitonic",
        about: "bitonic sorting network",
        rungs: &[
            &r1_global_step::launches::RUNG,
            &r2_shared_step::launches::RUNG,
            &r3_register_step::launches::RUNG,
            &r4_transpose::launches::RUNG,
            &r5_strides::launches::RUNG,
            &r6_backwards::launches::RUNG,
        ],
        default: &r6_backwards::launches::RUNG,
    };
}
