use super::*;
use rungs::error::Result;
use rungs_kernels::ladder::Answer;
use rungs_kernels::ladder::reduce::*;
use simt::{kernel, thread};
use std::cell::Cell;

/// Sums up, or so it says.
#[kernel]
fn contest_sum(input: Global<u32>, output: Global<u32>, leave_out: u32) {
    if thread::index_1d() == 0 {
        let mut sum = 0u32;
        for i in 0..input.len() - leave_out * (input.len() / 2) {
            sum = sum.wrapping_add(input.get(i));
        }
        output.set(0, sum);
    }
}

/// All threads write the sum; each is right.
#[kernel]
fn contest_race(input: Global<u32>, output: Global<u32>) {
    let mut sum = 0u32;
    for i in 0..input.len() {
        sum = sum.wrapping_add(input.get(i));
    }
    output.set(0, sum);
}

enum Own {
    Right,
    LeavesOut,
    Races,
}

impl Runs<Elements<u32>> for Own {
    fn prepare(&self, on: &dyn Launcher, n: u32, _: Options) -> rungs_kernels::ladder::Result<Sequence<Elements<u32>>> {
        let (leave_out, races) = (matches!(self, Self::LeavesOut) as u32, matches!(self, Self::Races));
        sequence(on, n, move |_| {
            Ok(Box::new(move |on, Elements { input, output }| match races {
                true => on.launch(contest_race, Geometry::linear(1, 64), (input, output)),
                false => on.launch(contest_sum, Geometry::linear(1, 1), (input, output, leave_out)),
            }))
        })
    }
}

fn family_of(own: &'static Own) -> &'static Family {
    family(Answer::Reduce(own), "reduce/shuffle").unwrap()
}

/// Tells times by heart, and who ran.
struct Fake<'a> {
    yours: f64,
    theirs: f64,
    ran: &'a mut Vec<String>,
}

impl Stopwatch for Fake<'_> {
    fn time(&mut self, who: &str, prepared: &mut dyn Prepared) -> Result<f64> {
        prepared.run()?;
        self.ran.push(who.into());
        Ok(if who == YOURS { self.yours } else { self.theirs })
    }
}

fn ran(own: &'static Own, yours: f64, theirs: f64) -> (Result<(Vec<Round>, f64)>, Vec<String>) {
    let mut names = vec![];
    let mut fake = Fake { yours, theirs, ran: &mut names };
    let told = Cell::new(0);
    let tell = |number, _| {
        assert_eq!(number, told.get() + 1);
        told.set(number);
        Ok(())
    };
    let rounds = rounds(&Engine::simulator(), family_of(own), Size::Elements(1000), 5, &mut fake, tell);
    (rounds, names)
}

#[test]
fn both_run_in_turns_and_each_round_counts_once() {
    let (rounds, names) = ran(&Own::Right, 1.0, 2.0);
    let (rounds, bytes) = rounds.unwrap();
    assert_eq!(rounds, vec![Round { yours: 1.0, theirs: 2.0 }; ROUNDS as usize]);
    assert!((4000.0..4010.0).contains(&bytes), "{bytes}");
    assert_eq!(names.len() as u64, 2 * (WARM_UP + ROUNDS));
    for (i, pair) in names.chunks(2).enumerate() {
        let want = if i % 2 == 0 { ["shuffle", YOURS] } else { [YOURS, "shuffle"] };
        assert_eq!(pair, want, "round {i}");
    }
}

#[test]
fn a_wrong_output_gets_no_time() {
    let (rounds, _) = ran(&Own::LeavesOut, 1.0, 2.0);
    let error = rounds.unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }) && error.to_string().contains(YOURS), "{error}");
    assert_eq!(error.exit_code(), 1);
    let engine = Engine::simulator();
    assert!(matches!(compared(&engine, family_of(&Own::LeavesOut), 31), Err(Error::Mismatch { .. })));
    compared(&engine, family_of(&Own::Right), 31).unwrap();
}

#[test]
fn a_race_is_found_before_anything_is_timed() {
    assert!(checked(family_of(&Own::Right), 33).unwrap().is_clean());
    let found = checked(family_of(&Own::Races), 33).unwrap();
    assert!(!found.is_clean() && found.text().contains("same-value-write"), "{}", found.text());
    assert!(!checked(family_of(&Own::LeavesOut), 33).unwrap().is_clean());
}

#[test]
fn the_medians_decide() {
    let round = |yours, theirs| Round { yours, theirs };
    let rounds = [round(1.0, 3.0), round(9.0, 2.0), round(1.5, 2.5)];
    assert_eq!(judge(&rounds, 0.5), Verdict::Faster(round(1.5, 2.5)));
    let turned = rounds.map(|Round { yours, theirs }| round(theirs, yours));
    assert_eq!(judge(&turned, 0.5), Verdict::NotFaster(round(2.5, 1.5)));
    assert_eq!(judge(&[round(1.0, 1.0)], 0.5), Verdict::NotFaster(round(1.0, 1.0)));
}

#[test]
fn a_time_below_the_floor_makes_nothing_count() {
    let floor = floor_ms(4.8e9, 4800.0, 4000.0);
    assert!((floor - 1.0).abs() < 1e-9);
    let honest = Round { yours: 1.2, theirs: 1.1 };
    for short in [Round { yours: 0.99, theirs: 1.1 }, Round { yours: 1.2, theirs: 0.99 }] {
        let verdict = judge(&[honest, short, honest], floor);
        assert_eq!(verdict, Verdict::BelowFloor { ms: 0.99, floor });
    }
    let no_number = judge(&[honest, Round { yours: f64::NAN, theirs: 1.1 }], floor);
    assert!(matches!(no_number, Verdict::BelowFloor { .. }));
    assert!(matches!(judge(&[Round { yours: 0.0, theirs: 1.0 }], 0.0), Verdict::BelowFloor { .. }));
    // A driver that tells no peak: a copy's rate, with room above it.
    assert!((floor_ms(5.0e9, 0.0, 4000.0) - 1.0).abs() < 1e-9);
}

#[test]
fn an_answer_competes_with_rungs_of_its_kind_alone() {
    let message = |name| family(Answer::Reduce(&Own::Right), name).map(|_| ()).unwrap_err().to_string();
    assert!(message("scan/look-back").contains("the answer is a reduce, and scan/look-back solves another problem"));
    assert!(message("reduce/shufle").contains("did you mean shuffle"));
    assert!(message("reduc/shuffle").contains("did you mean reduce"));
    assert!(message("reduce").contains("as in scan/look-ahead"));
}
