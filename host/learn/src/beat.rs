//! A reader's kernels against a rung: the program of the contest is built around the reader's file, and run.

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::program::{Build, Built};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The families that there are contests for, with the file that a reader begins with.
const FAMILIES: [(&str, &str); 8] = [
    ("bubble", "sort"),
    ("bitonic", "sort"),
    ("odd-even", "sort"),
    ("merge", "sort"),
    ("radix", "sort"),
    ("reduce", "reduce"),
    ("scan", "scan"),
    ("histogram", "histogram"),
];

/// The package of the program, which is its name too; and where the files to begin with are, from the root of the
/// project.
const PACKAGE: &str = "rungs-beat";
const STARTS: &str = "host/beat/kernels/src/starts";

/// A contest.
pub(crate) struct Contest {
    /// The rung, as `scan/look-ahead`.
    pub rung: String,
    /// The reader's file.
    pub answer: PathBuf,
    /// What it begins with.
    pub start: PathBuf,
    root: PathBuf,
}

impl Contest {
    /// The contest with a rung.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is none for its family.
    pub fn with(folder: &Folder, rung: &str) -> Result<Self> {
        let known = || FAMILIES.map(|(family, _)| family).join(", ");
        let Some((family, _)) = rung.split_once('/') else {
            return Err(Error::Usage(format!("'{rung}' is no rung: write family and rung, as in scan/look-ahead")));
        };
        let Some((_, kind)) = FAMILIES.iter().find(|(name, _)| *name == family) else {
            return Err(Error::Usage(format!("there is no contest for '{family}'; there are some for {}", known())));
        };
        let root = folder.path().parent().unwrap_or(Path::new("/")).to_path_buf();
        let start = root.join(STARTS).join(format!("{kind}.rs"));
        Ok(Self { rung: rung.into(), answer: folder.answer(&format!("beat_{kind}")), start, root })
    }

    /// Builds the program with the reader's kernels and their PTX in it. None if they do not compile, as the compiler
    /// has told.
    ///
    /// # Errors
    /// [`Error::Start`] if cargo cannot be started, or names no program; [`Error::File`] if there is no current folder.
    pub fn build(&self) -> Result<Option<PathBuf>> {
        let build = Build::new(&self.root, self.root.join("target"), &["--release", "--package", PACKAGE])?;
        Ok(match build.env("RUNGS_ANSWER", &self.answer).run()? {
            Built::Program(program) => Some(program),
            Built::Not(_) => None,
        })
    }

    /// Runs the program; whether the answer is right, and faster.
    ///
    /// # Errors
    /// [`Error::Contest`] if there was none.
    pub fn run(&self, program: &Path) -> Result<bool> {
        let status = Command::new(program).arg(&self.rung).stdin(Stdio::null()).status();
        match status.map_err(|e| Error::Start(format!("{} did not start: {e}", program.display())))?.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            // It has said why.
            code => Err(Error::Contest(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_has_the_file_of_its_kind() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        // Alone, without the repository around it, there are no exercises.
        let Ok(folder) = Folder::above(root) else { return };
        for (family, kind) in FAMILIES {
            let contest = Contest::with(&folder, &format!("{family}/any")).unwrap();
            assert!(contest.start.is_file(), "{}", contest.start.display());
            assert_eq!(contest.answer, folder.answers().join(format!("beat_{kind}.rs")));
        }
        let refused = |rung: &str| Contest::with(&folder, rung).err().unwrap().to_string();
        assert!(refused("matmul/naive").contains("no contest for 'matmul'; there are some for bubble, bitonic"));
        assert!(refused("look-ahead").contains("as in scan/look-ahead"));
    }
}
