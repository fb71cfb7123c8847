//! One kernel by two compilers: the instructions that both must leave as often as the source has them.
//!
//! A compiler that unrolls a loop leaves more of them. Such differences are listed in `known.rs`, each with its reason.
//! Both compilers must also leave equally many of the instructions at which threads of a warp or a block meet on
//! different arms of branches; unrolling does not change that. Where the list says that they may differ,
//! all threads of a block must take the same arm: the branch is by a value that is the same for them.

mod arms;
mod known;
mod rounds;
mod uniform;

use crate::Arch;
use crate::ptx::{compiler, kernels, target};
use crate::rust_cuda::{self, Llvm};
use known::{List, Why};
use std::collections::BTreeMap;

/// A kind of instruction whose number says whether a compiler copied it, merged two of it, or lost one; and how its
/// text begins. Of an atomic operation whose result is not used a compiler may make a reduction (`red`).
const KINDS: &[(&str, &[&str])] = &[
    ("block barriers", &["bar.sync", "bar.red", "bar.arrive", "barrier.sync", "barrier.red", "barrier.cta"]),
    (WARP_BARRIERS, &["bar.warp"]),
    (WARP_REDUCTIONS, &["redux."]),
    ("shuffles", &["shfl."]),
    ("votes", &["vote.", "activemask"]),
    ("matches", &["match."]),
    ("fences", &["fence.", "membar."]),
    (MBARRIERS, &["mbarrier."]),
    (COPIES, &["cp.async."]),
    (PRODUCTS, &["mma."]),
    (GROUP_PRODUCTS, &["wgmma."]),
    ("stores of fragments", &["stmatrix."]),
    ("claims of registers", &["setmaxnreg."]),
    ("cluster barriers", &["barrier.cluster."]),
    ("grid dependencies", &["griddepcontrol."]),
    ("atomic operations", &["atom.", "red."]),
    (CLOCKS, &[]),
];

/// The kinds at which threads meet.
const MEETINGS: &[&str] = &[
    "block barriers",
    WARP_BARRIERS,
    WARP_REDUCTIONS,
    "shuffles",
    "votes",
    "matches",
    PRODUCTS,
    GROUP_PRODUCTS,
    "stores of fragments",
    "claims of registers",
    "cluster barriers",
];

/// The kinds of which one thread fills a ring of stages in shared memory.
const FILLS: &[&str] = &[MBARRIERS, COPIES];

const WARP_BARRIERS: &str = "warp barriers";
const MBARRIERS: &str = "mbarrier operations";
const COPIES: &str = "asynchronous copies";
const PRODUCTS: &str = "matrix products";
const GROUP_PRODUCTS: &str = "products by four warps";
const WARP_REDUCTIONS: &str = "warp reductions";
/// Reads of registers that count time: found by the register, because the instruction is a `mov`.
const CLOCKS: &str = "clocks";
const CLOCK_REGISTERS: &[&str] = &["%clock", "%globaltimer"];

/// What is known of a finished text, if it is by rust-cuda: of the LLVM that compiles for its architecture.
fn list(text: &str) -> Option<&'static List> {
    let arch = || target(text)?.parse::<Arch>().ok();
    (compiler(text) == Some(rust_cuda::COMPILER)).then(arch)?.map(|arch| known::of(Llvm::of(&arch)))
}

/// The bytes of local memory per thread that a kernel may need in a finished text, beyond what it declares: those that
/// are known of rust-cuda's.
pub fn spills(text: &str, kernel: &str) -> u32 {
    list(text).map_or(0, |list| list.spills(kernel))
}

/// The names in the lists of known differences that are none of these kernels'.
pub fn stale(kernels: &[&str]) -> Vec<&'static str> {
    let names = [Llvm::Seven, Llvm::Nineteen].into_iter().flat_map(|llvm| known::of(llvm).names());
    names.filter(|name| !kernels.iter().any(|kernel| known::is_of(name, kernel))).collect()
}

/// How often a kernel has instructions of each kind.
pub type Counts = BTreeMap<&'static str, u32>;

/// The counts of each kernel in the PTX; kinds that a kernel lacks are left out.
pub fn counts(text: &str) -> BTreeMap<String, Counts> {
    kernels(text).map(|kernel| (kernel.name.into(), counts_of(kernel.body))).collect()
}

