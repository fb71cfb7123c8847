//! Sorting places instead of elements, and moving elements by place.

use super::DeviceVec;
use super::choice::{self, choose};
use super::sorts::{SortWord, widened};
use crate::engine::Engine;
use crate::error::Result;
use rungs_kernels::keys::UNSIGNED;
use rungs_kernels::ladder::sort::Pairs;
use rungs_kernels::places::{self, places_gather, places_halves, places_own};
use simt::{Global, Kernel, Scalar};

/// A word whose places can be sorted.
pub trait PlaceWord: SortWord {
    /// Makes `places` the stable order of `keys`, of as many; `order`: see [`rungs_kernels::keys`].
    ///
    /// # Errors
    /// As for [`DeviceVec::argsort`].
    fn argsort(engine: &Engine, keys: Global<Self>, order: u32, places: Global<u32>) -> Result<()>;
}

/// Sorts keys of 32 bits with their places.
fn sort_pairs(engine: &Engine, keys: Global<u32>, order: u32, values: Global<u32>) -> Result<()> {
    let rung = choose(choice::PAIR_SORTS, engine, size_of::<u32>(), keys.len() as usize)?;
    let mut sorter = rung.pair_sorter(engine, keys.len())?;
    Ok(sorter.run(engine, Pairs { keys, values, order })?)
}

impl PlaceWord for u32 {
    fn argsort(engine: &Engine, keys: Global<u32>, order: u32, places: Global<u32>) -> Result<()> {
        let own = DeviceVec::<u32>::uninit(engine, keys.len() as usize)?;
        engine.launch(places_own, places::geometry(places.len()), (places,))?;
        gather(engine, keys, places, own.view())?;
        sort_pairs(engine, own.view(), order, places)
    }
}

impl PlaceWord for u64 {
    /// By the lower halves, then by the upper ones: each sort keeps the order of the one before.
    fn argsort(engine: &Engine, keys: Global<u64>, order: u32, places: Global<u32>) -> Result<()> {
        let halves = DeviceVec::<u32>::uninit(engine, keys.len() as usize)?;
        let geometry = places::geometry(places.len());
        engine.launch(places_own, geometry, (places,))?;
        for upper in [0, 1] {
            engine.launch(places_halves, geometry, (keys, order, upper, places, halves.view()))?;
            sort_pairs(engine, halves.view(), UNSIGNED, places)?;
        }
        Ok(())
    }
}

macro_rules! small {
    ($($W:ty),*) => {$(
        impl PlaceWord for $W {
            /// As words of 32 bits, which nobody else reads: they need no copy and stay behind sorted.
            fn argsort(engine: &Engine, keys: Global<$W>, order: u32, places: Global<u32>) -> Result<()> {
                let words = widened(engine, keys)?;
                engine.launch(places_own, places::geometry(places.len()), (places,))?;
                sort_pairs(engine, words.view(), order, places)
            }
        }
    )*};
}
small!(u8, u16);

/// Moves elements of any size by place, as words.
///
/// # Errors
/// [`Error::Launch`](crate::Error::Launch) or [`Error::Cuda`](crate::Error::Cuda) if the launch, or a kernel before it,
/// fails.
pub fn gather<T: Scalar>(engine: &Engine, input: Global<T>, places: Global<u32>, output: Global<T>) -> Result<()> {
    fn of<W: Scalar, T: Scalar>(e: &Engine, input: Global<T>, places: Global<u32>, output: Global<T>) -> Result<()>
    where
        places_gather<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>)>,
    {
        let geometry = places::geometry(places.len());
        e.launch(places_gather::<W>::default(), geometry, (input.cast(), places, output.cast()))
    }
    match size_of::<T>() {
        1 => of::<u8, T>(engine, input, places, output),
        2 => of::<u16, T>(engine, input, places, output),
        4 => of::<u32, T>(engine, input, places, output),
        _ => of::<u64, T>(engine, input, places, output),
    }
}
