//! A barrier in a function that is not marked `inline`, reached through a trait, between two `if`s of one condition.
//!
//! rustc's own inliner does not reach it, so LLVM sees a call. Of the two `if`s it makes one branch, the call in both
//! arms, and then inlines the call: two barriers.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(abi_ptx, asm_experimental_arch))]

use simt::{Global, kernel, thread};

fn helper(data: Global<u32>, i: u32) {
    data.set(i, data.get(i) + 1);
    thread::sync_threads();
    data.set(i + 1, data.get(i) + 3);
}

trait Step {
    fn step(data: Global<u32>, i: u32);
}

struct Helped;

impl Step for Helped {
    fn step(data: Global<u32>, i: u32) {
        helper(data, i);
    }
}

#[inline(always)]
fn between<S: Step>(data: Global<u32>, a: u32, b: u32) {
    let i = thread::index_1d();
    let both = i < a && data.get(i) < b;
    if both {
        data.set(i, 7);
    }
    S::step(data, i);
    if both {
        data.set(i, 8);
    }
}

/// The planted kernel.
#[kernel]
pub fn planted(data: Global<u32>, a: u32, b: u32) {
    between::<Helped>(data, a, b)
}
