//! Sorts by any comparator: an [`Order`](rungs_common::order::Order), which may be a weak ordering, and may turn out to
//! be none.
//!
//! They are the merge sorts and the sample sort of the course, for keys of any type and size. Two things are added.
//! *Weak orders*: equivalent keys may differ, so a merge must not take one of them twice or lose another. *Orders that
//! are none*: a comparator that contradicts itself must not lose keys either. A block that finds that its splits
//! contradict those of its neighbours writes nothing and stops the sort, and `merge_restore` puts all keys back where
//! they belong, in some order.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`multi_way`] | merge sort, four or eight runs at a time |
//! | [`all_runs`] | merge sort of up to 2²⁰ keys, all runs at once |
//! | [`sample`] | sample sort of more keys; of fewer `all_runs` |
//! | [`stable`](crate::stable) | the same, keeping the order of equivalent keys |
//! | [`network`] | a thread sorts its own keys, in registers |
//!
//! The kernels for a type and an order are declared by [`sort_kernels!`](crate::sort_kernels), here those of the
//! library itself.

pub mod all_runs;
pub(crate) mod distribute;
#[cfg(not(target_os = "cuda"))]
pub mod host;
mod levels;
pub mod multi_way;
pub mod network;
pub mod passes;
pub mod sample;
mod split;
mod tile;

use crate::sort_kernels;
use rungs_common::order::{Less, LowHalfDown};

sort_kernels!(pub mod merge_by_less: <u32, Less>, max_spills = 96);
sort_kernels!(pub mod merge_by_less_u64: <u64, Less>, max_spills = 96);
sort_kernels!(pub mod merge_by_low_half: <u32, LowHalfDown>, max_spills = 96);
