//! Small programs, one row of a table each.

use simt::{Global, Shared, shared, thread};

#[cfg(not(target_os = "cuda"))]
pub use table::{Row, cases};

shared!(LOCAL: [u32; 256]);

/// Words of global memory that a program gets, each in an allocation of its own.
#[derive(Clone, Copy)]
pub struct Words {
    /// Zeros, 256 of them, as in `b`; `numbers` and `fresh` have as many words.
    pub a: Global<u32>,
    /// Zeros too.
    pub b: Global<u32>,
    /// 0, 1, 2 and so on.
    pub numbers: Global<u32>,
    /// What nobody has written.
    pub fresh: Global<u32>,
    /// Four zeros.
    pub four: Global<u32>,
    /// No words, at the null pointer.
    pub none: Global<u32>,
}

/// A table of programs: each becomes a kernel of that name, and a row of `ROWS`.
///
/// `right` is a program that its suite calls right, `wrong` one with a bug at its lines that end with `// [here]`.
/// Blocks and threads follow, and the kernel's body. `.same_value()`: the suite lets its threads write one value to one
/// word.
macro_rules! rows {
    ($(
        $kernel:ident = $verdict:ident(
            $name:literal, $($bug:ident,)? ($blocks:literal, $threads:literal), |$words:pat_param| $body:expr $(,)?
        ) $(.$same_value:ident())?
    ),* $(,)?) => {
        $(
            #[simt::kernel]
            fn $kernel(
                a: simt::Global<u32>,
                b: simt::Global<u32>,
                numbers: simt::Global<u32>,
                fresh: simt::Global<u32>,
                four: simt::Global<u32>,
                none: simt::Global<u32>,
            ) {
                let $words = crate::rows::Words { a, b, numbers, fresh, four, none };
                $body
            }
        )*

        #[cfg(not(target_os = "cuda"))]
        const ROWS: &[crate::rows::Row] = &[$(
            crate::rows::Row::$verdict($name, $(crate::What::$bug,)? |on, [a, b, numbers, fresh, four, none]| {
                on.launch($kernel, simt::Geometry::linear($blocks, $threads), (a, b, numbers, fresh, four, none))
            })$(.$same_value())?
        ),*];
    };
}
pub(crate) use rows;

#[cfg(not(target_os = "cuda"))]
mod table {
    //! The rows as cases.

    use crate::{Bug, Case, What};
    use rungs_gallery::Trial;
    use simt::Global;
    use simt::launcher::Result;
    use std::boxed::Box;
    use std::format;
    use std::vec::Vec;

    /// Launches a program on its words.
    type Launch = fn(&Trial, [Global<u32>; 6]) -> Result;

    /// A program.
    pub struct Row {
        name: &'static str,
        verdict: Option<What>,
        same_value: bool,
        launch: Launch,
    }

    impl Row {
        /// A program that its suite calls right.
        pub const fn right(name: &'static str, launch: Launch) -> Self {
            Self { name, verdict: None, same_value: false, launch }
        }

        /// One with a bug.
        pub const fn wrong(name: &'static str, bug: What, launch: Launch) -> Self {
            Self { name, verdict: Some(bug), same_value: false, launch }
        }

        /// The suite lets its threads write one value to one word.
        pub const fn same_value(self) -> Self {
            Self { same_value: true, ..self }
        }

        /// The line of `text` that has the program's name.
        fn line(&self, text: &str) -> u32 {
            let at = text.find(&format!("\"{}\"", self.name)).expect("a row has its name");
            1 + text[..at].matches('\n').count() as u32
        }
    }

    /// The cases of a table of rows, in `file`, whose text is given.
    pub fn cases(rows: &'static [Row], file: &'static str, text: &str) -> Vec<Case> {
        let ends = rows[1..].iter().map(|row| row.line(text)).chain([u32::MAX]);
        let case = |(row, end): (&'static Row, u32)| Case {
            name: row.name.into(),
            bugs: row
                .verdict
                .map(|what| {
                    let mut bug = Bug::marked(what, text, "here");
                    bug.lines.retain(|line| (row.line(text)..end).contains(line));
                    bug
                })
                .into_iter()
                .collect(),
            file,
            same_value: row.same_value,
            run: Box::new(|on| {
                const LEN: usize = 256;
                let (a, b) = (on.input([0; LEN])?, on.input([0; LEN])?);
                let (numbers, fresh) = (on.input(0..LEN as u32)?, on.scratch(LEN as u32)?);
                let four = on.input([0; 4])?;
                // SAFETY: there are no words.
                let none = unsafe { Global::from_raw(std::ptr::null_mut(), 0) };
                (row.launch)(on, [a.view(), b.view(), numbers.view(), fresh.view(), four.view(), none])
            }),
        };
        rows.iter().zip(ends).map(case).collect()
    }
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
