//! # 41 · A message
//!
//! Blocks come in pairs. The even one sends a message of 32 words, one per lane; the odd one waits for it. A word of
//! `flags` says that the message of a pair is there: 0 at first, 1 once all of it has been written.
//!
//! The flag is atomic, and that makes the flag itself safe to share. It says nothing about the message: those are plain
//! words, and a GPU may show them to another block later than the flag. Two orders hand them over:
//!
//! - `flags.store(pair, 1, Release, Scope::Device)`: what this thread knows of is seen before the flag is;
//! - `flags.load(pair, Acquire, Scope::Device)`: if this load sees the flag, what comes behind it sees the message.
//!
//! Both are of one lane. The other lanes write the message, and the other lanes read it. So the lanes of a warp have to
//! meet before the flag is raised, and behind the wait: `warp::sync_warp(warp::FULL)` orders what they do.
//!
//! **Rung.** gpu/odd_even/src/r3_persistent.rs

use simt::atomic::{
    Order::{Acquire, Release},
    Scope,
};
use simt::{Global, kernel, thread, warp};

/// Words of a message, and threads per block: one warp.
pub const WORDS: u32 = 32;

/// Sends the elements of `input` in messages, and writes each plus 1 to `output`. `messages` has room for all of them,
/// `flags` a word per pair of blocks, 0.
#[kernel]
pub fn pass(input: Global<u32>, output: Global<u32>, messages: Global<u32>, flags: Global<u32>) {
    let (pair, lane) = (thread::block_idx_x() / 2, warp::lane_id());
    let i = pair * WORDS + lane;
    if thread::block_idx_x().is_multiple_of(2) {
        let word = if i < input.len() { input.get(i) } else { 0 };
        //[
        //| // Write this part: the message of the pair, then its flag. This lane's word is at `i`.
        messages.set(i, word);
        warp::sync_warp(warp::FULL); // all lanes have written
        if lane == 0 {
            flags.store(pair, 1, Release, Scope::Device);
        }
        //]
    } else {
        //[
        //| // Write this part: wait for the flag, then read this lane's word.
        //| let word = 0;
        if lane == 0 {
            while flags.load(pair, Acquire, Scope::Device) == 0 {}
        }
        warp::sync_warp(warp::FULL); // the message is there
        let word = messages.get(i);
        //]
        if i < output.len() {
            output.set(i, word + 1);
        }
    }
}

//? Which lanes write the message, which one raises the flag, and what orders the two? And on the other side?
//? The lanes write, meet, and then one of them raises the flag with `Release`. On the other side one lane waits with
//?   `Acquire`, the lanes meet, and then all of them read.
//? `messages.set(i, word); warp::sync_warp(warp::FULL);`, then lane 0: `flags.store(pair, 1, Release, Scope::Device);`.
//?   Lane 0 of the other block: `while flags.load(pair, Acquire, Scope::Device) == 0 {}`; then
//?   `warp::sync_warp(warp::FULL); let word = messages.get(i);`.
