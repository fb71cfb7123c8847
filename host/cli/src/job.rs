//! What the program runs on a group: a problem on drawn input, verified over the whole, then timed.

use crate::algorithms::histogram::DEFAULT_BINS;
use crate::algorithms::{Family, Kind, Parameters, RateUnit, Size};
use crate::bench::peers::Peers;
use crate::bench::{Times, stats};
use crate::data::{Data, Difference, Distribution, Dtype, Element};
use crate::job_files::{Column, Files, part_of};
use crate::measure::median;
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use rungs_oracles::arithmetic::Reducible;
use rungs_oracles::{inputs, products, sums};

use rungs::matrix::Precision;
use rungs::verify;
use rungs_group::product::{Multiplier, bounds};
use rungs_group::profile::GroupProfile;
use rungs_group::sort::{PairSorter, SortRung, Sorter};
use rungs_group::verdict::{self, PairShare, Share};
use rungs_group::{Counter, Exchange, Group, Reducer, Round, Scanner, ShardedVec, Total, seed_of};
use rungs_kernels::ladder::reduce::{Reduce, Reduces};
use rungs_kernels::ladder::scan::{Scan, Scans};
use serde::Serialize;
use simt::Scalar;
use std::iter;
use std::time::Instant;

/// A problem for a group.
#[derive(Clone)]
pub struct Job<'p> {
    /// The family, of [`KINDS`].
    pub family: &'static Family,
    /// Elements of the whole, or sides of the matrices.
    pub size: Size,
    /// The type of the elements.
    pub dtype: Dtype,
    /// How elements are drawn; as the family does where none.
    pub distribution: Option<Distribution>,
    /// The seed.
    pub seed: u64,
    /// Parameters of some families.
    pub parameters: Parameters,
    /// How keys are sorted.
    pub rung: SortRung,
    /// Timed runs.
    pub runs: usize,
    /// Whether one more run is profiled.
    pub profiled: bool,
    /// The library whose sort of keys sorts shares, in the manner of [`SortRung::Whole`]; the rungs' own if none.
    pub cub: Option<&'p Peers>,
    /// The files that keys are sorted of, in place of drawn ones.
    pub files: Option<&'p Files>,
}

/// The kinds of problems that a group solves, of the first of their families.
pub const KINDS: [(Kind, &str); 5] = [
    (Kind::Sort, "radix"),
    (Kind::Reduce, "reduce"),
    (Kind::Scan, "scan"),
    (Kind::Histogram, "histogram"),
    (Kind::Matmul, "matmul"),
];

/// What came of a [`Job`]; the same on all ranks.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The family.
    pub family: &'static str,
    /// How it was done.
    pub rung: &'static str,
    /// Devices.
    pub gpus: usize,
    /// How data moved.
    pub transport: String,
    /// Elements of the whole, or the side of the matrices.
    pub n: u64,
    /// The type of the elements.
    pub dtype: Dtype,
    /// The type of the values that move with them, if any do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Dtype>,
    /// How they were drawn.
    pub keys: String,
    /// Whether the result is right on all ranks; a wrong one is not timed.
    pub verified: bool,
    /// What a rank found to be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The median of the runs, in milliseconds by the host's clock: of each run the longest time of a rank.
    pub time_ms: Option<f64>,
    /// The fastest run.
    pub best_ms: Option<f64>,
    /// Work of the whole divided by the median.
    pub rate: Option<f64>,
    /// The unit of the rate.
    pub rate_unit: RateUnit,
    /// What was done, as a report of `rungs bench` has it: the size, and the times of all runs.
    #[serde(skip)]
    pub size: Size,
    /// See [`Outcome::size`].
    #[serde(skip)]
    pub times: Option<Times>,
    /// The profile, if the job asks for one.
    #[serde(skip)]
    pub profile: Option<GroupProfile>,
}

/// The name of a sort whose shares are sorted by CUB.
pub const CUB: &str = "cub-exchange-whole";

/// The name of what is not a sort: the devices' own rungs, and one exchange.
const OWN: &str = "shares";

