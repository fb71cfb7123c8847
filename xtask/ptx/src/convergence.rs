//! Finds collectives that the compiler has copied into several branches.
//!
//! A collective (block and warp barrier, shuffle, vote, match, redux, product by a warp or by four) is one meeting
//! point of threads. LLVM marks the intrinsics among them `convergent` and leaves them where they are; products by four
//! warps and stores of fragments are `asm!`, which it may copy. rustc marks no Rust function so, and a call of one that
//! has a barrier inside can be copied into both arms of a branch before it is inlined. The threads then wait at two
//! barriers.
//!
//! The input is the LLVM IR that the PTX is printed from: it has the control flow, and for each call its place in the
//! source with all places that it was inlined through, which PTX of this LLVM lacks. Copies of one call have one such
//! chain. Copies that come in sequence result from unrolling a loop, and a thread passes all of them, or those
//! whose condition holds. Copies of which neither comes after the other are on two sides of a branch: a thread passes
//! one of them, and other threads may be at another.
//!
//! "After" is within one round of the loops around: a path from one copy to the other counts if it does not lead
//! through the block at which the paths to both part (their nearest common dominator).
//!
//! Only the printer of PTX runs after that. The counts of collectives in IR and PTX show that it copies none.

use petgraph::algo::{dominators, has_path_connecting};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::NodeFiltered;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// The prefixes of the names of collectives: of LLVM's intrinsics, after this prefix, and of PTX's instructions.
const INTRINSIC: &str = "@llvm.nvvm.";
const KINDS: &[&str] = &["activemask", "bar", "barrier", "match", "mma", "redux", "setmaxnreg", "shfl", "vote"];

/// What the collectives that are text of `asm!` are known by: the begin of products by four warps, the wait for all of
/// them, the store of fragments.
const TEXTS: &[&str] = &["wgmma.fence", "wgmma.wait_group.sync.aligned 0", "stmatrix"];

/// An error in a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The kernel, or the function that is not inlined.
    pub function: String,
    /// The collective, its two places, and the branch between them.
    pub what: String,
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.function, self.what)
    }
}

/// Reads the LLVM IR of a module and its PTX. Returns an empty list for a correct module.
pub fn check(ir: &str, ptx: &str) -> Vec<Copied> {
    let module = Module::read(ir);
    let mut found: Vec<_> = module.functions.iter().flat_map(|function| copies(&module, function)).collect();
    let in_ptx = count(ptx);
    for function in &module.functions {
        let (ir, ptx) = (function.collectives.len(), in_ptx.get(function.name).copied().unwrap_or(0));
        if ir != ptx {
            let what = format!(
                "{ptx} collectives in PTX and {ir} in LLVM's IR; one in `asm!`, which LLVM may copy, is none in the IR"
            );
            found.push(Copied { function: function.name.into(), what });
        }
    }
    found
}

/// The number of collectives of each kernel and function of PTX.
fn count(ptx: &str) -> BTreeMap<&str, usize> {
    let mut function = "";
    let mut counts = BTreeMap::new();
    for line in ptx.lines() {
        let code = line.split("//").next().unwrap_or_default().trim_ascii();
        if let Some(name) = crate::ptx::function_begun(code) {
            function = name;
        }
        let mut words = code.split(|c: char| c.is_whitespace() || c == ';' || c == '{');
        let instruction = words.find(|word| !word.is_empty() && !word.starts_with('@')).unwrap_or_default();
        let is_one = KINDS.contains(&instruction.split('.').next().unwrap_or_default()) && !instruction.ends_with(':');
        let here = usize::from(is_one) + texts(code).count();
        if here > 0 {
            *counts.entry(function).or_insert(0) += here;
        }
    }
    counts
}

/// The collectives in a text of `asm!`.
fn texts(text: &str) -> impl Iterator<Item = &'static str> {
    TEXTS.iter().flat_map(move |known| text.matches(known).map(|_| *known))
}

/// A module of LLVM's IR, as far as it matters here.
#[derive(Default)]
struct Module<'a> {
    functions: Vec<Function<'a>>,
    /// The line of each piece of metadata, by its number.
    metadata: Vec<&'a str>,
}

#[derive(Default)]
struct Function<'a> {
    name: &'a str,
    /// Each block with the blocks that may come after it; the first is where the function begins.
    blocks: Vec<(&'a str, Vec<&'a str>)>,
    /// The last source location in each block: that of its branch.
    branches: Vec<Option<usize>>,
    collectives: Vec<Collective<'a>>,
}

/// A call of a collective.
struct Collective<'a> {
    intrinsic: &'a str,
    /// The block that it is in, by its place among the function's.
    block: usize,
    /// The metadata of its origin.
    location: Option<usize>,
}

/// A place in the source: line, column and the metadata of its scope.
type Place = (u32, u32, usize);

impl<'a> Module<'a> {
    fn read(ir: &'a str) -> Self {
        let mut module = Self::default();
        let mut function: Option<Function<'a>> = None;
        for line in ir.lines() {
            if let Some(rest) = line.strip_prefix('!') {
                let number = rest.split_once(" = ").and_then(|(number, _)| number.parse::<usize>().ok());
                if let Some(number) = number {
                    module.metadata.resize(module.metadata.len().max(number + 1), "");
                    module.metadata[number] = line;
                }
            } else if line.starts_with("define ") {
                let name = line.split_once('@').map_or("", |(_, rest)| rest.split('(').next().unwrap_or_default());
                function = Some(Function { name: name.trim_matches('"'), ..Function::default() });
            } else if line == "}" {
                module.functions.extend(function.take());
            } else if let Some(function) = &mut function {
                function.read(line);
            }
        }
        module
    }

