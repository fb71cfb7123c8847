//! The programs, their names and their launches.

use super::*;
use crate::{Bug, Case, What};
use rungs_gallery::Trial;
use simt::Geometry;
use simt::launcher::Result;
use std::boxed::Box;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

/// The suite, as the table names it.
pub const SUITE: &str = "Indigo3";

/// How often an algorithm is launched; the suite repeats it until nothing changes.
const ROUNDS: u32 = 3;

// A bug that is in the launch alone.
const UNINITIALISED: u32 = 1 << 21;

const ALGORITHMS: [(&str, u32, u32); 7] = [
    ("BFS_CUDA_V_Topo_Push", BFS, RACE | BOUNDS | EXCESS | NEIGHBOUR | FIELD),
    ("CC_CUDA_V_Topo_Push", CC, RACE | BOUNDS | EXCESS | NEIGHBOUR | FIELD),
    ("SSSP_CUDA_V_Topo_Push", SSSP, RACE | BOUNDS | EXCESS | NEIGHBOUR | FIELD),
    ("MIS_CUDA_V_Topo_Push", MIS, RACE | BOUNDS | EXCESS | FIELD | UNINITIALISED),
    ("MST_CUDA_V_Topo", MST, RACE | BOUNDS | EXCESS | NEIGHBOUR | FIELD),
    ("PR_CUDA_Push", PR, RACE | BOUNDS | EXCESS | NEIGHBOUR | FIELD | SYNC),
    ("TC_CUDA_V", TC, RACE | BOUNDS | EXCESS | NEIGHBOUR | SYNC),
];

const BUGS: [(&str, u32, What, &str); 7] = [
    ("RaceBug", RACE, What::Race, "race"),
    ("BoundsBug", BOUNDS, What::OutOfBounds, "bounds"),
    ("ExcessThreadsBug", EXCESS, What::OutOfBounds, "bounds"),
    ("NbrBoundsBug", NEIGHBOUR, What::OutOfBounds, "neighbour"),
    ("FieldBug", FIELD, What::OutOfBounds, "bounds"),
    ("UninitializedBug", UNINITIALISED, What::Uninitialised, "uninitialised"),
    ("SyncBug", SYNC, What::Race, "sync"),
];

/// Launches an algorithm for a type of numbers.
type Run = fn(&Trial, u32) -> Result;

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (algorithm, bit, possible) in ALGORITHMS {
        for (worker, work) in [("Thread", 0), ("Warp", WARP), ("Block", WHOLE_BLOCK)] {
            for (grid, persist) in [("NonPersist", 0), ("Persist", PERSIST)] {
                for (style, styled) in styles(bit) {
                    let bugs = BUGS.iter().map(Some).chain([None]).filter(|bug| {
                        let planted = bug.map_or(0, |&(_, planted, ..)| planted);
                        planted & !possible == 0 && exists(bit | styled | persist, planted)
                    });
                    for bug in bugs {
                        let how = bit | work | persist | styled | bug.map_or(0, |&(_, planted, ..)| planted);
                        let planted = bug.map_or(String::new(), |(name, ..)| format!(" {name}"));
                        let name = |of| format!("{algorithm} {worker} {grid}{style} {of}{planted}");
                        let types: [(_, Run); 2] = match bit {
                            PR => [("FloatType", run::<f32>), ("DoubleType", run::<f64>)],
                            _ => [("IntType", run::<u32>), ("LongType", run::<u64>)],
                        };
                        cases.extend(types.map(|(of, run)| {
                            Case {
                                name: name(of),
                                bugs: bug
                                    .map(|&(_, _, what, mark)| Bug::marked(what, include_str!("../indigo3.rs"), mark))
                                    .into_iter()
                                    .collect(),
                                file: "indigo3.rs",
                                same_value: false,
                                run: Box::new(move |on| run(on, how)),
                            }
                        }));
                    }
                }
            }
        }
    }
    cases
}

/// How an algorithm changes what it computes: its name in the suite, and the bit.
fn styles(algorithm: u32) -> Vec<(&'static str, u32)> {
    match algorithm {
        BFS | CC | SSSP => vec![(" ReadModifyWrite", 0), (" ReadWrite", READ_WRITE)],
        PR | TC => vec![(" GlobalAdd", 0), (" BlockAdd", BLOCK_ADD), (" Reduction", REDUCTION)],
        _ => vec![("", 0)],
    }
}

/// Which bugs the generator plants where.
fn exists(how: u32, bug: u32) -> bool {
    match bug {
        BOUNDS => how & PERSIST != 0,
        EXCESS => how & PERSIST == 0,
        RACE if how & RELAXES != 0 => how & READ_WRITE != 0,
        RACE if how & TC != 0 => how & (BLOCK_ADD | REDUCTION) == 0,
        SYNC => how & (BLOCK_ADD | REDUCTION) != 0,
        _ => true,
    }
}

fn run<T: Value>(on: &Trial, how: u32) -> Result
where
    graph<T>:
        simt::Kernel<Args = (Global<u32>, Global<u32>, Global<T>, Global<T>, Global<T>, Global<u32>, u32)> + Default,
{
    let (index, list) = crate::graph();
    let (vertices, edges) = (index.len() as u32 - 1, list.len() as u32);
    let numbers = |len, of: &dyn Fn(u32) -> u32| typed((0..len).map(|i| T::of(of(i))).collect());
    let weights = on.input(numbers(edges, &|e| 1 + e * 5 % 7))?;
    let values = match how & UNINITIALISED {
        0 => on.input(numbers(vertices, &|v| v))?,
        _ => on.scratch(vertices * size_of::<T>() as u32 / 4)?,
    };
    let other = on.input(numbers(vertices, &|_| if how & MST != 0 { u32::MAX } else { 0 }))?;
    let (index, list, flags) = (on.input(index)?, on.input(list)?, on.input([0])?);
    let geometry = match how & (PERSIST | WARP | WHOLE_BLOCK) {
        PERSIST if how & REDUCTION != 0 => Geometry::linear(1, BLOCK),
        PERSIST => Geometry::linear(2, 4),
        _ if how & PERSIST != 0 => Geometry::linear(3, BLOCK),
        0 => Geometry::linear(1, BLOCK),
        WARP => Geometry::linear(11, BLOCK),
        _ => Geometry::linear(22, BLOCK),
    };
    let (weights, values, other) = (weights.view().cast::<T>(), values.view().cast(), other.view().cast());
    let views = (index.view(), list.view(), weights, values, other, flags.view(), how);
    (0..ROUNDS).try_for_each(|_| on.launch(graph::<T>::default(), geometry, views))
}

/// The words of numbers.
fn typed<T: Value>(numbers: Vec<T>) -> Vec<u32> {
    // SAFETY: the numbers' bytes are as many whole words, in memory that is aligned for words.
    let words = unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(&*numbers) / 4) };
    words.to_vec()
}
