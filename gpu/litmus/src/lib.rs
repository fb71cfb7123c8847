//! # Litmus tests: an interpreter
//!
//! A litmus test is a few threads of a few instructions each, which ask one question of the memory model. Here the
//! tests are data: each thread runs its own list of instructions ([`code`]) and keeps its registers for the host. Every
//! instruction of a test is the access, fence or barrier of that name, with its order and scope. Reading the list is
//! the only other memory traffic, and nobody writes there.
//!
//! Many instances of a test run in one launch. An instance is a few blocks that follow each other, with locations,
//! and lines of output, of its own.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod code;

use code::{Operation, Word};
use simt::atomic::{Order, Scope, fence, fence_sc};
use simt::{Global, kernel, shared, thread, warp};

/// Registers of a thread.
pub const REGISTERS: u32 = 8;

/// Words from one location to the next: a line of the caches each.
pub const STRIDE: u32 = 32;

/// Locations of a test, at most.
pub const LOCATIONS: u32 = 8;

/// Most threads per block.
pub const BLOCK: u32 = 1024;

/// The shape of a test.
#[simt::argument]
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Blocks of an instance.
    pub blocks: u32,
    /// Instructions of a thread, each a pack of the program; those of a shorter list end with [`Operation::End`].
    pub steps: u32,
    /// Threads of an instance that wait for each other before they begin; 0 to begin at once.
    pub meet: u32,
}

shared!(WORDS: [u32; LOCATIONS]);

/// Runs each thread's instructions. The lists stand in `program` in the order of the threads. `memory` has a line for
/// each location of each instance, and one that counts the threads of the instance which have come; `output` has
/// [`REGISTERS`] words for each thread.
#[kernel(max_threads = BLOCK)]
pub fn litmus_run(program: Global<u32>, memory: Global<u32>, output: Global<u32>, shape: Shape) {
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let (instance, block) = (thread::block_idx_x() / shape.blocks, thread::block_idx_x() % shape.blocks);
    let (slot, slots) = (block * threads + t, shape.blocks * threads);
    let memory = memory.slice(instance * (LOCATIONS + 1) * STRIDE, (LOCATIONS + 1) * STRIDE);
    let words = WORDS::view();
    if t < LOCATIONS {
        words.set(t, memory.get(t * STRIDE + 1)); // the second word of a line: what shared memory holds at first
    }
    thread::sync_threads(); // shared memory is set before any thread of the test accesses it
    let mut next = slot * shape.steps;
    let begins = Word::of(program.get_pack(next)).operation;
    if shape.meet > 0 && begins != Operation::End as u32 {
        // Relaxed: the threads begin together, and nothing is ordered by that.
        memory.fetch_add(LOCATIONS * STRIDE, 1, Order::Relaxed, Scope::Device);
        while memory.load(LOCATIONS * STRIDE, Order::Relaxed, Scope::Device) < shape.meet {}
    }
    let mut registers = [0; REGISTERS as usize];
    loop {
        let word = Word::of(program.get_pack(next));
        next += 1;
        if word.operation == Operation::End as u32 {
            break;
        }
        step(word, &mut registers, memory, words, (&mut next, slot * shape.steps));
    }
    let first = (instance * slots + slot) * REGISTERS;
    for (register, value) in registers.into_iter().enumerate() {
        output.set(first + register as u32, value);
    }
}

/// An access of `$view`, to element `$at`, as the word says.
macro_rules! access {
    ($word:ident, $view:ident, $at:expr, $a:ident, $b:ident) => {{
        let (at, order, scope) = ($at, $word.order(), $word.scope());
        match $word.operation {
            LOAD if $word.is_weak() => $view.get(at),
            LOAD => $view.load(at, order, scope),
            STORE if $word.is_weak() => {
                $view.set(at, $a);
                0
            }
            STORE => {
                $view.store(at, $a, order, scope);
                0
            }
            ADD => $view.fetch_add(at, $a, order, scope),
            AND => $view.fetch_and(at, $a, order, scope),
            OR => $view.fetch_or(at, $a, order, scope),
            XOR => $view.fetch_xor(at, $a, order, scope),
            EXCHANGE => $view.exchange(at, $a, order, scope),
            _ => $view.compare_exchange(at, $a, $b, order, scope),
        }
    }};
}

const LOAD: u32 = Operation::Load as u32;
const STORE: u32 = Operation::Store as u32;
const ADD: u32 = Operation::Add as u32;
const AND: u32 = Operation::And as u32;
const OR: u32 = Operation::Or as u32;
const XOR: u32 = Operation::Xor as u32;
const EXCHANGE: u32 = Operation::Exchange as u32;
const FENCE: u32 = Operation::Fence as u32;
const FENCE_SC: u32 = Operation::FenceSc as u32;
const BLOCK_BARRIER: u32 = Operation::BlockBarrier as u32;
const WARP_BARRIER: u32 = Operation::WarpBarrier as u32;
const SUM: u32 = Operation::Sum as u32;
const IF_EQUAL: u32 = Operation::IfEqual as u32;
const IF_DIFFERENT: u32 = Operation::IfDifferent as u32;

/// Makes one step. `jump` is the place of the next instruction and of the first.
#[simt::device]
fn step(
    word: Word,
    registers: &mut [u32; REGISTERS as usize],
    memory: Global<u32>,
    words: simt::Shared<u32>,
    (next, first): (&mut u32, u32),
) {
    let [a, b] = word.operands(registers);
    let result = match word.operation {
        FENCE => {
            fence(word.order(), word.scope());
            return;
        }
        FENCE_SC => {
            fence_sc(word.scope());
            return;
        }
        // Every thread of the block has the same barriers in its list.
        BLOCK_BARRIER => {
            thread::sync_threads();
            return;
        }
        WARP_BARRIER => {
            warp::sync_warp(warp::FULL);
            return;
        }
        SUM => a.wrapping_add(b),
        IF_EQUAL | IF_DIFFERENT => {
            if (a == b) == (word.operation == IF_EQUAL) {
                *next = first + word.target();
            }
            return;
        }
        _ if word.is_shared() => access!(word, words, word.location(), a, b),
        _ => access!(word, memory, word.location() * STRIDE, a, b),
    };
    if let Some(register) = registers.get_mut(word.result() as usize) {
        *register = result;
    }
}
