//! Sorting places instead of elements, and moving elements by place.

use super::choice::{self, choose};
use super::moves::by_size;
use super::sorts::{SortKey, SortWord, Wide, Widened};
use crate::engine::Engine;
use crate::error::Result;
use crate::keys::KeyWord;
use rungs_kernels::keys::UNSIGNED;
use rungs_kernels::ladder::sort::{self, Sort};
use rungs_kernels::ladder::{Entry, Launches, Lengths, expect_len};
use rungs_kernels::places::{self, places_gather, places_halves, places_own};
use simt::launcher::{self, Launcher};
use simt::{Global, Kernel, Scalar};

/// A word whose places can be sorted.
pub trait PlaceWord: KeyWord {
    /// Takes the memory for launches that put `places`, which are those of `n` keys from 0 on, into the stable order of
    /// the keys. `pairs` sorts 32-bit keys with values. Keys that nobody else reads may be changed.
    ///
    /// # Errors
    /// Those of the rung.
    fn sorter(
        on: &dyn Launcher,
        pairs: &'static Entry<Sort>,
        n: u32,
        may_be_changed: bool,
    ) -> launcher::Result<Launches<Placed<Self>>>;
}

/// Keys, and room for their places in sorted order.
pub struct Placed<W> {
    /// The keys.
    pub keys: Global<W>,
    /// What the words mean, see [`rungs_kernels::keys`].
    pub order: u32,
    /// A place for each key.
    pub places: Global<u32>,
}

impl<W: Scalar> Lengths for Placed<W> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("keys", self.keys, n)?;
        expect_len("places", self.places, n)
    }
}

/// The rung that sorts `n` keys of 32 bits with their places.
pub(crate) fn choose_pairs(engine: &Engine, n: u32) -> Result<&'static Entry<Sort>> {
    choose(choice::PAIR_SORTS, engine, size_of::<u32>(), n as usize)
}

/// Makes `places` the stable order of `keys`, of as many; `order`: see [`rungs_kernels::keys`].
///
/// # Errors
/// As for [`DeviceVec::argsort`](super::DeviceVec::argsort).
pub fn argsort<W>(engine: &Engine, keys: Global<W>, order: u32, places: Global<u32>) -> Result<()>
where
    W: SortWord<Wide: PlaceWord>,
{
    let mut sort = launches::<W>(engine, choose_pairs(engine, keys.len())?, keys.len())?;
    Ok(sort(engine, Placed { keys, order, places })?)
}

/// Takes the memory for launches that write the places of `n` keys in sorted order.
pub(crate) fn launches<W: SortWord<Wide: PlaceWord>>(
    on: &dyn Launcher,
    pairs: &'static Entry<Sort>,
    n: u32,
) -> launcher::Result<Launches<Placed<W>>> {
    let widened = Widened::<W>::new(on, n)?;
    let mut sort = W::Wide::sorter(on, pairs, n, widened.are_copies())?;
    Ok(Box::new(move |on, Placed { keys, order, places }| {
        on.launch(places_own, places::geometry(n), (places,))?;
        sort(on, Placed { keys: widened.widen(on, keys)?, order, places })
    }))
}

/// Keys and their values, which are sorted in place.
pub struct Pairs<K, V> {
    pub(crate) keys: Global<K>,
    pub(crate) values: Global<V>,
    /// What the keys' words mean, see [`rungs_kernels::keys`].
    pub(crate) order: u32,
}

impl<K: Scalar, V: Scalar> Lengths for Pairs<K, V> {
    fn check(&self, n: u32) -> launcher::Result {
        expect_len("keys", self.keys, n)?;
        expect_len("values", self.values, n)
    }
}

/// Takes the memory for launches that sort `n` keys in place and move a value with each; equal keys keep their order.
/// `rung` sorts 32-bit keys with values.
pub(crate) fn sort_pairs<K: SortKey, V: Scalar>(
    on: &dyn Launcher,
    rung: &'static Entry<Sort>,
    n: u32,
) -> launcher::Result<Launches<Pairs<K, V>>>
where
    Wide<K>: PlaceWord,
{
    if size_of::<K>() == size_of::<u32>() && size_of::<V>() == size_of::<u32>() {
        let mut sort = rung.pair_sorter(on, n)?;
        return Ok(Box::new(move |on, Pairs { keys, values, order }| {
            sort.run(on, sort::Pairs { keys: keys.cast(), values: values.cast(), order })
        }));
    }
    // Words of 32 bits are sorted together with the places. Those of 64 bits stay, and a copy of them is moved after.
    let are_sorted = size_of::<Wide<K>>() == size_of::<u32>();
    let (widened, copy) = (Widened::<K::Word>::new(on, n)?, on.scratch::<K>(if are_sorted { 0 } else { n })?);
    let (places, copies) = (on.scratch::<u32>(n)?, on.scratch::<V>(n)?);
    let mut sort = Wide::<K>::sorter(on, rung, n, are_sorted)?;
    Ok(Box::new(move |on, Pairs { keys, values, order }| {
        let places = places.view();
        on.launch(places_own, places::geometry(n), (places,))?;
        gather(on, values, places, copies.view())?;
        if !are_sorted {
            gather(on, keys, places, copy.view())?;
        }
        sort(on, Placed { keys: widened.widen(on, keys.cast())?, order, places })?;
        if are_sorted {
            widened.narrow(on, keys.cast())?;
        } else {
            gather(on, copy.view(), places, keys)?;
        }
        gather(on, copies.view(), places, values)
    }))
}

impl PlaceWord for u32 {
    fn sorter(
        on: &dyn Launcher,
        pairs: &'static Entry<Sort>,
        n: u32,
        may_be_changed: bool,
    ) -> launcher::Result<Launches<Placed<u32>>> {
        let copy = (!may_be_changed).then(|| on.scratch(n)).transpose()?;
        let mut sort = pairs.pair_sorter(on, n)?;
        Ok(Box::new(move |on, Placed { mut keys, order, places }| {
            if let Some(copy) = &copy {
                gather(on, keys, places, copy.view())?;
                keys = copy.view();
            }
            sort.run(on, sort::Pairs { keys, values: places, order })
        }))
    }
}

impl PlaceWord for u64 {
    /// By the lower halves, then by the upper ones: each sort keeps the order of the one before.
    fn sorter(
        on: &dyn Launcher,
        pairs: &'static Entry<Sort>,
        n: u32,
        _: bool,
    ) -> launcher::Result<Launches<Placed<u64>>> {
        let (halves, mut sort) = (on.scratch::<u32>(n)?, pairs.pair_sorter(on, n)?);
        Ok(Box::new(move |on, Placed { keys, order, places }| {
            for upper in [0, 1] {
                on.launch(places_halves, places::geometry(n), (keys, order, upper, places, halves.view()))?;
                sort.run(on, sort::Pairs { keys: halves.view(), values: places, order: UNSIGNED })?;
            }
            Ok(())
        }))
    }
}

/// Moves elements of any size by place, as words.
///
/// # Errors
/// Those of the launch.
pub fn gather<T: Scalar>(
    on: &dyn Launcher,
    input: Global<T>,
    places: Global<u32>,
    output: Global<T>,
) -> launcher::Result {
    #[rustfmt::skip]
    fn of<W: Scalar, T: Scalar>(
        on: &dyn Launcher, input: Global<T>, places: Global<u32>, output: Global<T>,
    ) -> launcher::Result
    where
        places_gather<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>)>,
    {
        let geometry = places::geometry(places.len());
        on.launch(places_gather::<W>::default(), geometry, (input.cast(), places, output.cast()))
    }
    by_size!(T, of(on, input, places, output))
}
