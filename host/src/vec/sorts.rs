//! What vectors are sorted by.

use super::DeviceVec;
use super::choice::{self, choose};
use crate::data::Element;
use crate::engine::{Engine, Geometry};
use crate::error::Result;
use crate::keys::{KeyWord, order_of};
use rungs_kernels::keys::{SIGNED, UNSIGNED};
use rungs_kernels::ladder::Options;
use rungs_kernels::ladder::sort::Keys;
use rungs_kernels::ordered::small::{small_narrow, small_widen};
use rungs_kernels::transform;
use simt::{Global, Kernel, Scalar};

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
    /// Sorts keys in place; those of 4 and 8 bytes begin on a multiple of [`ALIGN`].
    ///
    /// # Errors
    /// As for [`DeviceVec::sort`].
    fn sort(on: &Engine, keys: Global<Self>, order: u32) -> Result<()>;
}

impl<W: KeyWord> SortWord for W {
    fn sort(on: &Engine, keys: Global<W>, order: u32) -> Result<()> {
        let rung = choose(choice::SORTS, on, size_of::<W>(), keys.len() as usize)?;
        let mut sorter = rung.sorter::<W>(on, keys.len(), Options::default())?;
        Ok(sorter.run(on, Keys { keys, order })?)
    }
}

/// Keys of 8 or 16 bits as words of 32 bits with the same order.
pub(super) fn widened<W: Scalar>(on: &Engine, keys: Global<W>) -> Result<DeviceVec<u32>>
where
    small_widen<W>: Kernel<Args = (Global<W>, Global<u32>)>,
{
    let words = DeviceVec::uninit(on, keys.len() as usize)?;
    let geometry = Geometry::linear(transform::grid(keys.len()), transform::BLOCK);
    on.launch(small_widen::<W>::default(), geometry, (keys, words.view()))?;
    Ok(words)
}

/// The inverse: writes the keys of `words`, of which there are as many.
pub(super) fn narrowed<W: Scalar>(on: &Engine, words: Global<u32>, keys: Global<W>) -> Result<()>
where
    small_narrow<W>: Kernel<Args = (Global<u32>, Global<W>)>,
{
    let geometry = Geometry::linear(transform::grid(keys.len()), transform::BLOCK);
    on.launch(small_narrow::<W>::default(), geometry, (words, keys))
}

macro_rules! small {
    ($($W:ty),*) => {$(
        impl SortWord for $W {
            /// As words of 32 bits, see [`rungs_kernels::ordered::small`].
            fn sort(on: &Engine, keys: Global<$W>, order: u32) -> Result<()> {
                let words = widened(on, keys)?;
                u32::sort(on, words.view(), order)?;
                narrowed(on, words.view(), keys)
            }
        }
    )*};
}
small!(u8, u16);