    /// The places that a call was inlined through, its own first. LLVM makes new metadata each time it inlines a call,
    /// so places are compared by content.
    fn chain(&self, location: usize) -> Vec<Place> {
        let mut chain = vec![];
        let mut next = Some(location);
        while let Some(text) = next.and_then(|number| self.metadata.get(number)) {
            let number = |key: &str| number_after(text, key);
            let scope = number("scope: !").unwrap_or_default();
            chain.push((number("line: ").unwrap_or(0) as u32, number("column: ").unwrap_or(0) as u32, scope));
            next = number("inlinedAt: !");
        }
        chain
    }

    /// `file:line:column`, of the place itself and then of the calls around it.
    fn describe(&self, chain: &[Place]) -> String {
        let file = |scope: usize| -> &str {
            let text = self.metadata.get(scope).copied().unwrap_or_default();
            let file = number_after(text, "file: !").and_then(|file| self.metadata.get(file).copied());
            file.and_then(|text| text.split("filename: \"").nth(1)?.split('"').next()).unwrap_or("?")
        };
        let places: Vec<_> =
            chain.iter().map(|&(line, column, scope)| format!("{}:{line}:{column}", file(scope))).collect();
        places.join(", called at ")
    }
}

impl<'a> Function<'a> {
    /// One line of the body.
    fn read(&mut self, line: &'a str) {
        if !line.starts_with(' ') {
            if let Some(label) = label(line) {
                self.blocks.push((label, vec![]));
                self.branches.push(None);
            }
            return;
        }
        if self.blocks.is_empty() {
            self.blocks.push(("", vec![]));
            self.branches.push(None);
        }
        let block = self.blocks.len() - 1;
        // Only the terminator of a block names other blocks so.
        self.blocks[block].1.extend(line.split("label %").skip(1).map(reference));
        let location = number_after(line, "!dbg !");
        self.branches[block] = location.or(self.branches[block]);
        let intrinsic = line.split_once(INTRINSIC).and_then(|(_, rest)| rest.split('(').next());
        if let Some(intrinsic) = intrinsic
            && KINDS.contains(&intrinsic.split('.').next().unwrap_or_default().trim_end_matches(char::is_numeric))
        {
            self.collectives.push(Collective { intrinsic, block, location });
        } else if line.contains(" asm ") {
            self.collectives.extend(texts(line).map(|intrinsic| Collective { intrinsic, block, location }));
        }
    }

    /// The edges between blocks; a node's index is the block's.
    fn graph(&self) -> DiGraph<(), ()> {
        let number: HashMap<_, _> = self.blocks.iter().enumerate().map(|(i, (label, _))| (*label, i)).collect();
        let mut graph = DiGraph::new();
        let nodes: Vec<_> = self.blocks.iter().map(|_| graph.add_node(())).collect();
        for (from, (_, after)) in self.blocks.iter().enumerate() {
            for to in after.iter().filter_map(|label| number.get(label)) {
                graph.add_edge(nodes[from], nodes[*to], ());
            }
        }
        graph
    }
}

/// The copies of one collective in a function of which neither comes after the other.
fn copies(module: &Module, function: &Function) -> Vec<Copied> {
    let mut groups: BTreeMap<(&str, Vec<Place>), Vec<NodeIndex>> = BTreeMap::new();
    for Collective { intrinsic, block, location } in &function.collectives {
        // A call without a location is not a copy: a copy has the location of the original.
        if let Some(location) = location {
            groups.entry((intrinsic, module.chain(*location))).or_default().push(NodeIndex::new(*block));
        }
    }
    groups.retain(|_, blocks| blocks.len() > 1);
    if groups.is_empty() {
        return vec![];
    }
    let graph = function.graph();
    let dominators = dominators::simple_fast(&graph, NodeIndex::new(0));
    // From a block up to the first.
    let above = |block| -> Vec<NodeIndex> { dominators.dominators(block).into_iter().flatten().collect() };
    let mut found = vec![];
    for ((intrinsic, chain), blocks) in groups {
        let above: Vec<_> = blocks.iter().map(|block| above(*block)).collect();
        for (i, j) in (0..blocks.len()).flat_map(|i| (i + 1..blocks.len()).map(move |j| (i, j))) {
            let (a, b) = (blocks[i], blocks[j]);
            // Every block has the first above it: LLVM leaves none that cannot be reached.
            let Some(parting) = above[i].iter().copied().find(|block| above[j].contains(block)) else { continue };
            let past = NodeFiltered::from_fn(&graph, |block| block != parting);
            let leads = |from, to| has_path_connecting(&past, from, to, None);
            if parting == a || parting == b || leads(a, b) || leads(b, a) {
                continue;
            }
            let branch = function.branches[parting.index()].map(|at| module.describe(&module.chain(at)));
            let what = format!(
                "{intrinsic} at {} was copied into the blocks %{} and %{}, and a thread comes to one of them; they \
                 part at {}",
                module.describe(&chain),
                function.blocks[a.index()].0,
                function.blocks[b.index()].0,
                branch.unwrap_or_else(|| "an unknown place".into())
            );
            found.push(Copied { function: function.name.into(), what });
            break; // one pair is enough to find the place
        }
    }
    found
}

/// The label at the begin of a line: `bb4.i:` or `"a label":`.
fn label(line: &str) -> Option<&str> {
    match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once("\":").map(|(label, _)| label),
        None => line.split_once(':').map(|(label, _)| label).filter(|label| !label.contains([' ', ';'])),
    }
}

/// The label that `label %` is followed by.
fn reference(text: &str) -> &str {
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => text.split([',', ' ', ']']).next().unwrap_or_default(),
    }
}

/// The number behind the first `key`.
fn number_after(text: &str, key: &str) -> Option<usize> {
    let rest = text.split_once(key)?.1;
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

#[cfg(test)]
mod tests;
