//! The order of keys.
//!
//! Keys of every type are sorted as unsigned words through a map that keeps the order ([`Element::to_word`]). For
//! integers that is the usual order. For floats it is the total order of IEEE 754:
//!
//! ```text
//! -NaN < -∞ < … < -1.0 < … < -0.0 < +0.0 < … < 1.0 < … < +∞ < +NaN
//! ```
//!
//! NaNs among themselves are ordered by their bits, so a sort never changes a key and its result is unique.
//! **`numpy.sort` differs in two places:** it puts every NaN last, whatever its sign, and holds -0.0 and 0.0 to be
//! equal, so that their order in its result is unspecified. On input without a negative NaN the two results are equal
//! as numbers (`numpy.array_equal(…, equal_nan=True)`).

use super::{Data, Dtype, Element, for_data};
use half::{bf16, f16};
use rayon::slice::ParallelSliceMut;

/// Keys as unsigned words: mapped to the order of the keys, or their bits as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    /// Keys of 32 bits; those of fewer are widened.
    U32(Vec<u32>),
    /// Keys of 64 bits.
    U64(Vec<u64>),
}

impl Data {
    /// The keys as words, [`Element::to_word`] of each.
    pub fn to_words(&self) -> Words {
        fn map<T: Element, W>(keys: &[T], word: impl Fn(T) -> W) -> Vec<W> {
            keys.iter().map(|&key| word(key)).collect()
        }
        match self {
            Self::U8(keys) => Words::U32(map(keys, u32::from)),
            Self::U32(keys) => Words::U32(keys.clone()),
            Self::I32(keys) => Words::U32(map(keys, Element::to_word)),
            Self::F32(keys) => Words::U32(map(keys, Element::to_word)),
            Self::U64(keys) => Words::U64(keys.clone()),
            Self::I64(keys) => Words::U64(map(keys, Element::to_word)),
            Self::F64(keys) => Words::U64(map(keys, Element::to_word)),
            Self::F16(keys) => Words::U32(map(keys, |key| key.to_word().into())),
            Self::Bf16(keys) => Words::U32(map(keys, |key| key.to_word().into())),
        }
    }

    /// The keys' bits as they are, for kernels that map keys themselves.
    pub fn to_bits(&self) -> Words {
        match self {
            Self::U8(keys) => Words::U32(keys.iter().map(|&key| key.into()).collect()),
            Self::F16(keys) => Words::U32(keys.iter().map(|key| key.to_bits().into()).collect()),
            Self::Bf16(keys) => Words::U32(keys.iter().map(|key| key.to_bits().into()).collect()),
            Self::U32(_) | Self::I32(_) | Self::F32(_) => Words::U32(bytemuck::pod_collect_to_vec(self.as_bytes())),
            Self::U64(_) | Self::I64(_) | Self::F64(_) => Words::U64(bytemuck::pod_collect_to_vec(self.as_bytes())),
        }
    }

    /// The keys of these bits, the inverse of [`to_bits`](Self::to_bits).
    ///
    /// # Panics
    /// If the words are not of the width that [`to_bits`](Self::to_bits) gives for `dtype`.
    pub fn from_bits(dtype: Dtype, words: Words) -> Self {
        // Vectors of one size and alignment: the memory stays where it is.
        match (dtype, words) {
            (Dtype::U8, Words::U32(words)) => Self::U8(words.into_iter().map(|word| word as u8).collect()),
            (Dtype::U32, Words::U32(words)) => Self::U32(words),
            (Dtype::I32, Words::U32(words)) => Self::I32(bytemuck::cast_vec(words)),
            (Dtype::F32, Words::U32(words)) => Self::F32(bytemuck::cast_vec(words)),
            (Dtype::U64, Words::U64(words)) => Self::U64(words),
            (Dtype::I64, Words::U64(words)) => Self::I64(bytemuck::cast_vec(words)),
            (Dtype::F64, Words::U64(words)) => Self::F64(bytemuck::cast_vec(words)),
            (Dtype::F16, Words::U32(words)) => Self::F16(narrow(words, f16::from_bits)),
            (Dtype::Bf16, Words::U32(words)) => Self::Bf16(narrow(words, bf16::from_bits)),
            (dtype, _) => panic!("words of the wrong width for {dtype}"),
        }
    }

