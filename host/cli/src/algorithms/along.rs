//! Sorting keys with values where either have 8 bytes: a rung sorts places, and keys and values are moved by place, as
//! [`DeviceVec::sort_with`] does it.

use super::{Prepared, Problem, RateUnit, Rung, Size, Work, Workload, compare};
use crate::data::{Data, Dtype, Element, for_dtype, memory_check};
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use rungs::vec::DeviceVec;
use rungs::vec::places::PlaceWord;
use rungs_oracles::inputs::places;
use simt::Scalar;
use std::cell::OnceCell;

/// The family in messages.
const FAMILY: &str = "sort";

struct Along {
    keys: Data,
    values: Data,
    descending: bool,
    /// The oracle: a stable sort by the host.
    sorted: OnceCell<(Data, Data)>,
}

/// Makes the problem of keys and, unless they are to be the keys' places, values.
///
/// # Errors
/// [`Error::Usage`] if there are not as many values as keys, or 2³² keys or more; [`Error::OutOfMemory`] if they do not
/// fit in free memory.
pub fn problem(mut workload: Workload) -> Result<Box<dyn Problem>> {
    let given = workload.input.as_mut().filter(|input| input.len() > 1).and_then(Vec::pop);
    let descending = workload.parameters.descending;
    let keys = workload.operand(FAMILY)?;
    let values = given.unwrap_or_else(|| places(Dtype::U32, 0..keys.len() as u64));
    if values.len() != keys.len() {
        let (n, count) = (keys.len(), values.len());
        return Err(Error::Usage(format!("{n} keys cannot take {count} values along; there must be as many")));
    }
    // As for every problem: the input, the one on the engine, the oracle and the downloaded output.
    let bytes = 4 * (keys.dtype().size() + values.dtype().size());
    memory_check("keys with values and their oracle", keys.len() as u64, bytes)?;
    Ok(Box::new(Along { keys, values, descending, sorted: OnceCell::new() }))
}

impl Along {
    fn sorted(&self) -> &(Data, Data) {
        self.sorted.get_or_init(|| {
            let places = self.keys.sorted_places(self.descending);
            (self.keys.at(&places), self.values.at(&places))
        })
    }

    fn prepared<K: Element<Word: PlaceWord> + Scalar>(
        &self,
        engine: &Engine,
        rung: &Rung,
    ) -> Result<Box<dyn Prepared + '_>> {
        match self.values.dtype().size() {
            4 => PreparedAlong::<K, u32>::of(self, engine, rung.name),
            _ => PreparedAlong::<K, u64>::of(self, engine, rung.name),
        }
    }
}

impl Problem for Along {
    fn size(&self) -> Size {
        Size::Elements(self.keys.len() as u64)
    }

    fn work(&self) -> Work {
        let bytes = (self.keys.as_bytes().len() + self.values.as_bytes().len()) as f64;
        Work { amount: self.keys.len() as f64, unit: RateUnit::Keys, bytes: 2.0 * bytes, flops: 0.0 }
    }

    /// `rung` is the one that sorts the places.
    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        match self.keys.dtype() {
            Dtype::U32 => self.prepared::<u32>(engine, rung),
            Dtype::I32 => self.prepared::<i32>(engine, rung),
            Dtype::F32 => self.prepared::<f32>(engine, rung),
            Dtype::U64 => self.prepared::<u64>(engine, rung),
            Dtype::I64 => self.prepared::<i64>(engine, rung),
            Dtype::F64 => self.prepared::<f64>(engine, rung),
            dtype => Err(Error::Usage(format!("{FAMILY} does not take {dtype}"))),
        }
    }

    fn values(&self) -> Option<Dtype> {
        Some(self.values.dtype())
    }
}

struct PreparedAlong<'p, K, V> {
    problem: &'p Along,
    rung: &'static str,
    keys: DeviceVec<K>,
    values: DeviceVec<V>,
}

impl<'p, K: Element<Word: PlaceWord> + Scalar, V: Scalar + bytemuck::Pod> PreparedAlong<'p, K, V> {
    fn of(problem: &'p Along, engine: &Engine, rung: &'static str) -> Result<Box<dyn Prepared + 'p>> {
        let n = problem.keys.len();
        let (keys, values) = (DeviceVec::<K>::uninit(engine, n)?, DeviceVec::<V>::uninit(engine, n)?);
        Ok(Box::new(Self { problem, rung, keys, values }))
    }
}

impl<K: Element<Word: PlaceWord> + Scalar, V: Scalar + bytemuck::Pod> Prepared for PreparedAlong<'_, K, V> {
    fn restore(&mut self) -> Result<()> {
        let engine = self.keys.engine().clone();
        self.keys = DeviceVec::from_slice(&engine, bytemuck::cast_slice(self.problem.keys.as_bytes()))?;
        self.values = DeviceVec::from_slice(&engine, bytemuck::cast_slice(self.problem.values.as_bytes()))?;
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        match self.problem.descending {
            true => self.keys.sort_with_descending(&mut self.values),
            false => self.keys.sort_with(&mut self.values),
        }
    }

    /// The places, and copies of keys and values.
    fn scratch_bytes(&self) -> u64 {
        let one = size_of::<u32>() + size_of::<K>() + size_of::<V>();
        (one * self.keys.len()) as u64
    }

    fn verify(&mut self) -> Result<()> {
        let (keys, values) = self.problem.sorted();
        compare(FAMILY, self.rung, &self.output()?, keys)?;
        self.values()?.map_or(Ok(()), |got| compare(FAMILY, self.rung, &got, values))
    }

    fn output(&mut self) -> Result<Data> {
        Ok(K::wrap(self.keys.to_vec()?))
    }

    fn values(&mut self) -> Result<Option<Data>> {
        let bits = self.values.to_vec()?;
        let dtype = self.problem.values.dtype();
        Ok(Some(for_dtype!(dtype, T => Data::from(bytemuck::cast_slice::<V, T>(&bits).to_vec()))))
    }
}
