//! Known differences of the PTX of rust-cuda from that of the default backend, for each LLVM of rust-cuda.

mod nineteen;
mod seven;

use crate::rust_cuda::Llvm;

/// Why two compilers leave an instruction in different numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// One of them unrolls the loop around it, or has a round of it apart: the copies follow each other. The comparison
    /// makes sure that the other has a loop with one, and that they are on as many arms of branches as the other's.
    Unrolled,
    /// One of them has it on both arms of a branch. Each thread passes one of the copies, and does not meet threads
    /// that pass the other: the comparison makes sure that all threads of a block take the same arm, if threads meet
    /// at such an instruction.
    OnBothArms,
    /// One of them has it on both arms of a branch that threads of one block may take differently. No thread waits for
    /// one that does not come, which was read in the PTX: whole warps take an arm, and each arm has as many barriers of
    /// the block; or the barrier counts each thread for itself.
    NoneWaits,
    /// Both have as many as the source, where a branch in a loop has one on each arm. rust-cuda makes two loops of this
    /// one, the second behind the first, so that its copies follow each other: none of them is new.
    InARow,
    /// The source has it on one arm more, which is by a value that all threads of a block have. No thread takes that
    /// arm: the default backend removes it, and rust-cuda does not see that it may.
    DeadArm,
    /// Both have as many as the source, which has them on different arms: it tests a value that all threads of a block
    /// have, and later what follows from it. rust-cuda goes straight past the second test, so that no copy comes after
    /// another; the default backend tests again.
    TestedOnce,
}

/// Kernels (as [`has`] reads them) and a kind; the counts by the default backend and by rust-cuda; the reason.
struct Known(&'static str, &'static str, [u32; 2], Why);

/// What is known of one LLVM.
pub struct List {
    known: &'static [Known],
    /// Kernels of which one thread fills a ring of stages, and how often each compiler has a round of its loop.
    rounds: &'static [(&'static str, [u32; 2])],
    /// Kernels and the bytes of local memory per thread that they need.
    spills: &'static [(&'static str, u32)],
}

/// The list of rust-cuda with this LLVM.
pub fn of(llvm: Llvm) -> &'static List {
    match llvm {
        Llvm::Seven => &List { known: seven::KNOWN, rounds: seven::ROUNDS, spills: seven::SPILLS },
        Llvm::Nineteen => &List { known: nineteen::KNOWN, rounds: nineteen::ROUNDS, spills: nineteen::SPILLS },
    }
}

impl List {
    /// The bytes of local memory per thread that a kernel is known to need in the PTX by rust-cuda.
    pub fn spills(&self, kernel: &str) -> u32 {
        self.spills.iter().find(|known| has(known.0, kernel)).map_or(0, |known| known.1)
    }

    /// How often each compiler has a round of the loop that fills a ring, the default backend first.
    pub fn rounds(&self, kernel: &str) -> Option<[u32; 2]> {
        self.rounds.iter().find(|known| has(known.0, kernel)).map(|known| known.1)
    }

    /// Why the counts differ, if that is known. The count by the default backend comes first.
    pub fn why(&self, kernel: &str, kind: &str, counts: [u32; 2]) -> Option<Why> {
        let mut all = self.known.iter();
        all.find(|known| (known.1, known.2) == (kind, counts) && has(known.0, kernel)).map(|known| known.3)
    }

    /// All names of the list.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let lists = self.known.iter().map(|known| known.0);
        let lists = lists.chain(self.rounds.iter().map(|known| known.0)).chain(self.spills.iter().map(|known| known.0));
        lists.flat_map(str::split_whitespace)
    }
}

/// Whether a list of kernels has this one.
fn has(list: &str, kernel: &str) -> bool {
    list.split_whitespace().any(|name| is_of(name, kernel))
}

/// Whether a name is this kernel's. A name that ends with `*` stands for all that begin so.
pub fn is_of(name: &str, kernel: &str) -> bool {
    match name.strip_suffix('*') {
        Some(begin) => kernel.starts_with(begin),
        None => kernel == name,
    }
}
