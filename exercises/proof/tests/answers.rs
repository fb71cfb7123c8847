//! Solutions pass with margin, stubs fail, and each wrong answer gives the finding that its head names.

use rungs_exercises::{Bound, Measured, judge};
use rungs_exercises_proof::{ANSWERS, Answer};

/// Wrong answers that each exercise has at least.
const WRONG: usize = 3;

fn all(kind: &str) -> impl Iterator<Item = &'static Answer> {
    ANSWERS.iter().filter(move |answer| answer.kind == kind)
}

/// Whether a counter keeps to its limit by a tenth; none at all is as good as it can be.
fn with_margin(measured: &Measured) -> bool {
    measured.value.is_some_and(|value| match measured.bound {
        Bound::AtMost(most) => value == 0.0 || value <= 0.9 * most,
        Bound::AtLeast(least) => 0.9 * value >= least,
    })
}

#[test]
fn solutions_pass_with_margin() {
    for answer in all("solutions") {
        let verdict = judge(answer.exercise);
        assert_eq!(verdict.wrong, None, "{}: {}", answer.name, verdict.text);
        assert_eq!(answer.exercise.name, answer.name, "the check says the name of its file");
        let close: Vec<_> = verdict.measured.iter().filter(|measured| !with_margin(measured)).collect();
        assert!(close.is_empty(), "{}: {close:?}", answer.name);
    }
}

#[test]
fn stubs_fail() {
    let passed: Vec<_> = all("stubs").filter(|answer| judge(answer.exercise).wrong.is_none()).map(|a| a.name).collect();
    assert!(passed.is_empty(), "{passed:?}");
    assert_eq!(all("stubs").map(|a| a.name).collect::<Vec<_>>(), all("solutions").map(|a| a.name).collect::<Vec<_>>());
}

#[test]
fn each_wrong_answer_gives_its_finding() {
    let mut missed = String::new();
    for answer in all("wrong") {
        let verdict = judge(answer.exercise);
        if verdict.wrong.as_deref() != answer.finding() {
            let (want, got) = (answer.finding(), verdict.wrong);
            missed += &format!("{}: expected {want:?}, found {got:?}\n{}\n\n", answer.name, verdict.text);
        }
    }
    assert!(missed.is_empty(), "{missed}");
}

#[test]
fn exercises_have_wrong_answers() {
    for exercise in all("solutions").map(|answer| answer.exercise) {
        let wrong = all("wrong").filter(|answer| answer.exercise.name == exercise.name).count();
        assert!(wrong >= WRONG, "{}: {wrong} wrong answers", exercise.name);
    }
}
