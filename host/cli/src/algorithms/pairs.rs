//! Sorting keys with one value each: the problem and its oracle.

use super::keys::unable;
use super::upload::{Changed, Uploaded};
use super::verify::ON_DEVICE_FROM;
use super::{OpenProblem, Parameters, Prepared, Problem, RateUnit, Rung, Size, Work, Workload, entry, verdict};
use crate::data::{Data, Difference, Dtype, Words};
use rungs::engine::{AnyBuffer, Buffer, Engine};
use rungs::error::{Error, Result};
use rungs::keys::order_of;
use rungs::verify;
use rungs_kernels::keys::DESCENDING;
use rungs_kernels::ladder::sort::{Pairs, Sort};
use rungs_kernels::ladder::{Ladder, Sequence};
use rungs_oracles::inputs::places;
use std::cell::OnceCell;
use std::rc::Rc;

/// Keys with values of 4 bytes: given values, or each key's place in the input, so that the values of equal keys show
/// whether the sort was stable.
///
/// On an engine they are one buffer, first the keys and then the values; peers take the same layout.
struct PairProblem {
    ladder: &'static Ladder<Sort>,
    keys: Data,
    values: Data,
    /// Whether the values are the keys' places.
    are_places: bool,
    descending: bool,
    sorted: OnceCell<Vec<u32>>,
    uploaded: Uploaded<u32>,
}

/// Makes the problem of a sorting family.
///
/// # Errors
/// [`Error::Usage`] for keys of another width than 32 bits.
pub fn problem(ladder: &'static Ladder<Sort>, mut workload: Workload) -> Result<Box<dyn Problem>> {
    if workload.dtype.size() != 4 {
        let (dtype, family) = (workload.dtype, ladder.family);
        return Err(Error::Usage(format!(
            "values go with keys of 32 bits (u32, i32, f32), not with {dtype}; without values {family} sorts {dtype}"
        )));
    }
    let descending = workload.parameters.descending;
    let given = workload.input.as_mut().filter(|input| input.len() > 1).and_then(Vec::pop);
    let keys = workload.operand(ladder.family)?;
    let are_places = given.is_none();
    let values = given.unwrap_or_else(|| places(Dtype::U32, 0..keys.len() as u64));
    if values.len() != keys.len() || values.dtype().size() != 4 {
        let (n, count, dtype) = (keys.len(), values.len(), values.dtype());
        return Err(Error::Usage(format!(
            "{n} keys cannot take {count} values of {dtype} along; there must be as many, of 4 bytes each"
        )));
    }
    let (sorted, uploaded) = (OnceCell::new(), Uploaded::default());
    Ok(Box::new(PairProblem { ladder, keys, values, are_places, descending, sorted, uploaded }))
}

impl PairProblem {
    /// The oracle, keys and then values: a stable sort by the host.
    fn sorted(&self) -> &[u32] {
        self.sorted.get_or_init(|| {
            let places = self.keys.sorted_places(self.descending);
            [words(&self.keys.at(&places)), words(&self.values.at(&places))].concat()
        })
    }

    fn order(&self) -> u32 {
        order_of(self.keys.dtype()) | if self.descending { DESCENDING } else { 0 }
    }

    fn uploaded(&self, engine: &Engine) -> Result<Rc<Buffer<u32>>> {
        self.uploaded.get(engine, &[words(&self.keys), words(&self.values)])
    }

    /// Keys and then values, as such.
    fn to_pairs(&self, pairs: &[u32]) -> (Data, Data) {
        let (keys, values) = pairs.split_at(pairs.len() / 2);
        (typed(&self.keys, keys), typed(&self.values, values))
    }
}

/// The bits of elements of 4 bytes.
fn words(data: &Data) -> &[u32] {
    bytemuck::cast_slice(data.as_bytes())
}

/// Words as elements of the type that `like` has.
fn typed(like: &Data, words: &[u32]) -> Data {
    Data::from_bits(like.dtype(), Words::U32(words.to_vec()))
}

impl OpenProblem for PairProblem {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded(engine)?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let (engine, n) = (output.engine(), self.keys.len());
        // Many pairs are checked on the device if one view holds keys and values and the values are the keys' places.
        if self.are_places && n >= ON_DEVICE_FROM && 2 * n <= u32::MAX as usize && !engine.is_simulator() {
            let keys = self.uploaded(engine)?;
            if verify::pairs(keys.slice(0, n), output, self.order())? == 0 {
                return Ok(());
            }
        }
        // The oracle on the host tells which pair is the first wrong one.
        let [got, want] = [&output.download_as()?, self.sorted()].map(|pairs| self.to_pairs(pairs));
        let differing = [got.0.first_difference(&want.0), got.1.first_difference(&want.1)];
        let first = differing.into_iter().flatten().map(|difference| difference.index).min();
        let pair = |(keys, values): &(Data, Data), i| format!("{} with value {}", keys.show(i), values.show(i));
        let difference = |index| Difference { index, left: pair(&got, index), right: pair(&want, index) };
        verdict(self.ladder.family, who, n, first.map(difference))
    }
}

impl Problem for PairProblem {
    fn size(&self) -> Size {
        Size::Elements(self.keys.len() as u64)
    }

