//! What the simulator counts next to what NVIDIA's profiler counts on a GPU.
//!
//! Both run the same launches: every rung at three sizes, on the same input. The program starts itself below `ncu`,
//! which counts each launch on the GPU; then it runs the launches on the simulator, which takes the GPU's number of
//! SMs for its own, and compares rung by rung.

mod ncu;
mod page;
mod reasons;

pub use ncu::{command, parse, shortened};
pub use page::{cell, not_measured, page, verdict};

use crate::algorithms::{FAMILIES, Family, Rung, Size, Workload};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use serde::Serialize;
use simt::sim::stats::{Counts, Instruction, Launch, statistics};

/// The most elements of a run, but for rungs with large tiles: the profiler saves and restores memory around each
/// launch.
const MOST: u64 = 1 << 16;

/// The largest sizes of rungs that launch other kernels for few elements: those of another rung, or with small tiles.
const LARGER: &[(&str, &str, u64)] = &[
    ("merge", "multi-way", 300_000),
    ("merge", "all-runs", 560_000),
    ("merge", "stable", 560_000),
    ("merge", "sample", (1 << 20) + 1),
];

/// One run of a rung.
#[derive(Clone, Copy)]
pub struct Case {
    /// The family.
    pub family: &'static Family,
    /// The rung.
    pub rung: &'static Rung,
    /// The size.
    pub size: Size,
}

impl Case {
    /// Its name in reports that are saved.
    pub fn name(&self) -> String {
        named(self.family.name, self.rung.name, self.size.n())
    }
}

fn named(family: &str, rung: &str, n: u64) -> String {
    format!("{family} {rung} {n}")
}

/// Every rung of these families at three sizes: one that is no multiple of anything, and two powers of two, but for
/// rungs that need more elements for kernels of their own.
pub fn cases(families: impl Iterator<Item = &'static Family>) -> Vec<Case> {
    let of_family = |family: &'static Family| {
        family.rungs.iter().flat_map(move |&rung| sizes(family, rung).map(|size| Case { family, rung, size }))
    };
    families.flat_map(of_family).collect()
}

fn sizes(family: &Family, rung: &Rung) -> [Size; 3] {
    match (family.sizes.simulator, family.sizes.gpu) {
        (Size::Product { .. }, _) => [33, 64, 160].map(|n| Size::Product { m: n, n, k: n }),
        (simulator, gpu) => {
            // What a family's default says about the time that an element takes; and a few tiles.
            let usual = MOST.min(simulator.n().max(gpu.n() / 64));
            let tiles = rung.tiles.iter().max().map_or(0, |tile| 4 * tile);
            let most = usual.max(tiles).min(rung.capacity.unwrap_or(u64::MAX));
            let larger = LARGER.iter().find(|(f, r, _)| (*f, *r) == (family.name, rung.name));
            [most.min(1000), most / 4, larger.map_or(most, |larger| larger.2)].map(Size::Elements)
        }
    }
}

/// Runs a case once; nothing else is launched.
///
/// # Errors
/// As for [`Prepared::run`](crate::algorithms::Prepared::run).
pub fn run(engine: &Engine, case: Case, seed: u64) -> Result<()> {
    let Case { family, rung, size } = case;
    let (dtype, distribution, parameters) = (family.usual_dtype(rung), family.input, family.usual(rung));
    let problem = family.make(Workload { size, dtype, distribution, seed, input: None, parameters })?;
    let mut prepared = problem.prepare(engine, rung)?;
    prepared.restore()?;
    prepared.run()?;
    engine.synchronize()
}

