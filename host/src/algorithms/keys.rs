//! Keys on a device: words of 32 or 64 bits, and the map that gives other types' keys their order.

use crate::engine::{Engine, Geometry};
use crate::error::Result;
use rungs_kernels::keys::{self, Word, keys_decode, keys_encode};
use simt::{Global, Kernel};

/// The kernels used here.
pub const KERNELS: &[&str] = &[
    <keys_encode<u32> as Kernel>::NAME,
    <keys_encode<u64> as Kernel>::NAME,
    <keys_decode<u32> as Kernel>::NAME,
    <keys_decode<u64> as Kernel>::NAME,
];

/// Keys to be sorted, as words.
#[derive(Clone, Copy)]
pub enum Keys {
    /// Keys of 32 bits.
    Bits32(Global<u32>),
    /// Keys of 64 bits.
    Bits64(Global<u64>),
}

impl Keys {
    /// How many.
    pub fn len(self) -> u32 {
        match self {
            Self::Bits32(keys) => keys.len(),
            Self::Bits64(keys) => keys.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Maps each key to a word of the same order, in place; `order` as in [`rungs_kernels::keys`].
    pub fn encode(self, engine: &Engine, order: u32) -> Result<()> {
        fn map<T: Word>(engine: &Engine, keys: Global<T>, order: u32) -> Result<()>
        where
            keys_encode<T>: Kernel<Args = (Global<T>, u32)>,
        {
            let geometry = Geometry::linear(keys::grid(keys.len()), keys::BLOCK);
            engine.launch(keys_encode::<T>::default(), geometry, (keys, order))
        }
        match self {
            _ if order == keys::UNSIGNED => Ok(()),
            Self::Bits32(keys) => map(engine, keys, order),
            Self::Bits64(keys) => map(engine, keys, order),
        }
    }

    /// The inverse of [`Keys::encode`].
    pub fn decode(self, engine: &Engine, order: u32) -> Result<()> {
        fn map<T: Word>(engine: &Engine, keys: Global<T>, order: u32) -> Result<()>
        where
            keys_decode<T>: Kernel<Args = (Global<T>, u32)>,
        {
            let geometry = Geometry::linear(keys::grid(keys.len()), keys::BLOCK);
            engine.launch(keys_decode::<T>::default(), geometry, (keys, order))
        }
        match self {
            _ if order == keys::UNSIGNED => Ok(()),
            Self::Bits32(keys) => map(engine, keys, order),
            Self::Bits64(keys) => map(engine, keys, order),
        }
    }
}
