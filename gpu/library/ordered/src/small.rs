//! # Small keys as words of 32 bits
//!
//! Keys of 8 and 16 bits are sorted as words that have them in their upper bits. The order of a type depends on its
//! sign bit, which is the word's too, and on the order of the other bits, so the word has the order of the key: a bf16
//! becomes the f32 of the same value.
//!
//! **Bottleneck.** Memory: 5 or 6 bytes per key and direction.

use rungs_common::transform::{self, Functor};
use simt::{Global, Scalar, kernel};

/// The key's bits, above zeros.
#[derive(Clone, Copy)]
struct Widen;

impl<W: Scalar> Functor<W> for Widen {
    type Out = u32;

    #[simt::device]
    fn call(&self, key: W) -> u32 {
        (key.to_bits_64() as u32) << (32 - 8 * size_of::<W>())
    }
}

/// The inverse.
#[derive(Clone, Copy)]
struct Narrow<W>(core::marker::PhantomData<W>);

impl<W: Scalar> Functor<u32> for Narrow<W> {
    type Out = W;

    #[simt::device]
    fn call(&self, word: u32) -> W {
        W::from_bits_64((word >> (32 - 8 * size_of::<W>())) as u64)
    }
}

/// Writes the words of `keys`.
#[kernel(max_threads = transform::BLOCK, instances(small_widen_u8: <u8>, small_widen_u16: <u16>))]
pub fn small_widen<W: Scalar>(keys: Global<W>, words: Global<u32>) {
    transform::transform(keys, words, Widen)
}

/// Writes the keys of `words`.
#[kernel(max_threads = transform::BLOCK, instances(small_narrow_u8: <u8>, small_narrow_u16: <u16>))]
pub fn small_narrow<W: Scalar>(words: Global<u32>, keys: Global<W>) {
    transform::transform(words, keys, Narrow(core::marker::PhantomData))
}
