//! The source of an exercise: its text, its stub, its solution and its hints, all in one file.
//!
//! ```text
//! //! # 1 · The number of a thread            the exercise's text
//! //! **Rung.** gpu/saxpy/src/r1_kernel.rs    where the idea is used
//!     //[                                     from here the solution,
//!     let i = thread::thread_idx_x();
//!     //| // Write this part.                 with what the stub has in its place,
//!     //]                                     to here
//! //? Which thread runs this?                 the first hint, a question; further lines begin with two more spaces
//! //? Each thread has a number.               the second, the idea
//! //? `let i = thread::thread_idx_x();`       the third, the code
//! ```

use std::fs;
use std::path::Path;

/// Hints of each exercise.
pub const HINTS: usize = 3;

const BEGIN: &str = "//[";
const END: &str = "//]";
const STUB: &str = "//|";
const HINT: &str = "//?";

/// The parts of an exercise's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The first line: number and idea.
    pub title: String,
    /// The file of the rung that uses the idea.
    pub rung: String,
    /// The reader's file before the first edit.
    pub stub: String,
    /// The finished file.
    pub solution: String,
    /// Hints, each clearer than the one before: a question, the idea, the code.
    pub hints: Vec<String>,
}

impl Source {
    /// Reads the file `NN_name.rs`, whose title has the same number.
    ///
    /// # Errors
    /// The file, and what is wrong with it, in words.
    pub fn read(path: &Path) -> Result<Self, String> {
        let named = |why: String| format!("{}: {why}", path.display());
        let text = fs::read_to_string(path).map_err(|e| named(e.to_string()))?;
        let source = Self::parse(&text).map_err(named)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let number = stem.split('_').next().unwrap_or_default().trim_start_matches('0');
        match source.title.split(" · ").next() == Some(number) {
            true => Ok(source),
            false => Err(named(format!("its title is `# {}`, not `# {number} · …`", source.title))),
        }
    }

    /// Takes a source apart.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let head = |prefix: &str| text.lines().find_map(|line| line.strip_prefix(prefix)).map(|s| s.trim().to_string());
        let title = head("//! # ").ok_or("it has no title: its first line is `//! # …`")?;
        let rung = head("//! **Rung.** ").ok_or("it names no rung: `//! **Rung.** …`")?;
        let (mut stub, mut solution, mut hints) = (String::new(), String::new(), Vec::<String>::new());
        let (mut inside, mut regions) = (false, 0);
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.trim_start();
            let indent = &line[..line.len() - code.len()];
            if code == BEGIN || code == END {
                if inside == (code == BEGIN) {
                    return Err(format!("line {number}: `{code}` does not belong here"));
                }
                inside = code == BEGIN;
                regions += usize::from(inside);
            } else if let Some(of_stub) = code.strip_prefix(STUB) {
                if !inside {
                    return Err(format!("line {number}: `{STUB}` stands between `{BEGIN}` and `{END}`"));
                }
                let of_stub = of_stub.strip_prefix(' ').unwrap_or(of_stub);
                stub += format!("{indent}{of_stub}").trim_end();
                stub += "\n";
            } else if let Some(hint) = code.strip_prefix(HINT) {
                match hints.last_mut() {
                    Some(last) if hint.starts_with("   ") => *last += &format!("\n{}", hint.trim()),
                    _ => hints.push(hint.trim().into()),
                }
            } else {
                solution += &format!("{line}\n");
                if !inside {
                    stub += &format!("{line}\n");
                }
            }
        }
        if inside || regions == 0 {
            return Err(format!("it needs a part from `{BEGIN}` to `{END}`"));
        }
        if hints.len() != HINTS {
            return Err(format!("it has {} hints instead of {HINTS}", hints.len()));
        }
        let statement = |hint: &String| hint.split('`').skip(1).step_by(2).any(|code| code.contains(';'));
        let [question, idea, code] = [&hints[0], &hints[1], &hints[2]];
        for (is, hint) in [
            (question.contains('?') && !statement(question), "first hint asks a question, without statements"),
            (!statement(idea), "second hint tells the idea, without statements"),
            (code.contains('`'), "third hint shows the code"),
        ] {
            if !is {
                return Err(format!("its hints are not graded: the {hint}"));
            }
        }
        let finished = |text: String| format!("{}\n", text.trim_end());
        Ok(Self { title, rung, stub: finished(stub), solution: finished(solution), hints })
    }

    /// The exercise's text, without the marks of a comment.
    pub fn text(&self) -> String {
        let lines = self.stub.lines().map_while(|line| line.strip_prefix("//!"));
        lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "\
//! # 1 · Idea
//! **Rung.** gpu/src/x.rs

fn kernel() {
    //[
    let i = 1;
    //| // Write this.
    //]
}

//? One?
//?   More of it.
//? Two.
//? `let i = 1;`
";

    #[test]
    fn a_source_has_its_parts() {
        let source = Source::parse(WHOLE).unwrap();
        let head = "//! # 1 · Idea\n//! **Rung.** gpu/src/x.rs\n\nfn kernel() {\n";
        assert_eq!((&*source.title, &*source.rung), ("1 · Idea", "gpu/src/x.rs"));
        assert_eq!(source.stub, format!("{head}    // Write this.\n}}\n"));
        assert_eq!(source.solution, format!("{head}    let i = 1;\n}}\n"));
        assert_eq!(source.hints, ["One?\nMore of it.", "Two.", "`let i = 1;`"]);
        assert_eq!(source.text(), "# 1 · Idea\n**Rung.** gpu/src/x.rs\n");
    }

    #[test]
    fn a_title_has_the_number_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let read = |file: &str| {
            let path = folder.path().join(file);
            fs::write(&path, WHOLE).unwrap();
            Source::read(&path)
        };
        assert_eq!(read("01_idea.rs"), Source::parse(WHOLE));
        for file in ["02_idea.rs", "10_idea.rs", "11_idea.rs", "idea.rs"] {
            let why = read(file).unwrap_err();
            assert!(why.contains(file) && why.contains("its title is `# 1 · Idea`"), "{why}");
        }
        let why = Source::read(&folder.path().join("03_idea.rs")).unwrap_err();
        assert!(why.contains("03_idea.rs: "), "{why}");
    }

    #[test]
    fn a_source_that_lacks_a_part_is_refused() {
        for (from, to, what) in [
            ("//! # ", "//! ", "no title"),
            ("**Rung.**", "Rung", "no rung"),
            ("    //[\n", "", "line 6: `//|`"),
            ("    //]\n", "", "it needs a part"),
            ("//? Two.\n", "", "2 hints"),
            ("One?", "One.", "the first hint asks"),
            ("One?", "One? `a();`", "the first hint asks"),
            ("Two.", "`a(); b()`", "the second hint tells"),
            ("//? `let i = 1;`", "//? Three", "the third hint shows"),
            ("    //]\n", "    //]\n    //]\n", "line 9"),
        ] {
            assert_ne!(WHOLE.replace(from, to), WHOLE);
            let why = Source::parse(&WHOLE.replace(from, to)).unwrap_err();
            assert!(why.contains(what), "{from}: {why}");
        }
    }
}
