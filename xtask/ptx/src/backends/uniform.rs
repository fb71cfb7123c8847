//! Whether all threads of a block take the same arm of a branch.
//!
//! Threads meet at a collective on one arm of a branch only if all of them take that arm. So a compiler may leave
//! copies of a collective on both arms where the value that decides is the same for all threads: a parameter of the
//! kernel, the block's index, a vote of the whole block, and what is computed from these alone. Anything else counts as
//! different from thread to thread, also values that are the same for reasons that the text does not show.

use super::arms::{Piece, forward, pieces};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Dfs;
use std::collections::{HashMap, HashSet};

/// The special registers that are the same for all threads of a block, but for `.x`, `.y` and `.z`.
const OF_BLOCKS: &[&str] = &["%ctaid", "%nctaid", "%ntid"];

/// How instructions begin that compute a value from their operands alone.
const ARITHMETIC: &[&str] = &[
    "mov.",
    "cvt.",
    "cvta.",
    "setp.",
    "selp.",
    "add.",
    "sub.",
    "mul.",
    "mad.",
    "and.",
    "or.",
    "xor.",
    "not.",
    "shl.",
    "shr.",
    "min.",
    "max.",
    "neg.",
    "abs.",
    "prmt.",
    "bfe.",
    "bfi.",
    "lop3.",
    "shf.",
    "ld.param.",
];

/// How votes of a whole block begin.
const VOTES: &[&str] = &["bar.red.", "barrier.red.", "barrier.cta.red."];

/// The registers that decide branches with an instruction of `kind` on each arm that is not on the other, where threads
/// of one block may take different arms.
pub fn divergent(body: &str, kind: &str, kind_of: impl Fn(&str) -> Option<&'static str>) -> Vec<String> {
    let (pieces, labels) = pieces(body, kind_of);
    let graph = forward(&pieces, &labels);
    let uniform = uniform(body);
    let splits = |(i, piece): &(usize, &Piece)| {
        let arms = [Some(i + 1), piece.to.as_ref().and_then(|label| labels.get(label).copied())];
        let [next, to] = arms.map(|arm| arm.map_or_else(HashSet::new, |arm| reached(&graph, *i, arm)));
        let on_one = |here: &HashSet<usize>, there: &HashSet<usize>| {
            here.difference(there).any(|&place| pieces[place].kinds.contains(kind))
        };
        on_one(&next, &to) && on_one(&to, &next)
    };
    let branches = pieces.iter().enumerate().filter(|(_, piece)| piece.guard.is_some() && piece.to.is_some());
    let guards = branches.filter(splits).filter_map(|(_, piece)| piece.guard.clone());
    guards.filter(|guard| !uniform.contains(guard.as_str())).collect()
}

/// The pieces from `arm` on, if a way leads from piece `from` to it within one round of all loops.
fn reached(graph: &DiGraph<(), ()>, from: usize, arm: usize) -> HashSet<usize> {
    let mut reached = HashSet::new();
    if graph.contains_edge(NodeIndex::new(from), NodeIndex::new(arm)) {
        let mut walk = Dfs::new(graph, NodeIndex::new(arm));
        while let Some(node) = walk.next(graph) {
            reached.insert(node.index());
        }
    }
    reached
}

/// A register: the number of the braces that it is declared in, 0 for the kernel's, and its name. The text of a vote
/// has registers of its own, whose names the kernel has too.
type Register<'a> = (usize, &'a str);

/// What assigns a register.
enum Value<'a> {
    Vote,
    /// Computed from these registers.
    Of(Vec<Register<'a>>),
    Other,
}

/// The registers of the kernel that have the same value in all threads of a block.
fn uniform(body: &str) -> HashSet<&str> {
    let mut values = HashMap::<Register, Vec<Value>>::new();
    for (register, value) in assignments(body) {
        values.entry(register).or_default().push(value);
    }
    let mut uniform = HashSet::<Register>::new();
    loop {
        // Two assignments, other than votes, are of two ways that threads may have come.
        let same = |values: &[Value]| match values {
            [Value::Of(registers)] => registers.iter().all(|r| is_of_block(r.1) || uniform.contains(r)),
            values => values.iter().all(|value| matches!(value, Value::Vote)),
        };
        let more: Vec<_> = values.iter().filter(|(r, of)| !uniform.contains(*r) && same(of)).map(|(r, _)| *r).collect();
        if more.is_empty() {
            return uniform.into_iter().filter(|register| register.0 == 0).map(|register| register.1).collect();
        }
        uniform.extend(more);
    }
}

/// Each register that is assigned, and what to.
fn assignments(body: &str) -> Vec<(Register<'_>, Value<'_>)> {
    let (mut scopes, mut count, mut found) = (Vec::<(usize, HashSet<&str>)>::new(), 0, vec![]);
    let pieces = body.lines().flat_map(|line| {
        let code = line.split("//").next().unwrap_or_default();
        code.split_inclusive([';', '{', '}'])
    });
    for piece in pieces {
        let statement = piece.trim_end_matches([';', '{', '}']).trim();
        if let Some(declared) = statement.strip_prefix(".reg ") {
            let names = declared.split([',', ' ', '\t']).filter(|name| name.starts_with('%'));
            scopes.last_mut().into_iter().for_each(|scope| scope.1.extend(names.clone()));
        }
        let of_scope = |name| (scopes.iter().rev().find(|scope| scope.1.contains(name)).map_or(0, |s| s.0), name);
        found.extend(assignment(statement, of_scope));
        match piece.chars().next_back() {
            Some('{') => {
                count += 1;
                scopes.push((count, HashSet::new()));
            }
            Some('}') => drop(scopes.pop()),
            _ => {}
        }
    }
    found
}

