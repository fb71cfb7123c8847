//! The exercises' folder: its files, and the exercises in it.

use crate::error::{Error, Result};
use rungs_learn_source::{Source, Wrong, wrong_answers};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The exercises' folder.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

/// An exercise.
#[derive(Clone, Debug)]
pub struct Exercise {
    /// Number and idea, as the file is called: `03_blocks`.
    pub name: String,
    /// Its source, in parts.
    pub source: Source,
}

impl Folder {
    /// The folder `exercises` at or above `from`, or `from` itself.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is none.
    pub fn above(from: &Path) -> Result<Self> {
        let candidates = from.ancestors().flat_map(|folder| [folder.join("exercises"), folder.to_path_buf()]);
        let found =
            candidates.into_iter().find(|folder| folder.join("solutions").is_dir() && folder.join("checks").is_dir());
        found.map(Self).ok_or_else(|| {
            let from = from.display();
            Error::Usage(format!("there are no exercises at or above {from}: call this in a clone of the repository"))
        })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The reader's files and progress. Git ignores it.
    pub fn answers(&self) -> PathBuf {
        self.0.join("answers")
    }

    /// The reader's file.
    pub fn answer(&self, name: &str) -> PathBuf {
        self.answers().join(format!("{name}.rs"))
    }

    /// The file that an exercise is cut from.
    pub fn source(&self, name: &str) -> PathBuf {
        self.0.join("solutions").join(format!("{name}.rs"))
    }

    /// The wrong answers to an exercise that the project knows; none where they have been left out.
    ///
    /// # Errors
    /// [`Error::File`] if their file cannot be read, or is wrong in a line.
    pub fn wrong(&self, exercise: &Exercise) -> Result<Vec<Wrong>> {
        let path = self.0.join("wrong").join(format!("{}.diff", exercise.name));
        let changes = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            other => other.map_err(|e| Error::reading(&path, &e))?,
        };
        let wrong = wrong_answers(&changes, &exercise.source.solution);
        wrong.map_err(|(line, why)| Error::File(format!("{}:{line}: {why}", path.display())))
    }

    /// All exercises, in order.
    ///
    /// # Errors
    /// [`Error::File`] if one cannot be read, lacks a part, or has a title with another number.
    pub fn exercises(&self) -> Result<Vec<Exercise>> {
        names(&self.0.join("solutions"))?
            .into_iter()
            .map(|name| {
                let source = Source::read(&self.source(&name)).map_err(Error::File)?;
                Ok(Exercise { name, source })
            })
            .collect()
    }
}

/// The names of a folder's Rust files, in order.
///
/// # Errors
/// [`Error::File`] if the folder cannot be read.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    rungs_learn_source::names(folder, "rs").map_err(|e| Error::reading(folder, &e))
}
