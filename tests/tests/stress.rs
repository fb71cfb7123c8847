//! The rungs whose blocks wait for one another, or whose workspace is cleaned by its last user: many calls, of random
//! size and kind.
//!
//! | trial | what it runs |
//! | --- | --- |
//! | `fresh-workspace` | calls with their own size, type, distribution, options and workspace each |
//! | `kept-workspace` | calls on a workspace for each of a few sizes, enqueued several at a time |
//! | `two-streams` | two streams of a GPU at once, each with its own workspace; on the simulator two threads |
//!
//! Before one in four of these calls, the same call is made with launches that fail from a random one on.
//!
//! Every output is poisoned first and compared whole with an oracle that the host computes from the input. Where there
//! is no GPU, the GPU's trials are reported as ignored. A failure names the call as a command of `rungs` (size, seed,
//! distribution). `RUNGS_STRESS_SEED` draws other calls.

use libtest_mimic::{Arguments, Failed, Trial};
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rungs::Error;
use rungs::data::{self, Data, Difference, Distribution, Dtype};
use rungs::engine::{AnyBuffer, Buffer, DeviceChoice, Engine};
use rungs::keys::order_of;
use rungs_cli::algorithms::{self, Extra, Family, Kind, Operation, Parameters, Problem, Rung, Size, Workload};
use rungs_kernels::ladder::sort::{Keys, Pairs, Sort};
use rungs_kernels::ladder::{
    Device, Entry, Ladder, Launcher, Lengths, Options, Sequence, histogram, reduce, scan, select,
};
use simt::tensor_map::{Described, Words};
use simt::{Geometry, launcher};
use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map;
use std::fmt;

type Random = Xoshiro256PlusPlus;

/// Families, and their rungs that are tried.
const RUNGS: &[(&str, &[&str])] = &[
    ("odd-even", &["persistent", "levels"]),
    ("merge", &["sample", "stable"]),
    ("radix", &["onesweep", "msd-buckets", "msd-skewed", "msd-pairs", "learned", "either"]),
    ("reduce", &["vector-loads", "single-launch"]),
    ("scan", &["look-back", "look-ahead"]),
    ("select", &["three-kernels", "look-back", "compact", "look-ahead"]),
    ("histogram", &["bank-private"]),
];

type Test = fn(&Machine, &'static Family, &'static Rung, &mut Random) -> Result<(), Failed>;

/// The trials of each of them.
const TESTS: &[(&str, Test)] =
    &[("fresh-workspace", fresh_workspace), ("kept-workspace", kept_workspace), ("two-streams", two_streams)];

/// The engine of a run, and its extent.
struct Machine {
    name: &'static str,
    choice: DeviceChoice,
    /// Calls per trial (per stream, if there are two).
    calls: usize,
    /// Most elements per call.
    largest: u64,
}

/// The ladders of the rungs that sort.
const SORTS: [&Ladder<Sort>; 3] =
    [&rungs_kernels::odd_even::LADDER, &rungs_kernels::ladders::MERGE, &rungs_kernels::ladders::RADIX];

const MACHINES: [Machine; 2] = [
    Machine { name: "simulator", choice: DeviceChoice::Simulator, calls: 48, largest: 20_000 },
    Machine { name: "gpu", choice: DeviceChoice::Cuda(0), calls: 1000, largest: 300_000 },
];

/// Calls that are enqueued before the first of them is waited for.
const AT_ONCE: usize = 4;

/// One call in this number is first made with a launch that fails.
const FAILURES: u32 = 4;

/// Launches of a sequence, about.
const MOST_LAUNCHES: u32 = 8;

/// Sizes for which a rung keeps a workspace.
const SIZES: usize = 8;

const DEFAULT_SEED: u64 = 20_261_121;

