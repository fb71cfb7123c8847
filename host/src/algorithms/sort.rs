//! What the sorting families share: the problem, the oracle, and the trait of a rung.

use super::keys::Keys;
use super::rung::Implementation;
use super::upload::{Changed, Uploaded};
use super::verify::{self, ON_DEVICE_FROM};
use super::{OpenProblem, Parameters, Prepared, Problem, RateUnit, Rung, Size, Work, Workload, compare};
use crate::data::{self, Data, Dtype, for_dtype};
use crate::engine::{AnyBuffer, Buffer, Engine};
use crate::error::{Error, Result};
use rungs_kernels::keys::{FLOAT, SIGNED, UNSIGNED, Word};
use simt::Global;
use std::cell::OnceCell;
use std::rc::Rc;

/// The types that sorting rungs of any width take.
pub const KEY_TYPES: &[Dtype] = &[Dtype::U32, Dtype::I32, Dtype::F32, Dtype::U64, Dtype::I64, Dtype::F64];

/// A rung that sorts.
pub trait SortRung: Sync {
    /// Prepares to sort `n` keys of `bytes` bytes (4 or 8) on an engine: takes its scratch memory.
    ///
    /// # Errors
    /// [`Error::Usage`] where the rung has a limit and this is beyond it.
    fn sorter(&self, engine: &Engine, n: u32, bytes: u32, parameters: &Parameters) -> Result<Box<dyn Sorter>>;

    /// Prepares to sort `n` keys of 4 bytes that have a value each: takes its scratch memory.
    ///
    /// # Errors
    /// [`Error::Usage`] if the rung sorts keys without values, as most do.
    fn pair_sorter(&self, engine: &Engine, n: u32) -> Result<Box<dyn PairSorter>> {
        let _ = (engine, n);
        Err(Error::Usage("this rung sorts keys without values".into()))
    }
}

/// A rung with its scratch memory, ready to sort again and again.
pub trait Sorter {
    /// Sorts `keys` in place, `order` saying what their words mean (see [`rungs_kernels::keys`]).
    fn sort(&mut self, keys: Keys, order: u32) -> Result<()>;
}

/// A rung with its scratch memory, ready to sort keys with values again and again.
pub trait PairSorter {
    /// Sorts `keys` in place, `order` saying what their words mean (see [`rungs_kernels::keys`]), and moves the value of each with
    /// it. Equal keys keep their order. There are as many values as keys.
    fn sort(&mut self, keys: Global<u32>, values: Global<u32>, order: u32) -> Result<()>;
}

/// A sorter of unsigned words made able to sort all: it maps the keys, sorts, and maps back.
struct Mapped<F> {
    engine: Engine,
    sort: F,
}

impl<F: FnMut(&Engine, Keys) -> Result<()>> Sorter for Mapped<F> {
    fn sort(&mut self, keys: Keys, order: u32) -> Result<()> {
        keys.encode(&self.engine, order)?;
        (self.sort)(&self.engine, keys)?;
        keys.decode(&self.engine, order)
    }
}

/// A [`Sorter`] from a function that sorts unsigned words in place.
pub fn unsigned_sorter(
    engine: &Engine,
    sort: impl FnMut(&Engine, Keys) -> Result<()> + 'static,
) -> Result<Box<dyn Sorter>> {
    Ok(Box::new(Mapped { engine: engine.clone(), sort }))
}

/// Runs `$body` with `$keys` bound to the view inside, for either width.
macro_rules! with_keys {
    ($value:expr, $keys:ident => $body:expr) => {
        match $value {
            $crate::algorithms::keys::Keys::Bits32($keys) => $body,
            $crate::algorithms::keys::Keys::Bits64($keys) => $body,
        }
    };
}
pub(crate) use with_keys;

/// A word that keys of a width are stored in.
pub trait KeyWord: Word + bytemuck::Pod {
    /// The view of it as keys.
    fn keys(view: Global<Self>) -> Keys;
    /// The inverse, where the width is this one.
    fn from_keys(keys: Keys) -> Option<Global<Self>>;
    /// Looks through keys on their engine, see [`verify::keys`].
    fn look(keys: &dyn AnyBuffer, order: u32, zeros_equal: bool) -> Result<verify::Found>;
}

impl KeyWord for u32 {
    fn keys(view: Global<Self>) -> Keys {
        Keys::Bits32(view)
    }

    fn from_keys(keys: Keys) -> Option<Global<Self>> {
        if let Keys::Bits32(view) = keys { Some(view) } else { None }
    }

    fn look(keys: &dyn AnyBuffer, order: u32, zeros_equal: bool) -> Result<verify::Found> {
        verify::keys::<u32>(keys, order, zeros_equal)
    }
}

impl KeyWord for u64 {
    fn keys(view: Global<Self>) -> Keys {
        Keys::Bits64(view)
    }

    fn from_keys(keys: Keys) -> Option<Global<Self>> {
        if let Keys::Bits64(view) = keys { Some(view) } else { None }
    }

    fn look(keys: &dyn AnyBuffer, order: u32, zeros_equal: bool) -> Result<verify::Found> {
        verify::keys::<u64>(keys, order, zeros_equal)
    }
}

/// How words of a type are ordered, see [`rungs_kernels::keys`].
pub fn order_of(dtype: Dtype) -> u32 {
    match dtype {
        Dtype::I32 | Dtype::I64 => SIGNED,
        Dtype::F32 | Dtype::F64 => FLOAT,
        _ => UNSIGNED,
    }
}

