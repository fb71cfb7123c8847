//! Small programs, one row of a table each.

use super::{Bug, Case, What, host};
use simt::{Geometry, Global, Shared, kernel, shared, thread};
use std::panic::Location;

shared!(LOCAL: [u32; 256]);

/// Words of global memory that a program gets.
#[derive(Clone, Copy)]
pub struct Words {
    /// Zeros, 256 of them, as all the others.
    pub a: Global<u32>,
    /// Zeros too.
    pub b: Global<u32>,
    /// 0, 1, 2 and so on.
    pub numbers: Global<u32>,
    /// What nobody has written.
    pub fresh: Global<u32>,
}

const LEN: u32 = 256;

/// A program.
pub struct Row {
    name: &'static str,
    verdict: Option<What>,
    grid: (u32, u32),
    same_value: bool,
    line: u32,
    run: fn(Words),
}

impl Row {
    /// A program that its suite calls right.
    #[track_caller]
    pub const fn right(name: &'static str, grid: (u32, u32), run: fn(Words)) -> Self {
        Self { name, verdict: None, grid, same_value: false, line: Location::caller().line(), run }
    }

    /// One with a bug, at its lines that end with `// [here]`.
    #[track_caller]
    pub const fn wrong(name: &'static str, bug: What, grid: (u32, u32), run: fn(Words)) -> Self {
        Self { name, verdict: Some(bug), grid, same_value: false, line: Location::caller().line(), run }
    }

    /// The suite lets its threads write one value to one word.
    pub const fn same_value(self) -> Self {
        Self { same_value: true, ..self }
    }
}

/// The cases of a table of rows, in `file`, whose text is given.
pub fn cases(rows: &'static [Row], file: &'static str, text: &str) -> Vec<Case> {
    let ends = rows[1..].iter().map(|row| row.line).chain([u32::MAX]);
    let case = |(row, end): (&'static Row, u32)| Case {
        name: row.name.into(),
        bugs: row
            .verdict
            .map(|what| {
                let Bug { lines, .. } = Bug::marked(what, text, "here");
                Bug { what, lines: lines.into_iter().filter(|line| (row.line..end).contains(line)).collect() }
            })
            .into_iter()
            .collect(),
        file,
        same_value: row.same_value,
        run: Box::new(|gpu| {
            let (mut a, mut b) = (vec![0; LEN as usize], vec![0; LEN as usize]);
            let mut numbers: Vec<u32> = (0..LEN).collect();
            let fresh = gpu.scratch(LEN).unwrap();
            let words = (host(&mut a), host(&mut b), host(&mut numbers), fresh.view());
            let (a, b, numbers, fresh) = words;
            let (blocks, threads) = row.grid;
            // A launch that a finding ends is an error; the check has the finding.
            let _ = gpu.launch(
                runs,
                Geometry::linear(blocks, threads),
                (a, b, numbers, fresh, std::ptr::from_ref(row) as u64),
            );
        }),
    };
    rows.iter().zip(ends).map(case).collect()
}

#[kernel]
fn runs(a: Global<u32>, b: Global<u32>, numbers: Global<u32>, fresh: Global<u32>, row: u64) {
    // SAFETY: the address of a row of a static table, by `cases`.
    let row = unsafe { &*(row as *const Row) };
    (row.run)(Words { a, b, numbers, fresh });
}

/// Shared memory that is zero, as suites that do not ask who wrote it take it to be.
pub fn local() -> Shared<u32> {
    let (local, mut i) = (LOCAL::view(), t());
    while i < local.len() {
        local.set(i, 0);
        i += thread::block_dim_x();
    }
    thread::sync_threads(); // all of it is zero before a thread uses it
    local
}

/// The same, as it is when the block begins.
pub fn unwritten() -> Shared<u32> {
    LOCAL::view()
}

/// The thread in its block.
pub fn t() -> u32 {
    thread::thread_idx_x()
}

/// The block.
pub fn block() -> u32 {
    thread::block_idx_x()
}

/// The thread in the grid.
pub fn i() -> u32 {
    thread::index_1d()
}