impl Job<'_> {
    /// The distribution of elements: sums of small whole numbers are exact, in any order.
    fn distribution(&self) -> Distribution {
        let own = if self.family.kind == Kind::Sort { self.family.input } else { Distribution::Small };
        self.distribution.unwrap_or(own)
    }

    /// This rank's share of the input. What is to be the same everywhere is drawn with one seed.
    fn draw<T: Element>(&self, group: &dyn Group) -> Result<Vec<T>> {
        let part = part_of(group, self.size.elements()?);
        let len = part.end - part.start;
        let distribution = self.distribution();
        let same = matches!(distribution, Distribution::Equal | Distribution::Few);
        let seed = if same { self.seed } else { seed_of(self.seed, group.rank()) };
        distribution.keys(len, seed)
    }

    /// Runs the job as a member of the group. All ranks call it.
    ///
    /// # Errors
    /// [`Error::Usage`] if groups do not solve such a problem; the errors of the run.
    pub fn run(&self, group: &dyn Group, engine: &Engine) -> Result<Outcome> {
        macro_rules! of_type {
            ($method:ident) => {
                match self.dtype {
                    Dtype::U32 => self.$method::<u32>(group, engine),
                    Dtype::I32 => self.$method::<i32>(group, engine),
                    Dtype::F32 => self.$method::<f32>(group, engine),
                    Dtype::U64 => self.$method::<u64>(group, engine),
                    Dtype::I64 => self.$method::<i64>(group, engine),
                    Dtype::F64 => self.$method::<f64>(group, engine),
                    Dtype::U8 | Dtype::F16 | Dtype::Bf16 => Err(self.unsuited()),
                }
            };
        }
        // Of the job before.
        group.reclaim()?;
        match self.family.kind {
            Kind::Sort => of_type!(sort),
            Kind::Reduce => of_type!(reduce),
            Kind::Scan => of_type!(scan),
            Kind::Histogram => match self.dtype {
                Dtype::U8 => self.histogram::<u8>(group, engine),
                Dtype::U32 => self.histogram::<u32>(group, engine),
                _ => Err(self.unsuited()),
            },
            Kind::Matmul if self.dtype == Dtype::F32 => self.matmul(group, engine),
            Kind::Matmul | Kind::Cubes | Kind::Saxpy | Kind::Select | Kind::Sift | Kind::TopK | Kind::SegmentedSort => {
                Err(self.unsuited())
            }
        }
    }

    fn unsuited(&self) -> Error {
        let known: Vec<_> = KINDS.iter().map(|(_, family)| *family).collect();
        let (name, dtype) = (self.family.name, self.dtype);
        Error::Usage(format!("several devices do not solve {name} of {dtype}; they do {}", known.join(", ")))
    }

    /// The outcome, once all ranks have told what they found to be wrong. If that is nothing, times `run` on all ranks
    /// together, after `restore`.
    #[rustfmt::skip]
    fn timed(
        &self, group: &dyn Group, engine: &Engine, (rung, found): (&'static str, Option<Difference>),
        (amount, unit): (f64, RateUnit), run: &mut dyn FnMut(bool) -> Result<()>,
    ) -> Result<Outcome> {
        let error = self.agree(group, rung, found)?;
        let (mut times, mut profile) = (vec![], None);
        if error.is_none() {
            for _ in 0..self.runs.max(1) {
                run(false)?;
                engine.synchronize()?;
                group.barrier()?;
                let start = Instant::now();
                run(true)?;
                engine.synchronize()?;
                let mine = start.elapsed().as_secs_f64() * 1e3;
                times.push(group.all_gather(&[mine])?.concat().into_iter().fold(0.0, f64::max));
            }
            if self.profiled {
                run(false)?;
                profile = Some(rungs_group::profile::profile(group, engine, || run(true))?.1);
            }
        }
        let all = stats::times(&times, 1);
        let time_ms = all.map(|_| median(&mut times));
        let per_second = time_ms.map(|ms| amount / (ms * 1e-3).max(f64::MIN_POSITIVE));
        Ok(Outcome {
            family: self.family.name,
            rung,
            gpus: group.size(),
            transport: group.transport().to_owned(),
            n: self.size.n(),
            dtype: self.dtype,
            values: self.values()?,
            keys: self.files.map_or_else(|| self.distribution().to_string(), |_| "file".into()),
            verified: error.is_none(),
            error,
            time_ms,
            best_ms: times.iter().copied().reduce(f64::min),
            rate: per_second.map(|rate| if unit == RateUnit::Keys { rate } else { rate * 1e-9 }),
            rate_unit: unit,
            size: self.size,
            times: all,
            profile,
        })
    }

    /// The first message of a rank that has found something wrong; the same on all ranks.
    fn agree(&self, group: &dyn Group, rung: &str, found: Option<Difference>) -> Result<Option<String>> {
        let who = format!("{rung}, on rank {} of {},", group.rank(), group.size());
        let n = self.size.n() as usize;
        let mine = verify::verdict(self.family.name, &who, n, found).err().map(|error| error.to_string());
        let all = group.all_gather_bytes(mine.unwrap_or_default().into_bytes())?;
        Ok(all.iter().find(|told| !told.is_empty()).map(|told| rungs_group::told(told)))
    }

    /// This rank's share of the keys, of a file or drawn.
    fn keys<'g, T: Total>(&self, group: &'g dyn Group, engine: &Engine) -> Result<ShardedVec<'g, T>> {
        match self.files {
            Some(files) => files.keys.share(group, engine),
            None => ShardedVec::from_slice(group, engine, &self.draw::<T>(group)?),
        }
    }

    /// The type of the values that move with the keys, if any do: those of a file, or the places of drawn keys.
    fn values(&self) -> Result<Option<Dtype>> {
        Ok(match self.files {
            Some(files) => files.values.as_ref().map(|values| values.dtype),
            None if self.parameters.values => Some(Column::places(self.size.elements()?)),
            None => None,
        })
    }

    fn sort<T: Total>(&self, group: &dyn Group, engine: &Engine) -> Result<Outcome> {
        match self.values()?.map(Dtype::size) {
            None => {}
            Some(4) => return self.sort_pairs::<T, u32>(group, engine),
            Some(_) => return self.sort_pairs::<T, u64>(group, engine),
        }
        let input = self.keys::<T>(group, engine)?;
        let mut keys = ShardedVec::<T>::uninit(group, engine, input.len())?;
        let mut sorter = Sorter::new(group, engine)?;
        keys.copy_from(&input)?;
        let mut cub = self.cub.map(|peers| peers.key_sort(T::DTYPE)).transpose()?;
        let mut sort = |keys: &mut ShardedVec<'_, T>| match &mut cub {
            Some(cub) => sorter.sort_by_other(keys, &mut |from, to, len| cub.sort(from, to, len)).map(|()| CUB),
            None => sorter.sort(keys, self.rung).map(SortRung::name),
        };
        let ran = sort(&mut keys)?;
        // All ranks look at all shares, and find the same.
        let found = verdict::sort(&Share::all(&keys)?, &Share::all(&input)?);
        let work = (self.size.n() as f64, RateUnit::Keys);
        let outcome = self.timed(group, engine, (ran, found), work, &mut |now| {
            if now { sort(&mut keys).map(|_| ()) } else { keys.copy_from(&input) }
        })?;
        if let Some(files) = self.files.filter(|_| outcome.verified) {
            files.keys.write(group, engine, &keys)?;
        }
        Ok(outcome)
    }

    /// Sorts keys with values, which are bits here. The sort is verified with the places of the keys as values, which
    /// show the order of equal keys; then values of a file are sorted, and have to stand next to the same keys as
    /// before.
    fn sort_pairs<T: Total, V: Total + Ord>(&self, group: &dyn Group, engine: &Engine) -> Result<Outcome> {
        let (of_values, rung) = (self.files.and_then(|files| files.values.as_ref()), SortRung::Whole.name());
        let input = self.keys::<T>(group, engine)?;
        let of_file = of_values.filter(|values| values.input.is_some());
        let of_file = of_file.map(|values| values.share::<V>(group, engine)).transpose()?;
        let places = inputs::places(V::DTYPE, part_of(group, self.size.elements()?));
        let places = ShardedVec::from_slice(group, engine, places.as_slice::<V>().unwrap_or_default())?;
        let mut keys = ShardedVec::<T>::uninit(group, engine, input.len())?;
        let mut values = ShardedVec::<V>::uninit(group, engine, input.len())?;
        let (mut sorter, shares) = (PairSorter::new(group, engine)?, Share::all(&input)?);
        let (mut found, along) = (None, of_file.as_ref().unwrap_or(&places));
        for (given, is_place) in iter::once((&places, true)).chain(of_file.iter().map(|values| (values, false))) {
            let before = PairShare::all(&input, given)?;
            keys.copy_from(&input)?;
            values.copy_from(given)?;
            sorter.sort(&mut keys, &mut values)?;
            let after = PairShare::all(&keys, &values)?;
            found = found.or(verdict::sort(&Share::all(&keys)?, &shares));
            found = found.or(verdict::pairs(&after, &before, is_place));
        }
        let work = (self.size.n() as f64, RateUnit::Keys);
        let outcome = self.timed(group, engine, (rung, found), work, &mut |now| {
            if now {
                return sorter.sort(&mut keys, &mut values);
            }
            keys.copy_from(&input)?;
            values.copy_from(along)
        })?;
        if let Some(files) = self.files.filter(|_| outcome.verified) {
            files.keys.write(group, engine, &keys)?;
            of_values.map_or(Ok(()), |column| column.write(group, engine, &values))?;
        }
        Ok(outcome)
    }

    /// Sums of floats are compared bit by bit here, so their elements have to be the family's own, small whole numbers.
    fn refuse_rounding(&self) -> Result<()> {
        let is_float = matches!(self.dtype, Dtype::F32 | Dtype::F64);
        let is_own = self.distribution.is_none_or(|distribution| distribution == self.family.input);
        if is_float && self.parameters.operation == crate::algorithms::Operation::Sum && !is_own {
            let own = self.family.input;
            return Err(Error::Usage(format!("sums of floats on several GPUs are verified for --keys {own} alone")));
        }
        Ok(())
    }

    fn reduce<T: Total + Reducible>(&self, group: &dyn Group, engine: &Engine) -> Result<Outcome>
    where
        dyn Reduce: Reduces<T>,
    {
        self.refuse_rounding()?;
        let (operation, mine) = (self.parameters.operation, self.draw::<T>(group)?);
        let input = ShardedVec::from_slice(group, engine, &mine)?;
        let mut reducer = Reducer::new(&input, operation)?;
        let all: Vec<T> = group.all_gather(&[T::total(&mine, operation)])?.concat();
        let want = T::total(&all, operation);
        let found = verdict::elements(&[reducer.totals(&input)?.all], &[want]);
        let work = (self.size.n() as f64 * size_of::<T>() as f64, RateUnit::Gigabytes);
        self.timed(group, engine, (OWN, found), work, &mut |now| {
            if now { reducer.totals(&input).map(|_| ()) } else { Ok(()) }
        })
    }

    fn scan<T: Total + Reducible>(&self, group: &dyn Group, engine: &Engine) -> Result<Outcome>
    where
        dyn Reduce: Reduces<T>,
        dyn Scan: Scans<T>,
    {
        self.refuse_rounding()?;
        let Parameters { operation, exclusive, .. } = self.parameters;
        let mine = self.draw::<T>(group)?;
        let mut input = ShardedVec::from_slice(group, engine, &mine)?;
        let mut output = ShardedVec::<T>::uninit(group, engine, mine.len())?;
        let mut scanner = Scanner::new(&input, operation)?;
        scanner.scan(&mut input, &mut output, exclusive)?;
        let totals: Vec<T> = group.all_gather(&[T::total(&mine, operation)])?.concat();
        let want = T::prefixes(&mine, T::total(&totals[..group.rank()], operation), operation, exclusive);
        let found = verdict::elements(&output.to_vec()?, &want);
        let work = (2.0 * self.size.n() as f64 * size_of::<T>() as f64, RateUnit::Gigabytes);
        self.timed(group, engine, (OWN, found), work, &mut |now| {
            if now { scanner.scan(&mut input, &mut output, exclusive) } else { Ok(()) }
        })
    }

    fn histogram<T: Element + Scalar>(&self, group: &dyn Group, engine: &Engine) -> Result<Outcome>
    where
        dyn rungs_kernels::ladder::histogram::Histogram: rungs_kernels::ladder::histogram::Counts<T>,
    {
        let bins = self.parameters.bins.unwrap_or(DEFAULT_BINS);
        let mut mine = Data::from(self.draw::<T>(group)?);
        // Bytes are numbers of bins as they are; others are so by a remainder.
        if size_of::<T>() > 1 {
            mine = inputs::in_bins(mine, bins, Distribution::Small);
        }
        let input = ShardedVec::from_slice(group, engine, mine.as_slice::<T>().unwrap_or_default())?;
        let mut counter = Counter::new(&input, bins)?;
        let want = sums::counts(&mine, bins);
        let all = group.all_gather(&want)?;
        let want: Vec<u64> = (0..want.len()).map(|bin| all.iter().map(|counts| counts[bin]).sum()).collect();
        let found = verdict::elements(&counter.count(&input)?, &want);
        let work = (self.size.n() as f64 * size_of::<T>() as f64, RateUnit::Gigabytes);
        self.timed(group, engine, (OWN, found), work, &mut |now| {
            if now { counter.count(&input).map(|_| ()) } else { Ok(()) }
        })
    }

    fn matmul(&self, group: &dyn Group, engine: &Engine) -> Result<Outcome> {
        let Size::Product { m, n, k } = self.size else { return Err(self.unsuited()) };
        // Sides as `Multiplier` takes them; then no product of two overflows here.
        if m.max(n).max(k) > u64::from(u32::MAX) {
            return Err(Error::Usage(format!("matrices of {m} x {k} and {k} x {n} have a side beyond 32 bits")));
        }
        let (m, n, k) = (m as usize, n as usize, k as usize);
        let share = |sides: usize| {
            let bounds = bounds(sides, group.size());
            bounds[group.rank()]..bounds[group.rank() + 1]
        };
        let (rows, panel) = (share(m), share(k));
        let a = self.distribution().keys::<f32>((rows.len() * k) as u64, seed_of(self.seed, group.rank()))?;
        // All ranks draw all of B, to verify by it.
        let b = self.distribution().keys::<f32>((k * n) as u64, self.seed.wrapping_sub(1))?;
        let on_engine = [engine.upload(&a)?, engine.upload(&b[panel.start * n..panel.end * n])?];
        let c = engine.alloc::<f32>(rows.len() * n)?;
        let mut multiplier = Multiplier::new(group, engine, rows.len(), n, k)?;
        multiplier.multiply(&on_engine[0], &on_engine[1], &c)?;
        let known = products::Known::default();
        let of = products::Product { m: rows.len(), n, k, a, b, c: vec![], alpha: 1.0, beta: 0.0, known };
        let found = verdict::compared(&c.download()?, rows.len() * n, |got| match rows.is_empty() {
            true => None,
            false => of.first_difference(got, Precision::F32),
        });
        let work = (2.0 * m as f64 * n as f64 * k as f64, RateUnit::Gigaflops);
        self.timed(group, engine, (OWN, found), work, &mut |now| {
            if now { multiplier.multiply(&on_engine[0], &on_engine[1], &c) } else { Ok(()) }
        })
    }
}

