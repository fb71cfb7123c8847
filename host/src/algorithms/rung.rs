//! A rung as data, and what its source file says about it.

use super::cubes::CubesRung;
use super::histogram::HistogramRung;
use super::matmul::MatmulRung;
use super::reduce::ReduceRung;
use super::saxpy::SaxpyRung;
use super::scan::ScanRung;
use super::sort::SortRung;
use super::{Parameters, Size};
use crate::data::Dtype;
use crate::error::{Error, Result};

/// One step of a ladder.
pub struct Rung {
    /// Its name on the command line: the file's stem without its number, with dashes.
    pub name: &'static str,
    /// Its source file, from the root of the project.
    pub path: &'static str,
    /// The text of that file.
    pub text: &'static str,
    /// Its kernels' names in the PTX.
    pub kernels: &'static [&'static str],
    /// Most elements that it takes, where it has a limit.
    pub capacity: Option<u64>,
    /// Sizes of its tiles, blocks or windows: where off-by-one errors would be.
    pub tiles: &'static [u64],
    /// What it refuses although its family takes it, with the reason.
    pub refuses: fn(&Size, Dtype, &Parameters) -> Option<String>,
    /// Why it does not run on the simulator, where it does not.
    pub gpu_only: Option<&'static str>,
    /// How the host runs it.
    pub implementation: Implementation,
}

/// How the host runs a rung: one kind for each kind of problem.
pub enum Implementation {
    /// Sorts keys.
    Sort(&'static dyn SortRung),
    /// Adds up cubes.
    Cubes(&'static dyn CubesRung),
    /// Combines all elements into one.
    Reduce(&'static dyn ReduceRung),
    /// Counts values.
    Histogram(&'static dyn HistogramRung),
    /// Multiplies matrices.
    Matmul(&'static dyn MatmulRung),
    /// Scans.
    Scan(&'static dyn ScanRung),
    /// Computes y = a·x + y.
    Saxpy(&'static dyn SaxpyRung),
}

/// Names a rung by its file. `rung!("bitonic/r1_global_step.rs", "global-step", kernels, implementation)`.
macro_rules! rung {
    ($path:literal, $name:literal, $kernels:expr, $implementation:expr) => {
        $crate::algorithms::Rung {
            name: $name,
            path: concat!("gpu/src/", $path),
            text: include_str!(concat!("../../../gpu/src/", $path)),
            kernels: $kernels,
            capacity: None,
            tiles: &[],
            refuses: |_, _, _| None,
            gpu_only: None,
            implementation: $implementation,
        }
    };
}
pub(crate) use rung;

/// The head of a rung's file, in its parts.
pub struct Head {
    /// The first line.
    pub title: String,
    /// Name and text of each part (Idea, Changed from the rung before, Bottleneck, Cost, Threads, Limits and source).
    pub parts: Vec<(String, String)>,
}

impl Rung {
    /// The same rung with a limit on its input.
    pub const fn with_capacity(self, capacity: u64) -> Self {
        Self { capacity: Some(capacity), ..self }
    }

    /// The same rung with the sizes of its tiles.
    pub const fn with_tiles(self, tiles: &'static [u64]) -> Self {
        Self { tiles, ..self }
    }

    /// The same rung that refuses some of what its family takes.
    pub const fn refusing(self, refuses: fn(&Size, Dtype, &Parameters) -> Option<String>) -> Self {
        Self { refuses, ..self }
    }

    /// The reason why the rung cannot take this, where there is one.
    pub fn refuses(&self, size: &Size, dtype: Dtype, parameters: &Parameters) -> Option<String> {
        (self.refuses)(size, dtype, parameters)
    }

    /// Refuses more elements than the rung takes.
    ///
    /// # Errors
    /// [`Error::Usage`], with the limit.
    pub fn check_capacity(&self, family: &str, n: u64) -> Result<()> {
        match self.capacity.filter(|&capacity| n > capacity) {
            None => Ok(()),
            Some(capacity) => Err(Error::Usage(format!(
                "{family} {} takes at most {capacity} elements, not {n}; higher rungs take any number",
                self.name
            ))),
        }
    }

    /// How it sorts, if it is a sort.
    pub fn sorts(&self) -> Option<&'static dyn SortRung> {
        match self.implementation {
            Implementation::Sort(sort) => Some(sort),
            _ => None,
        }
    }

    /// What the file says at its top. Lines of a part are joined; paragraphs stay apart.
    pub fn head(&self) -> Head {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let mut head = Head { title: String::new(), parts: vec![] };
        for line in lines {
            if let Some(title) = line.strip_prefix("# ") {
                head.title = title.to_string();
            } else if let Some((name, text)) = line.strip_prefix("**").and_then(|rest| rest.split_once(".**")) {
                head.parts.push((name.to_string(), text.trim().to_string()));
            } else if let Some((_, text)) = head.parts.last_mut() {
                let gap = if line.is_empty() || text.is_empty() || text.ends_with('\n') { "" } else { " " };
                text.push_str(gap);
                text.push_str(if line.is_empty() { "\n" } else { line });
            }
        }
        for (_, text) in &mut head.parts {
            text.truncate(text.trim_end().len());
        }
        head
    }

    /// Where the rung comes from: the last part of its head, from the word "After" on.
    pub fn source(&self) -> String {
        let head = self.head();
        let limits = head.parts.iter().find(|(name, _)| name == "Limits and source").map_or("", |(_, text)| text);
        limits.find("After ").map_or(limits, |at| &limits[at..]).replace('\n', " ")
    }
}
