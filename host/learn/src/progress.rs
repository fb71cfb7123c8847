//! What the reader has done, in a text file next to the answers.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The file's first line.
const HEAD: &str =
    "# What you have done: exercise, passed or open, hints seen. `rungs learn` reads and writes this file.";

/// The reader's progress.
#[derive(Debug)]
pub struct Progress {
    file: PathBuf,
    states: BTreeMap<String, State>,
}

/// What was done on one exercise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Whether an answer passed.
    pub passed: bool,
    /// Hints that were shown.
    pub hints: usize,
}

impl Progress {
    /// The progress that the file `progress.txt` of a folder holds; none where there is no such file.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, with the line that is wrong.
    pub fn read(folder: &Path) -> Result<Self> {
        let file = folder.join("progress.txt");
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            other => other.map_err(|e| Error::reading(&file, &e))?,
        };
        let mut states = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#') && !line.is_empty()) {
            let (name, state) = parse(line).ok_or_else(|| {
                let line = "as in `03_blocks passed 2`";
                Error::File(format!("{}:{number}: a line has an exercise, its state and hints, {line}", file.display()))
            })?;
            states.insert(name, state);
        }
        Ok(Self { file, states })
    }

    /// The state of an exercise.
    pub fn of(&self, name: &str) -> State {
        self.states.get(name).copied().unwrap_or_default()
    }

    /// Changes the state of an exercise and writes the file. What another program has written since is read first: a
    /// reader who watches in one window asks for hints in another.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read or written.
    pub fn change(&mut self, name: &str, change: impl FnOnce(&mut State)) -> Result {
        *self = Self::read(self.file.parent().unwrap_or(Path::new(".")))?;
        change(self.states.entry(name.into()).or_default());
        let word = |state: &State| if state.passed { "passed" } else { "open" };
        let line = |(name, state): (&String, &State)| format!("{name} {} {}\n", word(state), state.hints);
        let text: String = self.states.iter().map(line).collect();
        // As a whole or not at all: the other program may read it now.
        let new = self.file.with_extension("new");
        let written = fs::write(&new, format!("{HEAD}\n{text}")).and_then(|()| fs::rename(&new, &self.file));
        written.map_err(|e| Error::writing(&self.file, &e))
    }
}

fn parse(line: &str) -> Option<(String, State)> {
    let mut words = line.split_whitespace();
    let (name, state, hints) = (words.next()?, words.next()?, words.next()?);
    let passed = match state {
        "passed" => true,
        "open" => false,
        _ => return None,
    };
    let state = State { passed, hints: hints.parse().ok()? };
    words.next().is_none().then(|| (name.into(), state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut progress = Progress::read(folder.path()).unwrap();
        assert_eq!(progress.of("01_index"), State::default());
        progress.change("01_index", |state| *state = State { passed: true, hints: 2 }).unwrap();
        progress.change("02_guard", |state| state.hints = 1).unwrap();
        let again = Progress::read(folder.path()).unwrap();
        assert_eq!(again.of("01_index"), State { passed: true, hints: 2 });
        assert_eq!(again.of("02_guard"), State { passed: false, hints: 1 });
    }

    /// `watch` in one window, `hint` and `check` in another.
    #[test]
    fn two_windows_keep_what_the_other_has_written() {
        let folder = tempfile::tempdir().unwrap();
        let [mut one, mut other] = [(); 2].map(|()| Progress::read(folder.path()).unwrap());
        other.change("03_blocks", |state| state.hints = 2).unwrap();
        other.change("07_tree", |state| state.passed = true).unwrap();
        one.change("03_blocks", |state| state.passed = true).unwrap();
        let both = Progress::read(folder.path()).unwrap();
        assert_eq!(both.of("03_blocks"), State { passed: true, hints: 2 });
        assert!(both.of("07_tree").passed);
    }

    #[test]
    fn a_line_that_is_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for line in ["01_index", "01_index done 1", "01_index passed many", "01_index passed 1 1"] {
            fs::write(folder.path().join("progress.txt"), format!("# head\n{line}\n")).unwrap();
            let error = Progress::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains("progress.txt:2:"), "{line}: {error}");
        }
    }
}