/// Keys to sort, and the same keys sorted by the host.
struct SortProblem<T> {
    family: &'static str,
    input: Data,
    sorted: OnceCell<Data>,
    parameters: Parameters,
    uploaded: Uploaded<T>,
}

/// Makes the problem of a sorting family.
pub fn problem(family: &'static str, workload: Workload) -> Result<Box<dyn Problem>> {
    let Workload { size, dtype, distribution, seed, input, parameters } = workload;
    let input = match input.and_then(|mut data| data.pop()) {
        Some(data) => data,
        None => distribution.generate(dtype, size.elements()?, seed)?,
    };
    if input.len() as u64 > u32::MAX as u64 {
        return Err(Error::Usage(format!("{} keys cannot be sorted; the limit is {}", input.len(), u32::MAX)));
    }
    let (dtype, sorted) = (input.dtype(), OnceCell::new());
    match dtype.size() {
        4 => Ok(Box::new(SortProblem::<u32> { family, input, sorted, parameters, uploaded: Uploaded::default() })),
        8 => Ok(Box::new(SortProblem::<u64> { family, input, sorted, parameters, uploaded: Uploaded::default() })),
        _ => Err(Error::Usage(format!("{family} does not sort {dtype}; it takes u32, i32, f32, u64, i64 and f64"))),
    }
}

impl<T: KeyWord> SortProblem<T> {
    /// The oracle: the host's own sort of the input, in the total order.
    fn sorted(&self) -> &Data {
        self.sorted.get_or_init(|| data::sorted(&self.input))
    }

    /// Words from the device as keys.
    fn keys(&self, words: &[T]) -> Data {
        for_dtype!(self.input.dtype(), K => Data::from(bytemuck::cast_slice::<T, K>(words).to_vec()))
    }

    fn uploaded(&self, engine: &Engine) -> Result<Rc<Buffer<T>>> {
        self.uploaded.get(engine, &[bytemuck::cast_slice(self.input.as_bytes())])
    }

    /// Checks an output: many keys on the GPU that they are on, few by the host. `zeros_equal`: -0 and +0 may stand in any
    /// order.
    fn check_order(&self, who: &str, output: &dyn AnyBuffer, zeros_equal: bool) -> Result<()> {
        let (engine, order) = (output.engine(), order_of(self.input.dtype()));
        let many = self.input.len() >= ON_DEVICE_FROM && !engine.is_simulator();
        if many || zeros_equal && order == FLOAT {
            let want = T::look(&*self.uploaded(engine)?, order, zeros_equal)?.checksum;
            let got = T::look(output, order, zeros_equal)?;
            if got == (verify::Found { descents: 0, checksum: want }) {
                return Ok(());
            }
        }
        // The host's own sort knows where the first wrong key is.
        compare(self.family, who, &self.keys(&output.download_as()?), self.sorted())
    }
}

impl<T: KeyWord> OpenProblem for SortProblem<T> {
    fn input(&self, engine: &Engine) -> Result<Rc<dyn AnyBuffer>> {
        Ok(self.uploaded(engine)?)
    }

    /// Libraries do not have the total order of floats: for them -0 and +0 are equal.
    fn check(&self, who: &str, output: &dyn AnyBuffer) -> Result<()> {
        self.check_order(who, output, true)
    }
}

impl<T: KeyWord> Problem for SortProblem<T> {
    fn size(&self) -> Size {
        Size::Elements(self.input.len() as u64)
    }

    fn work(&self) -> Work {
        let n = self.input.len() as f64;
        Work { amount: n, unit: RateUnit::Keys, bytes: 2.0 * n * size_of::<T>() as f64, flops: 0.0 }
    }

    fn prepare(&self, engine: &Engine, rung: &Rung) -> Result<Box<dyn Prepared + '_>> {
        let Implementation::Sort(implementation) = rung.implementation else {
            return Err(Error::Usage(format!("{} is not a sort", rung.name)));
        };
        let n = self.input.len();
        rung.check_capacity(self.family, n as u64)?;
        if let Some(why) = rung.refuses(&self.size(), self.input.dtype(), &self.parameters) {
            return Err(Error::Usage(why));
        }
        let make = || implementation.sorter(engine, n as u32, size_of::<T>() as u32, &self.parameters);
        let (sorter, scratch_bytes) = engine.held_after(make)?;
        Ok(Box::new(PreparedSort {
            problem: self,
            rung: rung.name,
            input: self.uploaded(engine)?,
            keys: Changed::new(engine, n)?,
            sorter,
            scratch_bytes,
        }))
    }

    fn open(&self) -> Option<&dyn OpenProblem> {
        Some(self)
    }
}

struct PreparedSort<'p, T> {
    problem: &'p SortProblem<T>,
    rung: &'static str,
    input: Rc<Buffer<T>>,
    keys: Changed<T>,
    sorter: Box<dyn Sorter>,
    scratch_bytes: u64,
}

impl<T: KeyWord> Prepared for PreparedSort<'_, T> {
    fn restore(&mut self) -> Result<()> {
        self.restore_for(1)
    }

    fn restore_for(&mut self, calls: usize) -> Result<()> {
        self.keys.restore_for(calls, &*self.input)
    }

    fn run(&mut self) -> Result<()> {
        self.sorter.sort(T::keys(self.keys.for_next().view()), order_of(self.problem.input.dtype()))
    }

    fn scratch_bytes(&self) -> u64 {
        self.scratch_bytes
    }

    fn verify(&mut self) -> Result<()> {
        self.problem.check_order(self.rung, self.keys.last(), false)
    }

    fn output(&mut self) -> Result<Data> {
        Ok(self.problem.keys(&self.keys.last().download()?))
    }
}
