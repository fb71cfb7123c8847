//! Keys of any type, see [`rungs::data`], and how they are read and written.
//!
//! | part | contents |
//! | --- | --- |
//! | [`Place`], [`Format`], [`read_keys`], [`Output`] | `.npy` and raw files, the standard streams |
//! | [`read_counted`] | the stream of `rungs lab` |

mod counted;
mod file;
mod npy;

pub use counted::read_counted;
pub use file::{
    Format, Input, KeyFile, MatrixInput, Output, Pass, Place, keys_from, matrix_from, read_keys, read_matrix,
    read_values, refuse_terminal,
};
pub use rungs::data::*;
