//! Wrong answers, each as changes to the solution of its exercise. All of an exercise are in one file:
//!
//! ```text
//! == past_the_end: out-of-bounds                           the answer's name, and the finding that it must give
//! The head of a column that has no keys left is read.      what is wrong with it
//! @@                                                       a change:
//!          thread::sync_threads();                         a line of the solution, to find the place by;
//! -        if head < n {                                   a line that is replaced,
//! +        if head < n + COLUMNS {                         by this one
//! ```
//!
//! The lines that begin with a space or `-` follow each other in the solution, at one place alone: there are no numbers
//! of lines, so a change still applies when other parts of the solution have changed. Changes stand in the order of
//! their places. The head of the solution, its `//!` lines, is replaced by one that tells the mistake and the finding.

/// A wrong answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The mistake, as in the file.
    pub name: String,
    /// What is wrong with it, as a sentence.
    pub told: String,
    /// The finding that it gives.
    pub finding: String,
    /// The whole answer.
    pub text: String,
}

/// The number of a line, from 1, and what is wrong there.
type Error = (usize, String);

/// The number of a line, and the line.
type Line<'a> = (usize, &'a str);

/// The wrong answers of a file, made of the solution.
///
/// # Errors
/// The first line at which the file is wrong or a change does not apply, and why.
pub fn wrong_answers(file: &str, solution: &str) -> Result<Vec<Wrong>, Error> {
    let solution: Vec<&str> = solution.lines().skip_while(|line| line.starts_with("//!")).collect();
    let lines: Vec<Line> = (1..).zip(file.lines()).collect();
    let mut answers = Vec::<Wrong>::new();
    let is_head = |line: &Line| line.1.starts_with("== ");
    if let Some(&(number, _)) = lines.first().filter(|line| !is_head(line)) {
        return Err((number, "a wrong answer begins with `== name: finding`".into()));
    }
    for answer in lines.chunk_by(|_, next| !is_head(next)) {
        let (wrong, number) = (one(answer, &solution)?, answer[0].0);
        if answers.iter().any(|known| known.name == wrong.name) {
            return Err((number, format!("there is another `{}` above", wrong.name)));
        }
        answers.push(wrong);
    }
    Ok(answers)
}

/// One wrong answer.
fn one(answer: &[Line], solution: &[&str]) -> Result<Wrong, Error> {
    // Empty lines between two answers belong to neither.
    let end = answer.iter().rposition(|line| !line.1.is_empty()).map_or(0, |last| last + 1);
    let (number, head) = answer[0];
    let (name, finding) = head[3..].split_once(": ").ok_or((number, "a head is `== name: finding`".to_string()))?;
    let (told, changes) = match &answer[1..end] {
        [(_, told), changes @ ..] if *told != "@@" && !changes.is_empty() => (told, changes),
        _ => return Err((number, "a line that tells the mistake follows, and a change from `@@` on".into())),
    };
    if changes[0].1 != "@@" {
        return Err((changes[0].0, "a change begins with `@@`".into()));
    }
    let (mut made, mut at) = (vec![], 0);
    for change in changes.chunk_by(|_, next| next.1 != "@@") {
        let (before, old, new) = place(change, solution)?;
        if before < at {
            return Err((change[0].0, "this change comes before the one above it in the solution".into()));
        }
        made.extend(&solution[at..before]);
        made.extend(new);
        at = before + old;
    }
    made.extend(&solution[at..]);
    let text = format!("//! {told}\n//!\n//! **Finding.** {finding}\n{}\n", made.join("\n"));
    let [name, told, finding] = [name, told, finding].map(String::from);
    Ok(Wrong { name, told, finding, text })
}

