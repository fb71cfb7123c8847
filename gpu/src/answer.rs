//! A reader's own rung, which competes with one of a ladder.

use rungs_common::ladder::{Runs, histogram, reduce, scan, sort};

/// Launches of one kind, for elements of one type: what a reader writes is no rung for everything.
#[derive(Clone, Copy)]
pub enum Answer {
    /// Sorts words.
    Sort(&'static dyn Runs<sort::Keys<u32>>),
    /// Adds up words, modulo 2³².
    Reduce(&'static dyn Runs<reduce::Elements<u32>>),
    /// Running sums of words, modulo 2³².
    Scan(&'static dyn Runs<scan::Elements<u32>>),
    /// Counts bytes, with scratch memory for a number of bins.
    Histogram(&'static dyn Runs<histogram::Keys<u8>>),
}

impl Answer {
    /// The kind, as the file is called that a reader begins with.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sort(_) => "sort",
            Self::Reduce(_) => "reduce",
            Self::Scan(_) => "scan",
            Self::Histogram(_) => "histogram",
        }
    }
}