fn main() {
    let arguments = Arguments::from_args();
    let seed = std::env::var("RUNGS_STRESS_SEED").map_or(DEFAULT_SEED, |text| {
        text.parse().unwrap_or_else(|_| panic!("RUNGS_STRESS_SEED is a whole number, not '{text}'"))
    });
    let mut trials = vec![];
    for machine in &MACHINES {
        let missing = Engine::open(machine.choice).err();
        if let Some(why) = &missing {
            eprintln!("tests on a GPU are ignored: {why}");
        }
        for (family, rungs) in RUNGS {
            let family = algorithms::family(family).expect("a family of the registry");
            for rung in *rungs {
                let rung = family.rung(rung).expect("a rung of the registry");
                let ignored = missing.is_some();
                trials.extend(TESTS.iter().map(|(name, test)| {
                    let name = format!("{}::{}::{}::{name}", machine.name, family.name, rung.name);
                    let run = move || {
                        test(machine, family, rung, &mut Random::seed_from_u64(seed)).map_err(|e| {
                            format!("RUNGS_STRESS_SEED={seed}: {}", e.message().unwrap_or_default()).into()
                        })
                    };
                    Trial::test(name, run).with_ignored_flag(ignored)
                }));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// The parameters of a call.
struct Case {
    family: &'static Family,
    rung: &'static Rung,
    n: u64,
    dtype: Dtype,
    distribution: Distribution,
    parameters: Parameters,
    seed: u64,
}

/// As a command.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { family, rung, n, dtype, distribution, parameters, seed } = self;
        write!(f, "rungs {} --rung {} --n {n} --dtype {dtype}", family.name, rung.name)?;
        write!(f, " --keys {distribution} --seed {seed}")?;
        if family.extras.contains(&Extra::Operation) {
            write!(f, " --op {}", parameters.operation.name())?;
        }
        parameters.bins.map_or(Ok(()), |bins| write!(f, " --bins {bins}"))?;
        f.write_str(if parameters.exclusive { " --exclusive" } else { "" })?;
        f.write_str(if parameters.values { " --values" } else { "" })
    }
}

/// From 0 to `largest`, each power of two about as likely as the next.
fn draw_size(random: &mut Random, largest: u64) -> u64 {
    let size = ((largest + 2) as f64).powf(random.random_range(0.0..1.0)) as u64 - 1;
    size.min(largest)
}

fn draw_distribution(random: &mut Random) -> Distribution {
    use Distribution::*;
    let bits = random.random_range(0..=32);
    let all = [
        Uniform,
        Sorted,
        Reversed,
        NearlySorted,
        Runs,
        Equal,
        Few,
        Two,
        Zipf,
        Small,
        Special,
        Entropy(1 + bits % 5),
        LowBits(bits),
        HighBits(bits),
    ];
    *all.choose(random).expect("there are some")
}

impl Case {
    fn draw(family: &'static Family, rung: &'static Rung, largest: u64, random: &mut Random) -> Self {
        let mut parameters = Parameters::default();
        for extra in family.extras {
            match extra {
                Extra::Operation => {
                    parameters.operation = *Operation::ALL.choose(random).expect("there are some");
                }
                Extra::Exclusive => parameters.exclusive = random.random(),
                Extra::Bins => parameters.bins = Some(random.random_range(1..=rungs_kernels::histogram::MAX_BINS)),
                Extra::K | Extra::Keep | Extra::RunLength | Extra::Segments => {}
                Extra::Columns | Extra::Threads | Extra::Blocks | Extra::Values | Extra::LowHalf => {}
                Extra::Alpha | Extra::Beta | Extra::Transpose | Extra::Precision | Extra::Batch => {}
            }
        }
        let n = draw_size(random, largest);
        let (distribution, seed) = (draw_distribution(random), random.random_range(0..1 << 32));
        let (size, device) = (Size::Elements(n), Engine::simulator().device());
        let takes = |dtype: &Dtype, values: bool| {
            let parameters = Parameters { values, ..parameters };
            (!values || family.extras.contains(&Extra::Values))
                && family.refusal(rung, size, *dtype, &parameters, device).is_none()
        };
        let dtypes: Vec<Dtype> =
            family.dtypes.iter().copied().filter(|dtype| takes(dtype, false) || takes(dtype, true)).collect();
        let dtype = *dtypes.choose(random).expect("a rung takes a type");
        parameters.values = takes(&dtype, true) && (!takes(&dtype, false) || random.random());
        Self { family, rung, n, dtype, distribution, parameters, seed }
    }

    fn problem(&self) -> Result<Box<dyn Problem>, Error> {
        let Self { n, dtype, distribution, parameters, seed, .. } = *self;
        self.family.make(Workload { size: Size::Elements(n), dtype, distribution, seed, input: None, parameters })
    }

    /// An error of this call.
    fn failed(&self, error: impl fmt::Display) -> Failed {
        format!("{self}: {error}").into()
    }
}

fn fresh_workspace(
    m: &Machine,
    family: &'static Family,
    rung: &'static Rung,
    random: &mut Random,
) -> Result<(), Failed> {
    let engine = Engine::open(m.choice)?;
    for _ in 0..m.calls {
        let case = Case::draw(family, rung, m.largest, random);
        let attempt = || {
            let problem = case.problem()?;
            let mut prepared = problem.prepare(&engine, rung)?;
            prepared.restore()?;
            prepared.run()?;
            prepared.verify()
        };
        attempt().map_err(|e| case.failed(e))?;
    }
    Ok(())
}

/// Runs a rung on elements of a type, from the first buffer to the second, on a launcher of the engine.
type Call = Box<dyn FnMut(&dyn Launcher, Dtype, &Buffer<u32>, &Buffer<u32>) -> Result<(), Error>>;

/// The words that a call is given, and those that it must leave, from its elements.
type Oracle = fn(&Data) -> [Vec<u32>; 2];

const BINS: u32 = 256;

/// Sequences of launches that are kept, by their number of elements.
type Kept<A> = HashMap<u32, Sequence<A>>;

/// The sequence for `n` elements, made if there is none yet.
fn kept<A: Lengths>(
    sequences: &mut Kept<A>,
    n: u32,
    make: impl FnOnce() -> launcher::Result<Sequence<A>>,
) -> Result<&mut Sequence<A>, Error> {
    Ok(match sequences.entry(n) {
        hash_map::Entry::Occupied(there) => there.into_mut(),
        hash_map::Entry::Vacant(place) => place.insert(make()?),
    })
}

/// A rung on an engine with workspaces that last, and its oracle.
fn keeping(engine: &Engine, family: &Family, rung: &Rung) -> Result<(Call, Oracle), Error> {
    let engine = engine.clone();
    let gone = || Error::Usage(format!("{} is of no ladder that is tested", rung.name));
    Ok(match family.kind {
        Kind::Sort => {
            let ladder = SORTS.iter().find(|ladder| ladder.family == family.name).ok_or_else(gone)?;
            let entry = ladder.get(rung.name).ok_or_else(gone)?;
            if entry.run.narrow.is_none() {
                return Ok(keeping_pairs(&engine, entry));
            }
            let (mut narrow, mut wide): (Kept<Keys<u32>>, Kept<Keys<u64>>) = Default::default();
            let call: Call = Box::new(move |on, dtype, input, output| {
                output.copy_from(input)?;
                let (words, order): (&dyn AnyBuffer, u32) = (output, order_of(dtype));
                if dtype.size() == 4 {
                    let keys = output.view();
                    let make = || entry.sorter(&engine, keys.len(), Options::default());
                    Ok(kept(&mut narrow, keys.len(), make)?.run(on, Keys { keys, order })?)
                } else {
                    let keys = words.view_as::<u64>();
                    let make = || entry.sorter(&engine, keys.len(), Options::default());
                    Ok(kept(&mut wide, keys.len(), make)?.run(on, Keys { keys, order })?)
                }
            });
            (call, |keys| [words(keys).collect(), words(&data::sorted(keys)).collect()])
        }
        Kind::Scan => {
            let entry = rungs_kernels::scan::LADDER.get(rung.name).ok_or_else(gone)?;
            let mut scanners: Kept<scan::Elements<u32>> = Kept::new();
            let call: Call = Box::new(move |on, _, input, output| {
                let args = scan::Elements { input: input.view(), output: output.view(), exclusive: false };
                let n = args.input.len();
                Ok(kept(&mut scanners, n, || entry.scanner(&engine, n, Operation::Sum))?.run(on, args)?)
            });
            (call, |all| {
                let mut sum = 0u32;
                let add = |x: u32| {
                    sum = sum.wrapping_add(x);
                    sum
                };
                [words(all).collect(), words(all).map(add).collect()]
            })
        }
        Kind::Select => {
            let entry = rungs_kernels::ladders::SELECT.get(rung.name).ok_or_else(gone)?;
            let mut selectors: Kept<select::Items<u32>> = Kept::new();
            let call: Call = Box::new(move |on, _, input, output| {
                let n = input.len();
                let (count, output) = (output.slice(n, 1), output.slice(0, n));
                let args = select::Items { input: input.view(), output, count, pivot: 1 << 31 };
                Ok(kept(&mut selectors, n as u32, || entry.selector(&engine, n as u32))?.run(on, args)?)
            });
            (call, |all| {
                let mut selected: Vec<u32> = words(all).filter(|&x| x < 1 << 31).collect();
                let count = selected.len() as u32;
                // What is behind the selected items stays as it was: filled with one byte.
                selected.resize(all.len(), u32::from_le_bytes([0xA5; 4]));
                [words(all).collect(), [selected, vec![count]].concat()]
            })
        }
        Kind::Reduce => {
            let entry = rungs_kernels::reduce::LADDER.get(rung.name).ok_or_else(gone)?;
            let mut reducers: Kept<reduce::Elements<u32>> = Kept::new();
            let call: Call = Box::new(move |on, _, input, output| {
                let args = reduce::Elements { input: input.view(), output: output.view() };
                let n = args.input.len();
                Ok(kept(&mut reducers, n, || entry.reducer(&engine, n, Operation::Sum))?.run(on, args)?)
            });
            (call, |all| [words(all).collect(), vec![words(all).fold(0, u32::wrapping_add)]])
        }
        Kind::Histogram => {
            let entry = rungs_kernels::histogram::LADDER.get(rung.name).ok_or_else(gone)?;
            let mut counter = entry.counter::<u32>(&engine, BINS)?;
            let call: Call = Box::new(move |on, _, input, output| {
                Ok(counter.run(on, histogram::Keys { keys: input.view(), counts: output.view() })?)
            });
            (call, |keys| {
                let mut counts = vec![0; BINS as usize];
                words(keys).filter(|&key| key < BINS).for_each(|key| counts[key as usize] += 1);
                [words(keys).collect(), counts]
            })
        }
        _ => return Err(Error::Usage(format!("there is no test of {} on a workspace that lasts", rung.name))),
    })
}

/// A rung that sorts pairs: the words are the keys and then the values, which are the places of the keys.
fn keeping_pairs(engine: &Engine, entry: &'static Entry<Sort>) -> (Call, Oracle) {
    let engine = engine.clone();
    let mut sorters: Kept<Pairs> = Kept::new();
    let call: Call = Box::new(move |on, dtype, input, output| {
        output.copy_from(input)?;
        let n = output.len() / 2;
        let (keys, values) = (output.slice(0, n), output.slice(n, n));
        let make = || entry.pair_sorter(&engine, n as u32);
        Ok(kept(&mut sorters, n as u32, make)?.run(on, Pairs { keys, values, order: order_of(dtype) })?)
    });
    (call, |keys| {
        let (sorted, places) = data::stable_sorted(keys);
        let given = words(keys).chain(0..places.len() as u32).collect();
        [given, words(&sorted).chain(places).collect()]
    })
}

/// An engine whose launches fail from one on, as they do if memory runs out in the middle of a sequence.
struct Failing<'e> {
    engine: &'e Engine,
    /// Launches that do not fail yet.
    left: Cell<u32>,
}

impl Launcher for Failing<'_> {
    fn device(&self) -> Device {
        self.engine.device()
    }

    fn enqueue(&self, call: &dyn launcher::Call, geometry: Geometry) -> launcher::Result {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                self.engine.enqueue(call, geometry)
            }
            None => Err(launcher::Failed::Machine("made to fail".into())),
        }
    }

    fn allocate(&self, bytes: usize) -> launcher::Result<Box<dyn launcher::Memory>> {
        self.engine.allocate(bytes)
    }

    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> launcher::Result {
        // SAFETY: as the caller says.
        unsafe { self.engine.clear_bytes(address, bytes) }
    }

    fn tensor_map(&self, of: &Described) -> launcher::Result<Words> {
        self.engine.tensor_map(of)
    }
}