    /// The keys of these words, the inverse of [`to_words`](Self::to_words).
    ///
    /// # Panics
    /// If the words are not of the width that [`to_words`](Self::to_words) gives for `dtype`.
    pub fn from_words(dtype: Dtype, words: Words) -> Self {
        // Equal sizes: collect reuses the vector's memory.
        fn map<T: Element>(words: Vec<T::Word>) -> Data {
            T::wrap(words.into_iter().map(T::from_word).collect())
        }
        match (dtype, words) {
            (Dtype::U8, Words::U32(words)) => Self::U8(words.into_iter().map(|word| word as u8).collect()),
            (Dtype::U32, Words::U32(words)) => Self::U32(words),
            (Dtype::I32, Words::U32(words)) => map::<i32>(words),
            (Dtype::F32, Words::U32(words)) => map::<f32>(words),
            (Dtype::U64, Words::U64(words)) => Self::U64(words),
            (Dtype::I64, Words::U64(words)) => map::<i64>(words),
            (Dtype::F64, Words::U64(words)) => map::<f64>(words),
            (Dtype::F16, Words::U32(words)) => Self::F16(narrow(words, Element::from_word)),
            (Dtype::Bf16, Words::U32(words)) => Self::Bf16(narrow(words, Element::from_word)),
            (dtype, _) => panic!("words of the wrong width for {dtype}"),
        }
    }
}

impl Data {
    /// The places of the keys in their order, or in the opposite one, the largest first. Equal keys keep their order in
    /// both.
    ///
    /// # Panics
    /// As for [`stable_sorted`].
    pub fn sorted_places(&self, descending: bool) -> Vec<u32> {
        // The words of an order, turned over, are those of the opposite one.
        let words = match self.to_words() {
            Words::U32(words) if descending => Self::U32(words.into_iter().map(|word| !word).collect()),
            Words::U64(words) if descending => Self::U64(words.into_iter().map(|word| !word).collect()),
            Words::U32(words) => Self::U32(words),
            Words::U64(words) => Self::U64(words),
        };
        stable_sorted(&words).1
    }

    /// The keys at these places.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn at(&self, places: &[u32]) -> Self {
        for_data!(self, keys => places.iter().map(|&place| keys[place as usize]).collect::<Vec<_>>().into())
    }

    /// How many NaN stand before the first number.
    pub fn leading_nans(&self) -> usize {
        // A NaN alone is not equal to itself.
        #[allow(clippy::eq_op)]
        let count = for_data!(self, keys => keys.iter().take_while(|key| key != key).count());
        count
    }
}

/// Keys of the words' low halves.
fn narrow<T>(words: Vec<u32>, key: impl Fn(u16) -> T) -> Vec<T> {
    words.into_iter().map(|word| key(word as u16)).collect()
}

/// The keys in their order: the oracle of every sort. On all cores.
pub fn sorted(data: &Data) -> Data {
    fn sort<T: Element>(keys: &[T]) -> Data {
        let mut words: Vec<T::Word> = keys.iter().map(|&key| key.to_word()).collect();
        words.par_sort_unstable();
        T::wrap(words.into_iter().map(T::from_word).collect())
    }
    for_data!(data, keys => sort(keys))
}

