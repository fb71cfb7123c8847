//! Each test against its verdicts, which were written down by hand; and the simulator against the model.

use rungs_litmus::{Allowed, SETS, Shown, Test, allowed, simulated, tests};
use simt::sim::Kind;

/// The name of a test, the answer to its question, and whether it has a data race.
#[rustfmt::skip]
const VERDICTS: &[(&str, bool, bool)] = &[
    ("MP-weak", true, true),
    ("MP-relaxed", true, false),
    ("MP-release-acquire", false, false),
    ("MP-unguarded", false, true),
    ("MP-relaxed-data", false, false),
    ("MP-no-acquire", true, true),
    ("MP-no-release", true, true),
    ("MP-fences", false, false),
    ("MP-fence-release", false, false),
    ("MP-fence-acquire", false, false),
    ("MP-fence-behind-flag", true, true),
    ("MP-fences-sc", false, false),
    ("MP-spin", false, false),
    ("MP-spin-fence", false, false),
    ("MP-spin-relaxed", true, true),
    ("MP-two-words", false, false),
    ("MP-behind-flag", true, true),
    ("MP-exchange", false, false),
    ("MP-compare-exchange", false, false),
    ("MP-overwrite", false, false),
    ("ping-pong", true, false),
    ("MP-cta-same-block", false, false),
    ("MP-cta-two-blocks", true, true),
    ("MP-release-cta", true, true),
    ("MP-acquire-cta", true, true),
    ("MP-cta-with-gpu", false, false),
    ("MP-sys-with-gpu", false, false),
    ("MP-fences-cta", true, true),
    ("MP-one-fence-cta", true, true),
    ("MP-fences-cta-same-block", false, false),
    ("MP-lanes", false, false),
    ("MP-lanes-relaxed", true, true),
    ("chain-of-scopes", false, false),
    ("chain-too-narrow", true, true),
    ("two-adds-cta", true, true),
    ("add-cta-and-gpu", true, true),
    ("two-adds-cta-same-block", false, false),
    ("MP-barrier", false, false),
    ("MP-no-barrier", true, true),
    ("MP-barrier-two-blocks", true, true),
    ("WAR-barrier", false, false),
    ("SB-barrier", false, false),
    ("one-barrier-a-round", true, true),
    ("two-barriers-a-round", false, false),
    ("MP-warp-barrier", false, false),
    ("MP-warp-barrier-two-warps", true, true),
    ("shared-barrier", false, false),
    ("shared-no-barrier", true, true),
    ("shared-flag", false, false),
    ("shared-flag-relaxed", true, true),
    ("barrier-then-flag", false, false),
    ("flag-then-barrier", false, false),
    ("SB-weak", true, true),
    ("SB-relaxed", true, false),
    ("SB-release-acquire", true, false),
    ("SB-fences", true, false),
    ("SB-fences-sc", false, false),
    ("SB-one-fence-sc", true, false),
    ("SB-fences-sc-cta", true, false),
    ("SB-fences-sc-cta-same-block", false, false),
    ("SB-fences-sc-mixed", false, false),
    ("SB-exchanges", true, false),
    ("Dekker", false, false),
    ("Dekker-acq-rel", true, true),
    ("LB-weak", true, true),
    ("LB-relaxed", true, false),
    ("LB-release-acquire", false, false),
    ("LB-data", false, false),
    ("LB-one-data", true, false),
    ("LB-control", false, false),
    ("CoRR", false, false),
    ("CoRR-weak", true, true),
    ("CoRR-cta", true, true),
    ("CoRR-two-readers", false, false),
    ("CoWW", false, false),
    ("CoWW-weak", false, false),
    ("CoWR", false, false),
    ("CoWR-other", false, false),
    ("CoRW", false, false),
    ("CoRW-other", false, false),
    ("CoRW-last", false, false),
    ("two-stores", true, false),
    ("two-plain-stores", true, true),
    ("same-value", true, true),
    ("plain-and-atomic", true, true),
    ("atomic-and-plain", true, true),
    ("observed-then-read", false, false),
    ("observed-then-written", false, false),
    ("counted-then-read", false, false),
    ("WRC-relaxed", true, false),
    ("WRC-release-acquire", false, false),
    ("WRC-cta", true, true),
    ("ISA2", false, false),
    ("ISA2-relaxed-middle", true, true),
    ("S-relaxed", true, false),
    ("S-release-acquire", false, false),
    ("R-release-acquire", true, false),
    ("R-fences-sc", false, false),
    ("2+2W-relaxed", true, false),
    ("2+2W-release", true, false),
    ("2+2W-fences-sc", false, false),
    ("IRIW-relaxed", true, false),
    ("IRIW-acquire", true, false),
    ("IRIW-fences-sc", false, false),
    ("RWC-fences-sc", false, false),
    ("RWC-fences", true, false),
    ("sequence-own-store", false, false),
    ("sequence-add", false, false),
    ("sequence-exchange", false, false),
    ("two-values-back", true, true),
    ("sequence-store", true, true),
    ("sequence-narrow-add", true, true),
    ("sequence-two-releases", false, false),
    ("acquire-behind-relaxed", false, false),
    ("fence-for-two-flags", false, false),
    ("two-adds", false, false),
    ("three-adds", false, false),
    ("plain-adds", true, true),
    ("split-adds", true, false),
    ("two-exchanges", false, false),
    ("one-winner", false, false),
    ("store-beside-add", false, false),
    ("bits", false, false),
    ("flips", false, false),
    ("add-and-plain-store", true, true),
    ("lock", false, false),
    ("lock-relaxed", true, true),
    ("lock-no-release", true, true),
    ("lock-cta", true, true),
    ("lock-cta-same-block", false, false),
    ("last-one-reads", false, false),
    ("last-one-relaxed", true, true),
    ("last-one-resets", false, false),
];

