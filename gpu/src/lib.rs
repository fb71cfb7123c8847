//! All kernels and their launches, by family: each family is a package of its own, so that a change of a kernel
//! compiles one family and its PTX again. Here they are together, for programs that want all of them.
#![no_std]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub use rungs_bitonic as bitonic;
pub use rungs_bubble as bubble;
pub use rungs_common::{aligned, keys, operator, order, places, rung, state, transform, verify, wait};
pub use rungs_cubes as cubes;
pub use rungs_histogram as histogram;
pub use rungs_matmul as matmul;
pub use rungs_merge as merge;
pub use rungs_odd_even as odd_even;
pub use rungs_products as products;
pub use rungs_radix as radix;
pub use rungs_reduce as reduce;
pub use rungs_saxpy as saxpy;
pub use rungs_scan as scan;
pub use rungs_sorts as sorts;
pub use rungs_sorts::{sort_kernel, sort_kernels};

#[cfg(not(target_os = "cuda"))]
mod answer;

/// Rungs, the ladders that they form, and the launches of each kind of rung.
#[cfg(not(target_os = "cuda"))]
pub mod ladder {
    pub use crate::answer::Answer;
    pub use rungs_common::ladder::*;
    pub use rungs_products::ladder as matmul;
}

/// Ladders that the program shows as one: the rungs of the course, then rows of the library.
#[cfg(not(target_os = "cuda"))]
pub mod ladders {
    use crate::ladder::sort::Sort;
    use crate::ladder::{Entry, Ladder};
    use crate::{merge, radix, sorts};

    /// Sorts by digits.
    pub static RADIX: Ladder<Sort> = Ladder {
        family: radix::LADDER.family,
        about: radix::LADDER.about,
        rungs: &joined::<{ radix::LADDER.rungs.len() + sorts::BY_DIGITS.len() }>(radix::LADDER.rungs, sorts::BY_DIGITS),
        default: &sorts::either::launches::RUNG,
    };

    /// Sorts that compare.
    pub static MERGE: Ladder<Sort> = Ladder {
        family: merge::LADDER.family,
        about: merge::LADDER.about,
        rungs: &joined::<{ merge::LADDER.rungs.len() + sorts::BY_COMPARISONS.len() }>(
            merge::LADDER.rungs,
            sorts::BY_COMPARISONS,
        ),
        default: merge::LADDER.default,
    };

    type Rows = &'static [&'static Entry<Sort>];

    /// The rows of the first list, then those of the second.
    const fn joined<const N: usize>(first: Rows, second: Rows) -> [&'static Entry<Sort>; N] {
        let (mut rows, mut i) = ([first[0]; N], 0);
        while i < N {
            rows[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
            i += 1;
        }
        rows
    }
}