/// The keys in their order, and the place in the data of each; equal keys keep their order. The oracle of stable sorts.
///
/// # Panics
/// If there are more keys than 32 bits count.
pub fn stable_sorted(data: &Data) -> (Data, Vec<u32>) {
    fn sort<T: Element>(keys: &[T]) -> (Data, Vec<u32>) {
        let n = u32::try_from(keys.len()).expect("32 bits count the keys");
        // No two pairs of key and index are equal, so every sort of the pairs is a stable sort of the keys.
        let mut pairs: Vec<(T::Word, u32)> = keys.iter().map(|&key| key.to_word()).zip(0..n).collect();
        pairs.par_sort_unstable();
        let places = pairs.iter().map(|&(_, place)| place).collect();
        (T::wrap(pairs.into_iter().map(|(word, _)| T::from_word(word)).collect()), places)
    }
    for_data!(data, keys => sort(keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The corners of every type are listed in the order of keys, but for the two longest NaNs.
    fn corners_rise<T: Element>(count: usize) {
        for pair in T::CORNERS[..count].windows(2) {
            assert!(pair[0].to_word() < pair[1].to_word(), "{pair:?}");
        }
        for &corner in T::CORNERS {
            let back = T::from_word(corner.to_word());
            assert_eq!(bytemuck::bytes_of(&back), bytemuck::bytes_of(&corner));
        }
    }

    #[test]
    fn words_keep_the_order() {
        corners_rise::<u8>(6);
        corners_rise::<u32>(6);
        corners_rise::<i32>(7);
        corners_rise::<f32>(14);
        corners_rise::<u64>(8);
        corners_rise::<i64>(9);
        corners_rise::<f64>(14);
        corners_rise::<f16>(14);
        corners_rise::<bf16>(14);
        assert_eq!(f32::from_bits(u32::MAX).to_word(), 0);
        assert_eq!(f32::from_bits(u32::MAX >> 1).to_word(), u32::MAX);
        assert_eq!(f64::from_bits(u64::MAX).to_word(), 0);
        assert_eq!(f64::from_bits(u64::MAX >> 1).to_word(), u64::MAX);
    }

    #[test]
    fn sorted_is_the_total_order() {
        let mut keys: Vec<f32> = (0..5000_u32).map(|i| f32::from_bits(i.wrapping_mul(0x9E37_79B9))).collect();
        keys.extend(f32::CORNERS);
        let result = sorted(&Data::from(keys.clone()));
        keys.sort_by(f32::total_cmp);
        assert_eq!(result, Data::from(keys));

        let mut keys: Vec<f64> = f64::CORNERS.iter().rev().copied().collect();
        let result = sorted(&Data::from(keys.clone()));
        keys.sort_by(f64::total_cmp);
        assert_eq!(result, Data::from(keys));
    }

    /// Enough keys for every core to have a part.
    const MANY: usize = (1 << 18) + 4321;

    #[test]
    fn sorted_on_many_cores_equals_one() {
        let n = MANY;
        let keys: Vec<i64> =
            (0..n as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 3) as i64 - (1 << 60)).collect();
        let mut want = keys.clone();
        want.sort_unstable();
        assert_eq!(sorted(&Data::from(keys)), Data::from(want));
    }

    #[test]
    fn equal_keys_keep_their_order() {
        let n = MANY as u32;
        let keys: Vec<f32> = (0..n).map(|i| f32::CORNERS[i.wrapping_mul(0x9E37_79B9) as usize % 7]).collect();
        let mut want: Vec<u32> = (0..n).collect();
        want.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
        let keys = Data::from(keys);
        assert_eq!(stable_sorted(&keys), (sorted(&keys), want));
        let (keys, places) = stable_sorted(&Data::from(vec![7_u64, 3, 7, 3]));
        assert_eq!((keys, places), (Data::from(vec![3_u64, 3, 7, 7]), vec![1, 3, 0, 2]));
        let nothing = Data::from(Vec::<i32>::new());
        assert_eq!(stable_sorted(&nothing), (nothing, vec![]));
    }

    #[test]
    fn words_and_back() {
        assert_eq!(Data::from(vec![-1_i32, 1]).to_bits(), Words::U32(vec![u32::MAX, 1]));
        assert_eq!(Data::from(vec![-0.0_f64]).to_bits(), Words::U64(vec![1 << 63]));
        for data in [
            Data::from(u8::CORNERS.to_vec()),
            Data::from(u32::CORNERS.to_vec()),
            Data::from(i32::CORNERS.to_vec()),
            Data::from(f32::CORNERS.to_vec()),
            Data::from(u64::CORNERS.to_vec()),
            Data::from(i64::CORNERS.to_vec()),
            Data::from(f64::CORNERS.to_vec()),
            Data::from(f16::CORNERS.to_vec()),
            Data::from(bf16::CORNERS.to_vec()),
        ] {
            assert_eq!(Data::from_words(data.dtype(), data.to_words()), data);
            assert_eq!(Data::from_bits(data.dtype(), data.to_bits()), data);
        }
    }
}