/// The launches of a case, as the simulator counts them.
///
/// # Errors
/// As for [`run`].
pub fn simulate(case: Case, multiprocessors: u32, seed: u64) -> Result<Vec<Launch>> {
    let engine = Engine::simulator_with(multiprocessors);
    let (result, statistics) = statistics(|| run(&engine, case, seed));
    result.map(|()| statistics.launches)
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Quantity {
    LoadRequests,
    LoadSectors,
    StoreRequests,
    StoreSectors,
    SharedLoadWavefronts,
    SharedLoadConflicts,
    SharedStoreWavefronts,
    SharedStoreConflicts,
}

impl Quantity {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::LoadRequests,
        Self::LoadSectors,
        Self::StoreRequests,
        Self::StoreSectors,
        Self::SharedLoadWavefronts,
        Self::SharedLoadConflicts,
        Self::SharedStoreWavefronts,
        Self::SharedStoreConflicts,
    ];

    /// Whether it counts this instruction. The profiler counts atomic loads and stores as loads and stores.
    fn counts(self, instruction: Instruction) -> bool {
        use Instruction::*;
        match self {
            // A thread's own copy to shared memory is a load for the profiler.
            Self::LoadRequests | Self::LoadSectors => {
                matches!(instruction, GlobalLoad | GlobalAtomicLoad | AsyncCopy)
            }
            Self::StoreRequests | Self::StoreSectors => matches!(instruction, GlobalStore | GlobalAtomicStore),
            Self::SharedLoadWavefronts | Self::SharedLoadConflicts => {
                matches!(instruction, SharedLoad | SharedAtomicLoad)
            }
            Self::SharedStoreWavefronts | Self::SharedStoreConflicts => {
                matches!(instruction, SharedStore | SharedAtomicStore)
            }
        }
    }

    fn value(self, counts: Counts) -> u64 {
        match self {
            Self::LoadRequests | Self::StoreRequests => counts.requests,
            Self::LoadSectors | Self::StoreSectors => counts.sectors,
            Self::SharedLoadWavefronts | Self::SharedStoreWavefronts => counts.wavefronts,
            Self::SharedLoadConflicts | Self::SharedStoreConflicts => counts.conflicts(),
        }
    }

    /// Its value in a launch on the simulator.
    pub fn of(self, launch: &Launch) -> u64 {
        self.value(launch.sum(|instruction| self.counts(instruction)))
    }
}

/// A launch as the profiler reports it.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// The kernel's name.
    pub kernel: String,
    /// The GPU's SMs.
    pub multiprocessors: u32,
    /// The case that it is of, in a report that says so: [`Case::name`].
    pub case: Option<String>,
    /// The quantities, in the order of [`Quantity::ALL`]; `None` where the profiler has no such counter.
    pub values: [Option<u64>; Quantity::ALL.len()],
}

/// What was counted in one case, on both machines.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The family.
    pub family: &'static str,
    /// The rung.
    pub rung: &'static str,
    /// Elements, or the side of the matrices.
    pub n: u64,
    /// Launches.
    pub launches: usize,
    /// Each quantity that is not 0 on both: ours, and the profiler's.
    pub quantities: Vec<(Quantity, u64, u64)>,
}

impl Comparison {
    /// The name of its case, as [`Case::name`] makes it.
    pub fn case(&self) -> String {
        named(self.family, self.rung, self.n)
    }
}

/// What a reader compares: a quantity, or one per another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name in tables.
    pub name: &'static str,
    /// What is counted.
    of: Quantity,
    /// What it is divided by.
    per: Option<Quantity>,
    /// What it is a part of: a difference counts by its share of that.
    among: Option<Quantity>,
}

/// The names of the measures.
const LOADS: &str = "sectors per load";
const STORES: &str = "sectors per store";
const CONFLICTS: &[&str] = &["conflicts of shared loads", "conflicts of shared stores"];

/// The measures, in the order of the table's columns.
pub const MEASURES: [Measure; 4] = [
    Measure { name: LOADS, of: Quantity::LoadSectors, per: Some(Quantity::LoadRequests), among: None },
    Measure { name: STORES, of: Quantity::StoreSectors, per: Some(Quantity::StoreRequests), among: None },
    Measure {
        name: CONFLICTS[0],
        of: Quantity::SharedLoadConflicts,
        per: None,
        among: Some(Quantity::SharedLoadWavefronts),
    },
    Measure {
        name: CONFLICTS[1],
        of: Quantity::SharedStoreConflicts,
        per: None,
        among: Some(Quantity::SharedStoreWavefronts),
    },
];

/// How near two values are that may differ without a reason.
const NEAR: f64 = 0.01;

impl Comparison {
    fn values(&self, quantity: Quantity) -> Option<(f64, f64)> {
        self.quantities.iter().find(|(q, ..)| *q == quantity).map(|&(_, ours, theirs)| (ours as f64, theirs as f64))
    }

    /// A measure on the simulator and on the GPU; `None` where neither does anything of the kind.
    pub fn measure(&self, measure: Measure) -> Option<(f64, f64)> {
        let (ours, theirs) = self.values(measure.of)?;
        let per = measure.per.map_or(Some((1.0, 1.0)), |per| self.values(per));
        per.map(|(a, b)| (ours / a.max(1.0), theirs / b.max(1.0)))
    }

