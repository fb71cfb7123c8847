//! Every bug is found and named as what it is, and no clean twin is accused, under 32 schedules each.

use rungs_gallery::{Case, Kind, all};

const SCHEDULES: u32 = 32;

/// The cases that `is_right` refuses, each with what the check says.
fn refused(fixed: bool, is_right: impl Fn(&Case, &rungs_gallery::Verdict) -> bool) -> String {
    let mut text = String::new();
    for (_, case) in all() {
        let verdict = case.check(fixed, SCHEDULES);
        if !is_right(case, &verdict) {
            let (name, finds, kinds) = (case.name, case.finds, &verdict.kinds);
            text += &format!("{name}: expected {finds:?}, found {kinds:?}\n{}\n\n", verdict.text());
        }
    }
    text
}

#[test]
fn every_bug_is_found_and_named() {
    let missed = refused(false, |case, verdict| verdict.names(case));
    assert!(missed.is_empty(), "{missed}");
}

#[test]
fn clean_twins_are_clean() {
    let accused = refused(true, |_, verdict| verdict.is_clean());
    assert!(accused.is_empty(), "{accused}");
}

#[test]
fn cases_stand_for_every_finding() {
    for kind in simt::sim::Kind::ALL {
        let named = |own: &Kind| format!("{own:?}") == format!("{kind:?}");
        // A fault is what has no name of its own.
        let has_none = kind == simt::sim::Kind::Fault;
        assert!(Kind::ALL.iter().any(named), "{kind:?} has no name in the gallery");
        assert!(has_none || all().any(|(_, case)| named(&case.finds[0])), "{kind:?} is not shown");
    }
}