/// Tests without a race of which the simulator shows no weak outcome, though PTX allows one: it makes each access at
/// its place in program order. docs/fidelity.md names them.
const NOT_SHOWN: [&str; 5] = ["LB-relaxed", "LB-one-data", "S-relaxed", "2+2W-relaxed", "2+2W-release"];

/// What the checker calls a race.
const RACES: [Kind; 5] =
    [Kind::GlobalRace, Kind::SharedRace, Kind::SameValueWrite, Kind::MixedAtomic, Kind::ScopeTooSmall];

fn all() -> impl Iterator<Item = Test> {
    SETS.iter().flat_map(|(set, text)| tests(text).unwrap_or_else(|why| panic!("{set}: {why}")))
}

/// A test with what the model and the simulator say of it.
fn judged() -> impl Iterator<Item = (Test, Allowed, Shown)> {
    all().map(|test| {
        let allowed = allowed(&test).unwrap_or_else(|why| panic!("{}: {why}", test.name));
        let shown = simulated(&test, 32).unwrap_or_else(|why| panic!("{}: {why}", test.name));
        (test, allowed, shown)
    })
}

#[test]
fn the_model_gives_the_verdicts() {
    let names: Vec<String> = all().map(|test| test.name).collect();
    assert_eq!(names, VERDICTS.iter().map(|verdict| verdict.0).collect::<Vec<_>>());
    for (test, (name, answer, race)) in all().zip(VERDICTS) {
        let allowed = allowed(&test).unwrap();
        assert_eq!((test.answer(allowed.outcomes.keys()), allowed.race), (*answer, *race), "{name}: {allowed:?}");
        assert!(!test.about.is_empty() && !allowed.outcomes.is_empty(), "{name}");
    }
}

#[test]
fn the_simulator_shows_what_is_allowed_and_its_checker_reports_races() {
    let (mut weak, mut shown_weak, mut not_shown) = (0, 0, Vec::new());
    for (test, allowed, shown) in judged() {
        let name = &test.name;
        for outcome in shown.outcomes.keys() {
            assert!(allowed.outcomes.contains_key(outcome), "{name} forbids {}", test.words(outcome));
        }
        let kinds: Vec<Kind> = shown.findings.iter().map(|finding| finding.kind).collect();
        assert!(kinds.iter().all(|kind| RACES.contains(kind)), "{name}: {kinds:?}");
        assert_eq!(allowed.race, !kinds.is_empty(), "{name}: {kinds:?}");
        let is_weak = |outcome: &&Vec<u32>| allowed.outcomes.get(*outcome) == Some(&false);
        if !allowed.race && allowed.outcomes.values().any(|sequential| !sequential) {
            let of_this = shown.outcomes.keys().filter(is_weak).count();
            weak += 1;
            shown_weak += usize::from(of_this > 0);
            not_shown.extend((of_this == 0).then(|| name.clone()));
        }
    }
    assert_eq!(not_shown, NOT_SHOWN);
    assert_eq!((weak, shown_weak), (17, 12), "tests with a weak outcome, and those of which one is shown");
    let page = include_str!("../../../docs/fidelity.md");
    let races = VERDICTS.iter().filter(|verdict| verdict.2).count();
    let (all, clean) = (VERDICTS.len(), VERDICTS.len() - races);
    for figure in [format!("{all} tests"), format!("{races} of {races}"), format!("{clean} of {clean}")] {
        assert!(page.contains(&figure), "docs/fidelity.md should say {figure}");
    }
    NOT_SHOWN.iter().for_each(|name| assert!(page.contains(&format!("`{name}`")), "docs/fidelity.md on {name}"));
}

/// Orders that the checker once took for others: a plain store, behind which the thread's own acquire gave the value
/// before it; and a store of a narrow scope to a word that was seen with the other block's release.
const ONCE_WRONG: &str = "
PTX own-plain-store
{ x=0; }
 P0@cta 0,gpu 0       | P1@cta 1,gpu 0      ;
 st.weak x, 3         | st.relaxed.gpu x, 7 ;
 ld.acquire.gpu r0, x |                     ;
exists (P0:r0 == 0)

PTX narrow-store-behind-an-observation
{ x=0; }
 P0@cta 0,gpu 0                | P1@cta 1,gpu 0                ;
 atom.release.gpu.add r0, x, 1 | atom.relaxed.gpu.add r0, x, 1 ;
                               | bne r0, 1, LC0                ;
                               | st.release.cta x, 5           ;
                               | LC0:                          ;
exists (P1:r0 == 1)
";

#[test]
fn orders_that_were_once_wrong_are_those_of_the_model() {
    let [own, narrow] = &tests(ONCE_WRONG).unwrap()[..] else { panic!("two tests") };
    for (test, answer, race) in [(own, false, true), (narrow, true, false)] {
        let (allowed, shown) = (allowed(test).unwrap(), simulated(test, 32).unwrap());
        assert_eq!((allowed.race, !shown.findings.is_empty()), (race, race), "{}: {:?}", test.name, shown.findings);
        assert_eq!(test.answer(shown.outcomes.keys()), answer, "{}: {:?}", test.name, shown.outcomes);
    }
}

/// As `rungs check` has them by default.
#[test]
fn few_schedules_show_nearly_all_races() {
    let schedules = simt::sim::Check::default().schedules;
    let found = |test: &Test| !simulated(test, schedules).unwrap().findings.is_empty();
    let races = all().zip(VERDICTS).filter(|(_, (_, _, race))| *race);
    let missed: Vec<String> = races.filter(|(test, _)| !found(test)).map(|(test, _)| test.name).collect();
    assert_eq!(missed, ["two-values-back"], "under {schedules} schedules");
}