    /// The reasons why measures differ by more than 1 %, and the measures for which none is known.
    pub fn reasons(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let (mut known, mut unknown) = (vec![], vec![]);
        for measure in MEASURES {
            let Some((ours, theirs)) = self.measure(measure) else { continue };
            let whole = measure.among.and_then(|among| self.values(among)).map_or(theirs, |(_, theirs)| theirs);
            if (ours - theirs).abs() <= NEAR * whole {
                continue;
            }
            let reasons = reasons::of(self.family, self.rung, measure.name);
            if reasons.is_empty() {
                unknown.push(measure.name);
            }
            for why in reasons {
                if !known.contains(&why) {
                    known.push(why);
                }
            }
        }
        (known, unknown)
    }
}

/// Compares all cases with what the profiler counted in one run of all of them. Rungs that a report lacks, because it
/// is older than they, are returned too. A report that does not name its cases shows them by its kernels' names alone.
///
/// # Errors
/// As for [`run`]; [`Error::Usage`] if the profiler counted other launches.
pub fn compare(
    cases: &[Case],
    profiled: &[Profiled],
    seed: u64,
    mut tell: impl FnMut(&Case),
) -> Result<(Vec<Comparison>, Vec<&'static Rung>)> {
    let multiprocessors = profiled.first().map_or(1, |p| p.multiprocessors);
    let mut rest = profiled;
    let (mut comparisons, mut missing) = (vec![], Vec::<&'static Rung>::new());
    for case in cases {
        let name = case.name();
        let begun = |c: &Comparison| (c.family, c.rung) == (case.family.name, case.rung.name);
        let begun = comparisons.last().is_some_and(begun);
        if missing.last().is_some_and(|rung| std::ptr::eq(*rung, case.rung)) {
            // Its other sizes are not there either.
            continue;
        }
        let cased = rest.iter().take_while(|launch| launch.case.as_ref() == Some(&name)).count();
        let cases_are_named = rest.first().is_some_and(|launch| launch.case.is_some());
        if cases_are_named && cased == 0 && !begun {
            missing.push(case.rung);
            continue;
        }
        let ours = simulate(*case, multiprocessors, seed)?;
        let names = rest.iter().map(|launch| launch.kernel.as_str());
        let same = ours.iter().map(|launch| launch.kernel).zip(names).take_while(|(a, b)| a == b).count();
        if same < ours.len() || cases_are_named && cased != ours.len() {
            if begun || cased > 0 {
                let or_nothing = |kernel: Option<&str>| kernel.unwrap_or("nothing").to_string();
                let here = or_nothing(ours.get(same).map(|launch| launch.kernel));
                let there = or_nothing(rest.get(same).map(|launch| &*launch.kernel));
                let what = format!("the simulator launches {here}, the profiler saw {there}");
                return Err(Error::Usage(format!("{name}: {what}; it ran another program")));
            }
            missing.push(case.rung);
            continue;
        }
        tell(case);
        let theirs;
        (theirs, rest) = rest.split_at(ours.len());
        let mut quantities = vec![];
        for (i, quantity) in Quantity::ALL.into_iter().enumerate() {
            let here: u64 = ours.iter().map(|launch| quantity.of(launch)).sum();
            let there: Option<u64> = theirs.iter().map(|launch| launch.values[i]).sum();
            if let Some(there) = there.filter(|there| (here, *there) != (0, 0)) {
                quantities.push((quantity, here, there));
            }
        }
        comparisons.push(Comparison {
            family: case.family.name,
            rung: case.rung.name,
            n: case.size.n(),
            launches: ours.len(),
            quantities,
        });
    }
    match rest {
        [] => Ok((comparisons, missing)),
        [more, ..] => Err(Error::Usage(format!("the profiler saw {} launches more, from {}", rest.len(), more.kernel))),
    }
}

/// All families, or those named.
///
/// # Errors
/// [`Error::Usage`] for a name that no family has.
pub fn families(names: &[String]) -> Result<Vec<&'static Family>> {
    let all: Vec<&'static str> = FAMILIES.iter().map(|f| f.name).collect();
    if let Some(unknown) = names.iter().find(|name| !all.contains(&name.as_str())) {
        return Err(Error::unknown("family", unknown, &all));
    }
    Ok(FAMILIES.iter().filter(|f| names.is_empty() || names.iter().any(|name| name == f.name)).collect())
}