/// Where in the solution a change applies, how many lines it replaces, and by which.
fn place<'a>(change: &[Line<'a>], solution: &[&str]) -> Result<(usize, usize, Vec<&'a str>), Error> {
    let number = change[0].0;
    let (mut old, mut new) = (vec![], vec![]);
    for &(number, line) in &change[1..] {
        match line.split_at_checked(1).unwrap_or((" ", "")) {
            (" ", line) => (old.push((number, line)), new.push(line)).1,
            ("-", line) => old.push((number, line)),
            ("+", line) => new.push(line),
            _ => return Err((number, "a line of a change begins with a space, `-` or `+`".into())),
        }
    }
    if old.is_empty() {
        return Err((number, "a change needs a line of the solution, to find its place by".into()));
    }
    let lines: Vec<&str> = old.iter().map(|&(_, line)| line).collect();
    if lines == new {
        return Err((number, "a change has lines with `-` or `+`".into()));
    }
    let places: Vec<usize> =
        solution.windows(lines.len()).enumerate().filter(|(_, there)| *there == lines).map(|(at, _)| at).collect();
    match (&places[..], old.iter().find(|(_, line)| !solution.contains(line))) {
        (&[at], _) => Ok((at, lines.len(), new)),
        ([], Some(&(number, _))) => Err((number, "the solution has no such line".into())),
        ([], None) => Err((number, "the solution has these lines, but not in sequence".into())),
        _ => Err((number, format!("the solution has these lines {} times: add a neighbouring line", places.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOLUTION: &str = "//! # 1\n//!\n\nfn f() {\n    a();\n    b();\n    a();\n\n    c();\n}\n";
    const HEAD: &str = "== name: finding\nA mistake.\n";

    /// The second answer of a file that these changes follow in, behind its head.
    fn changed(changes: &str) -> Result<String, Error> {
        let file = format!("== first: other\nAnother.\n@@\n-    b();\n\n{HEAD}{changes}");
        wrong_answers(&file, SOLUTION).map(|mut answers| answers.pop().unwrap().text)
    }

    #[test]
    fn changes_are_made_where_their_lines_are() {
        let head = "//! A mistake.\n//!\n//! **Finding.** finding\n\nfn f() {\n";
        for (changes, made) in [
            ("@@\n-    b();\n+    d();\n+    e();\n", "    a();\n    d();\n    e();\n    a();\n\n    c();\n}\n"),
            ("@@\n-    a();\n     b();\n@@\n }\n+// end", "    b();\n    a();\n\n    c();\n}\n// end\n"),
            ("@@\n     a();\n\n-    c();\n+\n\n", "    a();\n    b();\n    a();\n\n\n}\n"),
        ] {
            assert_eq!(changed(changes).unwrap(), format!("{head}{made}"), "{changes}");
        }
    }

    #[test]
    fn what_does_not_apply_is_told_with_its_line() {
        for (changes, line, why) in [
            ("@@\n     b();\n-    d();\n", 10, "no such line"),
            ("@@\n-    b();\n     c();\n", 8, "but not in sequence"),
            ("@@\n-    a();\n", 8, "2 times"),
            ("@@\n+    d();\n", 8, "needs a line of the solution"),
            ("@@\n     b();\n", 8, "`-` or `+`"),
            ("@@\n-    c();\n@@\n-    b();\n", 10, "before the one above"),
            ("@@\n-    a();\n-    b();\n@@\n-    b();\n", 11, "before the one above"),
            ("@@\n*    b();\n", 9, "begins with a space"),
            ("-    b();\n", 8, "begins with `@@`"),
            ("", 6, "a change from `@@` on"),
            ("@@\n-    b();\n\n== first: again\nSo.\n@@\n-    b();\n", 11, "another `first` above"),
        ] {
            let (at, told) = changed(changes).unwrap_err();
            assert!(at == line && told.contains(why), "{changes}: {at}: {told}");
        }
        assert_eq!(wrong_answers("\n== a: b\n", SOLUTION).unwrap_err().0, 1);
        assert!(wrong_answers("== a\nSo.\n@@\n-    b();\n", SOLUTION).unwrap_err().1.contains("name: finding"));
    }
}
