//! A family of two rungs: one of the project's, and a reader's.

use crate::algorithms::{Family, histogram, reduce, scan, sort};
use rungs::error::{Error, Result};
use rungs_kernels as kernels;
use rungs_kernels::ladder::histogram::{Counts, Keys};
use rungs_kernels::ladder::reduce::{self as reductions, Reduces};
use rungs_kernels::ladder::scan::{self as scans, Scans};
use rungs_kernels::ladder::sort::Sort;
use rungs_kernels::ladder::{Answer, Entry, Failed, Ladder, Launcher, Options, Result as Prepared};
use rungs_kernels::ladder::{Rung, Runs, Sequence};
use rungs_kernels::operator::Operation;

/// The name of the reader's rung.
pub const YOURS: &str = "yours";

/// The ladders whose rungs sort.
const SORTS: [&Ladder<Sort>; 5] = [
    &kernels::bubble::LADDER,
    &kernels::bitonic::LADDER,
    &kernels::odd_even::LADDER,
    &kernels::ladders::MERGE,
    &kernels::ladders::RADIX,
];

/// The family of the rung that is called `name`, as `scan/look-ahead`, and of the answer.
///
/// # Errors
/// [`Error::Usage`] if there is no such rung, or the answer solves another problem.
pub fn family(answer: Answer, name: &str) -> Result<&'static Family> {
    let (family, rung) = name
        .split_once('/')
        .ok_or_else(|| Error::Usage(format!("'{name}' is no rung: write family and rung, as in scan/look-ahead")))?;
    let known = crate::algorithms::family(family).ok_or_else(|| {
        let names: Vec<_> = crate::algorithms::FAMILIES.iter().map(|family| family.name).collect();
        Error::unknown("family", family, &names)
    })?;
    known.rung(rung)?;
    let sizes = known.sizes;
    let made = match answer {
        Answer::Sort(own) => SORTS
            .iter()
            .find(|ladder| ladder.family == family)
            .map(|ladder| sort::family(pair(ladder, rung, Sort::narrow(own)), sizes, &[])),
        Answer::Reduce(own) => of_kind(&kernels::reduce::LADDER, family)
            .map(|ladder| reduce::family(pair(ladder, rung, leak(WordsAlone(own))), sizes)),
        Answer::Scan(own) => of_kind(&kernels::scan::LADDER, family)
            .map(|ladder| scan::family(pair(ladder, rung, leak(WordsAlone(own))), sizes)),
        Answer::Histogram(own) => of_kind(&kernels::histogram::LADDER, family)
            .map(|ladder| histogram::family(pair(ladder, rung, leak(BytesAlone(own))), sizes)),
    };
    let made = made
        .ok_or_else(|| Error::Usage(format!("the answer is a {}, and {name} solves another problem", answer.kind())))?;
    Ok(leak(made))
}

/// The ladder, if the family is its own.
fn of_kind<K>(ladder: &'static Ladder<K>, family: &str) -> Option<&'static Ladder<K>> {
    (ladder.family == family).then_some(ladder)
}

/// A ladder of one of a ladder's rungs and the reader's.
fn pair<K>(ladder: &'static Ladder<K>, rung: &str, own: K) -> &'static Ladder<K> {
    let theirs = ladder.get(rung).unwrap_or(ladder.default);
    let (capacity, refuses) = (theirs.rung.capacity, theirs.rung.refuses);
    // What the project's rung cannot do is no contest.
    let described =
        Rung { name: YOURS, text: "", kernels: &[], capacity, tiles: theirs.rung.tiles, refuses, place: ("", "") };
    let own: &'static Entry<K> = leak(described.run_by(own));
    leak(Ladder { family: ladder.family, about: ladder.about, rungs: leak(vec![theirs, own]), default: theirs })
}

/// Families live as long as the program, which runs one contest.
fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Launches for words of 32 bits, in the place of launches for all types. The operation is always the sum.
struct WordsAlone<A: 'static>(&'static dyn Runs<A>);

/// Launches for bytes, in the place of launches for all types.
struct BytesAlone(&'static dyn Runs<Keys<u8>>);

fn not_this_type<T>() -> Prepared<T> {
    Err(Failed::Unsuitable("an answer takes elements of one type".into()))
}

type Reduction<T> = reductions::Elements<T>;
type Scanned<T> = scans::Elements<T>;

impl Reduces<u32> for WordsAlone<Reduction<u32>> {
    fn prepare(&'static self, on: &dyn Launcher, n: u32, _: Operation) -> Prepared<Sequence<Reduction<u32>>> {
        self.0.prepare(on, n, Options::default())
    }
}

impl Scans<u32> for WordsAlone<Scanned<u32>> {
    fn prepare(&'static self, on: &dyn Launcher, n: u32, _: Operation) -> Prepared<Sequence<Scanned<u32>>> {
        self.0.prepare(on, n, Options::default())
    }
}

macro_rules! other_types {
    ($($t:ty),*) => {$(
        impl Reduces<$t> for WordsAlone<Reduction<u32>> {
            fn prepare(&'static self, _: &dyn Launcher, _: u32, _: Operation) -> Prepared<Sequence<Reduction<$t>>> {
                not_this_type()
            }
        }

        impl Scans<$t> for WordsAlone<Scanned<u32>> {
            fn prepare(&'static self, _: &dyn Launcher, _: u32, _: Operation) -> Prepared<Sequence<Scanned<$t>>> {
                not_this_type()
            }
        }
    )*};
}
other_types!(i32, f32, u64, i64, f64);

impl Counts<u8> for BytesAlone {
    fn prepare(&'static self, on: &dyn Launcher, bins: u32) -> Prepared<Sequence<Keys<u8>>> {
        self.0.prepare(on, bins, Options::default())
    }
}

impl Counts<u32> for BytesAlone {
    fn prepare(&'static self, _: &dyn Launcher, _: u32) -> Prepared<Sequence<Keys<u32>>> {
        not_this_type()
    }
}