/// The bytes of elements of any type, as words.
fn words(data: &Data) -> impl Iterator<Item = u32> {
    data.as_bytes().as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
}

fn kept_workspace(
    m: &Machine,
    family: &'static Family,
    rung: &'static Rung,
    random: &mut Random,
) -> Result<(), Failed> {
    take_turns(m, &[Engine::open(m.choice)?], family, rung, random).map(drop)
}

fn two_streams(m: &Machine, family: &'static Family, rung: &'static Rung, random: &mut Random) -> Result<(), Failed> {
    let engine = Engine::open(m.choice)?;
    if !engine.is_simulator() {
        let engines = [engine.second_stream()?, engine];
        return match take_turns(m, &engines, family, rung, random)? {
            0 => Err("the two streams never ran at the same time".into()),
            _ => Ok(()),
        };
    }
    // A launch on the simulator has ended when it returns, so concurrent calls need a thread each.
    let seeds: [u64; 2] = random.random();
    std::thread::scope(|scope| {
        let threads = seeds.map(|seed| {
            scope.spawn(move || {
                take_turns(m, &[Engine::simulator()], family, rung, &mut Random::seed_from_u64(seed)).map(drop)
            })
        });
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".into())))
    })
}

/// A call that was made, and its expected output.
struct Pending {
    case: Case,
    input: Buffer<u32>,
    output: Buffer<u32>,
    want: Vec<u32>,
}

