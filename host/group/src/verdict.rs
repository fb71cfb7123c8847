//! Whether what a group computed is right, as functions of what was got and what was wanted alone.

use super::vec::Part;
use super::{ShardedVec, Total};
use rungs::data::{Data, Difference, Element, Words};
use rungs::error::Result;
use rungs::keys::{KeyWord, order_of};

/// What a verdict about sorted keys needs to know of a rank's share.
#[derive(Clone, Debug, PartialEq)]
pub struct Share<T> {
    /// Keys.
    pub len: u64,
    /// Keys that are less than the one before them.
    pub descents: u64,
    /// The keys' checksum, whatever their order.
    pub checksum: u64,
    /// The first key and the last, if there are any.
    pub ends: Option<[T; 2]>,
}

impl<T: Total> Share<T> {
    /// The shares of all ranks, which look at their own on their devices. All ranks call it.
    ///
    /// # Errors
    /// As for [`rungs::verify::keys`]; [`Error::Group`](rungs::Error::Group) if another rank failed or is late.
    pub fn all(vec: &ShardedVec<'_, T>) -> Result<Vec<Self>> {
        let found = T::Word::look(&Part::of(vec), order_of(T::DTYPE), false)?;
        let ends = match vec.len() {
            0 => vec![],
            len => [vec.read(0, 1)?, vec.read(len - 1, 1)?].concat(),
        };
        let numbers: Vec<[u64; 3]> =
            vec.group.all_gather(&[[vec.len() as u64, found.descents, found.checksum]])?.concat();
        let ends = vec.group.all_gather(&ends)?;
        let share = |([len, descents, checksum], ends): ([u64; 3], Vec<T>)| Self {
            len,
            descents,
            checksum,
            ends: ends.try_into().ok(),
        };
        Ok(numbers.into_iter().zip(ends).map(share).collect())
    }
}

/// What is wrong with sorted keys, by their shares and those of the input: another number of keys on a rank, a descent
/// in a share or between two, or other keys. The index is that of the share or the key.
pub fn sort<T: Element>(got: &[Share<T>], want: &[Share<T>]) -> Option<Difference> {
    let lengths = |shares: &[Share<T>]| shares.iter().map(|share| share.len).collect::<Vec<_>>();
    if let Some(wrong) = elements(&lengths(got), &lengths(want)) {
        return Some(Difference { left: format!("a share of {}", wrong.left), ..wrong });
    }
    let (mut index, mut before) = (0, None::<T>);
    for (rank, share) in got.iter().enumerate() {
        if let Some([first, last]) = share.ends {
            if let Some(before) = before.filter(|before| before.to_word() > first.to_word()) {
                let left = format!("{} before {}", before.show(), first.show());
                return Some(Difference { index, left, right: "order".into() });
            }
            before = Some(last);
        }
        if share.descents > 0 {
            let left = format!("{} descents in the share of rank {rank}", share.descents);
            return Some(Difference { index, left, right: "none".into() });
        }
        index += share.len as usize;
    }
    let sum = |shares: &[Share<T>]| shares.iter().fold(0, |sum: u64, share| sum.wrapping_add(share.checksum));
    let [left, right] = [sum(got), sum(want)].map(|sum| format!("checksum {sum:x}"));
    (left != right).then_some(Difference { index: 0, left, right })
}

/// What a verdict about keys with values needs to know of a rank's share. Keys and values are words in the same order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairShare {
    /// Pairs.
    pub len: u64,
    /// The pairs' checksum, whatever their order.
    pub checksum: u64,
    /// Pairs whose key equals the one before, and whose value is not larger.
    pub unstable: u64,
    /// The first pair and the last, if there are any.
    pub ends: Option<[(u64, u64); 2]>,
}

