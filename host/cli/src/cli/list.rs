//! `rungs list`: families, rungs, where each comes from.

use super::Common;
use crate::algorithms::{FAMILIES, SUPPORT};
use crate::report::{self, Format, Grid};
use clap::Command;
use rungs::error::Result;
use serde::Serialize;

pub(super) fn command() -> Command {
    Command::new("list").about("List families and rungs, and where each comes from")
}

#[derive(Serialize)]
struct List {
    schema: u32,
    families: Vec<FamilyEntry>,
    /// Kernels that belong to no rung.
    support: Vec<SupportEntry>,
}

#[derive(Serialize)]
struct FamilyEntry {
    family: &'static str,
    about: &'static str,
    rungs: Vec<RungEntry>,
}

#[derive(Serialize)]
struct RungEntry {
    rung: &'static str,
    kernels: Vec<&'static str>,
    source: String,
    summary: String,
    file: String,
}

#[derive(Serialize)]
struct SupportEntry {
    about: &'static str,
    kernels: Vec<&'static str>,
}

pub(super) fn run(common: &Common) -> Result<()> {
    let families: Vec<FamilyEntry> = FAMILIES
        .iter()
        .map(|family| FamilyEntry {
            family: family.name,
            about: family.about,
            rungs: family
                .rungs
                .iter()
                .map(|r| RungEntry {
                    rung: r.name,
                    kernels: r.kernel_names().collect(),
                    source: r.source(),
                    summary: r.head().title,
                    file: r.path(),
                })
                .collect(),
        })
        .collect();
    if common.format == Format::Json {
        let support =
            SUPPORT.iter().map(|(about, kernels)| SupportEntry { about, kernels: kernels.concat() }).collect();
        return report::json(&List { schema: report::SCHEMA, families, support });
    }
    let mut grid = Grid::new(&["family", "rung", "summary", "file"], &[]);
    for family in &families {
        for rung in &family.rungs {
            grid.row([family.family, rung.rung, &rung.summary, &rung.file]);
        }
    }
    if common.format == Format::Csv { grid.print_csv() } else { grid.print() }
}
