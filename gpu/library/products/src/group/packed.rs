//! The types of elements that these rungs multiply: `f32`, and those of 16 bits, of which two consecutive in K are a
//! word.

use super::store::Stored;
use simt::mma::Tf32;
use simt::{Global, Operand, Scalar, bf16, f16};

/// A type of elements, as copies in tiles have them.
pub trait Packed: Stored + Operand {
    /// Elements of 4 bytes.
    type Word: Scalar;

    /// Elements per word.
    const PER_WORD: u32 = 4 / size_of::<Self>() as u32;

    /// A word of zeros.
    const NOTHING: Self::Word;

    /// The word of an operand that begins with element `at`. Its elements are `step_deep` apart, and those past the
    /// last of `there` are zero.
    fn word(from: Global<Self>, at: u32, step_deep: u32, there: u32) -> Self::Word;

    /// The parts of four words that the tensor cores read.
    fn large(four: [Self::Word; 4]) -> Self::Pack;
}

impl Packed for f32 {
    type Word = f32;

    const NOTHING: f32 = 0.0;

    #[simt::device]
    fn word(from: Global<f32>, at: u32, _: u32, _: u32) -> f32 {
        from.get(at)
    }

    #[simt::device]
    fn large(four: [f32; 4]) -> [f32; 4] {
        four.map(|x| Tf32::nearest(x).value())
    }
}

macro_rules! halves {
    ($($t:ident)*) => {$(
        impl Packed for $t {
            type Word = u32;

            const NOTHING: u32 = 0;

            #[simt::device]
            fn word(from: Global<$t>, at: u32, step_deep: u32, there: u32) -> u32 {
                let two = there > 1;
                if two && step_deep == 1 && (from.as_ptr() as usize + 2 * at as usize).is_multiple_of(4) {
                    return from.slice(at, 2).cast::<u32>().get(0);
                }
                let second = if two { from.get(at + step_deep).to_bits() } else { 0 };
                from.get(at).to_bits() as u32 | (second as u32) << 16
            }

            #[simt::device]
            fn large(four: [u32; 4]) -> Self::Pack {
                let mut pack = Self::Pack::default();
                simt::unroll::<8>(|i| pack[i] = Self::from_bits((four[i / 2] >> (i % 2 * 16)) as u16));
                pack
            }
        }
    )*};
}
halves!(bf16 f16);
