//! Two texts next to each other.

use similar::TextDiff;

/// The lines in which two texts differ, as a unified diff; empty if they are the same.
pub(crate) fn lines(answer: &str, solution: &str) -> String {
    TextDiff::from_lines(answer, solution).unified_diff().header("your answer", "the solution").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_shown() {
        assert_eq!(lines("a\nb\n", "a\nb\n"), "");
        let shown = lines("a\nb\nc\n", "a\nd\nc\n");
        assert!(shown.contains("-b\n+d\n") && shown.starts_with("--- your answer\n+++ the solution\n"), "{shown}");
    }
}
