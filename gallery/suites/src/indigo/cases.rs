//! The programs, their names and their launches.

use super::*;
use crate::{Bug, Case, What, graph};
use simt::Geometry;
use std::boxed::Box;
use std::format;
use std::string::String;
use std::vec::Vec;

/// The suite, as the table names it.
pub const SUITE: &str = "Indigo (HiRace's selection)";

/// What a program is made of, in the order in which its name has it, and the bit that says so.
const TAGS: [(&str, u32); 12] = [
    ("shfl", SHUFFLE),
    ("raceBug", RACE),
    ("traverse", TRAVERSE),
    ("persistent", PERSISTENT),
    ("boundsBug", BOUNDS),
    ("last", LAST),
    ("reverse", REVERSE),
    ("cond", CONDITION),
    ("syncBug", SYNC),
    ("guardBug", GUARD),
    ("atomicBug", ATOMIC),
    ("break", BREAK),
];

/// The patterns of edges by name, their bit, and the options that each has in addition to those of all.
const PATTERNS: [(&str, u32, u32); 5] = [
    ("conditional_edge_neighbor", EDGE, CONDITION | GUARD | ATOMIC),
    ("conditional_vertex_neighbor", VERTEX, ATOMIC),
    ("populate_worklist_neighbor", WORKLIST, ATOMIC),
    ("pull_node_neighbor", PULL, CONDITION),
    ("push_node_neighbor", PUSH, CONDITION | ATOMIC),
];

/// Who goes over neighbours, as a name ends, its bits and the options that it has.
const WORKERS: [(&str, u32, u32); 4] = [
    ("", 0, PERSISTENT | BOUNDS | LAST),
    ("s", MANY, PERSISTENT | BOUNDS | REVERSE | BREAK),
    ("s_warp", MANY | WARP, PERSISTENT | REVERSE),
    ("s_block", MANY | WHOLE_BLOCK, PERSISTENT | REVERSE),
];

pub fn cases() -> Vec<Case> {
    let mut programs = Vec::new();
    for (pattern, bit, own) in PATTERNS {
        for (ending, worker, options) in WORKERS {
            let mut options = own | options;
            if worker & WHOLE_BLOCK != 0 && bit & (EDGE | PULL) != 0 {
                options |= SHUFFLE | SYNC;
            }
            programs.extend(combinations(options).map(|how| (format!("{pattern}{ending}"), bit | worker | how)));
        }
    }
    programs.extend(combinations(RACE | TRAVERSE | PERSISTENT).map(|how| ("path_compression".into(), how)));
    programs.into_iter().filter(|&(_, how)| exists(how)).map(|(name, how)| case(name, how)).collect()
}

/// All sets of these options.
fn combinations(options: u32) -> impl Iterator<Item = u32> {
    (0..1 << TAGS.len()).filter(move |how| how & !options == 0)
}

/// The suite plants no bug in a part that another option leaves out.
fn exists(how: u32) -> bool {
    let both = |flags| how & flags == flags;
    !both(SHUFFLE | SYNC) && !both(RACE | TRAVERSE) && !both(MANY | PERSISTENT | BOUNDS)
}

fn case(name: String, how: u32) -> Case {
    let named = |name: String, &(tag, bit): &(&str, u32)| if how & bit != 0 { format!("{name}_{tag}") } else { name };
    let planted = [
        (RACE, What::Race, "race"),
        (BOUNDS, What::OutOfBounds, "bounds"),
        (SYNC, What::Race, "sync"),
        (GUARD, What::Race, "guard"),
        (ATOMIC, What::Race, "atomic"),
    ];
    Case {
        name: TAGS.iter().fold(name, named),
        bugs: planted
            .into_iter()
            .filter(|&(bit, ..)| how & bit != 0)
            .map(|(_, what, mark)| Bug::marked(what, include_str!("../indigo.rs"), mark))
            .collect(),
        file: "indigo.rs",
        same_value: false,
        run: Box::new(move |on| {
            let (index, list) = graph();
            let vertices = index.len() as u32 - 1;
            let first = if how & PUSH != 0 { u32::MAX } else { 0 };
            let data1 = on.input([first; 64])?;
            let data2 = on.input((0..vertices).map(|v| if how & WORKLIST != 0 { 0 } else { v * 7 + 3 }))?;
            let blocks = match how & (WARP | WHOLE_BLOCK | PERSISTENT) {
                0 => Geometry::linear(1, BLOCK),
                WARP => Geometry::linear(vertices.div_ceil(2), BLOCK),
                WHOLE_BLOCK => Geometry::linear(vertices, BLOCK),
                PERSISTENT => Geometry::linear(2, 4),
                _ => Geometry::linear(3, BLOCK),
            };
            if how & (EDGE | VERTEX | WORKLIST | PULL | PUSH) == 0 {
                let parents = on.input((0..vertices).map(|v| v.saturating_sub(1)))?;
                on.launch(path_compression, blocks, (parents.view(), data2.view(), how))
            } else {
                let (index, list) = (on.input(index)?, on.input(list)?);
                let views = (index.view(), list.view(), data1.view(), data2.view(), how);
                on.launch(neighbours, blocks, views)
            }
        }),
    }
}
