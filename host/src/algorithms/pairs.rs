//! Sorting keys that have a value each: the problem and its oracle.

use super::keys::order_of;
use super::upload::{Changed, Uploaded};
use super::verify::{self, ON_DEVICE_FROM};
use super::{OpenProblem, Prepared, Problem, RateUnit, Rung, Size, Work, Workload, entry, verdict};
use crate::data::{Data, Difference, Dtype, Words, stable_sorted};
use crate::engine::{AnyBuffer, Buffer, Engine};
use crate::error::{Error, Result};
use rungs_kernels::ladder::sort::{Pairs, Sort};
use rungs_kernels::ladder::{Ladder, Sequence};
use std::cell::OnceCell;
use std::rc::Rc;

/// Keys, each with its place in the input as its value: so the values of equal keys tell whether the sort was stable.
///
/// On an engine they are one buffer, first the keys and then the values, which is also how peers take them.
struct PairProblem {
    ladder: &'static Ladder<Sort>,
    keys: Data,
    values: Vec<u32>,
    sorted: OnceCell<Vec<u32>>,
    uploaded: Uploaded<u32>,
}

/// Makes the problem of a sorting family.
///
/// # Errors
/// [`Error::Usage`] for keys of another width than 32 bits.
pub fn problem(ladder: &'static Ladder<Sort>, workload: Workload) -> Result<Box<dyn Problem>> {
    if workload.dtype.size() != 4 {
        let (dtype, family) = (workload.dtype, ladder.family);
        return Err(Error::Usage(format!(
            "values go with keys of 32 bits (u32, i32, f32), not with {dtype}; without values {family} sorts {dtype}"
        )));
    }
    let keys = workload.operand(ladder.family)?;
    let values = (0..keys.len() as u32).collect();
    let (sorted, uploaded) = (OnceCell::new(), Uploaded::default());
    Ok(Box::new(PairProblem { ladder, keys, values, sorted, uploaded }))
}

impl PairProblem {
    /// The oracle, keys and then values: a stable sort by the host.
    fn sorted(&self) -> &[u32] {
        self.sorted.get_or_init(|| {
            let (keys, values) = stable_sorted(&self.keys);
            let words: &[u32] = bytemuck::cast_slice(keys.as_bytes());
            [words, &values].concat()
        })
    }

    /// The bits of the keys.
    fn words(&self) -> &[u32] {
        bytemuck::cast_slice(self.keys.as_bytes())
    }

    fn uploaded(&self, engine: &Engine) -> Result<Rc<Buffer<u32>>> {
        self.uploaded.get(engine, &[self.words(), &self.values])
    }

    /// Words of keys as keys.
    fn to_keys(&self, words: &[u32]) -> Data {
        Data::from_bits(self.keys.dtype(), Words::U32(words.to_vec()))
    }
}

impl OpenProblem for PairProblem {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded(engine)?)
    }

    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        let (engine, n) = (output.engine(), self.keys.len());
        // Many are checked where they lie, as long as one view holds keys and values.
        if n >= ON_DEVICE_FROM && 2 * n <= u32::MAX as usize && !engine.is_simulator() {
            let keys = self.uploaded(engine)?;
            if verify::pairs(keys.slice(0, n), output, order_of(self.keys.dtype()))? == 0 {
                return Ok(());
            }
        }
        // The host's own sort knows where the first wrong pair is.
        let (got, want) = (output.download_as::<u32>()?, self.sorted());
        let wrong = |&i: &usize| got[i] != want[i] || got[n + i] != want[n + i];
        let pair = |words: &[u32], i: usize| {
            let key = self.to_keys(&words[i..i + 1]).show(0);
            format!("{key} with value {}", words[n + i])
        };
        let difference = |index| Difference { index, left: pair(&got, index), right: pair(want, index) };
        verdict(self.ladder.family, who, n, (0..n).find(wrong).map(difference))
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
        Some(Dtype::U32)
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
        let (n, order) = (self.problem.keys.len(), order_of(self.problem.keys.dtype()));
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
        let pairs = self.pairs.last().download()?;
        Ok(self.problem.to_keys(&pairs[..self.problem.keys.len()]))
    }

    fn values(&mut self) -> Result<Option<Data>> {
        let pairs = self.pairs.last().download()?;
        Ok(Some(Data::from(pairs[self.problem.keys.len()..].to_vec())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Distribution;

    /// A wrong value is found as a wrong key is, and an order that is not stable counts as wrong.
    #[test]
    fn keys_and_values_are_compared() {
        let engine = Engine::simulator();
        let keys = Data::from(vec![2.5f32, -1.0, 2.5, -0.0]);
        let parameters = super::super::Parameters { values: true, ..Default::default() };
        let size = Size::Elements(4);
        let (dtype, distribution, seed, input) = (keys.dtype(), Distribution::Uniform, 0, Some(vec![keys]));
        let problem =
            problem(&rungs_kernels::radix::LADDER, Workload { size, dtype, distribution, seed, input, parameters })
                .unwrap();
        let check = |keys: [f32; 4], values: [u32; 4]| {
            let output = engine.upload(&[keys.map(f32::to_bits), values].concat()).unwrap();
            problem.open().unwrap().check("somebody", &output).map_err(|e| e.to_string())
        };
        let sorted = [-1.0, -0.0, 2.5, 2.5];
        assert_eq!(check(sorted, [1, 3, 0, 2]), Ok(()));
        let unstable = check(sorted, [1, 3, 2, 0]).unwrap_err();
        assert!(unstable.contains("element 2 is 2.5 with value 2, and 2.5 with value 0 is right"), "{unstable}");
        let changed = check([-1.0, 0.0, 2.5, 2.5], [1, 3, 0, 2]).unwrap_err();
        assert!(changed.contains("element 1 is 0.0 with value 3, and -0.0 with value 3 is right"), "{changed}");
        assert!(check(sorted, [1, 3, 0, 0]).is_err());
    }
}
