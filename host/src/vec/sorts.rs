//! What vectors are sorted by.

use super::DeviceVec;
use super::choice::{self, choose};
use crate::data::Element;
use crate::engine::Engine;
use crate::error::Result;
use crate::keys::{KeyWord, order_of};
use rungs_kernels::keys::{SIGNED, UNSIGNED};
use rungs_kernels::ladder::Options;
use rungs_kernels::ladder::sort::Keys;
use rungs_kernels::ordered::moves::{self, moves_fill};
use rungs_kernels::ordered::small::{small_narrow, small_widen};
use rungs_kernels::transform;
use simt::launcher::{self, Launcher, Scratch};
use simt::{Geometry, Global, Scalar};

/// What keys that are sorted in place are aligned to: threads load this number of bytes at once.
pub const ALIGN: usize = 16;

/// A type of keys: integers of 8 to 64 bits, `f16`, `bf16`, `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "vectors of `{Self}` are not sorted",
    note = "those of integers of 8 to 64 bits, f16, bf16, f32 and f64 are; others are by `sort_by`"
)]
pub trait SortKey: Scalar {
    /// How the words of the type are ordered, see [`rungs_kernels::keys`].
    const ORDER: u32;
    /// The unsigned type of the same size.
    type Word: SortWord;
}

impl<T: Element<Word: SortWord> + Scalar> SortKey for T {
    const ORDER: u32 = order_of(T::DTYPE);
    type Word = T::Word;
}

/// Types whose vectors are sorted, though they are no type of data in files.
macro_rules! keys {
    ($($T:ty as $W:ty: $order:expr),*) => {$(
        impl SortKey for $T {
            const ORDER: u32 = $order;
            type Word = $W;
        }
    )*};
}
keys!(i8 as u8: SIGNED, u16 as u16: UNSIGNED, i16 as u16: SIGNED);

/// A word that stores one key.
#[diagnostic::on_unimplemented(message = "keys that are stored in `{Self}` are not sorted")]
pub trait SortWord: Scalar {
    /// The word of 32 or 64 bits that kernels take for the key.
    type Wide: KeyWord;
    /// Launches that copy keys to such words and back; `None` for words that kernels take where they are.
    const COPIES: Option<Copies<Self, Self::Wide>> = None;
}

/// A copy of keys to words of the same order, and the copy back. The lengths are the same.
pub type Copies<W, Wide> = (
    fn(&dyn Launcher, Global<W>, Global<Wide>) -> launcher::Result,
    fn(&dyn Launcher, Global<Wide>, Global<W>) -> launcher::Result,
);

/// The word that kernels take for a key of type `T`.
pub type Wide<T> = <<T as SortKey>::Word as SortWord>::Wide;

impl<W: KeyWord> SortWord for W {
    type Wide = W;
}

macro_rules! small {
    ($($W:ty),*) => {$(
        impl SortWord for $W {
            type Wide = u32;
            const COPIES: Option<Copies<$W, u32>> = Some((
                |on, keys, words| on.launch(small_widen::<$W>::default(), geometry(keys.len()), (keys, words)),
                |on, words, keys| on.launch(small_narrow::<$W>::default(), geometry(keys.len()), (words, keys)),
            ));
        }
    )*};
}
small!(u8, u16);

fn geometry(n: u32) -> Geometry {
    Geometry::linear(transform::grid(n), transform::BLOCK)
}

/// Keys as the words that kernels take: where they are, or as copies of 32 bits, see [`rungs_kernels::ordered::small`].
pub(crate) struct Widened<W: SortWord>(Option<Scratch<W::Wide>>);

impl<W: SortWord> Widened<W> {
    /// Takes the memory for up to `n` keys.
    pub(crate) fn new(on: &dyn Launcher, n: u32) -> launcher::Result<Self> {
        Ok(Self(W::COPIES.map(|_| on.scratch(n)).transpose()?))
    }

    /// Whether the words are copies.
    pub(crate) fn are_copies(&self) -> bool {
        self.0.is_some()
    }

    /// Where the words of `keys` are, or are to be.
    pub(crate) fn of(&self, keys: Global<W>) -> Global<W::Wide> {
        self.0.as_ref().map_or_else(|| keys.cast(), |words| words.view().slice(0, keys.len()))
    }

    /// The words of `keys`.
    pub(crate) fn widen(&self, on: &dyn Launcher, keys: Global<W>) -> launcher::Result<Global<W::Wide>> {
        let words = self.of(keys);
        W::COPIES.map_or(Ok(()), |(widen, _)| widen(on, keys, words))?;
        Ok(words)
    }

    /// Where the words of `keys` are to be, if kernels may leave some as they are: copies are zero before. A launch
    /// clears them, because a plan has one fill at most.
    pub(crate) fn zeroed(&self, on: &dyn Launcher, keys: Global<W>) -> launcher::Result<Global<W::Wide>> {
        let words = self.of(keys);
        if self.are_copies() {
            on.launch(moves_fill::<u32>::default(), moves::geometry(words.len()), (words.cast(), 0))?;
        }
        Ok(words)
    }

    /// Writes the keys of the words.
    pub(crate) fn narrow(&self, on: &dyn Launcher, keys: Global<W>) -> launcher::Result {
        W::COPIES.map_or(Ok(()), |(_, narrow)| narrow(on, self.of(keys), keys))
    }
}

/// Memory, and the words of a vector there or where the vector is.
type Words<T> = (Widened<<T as SortKey>::Word>, Global<Wide<T>>);

impl<T: SortKey> DeviceVec<T> {
    /// The elements as the words that kernels take, and the memory of these.
    pub(super) fn words(&self) -> Result<Words<T>> {
        let widened = Widened::new(&self.engine, self.len() as u32)?;
        let words = widened.widen(&self.engine, self.view().cast())?;
        Ok((widened, words))
    }

    /// Changes the elements in place as such words.
    pub(super) fn change_words(&mut self, change: impl FnOnce(Global<Wide<T>>) -> Result<()>) -> Result<()> {
        let (widened, words) = self.words()?;
        change(words)?;
        Ok(widened.narrow(&self.engine, self.view().cast())?)
    }
}

/// Sorts words in place, which begin on a multiple of [`ALIGN`].
pub(super) fn sort<W: KeyWord>(on: &Engine, keys: Global<W>, order: u32) -> Result<()> {
    let rung = choose(choice::SORTS, on, size_of::<W>(), keys.len() as usize)?;
    let mut sorter = rung.sorter::<W>(on, keys.len(), Options::default())?;
    Ok(sorter.run(on, Keys { keys, order })?)
}
