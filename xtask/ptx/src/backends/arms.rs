//! How many places of a kernel lie on different arms of branches.
//!
//! A compiler that unrolls a loop leaves copies of its body in sequence: a thread passes all of them, or those
//! whose condition holds. A compiler that copies code into both arms of a branch leaves copies of which a thread passes
//! one. For a collective the first is harmless and the second is a fault, and the number of copies does not tell which
//! it was. This does: the most places of which none comes after another, within one round of all loops. Unrolling
//! leaves that number as it was.

use petgraph::Direction;
use petgraph::algo::{maximum_matching, tarjan_scc};
use petgraph::graph::{DiGraph, NodeIndex, UnGraph};
use petgraph::visit::{Dfs, DfsEvent, depth_first_search};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A piece of a kernel that is run from its begin to its end.
#[derive(Default)]
pub(super) struct Piece {
    /// The kinds of instructions in it.
    pub(super) kinds: BTreeSet<&'static str>,
    /// The label that its last instruction goes to.
    pub(super) to: Option<String>,
    /// The register that decides whether the last instruction is carried out, if one does.
    pub(super) guard: Option<String>,
    /// Whether it never goes on to the next piece.
    ends: bool,
}

/// For each kind of instruction in a kernel's body the most places of it of which none comes after another.
pub fn arms(body: &str, kind_of: impl Fn(&str) -> Option<&'static str>) -> BTreeMap<&'static str, u32> {
    let (pieces, labels) = pieces(body, kind_of);
    let graph = forward(&pieces, &labels);
    let mut places = BTreeMap::<&str, Vec<usize>>::new();
    for (i, piece) in pieces.iter().enumerate() {
        piece.kinds.iter().for_each(|kind| places.entry(kind).or_default().push(i));
    }
    places.into_iter().map(|(kind, places)| (kind, widest(&graph, &places))).collect()
}

/// A kernel's body in pieces, and the piece at each label.
pub(super) fn pieces(
    body: &str,
    kind_of: impl Fn(&str) -> Option<&'static str>,
) -> (Vec<Piece>, HashMap<String, usize>) {
    let (mut pieces, mut labels) = (vec![Piece::default()], HashMap::new());
    for line in body.lines() {
        let mut code = line.split("//").next().unwrap_or_default().trim();
        if let Some((label, rest)) = code.split_once(':').filter(|(label, _)| is_label(label)) {
            pieces.push(Piece::default());
            labels.insert(label.to_string(), pieces.len() - 1);
            code = rest;
        }
        for statement in code.split([';', '{', '}']) {
            let mut words = statement.split_whitespace();
            let mut first = words.next().unwrap_or_default();
            let guard = first.strip_prefix('@').map(|register| register.trim_start_matches('!').to_string());
            if guard.is_some() {
                first = words.next().unwrap_or_default();
            }
            let piece = pieces.last_mut().expect("there is one from the start");
            piece.kinds.extend(kind_of(statement));
            let is_branch = first == "bra" || first.starts_with("bra.");
            if is_branch || ["ret", "exit", "trap"].contains(&first) {
                piece.to = is_branch.then(|| words.next().unwrap_or_default().to_string());
                piece.ends = guard.is_none();
                piece.guard = guard;
                pieces.push(Piece::default());
            }
        }
    }
    (pieces, labels)
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_$".contains(c))
}

/// Whether a loop of the kernel has an instruction of this kind.
pub fn in_loop(body: &str, kind: &str, kind_of: impl Fn(&str) -> Option<&'static str>) -> bool {
    let (pieces, labels) = pieces(body, kind_of);
    let graph = ways(&pieces, &labels);
    let is_loop = |nodes: &[NodeIndex]| nodes.len() > 1 || graph.contains_edge(nodes[0], nodes[0]);
    let has = |node: &NodeIndex| pieces[node.index()].kinds.contains(&kind);
    tarjan_scc(&graph).iter().any(|nodes| is_loop(nodes) && nodes.iter().any(has))
}

/// The ways from each piece to the next ones.
fn ways(pieces: &[Piece], labels: &HashMap<String, usize>) -> DiGraph<(), ()> {
    let mut graph = DiGraph::new();
    let nodes: Vec<_> = pieces.iter().map(|_| graph.add_node(())).collect();
    for (i, piece) in pieces.iter().enumerate() {
        let next = (!piece.ends && i + 1 < nodes.len()).then_some(i + 1);
        let to = piece.to.as_ref().and_then(|label| labels.get(label)).copied();
        for to in next.into_iter().chain(to) {
            graph.add_edge(nodes[i], nodes[to], ());
        }
    }
    graph
}

/// The ways through the pieces, without those that begin another round of a loop. Instead, the end of a round leads to
/// what comes after the loop.
pub(super) fn forward(pieces: &[Piece], labels: &HashMap<String, usize>) -> DiGraph<(), ()> {
    let mut graph = ways(pieces, labels);
    let mut back = HashSet::new();
    depth_first_search(&graph, graph.node_indices().next(), |event| {
        if let DfsEvent::BackEdge(from, to) = event {
            back.insert((from, to));
        }
    });
    let ways_of = |&(end, begin): &Way| after(&graph, &back, begin).into_iter().map(move |to| (end, to));
    let ways: Vec<_> = back.iter().flat_map(ways_of).collect();
    graph.retain_edges(|graph, edge| graph.edge_endpoints(edge).is_some_and(|ends| !back.contains(&ends)));
    for (from, to) in ways {
        graph.update_edge(from, to, ());
    }
    graph
}

type Way = (NodeIndex, NodeIndex);

/// What comes after the loop that begins at `begin`. If a round of a loop around it ends with this loop, that is what
/// comes after the outer one.
fn after(graph: &DiGraph<(), ()>, back: &HashSet<Way>, begin: NodeIndex) -> HashSet<NodeIndex> {
    let (mut next, mut begins, mut seen) = (HashSet::new(), vec![begin], HashSet::new());
    while let Some(begin) = begins.pop() {
        let inside = if seen.insert(begin) { inside(graph, back, begin) } else { HashSet::new() };
        for &node in &inside {
            for to in graph.neighbors(node).filter(|to| !inside.contains(to)) {
                if back.contains(&(node, to)) {
                    begins.push(to);
                } else {
                    next.insert(to);
                }
            }
        }
    }
    next
}

/// The pieces of the loop that begins at `begin`.
fn inside(graph: &DiGraph<(), ()>, back: &HashSet<Way>, begin: NodeIndex) -> HashSet<NodeIndex> {
    let mut inside = HashSet::from([begin]);
    let mut rest: Vec<_> = back.iter().filter(|way| way.1 == begin).map(|way| way.0).collect();
    while let Some(node) = rest.pop() {
        if inside.insert(node) {
            rest.extend(graph.neighbors_directed(node, Direction::Incoming));
        }
    }
    inside
}

/// The most of the places of which none can be reached from another. By Dilworth's theorem these are as many as the
/// chains that it takes to cover all places; every pair in a matching of places with later ones saves one chain.
fn widest(graph: &DiGraph<(), ()>, places: &[usize]) -> u32 {
    let mut pairs = UnGraph::<(), ()>::default();
    let [before, after] = [(); 2].map(|()| places.iter().map(|_| pairs.add_node(())).collect::<Vec<_>>());
    for (i, &from) in places.iter().enumerate() {
        let mut reached = HashSet::new();
        let mut walk = Dfs::new(graph, NodeIndex::new(from));
        while let Some(node) = walk.next(graph) {
            reached.insert(node.index());
        }
        for (j, to) in places.iter().enumerate() {
            if i != j && reached.contains(to) {
                pairs.add_edge(before[i], after[j], ());
            }
        }
    }
    (places.len() - maximum_matching(&pairs).edges().count()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> u32 {
        let kind_of = |code: &str| code.contains("bar.sync").then_some("barriers");
        arms(body, kind_of).get("barriers").copied().unwrap_or(0)
    }

    #[test]
    fn copies_in_a_row_count_as_one() {
        assert_eq!(of("mov.u32 %r1, 0; ret;"), 0);
        assert_eq!(of("bar.sync 0; bar.sync 0;\nret;"), 1);
        // A loop with its body twice, and what is left over behind it.
        let unrolled = "$A:\n bar.sync 0;\n @%p1 bra $C;\n bar.sync 0;\n @%p2 bra $A;\n$C:\n bar.sync 0;\n ret;";
        assert_eq!(of(unrolled), 1);
        // A loop that is left at its begin, and one more round behind it.
        let peeled = "$A:\n @%p1 bra $C;\n bar.sync 0;\n bra.uni $A;\n$C:\n bar.sync 0;\n ret;";
        assert_eq!(of(peeled), 1);
        // A copy that a thread may skip, and a barrier for all.
        assert_eq!(of("@%p1 bra $B;\n bar.sync 0;\n$B: bar.sync 0; ret;"), 1);
    }

    #[test]
    fn copies_on_two_sides_of_a_branch_count_each() {
        assert_eq!(of("@%p1 bra $B;\n bar.sync 0;\n bra.uni $C;\n$B:\n bar.sync 0;\n$C:\n ret;"), 2);
        assert_eq!(of("@%p1 bra $B;\n bar.sync 0;\n ret;\n$B:\n bar.sync 0; trap;"), 2);
        // Three arms inside of a loop, one of them with two barriers.
        let arms = "$L:\n @%p1 bra $A;\n @%p2 bra $B;\n bar.sync 0; bar.sync 0;\n bra $D;\n$A:\n bar.sync 0;\n \
                    bra.uni $D;\n$B:\n bar.sync 0;\n$D:\n @%p3 bra $L;\n ret;";
        assert_eq!(of(arms), 3);
    }

    #[test]
    fn an_arm_whose_loop_ends_a_round_is_no_way_to_the_others() {
        // The inner loop, $B, goes on to the next round of the outer one, which begins at $A.
        let nested = "$A:\n @%p1 bra $C;\n$B:\n bar.sync 0;\n @%p2 bra $A;\n bra.uni $B;\n$C:\n @%p3 bra $D;\n \
                      bar.sync 0;\n bra.uni $A;\n$D:\n ret;";
        assert_eq!(of(nested), 2);
        // What comes after the outer loop comes after the inner one.
        assert_eq!(of(&nested.replace("$D:\n", "$D:\n bar.sync 0;\n")), 2);
    }

    #[test]
    fn a_loop_is_one_of_any_number_of_pieces() {
        let in_loop =
            |body: &str| super::in_loop(body, "barriers", |code| code.contains("bar.sync").then_some("barriers"));
        assert!(in_loop("$A:\n bar.sync 0;\n @%p1 bra $A;\n ret;"));
        assert!(in_loop("$A:\n @%p1 bra $B;\n bar.sync 0;\n bra.uni $A;\n$B:\n ret;"));
        assert!(!in_loop("bar.sync 0;\n$A:\n add.u32 %r1, %r1, 1;\n @%p1 bra $A;\n bar.sync 0;\n ret;"));
    }
}
