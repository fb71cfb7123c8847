//! The list of rungs, as the program `rungs` prints it.

use crate::{program, shell};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The layout of the list that is understood here.
const SCHEMA: u32 = 1;

/// The output of `rungs list --format json`.
#[derive(Deserialize)]
struct List {
    schema: u32,
    families: Vec<Family>,
    /// Kernels that belong to no rung: copies, fills, generators.
    #[serde(default)]
    support: Vec<Support>,
}

#[derive(Deserialize)]
struct Family {
    family: String,
    rungs: Vec<Rung>,
}

#[derive(Deserialize)]
struct Rung {
    rung: String,
    kernels: Vec<String>,
}

#[derive(Deserialize)]
struct Support {
    kernels: Vec<String>,
}

/// Kernel symbols, each with its owner: `family/rung`, or `support`.
pub type Kernels = BTreeMap<String, String>;

/// The kernels by the program `rungs`.
pub fn kernels() -> Result<Kernels> {
    parse(&shell::capture(shell::command(program::path()?, &["list", "--format", "json"]))?)
}

/// Reads the program's answer.
fn parse(json: &str) -> Result<Kernels> {
    let list: List = serde_json::from_str(json).context("`rungs list --format json` printed something else")?;
    ensure!(list.schema == SCHEMA, "`rungs list` has schema {}, and xtask reads {SCHEMA}", list.schema);
    let mut kernels = Kernels::new();
    for family in &list.families {
        for rung in &family.rungs {
            let owner = format!("{}/{}", family.family, rung.rung);
            ensure!(!rung.kernels.is_empty(), "the rung {owner} names no kernel");
            // A later rung may build on an earlier one's kernel; it belongs to the first.
            for kernel in &rung.kernels {
                kernels.entry(kernel.clone()).or_insert_with(|| owner.clone());
            }
        }
    }
    for kernel in list.support.into_iter().flat_map(|support| support.kernels) {
        kernels.entry(kernel).or_insert_with(|| "support".into());
    }
    Ok(kernels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_belong_to_their_first_rung_or_to_support() {
        let kernels = parse(
            r#"{"schema":1,"families":[{"family":"bitonic","rungs":[
                {"rung":"global-step","kernels":["step"],"source":"a.rs","summary":"…"},
                {"rung":"shared","kernels":["sort","step"],"source":"b.rs","summary":"…"}]}],
                "support":[{"kernels":["fill"]}]}"#,
        );
        let kernels: Vec<_> = kernels.unwrap().into_iter().collect();
        let expected = [("fill", "support"), ("sort", "bitonic/shared"), ("step", "bitonic/global-step")];
        assert_eq!(kernels, expected.map(|(kernel, owner)| (kernel.to_string(), owner.to_string())));
    }

    #[test]
    fn support_may_be_absent_and_a_rung_s_kernels_may_not() {
        assert!(parse(r#"{"schema":1,"families":[]}"#).unwrap().is_empty());
        assert!(parse(r#"{"schema":1,"families":[{"family":"f","rungs":[{"rung":"r","kernels":[]}]}]}"#).is_err());
    }

    #[test]
    fn another_schema_or_no_json_is_refused() {
        for (json, says) in [(r#"{"schema":2,"families":[]}"#, "schema 2"), ("hello", "printed something else")] {
            let why = format!("{:#}", parse(json).unwrap_err());
            assert!(why.contains(says), "{why}");
        }
    }
}