/// A number that looks random, of a pair: the last steps of SplitMix64.
fn mixed(key: u64, value: u64) -> u64 {
    let word = key.rotate_left(32) ^ value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

impl PairShare {
    /// Pairs that are looked at together.
    const PIECE: usize = 1 << 22;

    /// Adds the pairs that follow. Of no generic type, so that it is compiled in this package, which is optimised.
    fn add(&mut self, keys: &Data, values: &Data) {
        let words = |data: &Data| match data.to_words() {
            Words::U32(words) => words.into_iter().map(u64::from).collect(),
            Words::U64(words) => words,
        };
        let mut before = self.ends.map(|[_, last]| last);
        for (key, value) in words(keys).into_iter().zip(words(values)) {
            self.len += 1;
            self.checksum = self.checksum.wrapping_add(mixed(key, value));
            self.unstable += before.is_some_and(|(other, least)| other == key && least >= value) as u64;
            let first = self.ends.map_or((key, value), |[first, _]| first);
            (self.ends, before) = (Some([first, (key, value)]), Some((key, value)));
        }
    }

    /// The shares of all ranks, whose hosts look at their own. All ranks call it.
    ///
    /// # Errors
    /// [`Error::Cuda`](rungs::Error::Cuda) if a copy fails; [`Error::Group`](rungs::Error::Group) if another rank
    /// failed or is late.
    pub fn all<T: Total, V: Total>(keys: &ShardedVec<'_, T>, values: &ShardedVec<'_, V>) -> Result<Vec<Self>> {
        let (mut own, n) = (Self::default(), keys.len());
        for start in (0..n).step_by(Self::PIECE) {
            let len = Self::PIECE.min(n - start);
            own.add(&keys.read(start, len)?.into(), &values.read(start, len)?.into());
        }
        let numbers = keys.group.all_gather(&[[own.len, own.checksum, own.unstable]])?.concat();
        let ends = own.ends.map_or(vec![], |ends| ends.map(|(key, value)| [key, value]).to_vec());
        let ends = keys.group.all_gather(&ends)?;
        let share = |([len, checksum, unstable], ends): ([u64; 3], Vec<[u64; 2]>)| Self {
            len,
            checksum,
            unstable,
            ends: ends.into_iter().map(|[key, value]| (key, value)).collect::<Vec<_>>().try_into().ok(),
        };
        Ok(numbers.into_iter().zip(ends).map(share).collect())
    }
}

/// What is wrong with keys and values that were moved together, by their shares and those of the input: other pairs,
/// or, of values that are places, another order of equal keys than before. The index is that of the share.
pub fn pairs(got: &[PairShare], want: &[PairShare], are_places: bool) -> Option<Difference> {
    let sum = |shares: &[PairShare]| shares.iter().fold(0, |sum: u64, share| sum.wrapping_add(share.checksum));
    let [left, right] = [sum(got), sum(want)].map(|sum| format!("checksum {sum:x} of pairs"));
    if left != right {
        return Some(Difference { index: 0, left, right });
    }
    let (mut index, mut before) = (0, None::<(u64, u64)>);
    for (rank, share) in got.iter().enumerate().filter(|_| are_places) {
        let Some([first, last]) = share.ends else { continue };
        let across = before.is_some_and(|(key, place)| key == first.0 && place >= first.1) as u64;
        if share.unstable + across > 0 {
            let left = format!("{} equal keys of rank {rank} behind later ones", share.unstable + across);
            return Some(Difference { index, left, right: "none".into() });
        }
        (before, index) = (Some(last), index + share.len as usize);
    }
    None
}

/// The first element that differs, or that only one of them has. Zeros are equal whatever their sign, and NaNs that
/// have the same bits.
pub fn elements<T: Element>(got: &[T], want: &[T]) -> Option<Difference> {
    // The usual case, by bytes: for each type the rest is compiled where it is called, perhaps without optimisation.
    if bytemuck::cast_slice::<T, u8>(got) == bytemuck::cast_slice::<T, u8>(want) {
        return None;
    }
    let same = |(got, want): (&T, &T)| got == want || got.to_word() == want.to_word();
    let common = got.iter().zip(want).take_while(|pair| same(*pair)).count();
    let show = |of: &[T]| of.get(common).map_or("nothing".into(), |element| element.show());
    (common < got.len().max(want.len())).then(|| Difference { index: common, left: show(got), right: show(want) })
}

/// What is wrong with a result of `len` elements, which `first` compares: it gives the place of the first wrong one,
/// and what it should be.
pub fn compared<T: Element>(
    got: &[T],
    len: usize,
    first: impl FnOnce(&[T]) -> Option<(usize, f64)>,
) -> Option<Difference> {
    if got.len() != len {
        let [left, right] = [got.len(), len].map(|len| format!("{len} elements"));
        return Some(Difference { index: got.len().min(len), left, right });
    }
    first(got).map(|(index, want)| Difference { index, left: got[index].show(), right: format!("{want:?}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(keys: &[i32]) -> Share<i32> {
        Share {
            len: keys.len() as u64,
            descents: keys.windows(2).filter(|pair| pair[0] > pair[1]).count() as u64,
            checksum: keys.iter().fold(0, |sum: u64, key| sum.wrapping_add((*key as u64 + 1).pow(2))),
            ends: keys.first().zip(keys.last()).map(|(first, last)| [*first, *last]),
        }
    }

    #[test]
    fn a_wrong_sort_is_seen() {
        let of = |shares: [&[i32]; 4]| shares.map(share);
        let said = |got: [&[i32]; 4]| {
            let wrong = sort(&of(got), &of([&[9, 0], &[], &[2, 4], &[7]]));
            wrong.map(|wrong| (wrong.index, format!("{}, not {}", wrong.left, wrong.right)))
        };
        assert_eq!(said([&[0, 2], &[], &[4, 7], &[9]]), None);
        let wrong = |got, index, what: &str| assert_eq!(said(got), Some((index, what.into())));
        wrong([&[0, 2], &[], &[7, 4], &[9]], 2, "1 descents in the share of rank 2, not none");
        wrong([&[0, 7], &[], &[2, 4], &[9]], 2, "7 before 2, not order");
        wrong([&[0, 2], &[], &[4, 9], &[7]], 4, "9 before 7, not order");
        wrong([&[0, 2], &[], &[4, 4], &[9]], 0, "checksum a0, not checksum c7");
        wrong([&[0, 2], &[4], &[7], &[9]], 1, "a share of 1, not 0");
        wrong([&[0, 2], &[], &[4, 7], &[]], 3, "a share of 0, not 1");
        assert_eq!(sort(&of([&[0], &[], &[], &[]])[..3], &of([&[0], &[], &[], &[]])).unwrap().right, "0");
        // The order of floats tells zeros apart.
        let zeros = |ends| Share { len: 2, descents: 0, checksum: 0, ends: Some(ends) };
        let [below, above] = [[-1.0, -0.0], [0.0, 1.0]].map(zeros);
        assert_eq!(sort(&[below.clone(), above.clone()], &[above.clone(), below.clone()]), None);
        assert!(sort(&[zeros([-1.0, 0.0]), zeros([-0.0, 1.0])], &[above, below]).is_some());
    }

    #[test]
    fn wrong_pairs_are_seen() {
        let of = |shares: [&[(u64, u32)]; 3]| {
            shares.map(|pairs| {
                let (keys, values): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
                let mut share = PairShare::default();
                // Piece by piece.
                for (keys, values) in keys.chunks(1).zip(values.chunks(1)) {
                    share.add(&keys.to_vec().into(), &values.to_vec().into());
                }
                share
            })
        };
        let input = of([&[(7, 0), (3, 1)], &[], &[(7, 2), (3, 3)]]);
        let said = |got, are_places| pairs(&of(got), &input, are_places).map(|it| (it.index, it.left));
        let behind = |rank, index| Some((index, format!("1 equal keys of rank {rank} behind later ones")));
        assert_eq!(said([&[(3, 1), (3, 3)], &[], &[(7, 0), (7, 2)]], true), None);
        // In a share, and across an empty one.
        assert_eq!(said([&[(3, 3), (3, 1)], &[], &[(7, 0), (7, 2)]], true), behind(0, 0));
        assert_eq!(said([&[(3, 1)], &[], &[(3, 3), (7, 2), (7, 0)]], true), behind(2, 1));
        assert_eq!(said([&[(3, 3)], &[], &[(3, 1), (7, 0), (7, 2)]], true), behind(2, 1));
        // Values of any kind may be in any order, but have to stay with their keys.
        assert_eq!(said([&[(3, 3), (3, 1)], &[], &[(7, 0), (7, 2)]], false), None);
        let wrong = |got| said([got, &[], &[]], false).is_some_and(|(_, left)| left.ends_with("of pairs"));
        assert!(wrong(&[(3, 1), (3, 3), (7, 2), (7, 2)]) && wrong(&[(3, 0), (3, 3), (7, 1), (7, 2)]));
    }

    #[test]
    fn a_wrong_element_and_a_missing_one_are_seen() {
        let wrong = |got: &[u64], want: &[u64]| elements(got, want).map(|it| (it.index, it.left, it.right));
        let said = |index, left: &str, right: &str| Some((index, left.to_string(), right.to_string()));
        assert_eq!(wrong(&[], &[]), None);
        assert_eq!(wrong(&[1, 2, 3], &[1, 2, 3]), None);
        // A total, a bin, an element of a scan.
        assert_eq!(wrong(&[6], &[7]), said(0, "6", "7"));
        assert_eq!(wrong(&[1, 2, 4], &[1, 2, 3]), said(2, "4", "3"));
        assert_eq!(wrong(&[1, 2], &[1, 2, 3]), said(2, "nothing", "3"));
        assert_eq!(wrong(&[1, 2, 3], &[1, 2]), said(2, "3", "nothing"));
        assert_eq!(elements(&[0.0, f32::NAN], &[-0.0, f32::NAN]), None);
        assert!(elements(&[f32::NAN], &[1.0]).is_some() && elements(&[1.0], &[f32::NAN]).is_some());
    }

    #[test]
    fn a_result_of_another_length_is_not_compared() {
        let short = compared(&[1.0_f32], 2, |_| panic!("it has another length"));
        assert_eq!(short.unwrap().right, "2 elements");
        let first = |got: &[f32]| (got[1] != 4.0).then_some((1, 4.0));
        assert_eq!(compared(&[1.0, 4.0], 2, first), None);
        let wrong = compared(&[1.0, 5.0], 2, first).unwrap();
        assert_eq!((wrong.index, &*wrong.left, &*wrong.right), (1, "5.0", "4.0"));
    }
}
