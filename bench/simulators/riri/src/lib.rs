//! What the gallery's kernels call, in terms of riri: the part of simt that riri has a word for. What it has none for
//! panics with [`NOT_EXPRESSIBLE`].

#![allow(missing_docs)] // They stand in simt.

#[path = "../../../../simt/src/geometry.rs"]
mod geometry;
mod global;
#[path = "../../../../simt/src/kernel.rs"]
#[allow(dead_code)]
mod kernel;
#[path = "../../../../simt/src/launcher.rs"]
pub mod launcher;
#[path = "../../../../simt/src/live.rs"]
#[allow(dead_code)]
mod live;
#[path = "../../../../simt/src/scalar.rs"]
#[allow(dead_code)]
mod scalar;
mod shared;

pub use geometry::Geometry;
pub use global::{Global, buffer, clear, new_buffer};
pub use kernel::{Argument, Arguments, Instances, Kernel, Parameters};
pub use scalar::{AtomicScalar, Scalar};
pub use shared::Shared;
pub use simt_macros::kernel;

use riri::ThreadCtx;
use std::cell::Cell;

/// The beginning of the message where riri has no word for what a kernel does.
pub const NOT_EXPRESSIBLE: &str = "not expressible";

thread_local! {
    /// The thread of the grid that this thread of the host is, and the bytes of dynamic shared memory.
    static THREAD: Cell<(*const (), u32)> = const { Cell::new((std::ptr::null(), 0)) };
}

/// Runs a thread of a kernel.
pub fn run(thread: &ThreadCtx<'_>, dynamic_bytes: u32, kernel: impl FnOnce()) {
    THREAD.set((std::ptr::from_ref(thread).cast(), dynamic_bytes));
    kernel();
    THREAD.set((std::ptr::null(), 0));
}

fn here() -> &'static ThreadCtx<'static> {
    // SAFETY: set by `run` to a thread that lives until the kernel has ended.
    unsafe { &*THREAD.get().0.cast() }
}

fn not_expressible(what: &str) -> ! {
    panic!("{NOT_EXPRESSIBLE}: {what}")
}

pub mod atomic {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Order {
        Relaxed,
        Acquire,
        Release,
        AcqRel,
    }

    /// riri has none.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Scope {
        Block,
        Device,
        System,
    }

    impl From<Order> for riri::Ordering {
        fn from(order: Order) -> Self {
            match order {
                Order::Relaxed => Self::Relaxed,
                Order::Acquire => Self::Acquire,
                Order::Release => Self::Release,
                Order::AcqRel => Self::AcqRel,
            }
        }
    }

    pub fn fence(order: Order, _: Scope) {
        crate::here().fence(order.into());
    }
}

pub mod thread {
    use crate::{here, not_expressible};

    macro_rules! indices {
        ($($name:ident = $of:ident $axis:ident;)*) => {$(
            pub fn $name() -> u32 {
                here().$of().$axis
            }
        )*};
    }
    indices! {
        thread_idx_x = thread_idx x;
        thread_idx_y = thread_idx y;
        block_idx_x = block_idx x;
        block_idx_y = block_idx y;
        block_dim_x = block_dim x;
        grid_dim_x = grid_dim x;
    }

    pub fn index_1d() -> u32 {
        block_idx_x() * block_dim_x() + thread_idx_x()
    }

    pub fn grid_threads_1d() -> u32 {
        grid_dim_x() * block_dim_x()
    }

    #[track_caller]
    pub fn sync_threads() {
        here().sync_threads();
    }

    pub fn sync_threads_and(_: bool) -> bool {
        not_expressible("a barrier that votes")
    }

    pub fn sync_threads_count(_: bool) -> u32 {
        not_expressible("a barrier that votes")
    }

    pub fn barrier(_: u32, _: u32) {
        not_expressible("a named barrier")
    }
}

pub mod warp {
    use crate::{here, not_expressible};
    use riri::warp;

    pub const FULL: u32 = u32::MAX;

    pub fn lane_id() -> u32 {
        here().lane_id()
    }

    pub fn active_mask() -> u32 {
        not_expressible("the lanes that run")
    }

    #[track_caller]
    pub fn sync_warp(mask: u32) {
        warp::sync_warp(here(), mask);
    }

    #[track_caller]
    pub fn shuffle(mask: u32, value: u32, lane: u32) -> u32 {
        warp::shfl_sync(here(), mask, value, lane)
    }

    #[track_caller]
    pub fn shuffle_up(mask: u32, value: u32, delta: u32) -> u32 {
        warp::shfl_up_sync(here(), mask, value, delta)
    }

    #[track_caller]
    pub fn shuffle_xor(mask: u32, value: u32, lanes: u32) -> u32 {
        warp::shfl_xor_sync(here(), mask, value, lanes)
    }

    #[track_caller]
    pub fn ballot(mask: u32, predicate: bool) -> u32 {
        warp::ballot_sync(here(), mask, predicate)
    }

    /// riri has no reductions: by shuffles, one for each lane.
    #[track_caller]
    fn reduce(mask: u32, value: u32, f: impl Fn(u32, u32) -> u32) -> u32 {
        let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        let mut all = None;
        for lane in lanes {
            let other = warp::shfl_sync(here(), mask, value, lane);
            all = Some(all.map_or(other, |all| f(all, other)));
        }
        all.unwrap_or(value)
    }

    #[track_caller]
    pub fn reduce_add(mask: u32, value: u32) -> u32 {
        reduce(mask, value, u32::wrapping_add)
    }

    #[track_caller]
    pub fn reduce_min(mask: u32, value: u32) -> u32 {
        reduce(mask, value, u32::min)
    }

    #[track_caller]
    pub fn match_any(mask: u32, value: u32) -> u32 {
        let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        lanes.filter(|&lane| warp::shfl_sync(here(), mask, value, lane) == value).fold(0, |bits, lane| bits | 1 << lane)
    }
}

#[macro_export]
macro_rules! shared {
    ($(#[$doc:meta])* $name:ident: [$t:ty; $n:expr]) => {
        $(#[$doc])*
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        struct $name;

        impl $name {
            fn view() -> $crate::Shared<$t> {
                $crate::Shared::named(concat!(module_path!(), "::", stringify!($name)), ($n) as u32)
            }
        }
    };
}