fn is_of_block(register: &str) -> bool {
    OF_BLOCKS.contains(&register.split('.').next().unwrap_or(register))
}

/// The register that an instruction assigns, and what to. `of_scope` knows which register a name is.
fn assignment<'a>(statement: &'a str, of_scope: impl Fn(&'a str) -> Register<'a>) -> Option<(Register<'a>, Value<'a>)> {
    let (guard, code) = match statement.strip_prefix('@') {
        Some(guarded) => (true, guarded.split_once(char::is_whitespace)?.1.trim_start()),
        None => (false, statement),
    };
    let (name, operands) = code.split_once(char::is_whitespace)?;
    let mut operands = operands.split(',').map(str::trim);
    let register = operands.next().filter(|operand| operand.starts_with('%'))?;
    let begins = |with: &[&str]| with.iter().any(|begin| name.starts_with(begin));
    let value = if guard {
        Value::Other
    } else if begins(VOTES) {
        Value::Vote
    } else if begins(ARITHMETIC) {
        let registers = operands.filter(|operand| operand.starts_with(['%', '!']));
        Value::Of(registers.map(|register| of_scope(register.trim_start_matches('!'))).collect())
    } else {
        Value::Other
    };
    Some((of_scope(register), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Vec<String> {
        divergent(body, "barriers", |code| code.contains("bar.sync").then_some("barriers"))
    }

    /// A branch with a barrier on each arm, by %p1.
    fn arms(before: &str) -> Vec<String> {
        of(&format!("{before}\n@!%p1 bra $B;\n bar.sync 0;\n bra.uni $C;\n$B:\n bar.sync 0;\n$C:\n ret;"))
    }

    #[test]
    fn parameters_blocks_and_votes_are_the_same_for_all_threads() {
        for before in [
            "ld.param.u32 %r1, [kernel_param_2];\nsetp.eq.s32 %p1, %r1, 0;",
            "mov.u32 %r1, %ctaid.x;\nadd.s32 %r2, %r1, 1;\nsetp.lt.u32 %p1, %r2, 7;",
            "bar.red.or.pred %p1, 0, %p7;",
            "{ .reg .pred %p2;\n bar.red.or.pred %p2, 0, %p7;\n selp.u32 %r1, 1, 0, %p2; }\nsetp.ne.s32 %p1, %r1, 0;",
            // The vote's own %p2, and the kernel's.
            "setp.eq.s32 %p2, %r7, 0;\n{ .reg .pred %p1, %p2;\n setp.ne.u32 %p1, %r9, 0;\n \
             bar.red.or.pred %p2, 0, %p1;\n selp.u32 %r1, 1, 0, %p2; }\nsetp.ne.s32 %p1, %r1, 0;",
        ] {
            assert_eq!(arms(before), [""; 0], "{before}");
        }
    }

    #[test]
    fn threads_lanes_memory_and_ways_are_not() {
        for before in [
            "mov.u32 %r1, %tid.x;\nsetp.eq.s32 %p1, %r1, 0;",
            "mov.u32 %r1, %laneid;\nand.b32 %r2, %r1, 1;\nsetp.eq.s32 %p1, %r2, 0;",
            "ld.shared.u32 %r1, [%r9];\nsetp.eq.s32 %p1, %r1, 0;",
            "vote.sync.any.pred %p1, %p2, -1;",
            "mov.u32 %r1, 0;\n@%p3 bra $A;\nmov.u32 %r1, 1;\n$A:\nsetp.eq.s32 %p1, %r1, 0;",
            "mov.u32 %r1, 0;\n@%p3 mov.u32 %r1, 1;\nsetp.eq.s32 %p1, %r1, 0;",
            "ld.shared.v2.u32 {%r1, %r2}, [%r9];\nsetp.eq.s32 %p1, %r1, 0;",
            // The kernel's %p2, not the vote's.
            "setp.eq.s32 %p2, %r7, 0;\n{ .reg .pred %p2;\n bar.red.or.pred %p2, 0, %p7; }\nselp.u32 %r1, 1, 0, %p2;\n\
             setp.ne.s32 %p1, %r1, 0;",
            // A vote's result that something else of its text overwrites.
            "{ .reg .pred %p2;\n bar.red.or.pred %p2, 0, %p7;\n setp.eq.s32 %p2, %r7, 0;\n selp.u32 %r1, 1, 0, %p2; }\n\
             setp.ne.s32 %p1, %r1, 0;",
            "",
        ] {
            assert_eq!(arms(before), ["%p1"], "{before}");
        }
    }

    #[test]
    fn a_branch_that_all_copies_come_before_or_after_separates_none() {
        let may_skip = "@%p1 bra $B;\n bar.sync 0;\n$B: bar.sync 0; ret;";
        let round = "$A:\n bar.sync 0;\n @%p1 bra $A;\n bar.sync 0;\n ret;";
        for body in [may_skip, round] {
            assert_eq!(of(body), [""; 0], "{body}");
        }
        // On the arms of a branch in a loop.
        let arms = "$L:\n @%p1 bra $A;\n bar.sync 0;\n bra $B;\n$A:\n bar.sync 0;\n$B:\n @%p3 bra $L;\n ret;";
        assert_eq!(of(arms), ["%p1"]);
    }
}
