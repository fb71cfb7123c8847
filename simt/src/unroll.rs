//! Loops that must disappear, and values that must be computed again.

use crate::Backend;
use crate::machine::Machine;

/// Calls `f(0)`, `f(1)` … `f(N - 1)`, written out.
///
/// An array stays in registers only while every index is a constant. Rust has no pragma to unroll a loop, and LLVM
/// gives up on long bodies; this is unrolled before LLVM sees it. `N` is at most 32. On the host it is a loop, which
/// compiles faster.
#[inline(always)]
#[track_caller]
pub fn unroll<const N: usize>(mut f: impl FnMut(usize)) {
    const { assert!(N <= 32, "unroll goes up to 32") };
    #[cfg(not(target_os = "cuda"))]
    for i in 0..N {
        f(i);
    }
    #[cfg(target_os = "cuda")]
    {
        macro_rules! calls {
            ($($i:literal)*) => {$(
                if $i < N {
                    f($i);
                }
            )*};
        }
        calls!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    }
}

/// `[f(0), f(1), f(2), f(3)]`, in registers if `f` reads from an array that is.
///
/// LLVM 7 unrolls the loop of an array's `map` when it has already left in memory what `f` reads by it.
#[inline(always)]
pub fn four<T>(f: impl Fn(usize) -> T) -> [T; 4] {
    #[cfg(feature = "rust-cuda")]
    return [f(0), f(1), f(2), f(3)];
    #[cfg(not(feature = "rust-cuda"))]
    [0, 1, 2, 3].map(f)
}

/// `value`, about which the compiler loses all knowledge: expressions of it are computed again.
///
/// The compiler computes a common expression once and keeps it in a register. Where dozens of them live through
/// several phases of a kernel (a test for each key, say), registers run out; computing them again in each phase is
/// cheaper.
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    Backend::opaque(value)
}

/// [`opaque`] for rust-cuda, and `value` itself for the other backends.
///
/// LLVM 7 does not know of a Rust function that its shuffles are convergent. If two branches around the call have the
/// same condition, it merges them, and a copy of the shuffles is on each arm. With a condition of this value it keeps
/// one call. The default backend needs no such help, and loses by it what it knows of the value.
#[inline(always)]
pub fn opaque_to_rust_cuda(value: u32) -> u32 {
    if cfg!(feature = "rust-cuda") { opaque(value) } else { value }
}
