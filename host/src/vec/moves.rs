//! Vectors that are written by rule: filled, counted up, scattered, reversed, subtracted.
//!
//! ```
//! use rungs::engine::Engine;
//! use rungs::vec::DeviceVec;
//!
//! # fn main() -> rungs::Result<()> {
//! let engine = Engine::simulator();
//! let mut squares = DeviceVec::from_slice(&engine, &[0i32, 1, 4, 9])?;
//! assert_eq!(squares.adjacent_difference()?.to_vec()?, [0, 1, 3, 5]);
//! squares.reverse()?;
//! assert_eq!(squares.to_vec()?, [9, 4, 1, 0]);
//!
//! let mut sparse = DeviceVec::filled(&engine, 10, -1)?;
//! squares.scatter(&DeviceVec::iota(&engine, 4, 0u32, 3)?, &mut sparse)?;
//! assert_eq!(sparse.to_vec()?, [9, -1, -1, 4, -1, -1, 1, -1, -1, 0]);
//! # Ok(())
//! # }
//! ```

use super::DeviceVec;
use crate::engine::Engine;
use crate::error::Result;
use rungs_kernels::ordered::moves::{geometry, moves_difference, moves_fill, moves_iota, moves_reverse, moves_scatter};
use simt::{Global, Kernel, Scalar};

/// Calls a function that is generic over a word with the word of the elements' size.
macro_rules! by_size {
    ($T:ty, $of:ident($($argument:expr),*)) => {
        match size_of::<$T>() {
            1 => $of::<u8, $T>($($argument),*),
            2 => $of::<u16, $T>($($argument),*),
            4 => $of::<u32, $T>($($argument),*),
            _ => $of::<u64, $T>($($argument),*),
        }
    };
}
pub(super) use by_size;

impl<T: Scalar> DeviceVec<T> {
    /// `len` elements, all `value`.
    ///
    /// # Errors
    /// As for [`DeviceVec::uninit`]; [`Error::Launch`](crate::Error::Launch) or [`Error::Cuda`](crate::Error::Cuda) if
    /// the launch, or a kernel before it, fails.
    pub fn filled(engine: &Engine, len: usize, value: T) -> Result<Self> {
        let mut vec = Self::uninit(engine, len)?;
        vec.fill(value)?;
        Ok(vec)
    }

    /// Makes all elements `value`.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) or [`Error::Cuda`](crate::Error::Cuda) if the launch, or a kernel before
    /// it, fails.
    pub fn fill(&mut self, value: T) -> Result<()> {
        fn of<W: Scalar, T: Scalar>(vec: &DeviceVec<T>, bits: u64) -> Result<()>
        where
            moves_fill<W>: Kernel<Args = (Global<W>, u64)>,
        {
            vec.engine.launch(moves_fill::<W>::default(), geometry(vec.len as u32), (vec.view().cast(), bits))
        }
        by_size!(T, of(self, value.to_bits_64()))
    }

    /// Reverses the order of the elements in place.
    ///
    /// # Errors
    /// As for [`DeviceVec::fill`].
    pub fn reverse(&mut self) -> Result<()> {
        fn of<W: Scalar, T: Scalar>(vec: &DeviceVec<T>) -> Result<()>
        where
            moves_reverse<W>: Kernel<Args = (Global<W>,)>,
        {
            vec.engine.launch(moves_reverse::<W>::default(), geometry(vec.len as u32 / 2), (vec.view().cast(),))
        }
        by_size!(T, of(self))
    }

    /// Writes each element to its place in `output`: element i to `output[places[i]]`. An element whose place does not
    /// exist is not written, and of several elements for one place, an unspecified one is. The inverse of
    /// [`DeviceVec::gather`], if the places are a permutation.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if there are not as many places as elements, or if a vector is on another
    /// engine; otherwise as for [`DeviceVec::fill`].
    pub fn scatter(&self, places: &DeviceVec<u32>, output: &mut Self) -> Result<()> {
        #[rustfmt::skip]
        fn of<W: Scalar, T: Scalar>(from: &DeviceVec<T>, places: &DeviceVec<u32>, to: &DeviceVec<T>) -> Result<()>
        where
            moves_scatter<W>: Kernel<Args = (Global<W>, Global<u32>, Global<W>)>,
        {
            let args = (from.view().cast(), places.view(), to.view().cast());
            from.engine.launch(moves_scatter::<W>::default(), geometry(from.len as u32), args)
        }
        self.expect("places", places)?;
        self.same_engine(output, "output")?;
        by_size!(T, of(self, places, output))
    }
}

/// A number that is counted up and subtracted: `u32`, `i32`, `f32`, `u64`, `i64` or `f64`.
pub trait Number: Scalar {
    /// Launches [`DeviceVec::iota`].
    ///
    /// # Errors
    /// As there.
    fn iota(items: &DeviceVec<Self>, first: Self, step: Self) -> Result<()>;

    /// Launches [`DeviceVec::adjacent_difference`].
    ///
    /// # Errors
    /// As there.
    fn difference(input: &DeviceVec<Self>, output: &DeviceVec<Self>) -> Result<()>;
}

macro_rules! numbers {
    ($($T:ty as $W:ty),*) => {$(
        impl Number for $T {
            fn iota(items: &DeviceVec<Self>, first: Self, step: Self) -> Result<()> {
                let args = (items.view().cast::<$W>(), first.to_bits_64(), step.to_bits_64());
                items.engine.launch(moves_iota::<$W>::default(), geometry(items.len as u32), args)
            }

            fn difference(input: &DeviceVec<Self>, output: &DeviceVec<Self>) -> Result<()> {
                let args = (input.view().cast::<$W>(), output.view().cast());
                input.engine.launch(moves_difference::<$W>::default(), geometry(input.len as u32), args)
            }
        }
    )*};
}
numbers!(u32 as u32, i32 as u32, f32 as f32, u64 as u64, i64 as u64, f64 as f64);

impl<T: Number> DeviceVec<T> {
    /// `len` elements: `first`, `first + step`, `first + 2 * step` … Integers wrap around. Element i of floats is
    /// computed by itself, `first + step * i`, so errors do not add up.
    ///
    /// # Errors
    /// As for [`DeviceVec::filled`].
    pub fn iota(engine: &Engine, len: usize, first: T, step: T) -> Result<Self> {
        let vec = Self::uninit(engine, len)?;
        T::iota(&vec, first, step)?;
        Ok(vec)
    }

    /// The first element, and each other one less the element before it. Integers wrap around. The inverse of an
    /// inclusive sum, except for the rounding of floats.
    ///
    /// # Errors
    /// As for [`DeviceVec::filled`].
    pub fn adjacent_difference(&self) -> Result<Self> {
        let output = Self::uninit(&self.engine, self.len)?;
        T::difference(self, &output)?;
        Ok(output)
    }
}
