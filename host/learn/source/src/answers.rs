//! All answers that the project knows, as files.

use crate::{Source, wrong_answers};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// An answer to an exercise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `solutions`, `stubs` or `wrong`.
    pub kind: &'static str,
    /// Its name: that of its exercise or, of a wrong answer, the exercise's number and the mistake.
    pub name: String,
    /// Its exercise, as the files of check and solution are called.
    pub exercise: String,
    /// Its file.
    pub file: PathBuf,
}

/// All answers in the folder of the exercises, by kind and name. Each wrong answer is written to `out/wrong/NAME.rs`.
///
/// # Errors
/// What is wrong with a file, with its name and line.
pub fn answers(exercises: &Path, out: &Path) -> Result<Vec<Answer>, String> {
    let named = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| named(path, e));
    let names = |kind, extension| {
        let folder = exercises.join(kind);
        names(&folder, extension).map_err(|e| named(&folder, e))
    };
    let mut all = Vec::new();
    for kind in ["solutions", "stubs"] {
        for name in names(kind, "rs")? {
            let file = exercises.join(kind).join(format!("{name}.rs"));
            all.push(Answer { kind, exercise: name.clone(), name, file });
        }
    }
    let folder = out.join("wrong");
    fs::create_dir_all(&folder).map_err(|e| named(&folder, e))?;
    for exercise in names("wrong", "diff")? {
        let [changes, source] = [("wrong", "diff"), ("solutions", "rs")]
            .map(|(kind, extension)| exercises.join(kind).join(format!("{exercise}.{extension}")));
        let parsed = Source::read(&source)?;
        let number = exercise.split('_').next().unwrap_or_default();
        let wrong = wrong_answers(&read(&changes)?, &parsed.solution);
        for wrong in wrong.map_err(|(line, why)| format!("{}:{line}: {why}", changes.display()))? {
            let name = format!("{number}_{}", wrong.name);
            let file = folder.join(format!("{name}.rs"));
            fs::write(&file, wrong.text).map_err(|e| named(&file, e))?;
            all.push(Answer { kind: "wrong", name, exercise: exercise.clone(), file });
        }
    }
    let check = |answer: &&Answer| exercises.join("checks").join(format!("{}.rs", answer.exercise)).is_file();
    match all.iter().find(|answer| !check(answer)) {
        Some(Answer { kind, name, exercise, .. }) => Err(format!("{kind}/{name}: there is no checks/{exercise}.rs")),
        None => Ok(all),
    }
}

/// The names of a folder's files with an extension, in order.
///
/// # Errors
/// If the folder cannot be read.
pub fn names(folder: &Path, extension: &str) -> io::Result<Vec<String>> {
    let files = fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let name = |file: String| Some(file.strip_suffix(extension)?.strip_suffix('.')?.to_string());
    let mut names: Vec<String> = files.filter_map(name).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOLUTION: &str = "//! # 1 · Idea\n//! **Rung.** x.rs\n\nfn f() {\n    //[\n    one();\n    two();\n\
                            \x20   //| // Write this part.\n    //]\n}\n\n//? a?\n//? b\n//? `c`\n";

    #[test]
    fn wrong_answers_are_written_and_a_stale_one_is_named_with_its_line() {
        let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("solutions/01_idea.rs", SOLUTION);
        write("stubs/01_idea.rs", "");
        write("wrong/01_idea.diff", "== three: different\nIt calls another.\n@@\n-    two();\n+    three();\n");
        let found = |folder: &Path| answers(folder, out.path());
        assert_eq!(found(folder.path()).unwrap_err(), "solutions/01_idea: there is no checks/01_idea.rs");
        write("checks/01_idea.rs", "");
        let all = found(folder.path()).unwrap();
        let kinds: Vec<_> = all.iter().map(|a| (a.kind, &*a.name, &*a.exercise)).collect();
        let (name, wrong) = ("01_idea", ("wrong", "01_three", "01_idea"));
        assert_eq!(kinds, [("solutions", name, name), ("stubs", name, name), wrong]);
        assert_eq!(
            fs::read_to_string(&all[2].file).unwrap(),
            "//! It calls another.\n//!\n//! **Finding.** different\n\nfn f() {\n    one();\n    three();\n}\n"
        );
        write("solutions/01_idea.rs", &SOLUTION.replace("two();", "more();"));
        let stale = found(folder.path()).unwrap_err();
        assert!(stale.ends_with("wrong/01_idea.diff:4: the solution has no such line"), "{stale}");
    }
}