/// How fast the bare exchange is: 10⁹ bytes per second out of a device, each of which sends every other one as many
/// bytes, `bytes` in all. The median of some runs.
///
/// # Errors
/// [`Error::OutOfMemory`] if twice the bytes do not fit on the device; the errors of [`Group::exchange`].
pub fn bare_exchange(group: &dyn Group, engine: &Engine, bytes: usize, runs: usize) -> Result<f64> {
    let (me, size) = (group.rank(), group.size());
    let piece = bytes / (size - 1).max(1) / 4096 * 4096;
    let (from, to) = (engine.alloc::<u8>(piece * size)?, engine.alloc::<u8>(piece * size)?);
    from.fill(1)?;
    let stream = engine.second_stream()?;
    let pieces = || (0..size).map(|rank| if rank == me { 0..0 } else { rank * piece..(rank + 1) * piece }).collect();
    let rounds = [Round { sends: pieces(), receives: pieces() }];
    let mut times = vec![];
    // The first run opens connections.
    for run in 0..=runs.max(1) {
        group.barrier()?;
        let start = Instant::now();
        group.exchange(&Exchange { stream: &stream, from: &from, to: &to, rounds: &rounds }, &mut |_| Ok(()))?;
        let mine = start.elapsed().as_secs_f64();
        let longest = group.all_gather(&[mine])?.concat().into_iter().fold(0.0, f64::max);
        if run > 0 {
            times.push(longest);
        }
    }
    Ok((piece * (size - 1)) as f64 / median(&mut times).max(f64::MIN_POSITIVE) * 1e-9)
}