fn counts_of(body: &str) -> Counts {
    let mut counts = Counts::new();
    for kind in statements(body).filter_map(kind_of) {
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

fn statements(body: &str) -> impl Iterator<Item = &str> {
    let code = body.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|code| code.split([';', '{', '}']))
}

/// The words of an instruction, its name first, without the register by which it is carried out or not.
fn code_of(statement: &str) -> impl Iterator<Item = &str> {
    statement.split_whitespace().skip_while(|word| word.starts_with('@'))
}

/// The kind of an instruction.
fn kind_of(code: &str) -> Option<&'static str> {
    let words = || code_of(code);
    let first = words().next()?;
    let begins = |kind: &&(&'static str, &[&str])| kind.1.iter().any(|begin| first.starts_with(begin));
    let is_clock = || {
        first.starts_with("mov.")
            && words().any(|word| CLOCK_REGISTERS.iter().any(|register| word.starts_with(register)))
    };
    KINDS.iter().find(begins).map(|kind| kind.0).or_else(|| is_clock().then_some(CLOCKS))
}

/// The differences between the PTX of two compilers from one source, kernel by kernel.
pub fn differences(one: &str, other: &str) -> Vec<String> {
    let (one, other) = (Road::new(one), Road::new(other));
    let mut wrong = vec![];
    for (backend, from) in [(&one, &other), (&other, &one)] {
        let missing = from.kernels.keys().filter(|&name| !backend.kernels.contains_key(name));
        wrong.extend(missing.map(|name| format!("{name}: not in the PTX by {}", backend.compiler)));
    }
    for (name, mine) in &one.kernels {
        let Some(theirs) = other.kernels.get(name) else { continue };
        let of_kind = |kind| differences_of(name, kind, (&one, mine), (&other, theirs));
        wrong.extend(KINDS.iter().flat_map(|kind| of_kind(kind.0)));
        let pairs = [(&one, mine, theirs), (&other, theirs, mine)];
        let alone = pairs.into_iter().find(|(_, mine, theirs)| counts_zeros(mine) && !counts_zeros(theirs));
        wrong.extend(alone.map(|(by, ..)| format!("{name}: leading zeros are counted by {} alone", by.compiler)));
    }
    wrong
}

/// Whether a kernel counts the leading zeros of a word. rust-cuda's code generator left out each count for a word of 64
/// bits: its result was undefined, so nothing else was wrong with the PTX.
fn counts_zeros(kernel: &Kernel) -> bool {
    let mut names = statements(kernel.body).filter_map(|statement| code_of(statement).next());
    names.any(|name| name.starts_with("clz."))
}

/// The differences between a kernel's instructions of a kind.
fn differences_of(
    name: &str,
    kind: &str,
    (one, mine): (&Road, &Kernel),
    (other, theirs): (&Road, &Kernel),
) -> Vec<String> {
    let mut wrong = vec![];
    // The lists have the default backend first.
    let in_order = |pair: [_; 2]| if one.is_rust_cuda() { [pair[1], pair[0]] } else { pair };
    let (by_one, by_other) = (&one.compiler, &other.compiler);
    let of_kind = |counts: [&Counts; 2]| counts.map(|counts| counts.get(kind).copied().unwrap_or(0));
    let counts @ [a, b] = of_kind([&mine.counts, &theirs.counts]);
    let list = one.list.or(other.list);
    let known = list.and_then(|list| list.why(name, kind, in_order(counts)));
    let bodies = if one.is_rust_cuda() { [theirs.body, mine.body] } else { [mine.body, theirs.body] };
    let known_rounds = || list.filter(|_| FILLS.contains(&kind))?.rounds(name);
    let are_rounds = || known_rounds().is_some_and(|n| rounds::explain(n, bodies, kind));
    if a != b && known.is_none() && !are_rounds() {
        wrong.push(format!("{name}: {a} {kind} by {by_one}, {b} by {by_other}"));
    }
    if known == Some(Why::Unrolled) {
        let (fewer, by) = if a < b { (mine, by_one) } else { (theirs, by_other) };
        if !arms::in_loop(fewer.body, kind, kind_of) {
            wrong.push(format!("{name}: {kind} in no loop by {by}, which has fewer of them"));
        }
    }
    let arms @ [a, b] = of_kind([&mine.arms, &theirs.arms]);
    let may_differ = match known {
        Some(Why::OnBothArms | Why::NoneWaits) => true,
        Some(Why::Unrolled) => false,
        Some(Why::InARow) => in_order(arms)[0] > in_order(arms)[1],
        Some(Why::DeadArm | Why::TestedOnce) => in_order(arms)[0] < in_order(arms)[1],
        None => !MEETINGS.contains(&kind),
    };
    if a != b && !may_differ {
        wrong.push(format!("{name}: {kind} on {a} arms of branches by {by_one}, on {b} by {by_other}"));
    }
    if MEETINGS.contains(&kind) && known == Some(Why::OnBothArms) {
        for (kernel, by) in [(mine, by_one), (theirs, by_other)] {
            let registers = uniform::divergent(kernel.body, kind, kind_of);
            let on_both = |register| format!("{name}: {kind} on both arms of a branch by {register}, by {by}");
            wrong.extend(registers.into_iter().map(on_both));
        }
    }
    wrong
}

/// The kernels of one compiler.
struct Road<'a> {
    compiler: String,
    /// What is known of it.
    list: Option<&'static List>,
    kernels: BTreeMap<String, Kernel<'a>>,
}

struct Kernel<'a> {
    body: &'a str,
    counts: Counts,
    arms: Counts,
}

impl<'a> Road<'a> {
    fn new(text: &'a str) -> Self {
        let compiler = compiler(text).unwrap_or("an unnamed compiler").to_string();
        let kernel = |body| Kernel { body, counts: counts_of(body), arms: arms::arms(body, kind_of) };
        let kernels = kernels(text).map(|one| (one.name.into(), kernel(one.body))).collect();
        Self { compiler, list: list(text), kernels }
    }

    fn is_rust_cuda(&self) -> bool {
        self.compiler == rust_cuda::COMPILER
    }
}

#[cfg(test)]
mod tests;