/// The engines take turns: each has a workspace that it keeps, and inputs of its own. Returns how often two streams of
/// a GPU were at work at the same time.
fn take_turns(
    m: &Machine,
    engines: &[Engine],
    family: &'static Family,
    rung: &'static Rung,
    random: &mut Random,
) -> Result<usize, Failed> {
    let mut rungs = engines.iter().map(|engine| keeping(engine, family, rung)).collect::<Result<Vec<_>, _>>()?;
    let sizes: Vec<u64> = (1..SIZES).map(|_| draw_size(random, m.largest)).chain([m.largest]).collect();
    let mut overlaps = 0;
    for _ in 0..m.calls.div_ceil(AT_ONCE) {
        let mut pending = vec![];
        for _ in 0..AT_ONCE {
            for (engine, (_, oracle)) in engines.iter().zip(&rungs) {
                let mut case = Case::draw(family, rung, m.largest, random);
                case.parameters = Parameters::default();
                case.n = *sizes.choose(random).expect("there are some");
                if family.kind != Kind::Sort {
                    case.dtype = Dtype::U32;
                }
                pending.push(prepare(engine, case, *oracle)?);
            }
        }
        let starts = engines.iter().map(Engine::mark).collect::<Result<Vec<_>, _>>()?;
        // There is no wait between the calls: a launch finds the workspace as its predecessor leaves it.
        for (i, Pending { case, input, output, .. }) in pending.iter().enumerate() {
            let (engine, (call, _)) = (&engines[i % engines.len()], &mut rungs[i % engines.len()]);
            if random.random_ratio(1, FAILURES) {
                // A call that fails half way must not affect the next call through its workspace.
                let left = Cell::new(random.random_range(0..MOST_LAUNCHES));
                let _ = call(&Failing { engine, left }, case.dtype, input, output);
            }
            call(engine, case.dtype, input, output).map_err(|e| case.failed(e))?;
        }
        let ends = engines.iter().map(Engine::mark).collect::<Result<Vec<_>, _>>()?;
        for Pending { case, output, want, .. } in pending {
            let (got, want) = (Data::U32(output.download()?), Data::U32(want));
            if let Some(Difference { index, left, right }) = got.first_difference(&want) {
                return Err(case.failed(format!("word {index} is {left}, and {right} is right")));
            }
        }
        if let [one, other] = engines {
            let began_before = one.elapsed_ms(&starts[0], &ends[1])? > 0.0;
            overlaps += usize::from(began_before && other.elapsed_ms(&starts[1], &ends[0])? > 0.0);
        }
    }
    Ok(overlaps)
}

fn prepare(engine: &Engine, case: Case, oracle: Oracle) -> Result<Pending, Error> {
    let mut input = case.distribution.generate(case.dtype, case.n, case.seed)?;
    if let (Kind::Histogram, Data::U32(keys)) = (case.family.kind, &mut input) {
        // Most of them are in the range of the bins, and some outside, which are not counted.
        keys.iter_mut().for_each(|key| *key = ((*key as u64 * (BINS as u64 + 9)) >> 32) as u32);
    }
    let [given, want] = oracle(&input);
    let output = engine.alloc(want.len())?;
    output.fill(0xA5)?;
    Ok(Pending { case, input: engine.upload(&given)?, output, want })
}