    fn work(&self) -> Work {
        let n = self.keys.len() as f64;
        Work { amount: n, unit: RateUnit::Keys, bytes: 2.0 * n * 8.0, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let (entry, n) = (entry(self.ladder, rung)?, self.keys.len());
        let with_values = Parameters { values: true, ..Parameters::default() };
        if let Some(why) = unable(self.ladder, rung, self.keys.dtype(), &with_values) {
            return Err(Error::Usage(why));
        }
        let (sorter, scratch_bytes) = engine.held_after(|| Ok(entry.pair_sorter(engine, n as u32)?))?;
        Ok(Box::new(PreparedPairs {
            problem: self,
            rung: entry.rung.name,
            input: self.uploaded(engine)?,
            pairs: Changed::new(engine, 2 * n)?,
            sorter,
            scratch_bytes,
        }))
    }

    fn values(&self) -> Option<Dtype> {
        Some(self.values.dtype())
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

struct PreparedPairs<'p> {
    problem: &'p PairProblem,
    rung: &'static str,
    input: Rc<Buffer<u32>>,
    pairs: Changed<u32>,
    sorter: Sequence<Pairs>,
    scratch_bytes: u64,
}

impl Prepared for PreparedPairs<'_> {
    fn restore(&mut self) -> Result<()> {
        self.restore_for(1)
    }

    fn restore_for(&mut self, calls: usize) -> Result<()> {
        self.pairs.restore_for(calls, &*self.input)
    }

    fn run(&mut self) -> Result<()> {
        let (n, order) = (self.problem.keys.len(), self.problem.order());
        let pairs = self.pairs.for_next();
        let args = Pairs { keys: pairs.slice(0, n), values: pairs.slice(n, n), order };
        Ok(self.sorter.run(pairs.engine(), args)?)
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        self.problem.check(self.rung, self.pairs.last())
    }

    fn output(&mut self) -> Result<Data> {
        Ok(self.problem.to_pairs(&self.pairs.last().download()?).0)
    }

    fn values(&mut self) -> Result<Option<Data>> {
        Ok(Some(self.problem.to_pairs(&self.pairs.last().download()?).1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Distribution;
    use rungs_kernels::ladders::RADIX as LADDER;

    /// A wrong value is found as a wrong key is, and an order that is not stable counts as wrong.
    #[test]
    fn keys_and_values_are_compared() {
        let engine = Engine::simulator();
        let keys = Data::from(vec![2.5f32, -1.0, 2.5, -0.0]);
        let parameters = Parameters { values: true, ..Default::default() };
        let size = Size::Elements(4);
        let (dtype, distribution, seed, input) = (keys.dtype(), Distribution::Uniform, 0, Some(vec![keys]));
        let problem = problem(&LADDER, Workload { size, dtype, distribution, seed, input, parameters }).unwrap();
        let check = |keys: [f32; 4], values: [u32; 4]| {
            let output = engine.upload(&[keys.map(f32::to_bits), values].concat()).unwrap();
            problem.open().unwrap().check("somebody", &output).map_err(|e| e.to_string())
        };
        let sorted = [-1.0, -0.0, 2.5, 2.5];
        assert_eq!(check(sorted, [1, 3, 0, 2]), Ok(()));
        let unstable = check(sorted, [1, 3, 2, 0]).unwrap_err();
        assert!(unstable.contains("element 2: got 2.5 with value 2, expected 2.5 with value 0"), "{unstable}");
        let changed = check([-1.0, 0.0, 2.5, 2.5], [1, 3, 0, 2]).unwrap_err();
        assert!(changed.contains("element 1: got 0.0 with value 3, expected -0.0 with value 3"), "{changed}");
        assert!(check(sorted, [1, 3, 0, 0]).is_err());
    }

    /// Given values come back together with their keys, in their own type.
    #[test]
    fn given_values_are_those_that_are_compared() {
        let engine = Engine::simulator();
        let (keys, values) = (Data::from(vec![3_i32, -1, 3]), Data::from(vec![0.5_f32, f32::NAN, -0.0]));
        let parameters = Parameters { values: true, ..Default::default() };
        let workload = |values: &Data| Workload {
            size: Size::Elements(3),
            dtype: keys.dtype(),
            distribution: Distribution::Uniform,
            seed: 0,
            input: Some(vec![keys.clone(), values.clone()]),
            parameters,
        };
        let problem = super::problem(&LADDER, workload(&values)).unwrap();
        assert_eq!(problem.values(), Some(Dtype::F32));
        let mut prepared = problem.prepare(&engine, &LADDER.get("onesweep").unwrap().rung).unwrap();
        prepared.restore().and_then(|()| prepared.run()).and_then(|()| prepared.verify()).unwrap();
        assert_eq!(prepared.output().unwrap(), Data::from(vec![-1_i32, 3, 3]));
        assert_eq!(prepared.values().unwrap(), Some(Data::from(vec![f32::NAN, 0.5, -0.0])));
        let wrong: Vec<u32> = [-1.0_f32, 3.0, 3.0].map(|key| key as i32 as u32).into_iter().chain([0; 3]).collect();
        let wrong = problem.open().unwrap().check("somebody", &engine.upload(&wrong).unwrap()).unwrap_err().to_string();
        assert!(wrong.ends_with("element 0: got -1 with value 0.0, expected -1 with value NaN"), "{wrong}");
        for values in [Data::from(vec![1_u32, 2]), Data::from(vec![1_u64, 2, 3])] {
            let error = super::problem(&LADDER, workload(&values)).err().unwrap().to_string();
            assert!(error.contains("3 keys cannot take"), "{error}");
        }
    }
}
