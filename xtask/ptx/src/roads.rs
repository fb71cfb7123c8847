//! One kernel by two compilers: the instructions that both must leave as often as the source has them.

use crate::ptx::{compiler, heads};
use crate::rust_cuda;
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
    ("mbarrier operations", &["mbarrier."]),
    ("bulk copies", &["cp.async."]),
    ("grid dependencies", &["griddepcontrol."]),
    ("atomic operations", &["atom.", "red."]),
    (CLOCKS, &[]),
];

const WARP_BARRIERS: &str = "warp barriers";
const WARP_REDUCTIONS: &str = "warp reductions";
/// Reads of registers that count time: found by the register, because the instruction is a `mov`.
const CLOCKS: &str = "clocks";
const CLOCK_REGISTERS: &[&str] = &["%clock", "%globaltimer"];

/// Differences that are known: kernel, kind, counts by rustc and by rust-cuda, and the reason.
const KNOWN: &[(&str, &str, [u32; 2], &str)] = &[];

/// How often a kernel has instructions of each kind.
pub type Counts = BTreeMap<&'static str, u32>;

/// The counts of each kernel in the PTX; kinds that a kernel lacks are left out.
pub fn counts(text: &str) -> BTreeMap<String, Counts> {
    let starts: Vec<_> = heads(text).map(|(name, _, body)| (name.to_string(), body)).collect();
    let ends = starts.iter().skip(1).map(|(_, body)| *body).chain([text.len()]);
    let of = |((name, body), end): (&(String, usize), usize)| (name.clone(), counts_of(&text[*body..end]));
    starts.iter().zip(ends).map(of).collect()
}

fn counts_of(body: &str) -> Counts {
    let mut counts = Counts::new();
    for line in body.lines() {
        let code = line.split("//").next().unwrap_or_default();
        for statement in code.split([';', '{', '}']) {
            let words = || statement.split_whitespace().skip_while(|word| word.starts_with('@'));
            let Some(first) = words().next() else { continue };
            let begins = |kind: &&(&'static str, &[&str])| kind.1.iter().any(|begin| first.starts_with(begin));
            let is_clock = || {
                first.starts_with("mov.")
                    && words().any(|word| CLOCK_REGISTERS.iter().any(|register| word.starts_with(register)))
            };
            let kind = KINDS.iter().find(begins).map(|kind| kind.0).or_else(|| is_clock().then_some(CLOCKS));
            if let Some(kind) = kind {
                *counts.entry(kind).or_default() += 1;
            }
        }
    }
    counts
}

/// The differences between the PTX of two compilers from one source, kernel by kernel. That of rust-cuda is expected to
/// have one more barrier of the warp per reduction, in front of it (`simt/src/rust_cuda`).
pub fn differences(one: &str, other: &str) -> Vec<String> {
    let (one, other) = (Road::new(one), Road::new(other));
    let mut wrong = vec![];
    for (road, from) in [(&one, &other), (&other, &one)] {
        let missing = from.kernels.keys().filter(|&name| !road.kernels.contains_key(name));
        wrong.extend(missing.map(|name| format!("{name}: not in the PTX by {}", road.compiler)));
    }
    for (name, mine) in &one.kernels {
        let Some(theirs) = other.kernels.get(name) else { continue };
        for kind in KINDS.iter().map(|kind| kind.0) {
            let counts = [one.count(mine, kind, &other), other.count(theirs, kind, &one)];
            let known = KNOWN.iter().any(|known| (known.0, known.1, known.2) == (name.as_str(), kind, counts));
            if counts[0] != counts[1] && !known {
                let [a, b] = counts;
                wrong.push(format!("{name}: {a} {kind} by {}, {b} by {}", one.compiler, other.compiler));
            }
        }
    }
    wrong
}

/// The kernels of one compiler.
struct Road {
    compiler: String,
    kernels: BTreeMap<String, Counts>,
}

impl Road {
    fn new(text: &str) -> Self {
        let compiler = compiler(text).unwrap_or("an unnamed compiler").to_string();
        Self { compiler, kernels: counts(text) }
    }

    /// How many instructions of a kind a kernel of this road has, as another road counts them.
    fn count(&self, counts: &Counts, kind: &str, other: &Self) -> u32 {
        let count = |kind: &str| counts.get(kind).copied().unwrap_or(0);
        let [mine, theirs] = [self, other].map(|road| road.compiler == rust_cuda::COMPILER);
        let added = kind == WARP_BARRIERS && theirs && !mine;
        count(kind) + if added { count(WARP_REDUCTIONS) } else { 0 }
    }
}

#[cfg(test)]
mod tests;
