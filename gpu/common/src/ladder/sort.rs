//! Rungs that sort.

pub use super::*;
use crate::encode::{self, keys_decode, keys_encode};
use crate::keys::{self, Key, Word};
use crate::order::LowHalfDown;

/// Keys to sort in place, as words.
#[derive(Clone, Copy)]
pub struct Keys<W> {
    /// The keys.
    pub keys: Global<W>,
    /// The meaning of the words, see [`crate::keys`].
    pub order: u32,
}

/// Keys to sort in place, each with a value of 32 bits that moves with its key.
#[derive(Clone, Copy)]
pub struct Pairs {
    /// The keys.
    pub keys: Global<u32>,
    /// A value for each key.
    pub values: Global<u32>,
    /// The meaning of the words of the keys, see [`crate::keys`].
    pub order: u32,
}

impl<W: Scalar> Lengths for Keys<W> {
    fn check(&self, n: u32) -> Result {
        expect_len("keys", self.keys, n)
    }
}

impl Lengths for Pairs {
    fn check(&self, n: u32) -> Result {
        expect_len("keys", self.keys, n)?;
        expect_len("values", self.values, n)
    }
}

/// A rung that sorts words of one width.
pub trait Sorts<W>: Sync {
    /// The launches that sort `n` keys in place; takes their scratch memory.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] beyond a limit of the rung; [`Failed::Machine`] if there is no memory.
    fn launches(&self, on: &dyn Launcher, n: u32, options: &Options) -> Result<Launches<Keys<W>>>;
}

/// A rung that sorts keys of 32 bits, each with a value of 32 bits. Equal keys keep their order.
pub trait SortsPairs: Sync {
    /// The launches that sort `n` keys in place and move the value of each key with it; takes their scratch memory.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Pairs>>;
}

/// The kinds of keys that a rung sorts.
#[derive(Clone, Copy)]
pub struct Sort {
    /// Keys of 32 bits, if the rung sorts them without values.
    pub narrow: Option<&'static dyn Sorts<u32>>,
    /// Keys of 64 bits, if the rung sorts them.
    pub wide: Option<&'static dyn Sorts<u64>>,
    /// Keys of 32 bits with values of 32 bits, if the rung sorts them.
    pub pairs: Option<&'static dyn SortsPairs>,
    /// Keys of 32 bits by a weak order, if the rung takes any order.
    pub low_half: Option<ByLowHalf>,
}

/// A sort of keys of 32 bits by [`LowHalfDown`](crate::order::LowHalfDown), the weak order that is measured.
#[derive(Clone, Copy)]
pub struct ByLowHalf {
    /// The launches for a number of keys.
    pub launches: LowHalf<u32>,
    /// Whether equivalent keys keep their order.
    pub stable: bool,
}

impl Sort {
    /// Keys of 32 and of 64 bits, without values.
    pub const fn both<R: Sorts<u32> + Sorts<u64>>(rung: &'static R) -> Self {
        Self { narrow: Some(rung), wide: Some(rung), pairs: None, low_half: None }
    }

    /// Keys of 32 bits, without values.
    pub const fn narrow<R: Sorts<u32>>(rung: &'static R) -> Self {
        Self { narrow: Some(rung), wide: None, pairs: None, low_half: None }
    }

    /// Pairs alone.
    pub const fn pairs<R: SortsPairs>(rung: &'static R) -> Self {
        Self { narrow: None, wide: None, pairs: Some(rung), low_half: None }
    }

    /// The same kinds, and pairs.
    pub const fn with_pairs<R: SortsPairs>(self, rung: &'static R) -> Self {
        Self { pairs: Some(rung), ..self }
    }

    /// The same kinds, and keys by a weak order.
    pub const fn by_low_half(self, sort: ByLowHalf) -> Self {
        Self { low_half: Some(sort), ..self }
    }
}

/// The launches that sort a number of keys of type `W` by [`LowHalfDown`].
pub type LowHalf<W> = fn(&dyn Launcher, u32) -> Result<Launches<(Global<W>, LowHalfDown)>>;

/// A width of keys: `u32` or `u64`.
pub trait Width: Word + Key {
    /// The launches for keys of this width, if the rung sorts them.
    fn of(sort: &Sort) -> Option<&'static dyn Sorts<Self>>;

    /// The sort of keys of this width by a weak order, made of one of words of 32 bits, if the rung has one.
    fn by_low_half(sort: &Sort) -> Option<LowHalf<Self>>;

    /// Maps each key to a word of the same order, in place.
    ///
    /// # Errors
    /// Those of a launch.
    fn encode_all(on: &dyn Launcher, keys: Keys<Self>) -> Result;

    /// The inverse of [`Width::encode_all`].
    ///
    /// # Errors
    /// Those of a launch.
    fn decode_all(on: &dyn Launcher, keys: Keys<Self>) -> Result;
}

macro_rules! widths {
    ($($W:ty: |$sort:ident| $of:expr, |$with:pat_param| $low_half:expr;)*) => {$(
        impl Width for $W {
            fn of($sort: &Sort) -> Option<&'static dyn Sorts<Self>> {
                $of
            }

            fn by_low_half($with: &Sort) -> Option<LowHalf<Self>> {
                $low_half
            }

            fn encode_all(on: &dyn Launcher, Keys { keys, order }: Keys<Self>) -> Result {
                on.launch(keys_encode::<$W>::default(), encode::geometry(keys.len()), (keys, order))
            }

            fn decode_all(on: &dyn Launcher, Keys { keys, order }: Keys<Self>) -> Result {
                on.launch(keys_decode::<$W>::default(), encode::geometry(keys.len()), (keys, order))
            }
        }
    )*};
}
widths! {
    u32: |sort| sort.narrow, |sort| sort.low_half.map(|sort| sort.launches);
    u64: |sort| sort.wide, |_| None;
}

impl Entry<Sort> {
    /// The rung ready to sort `n` keys.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] if the rung cannot sort such keys; [`Failed::Machine`] if there is no memory.
    pub fn sorter<W: Width>(&self, on: &dyn Launcher, n: u32, options: Options) -> Result<Sequence<Keys<W>>> {
        let (name, bits) = (self.rung.name, 8 * size_of::<W>());
        let Some(sorts) = W::of(&self.run) else {
            return Err(Failed::Unsuitable(format!("{name} does not sort keys of {bits} bits without values")));
        };
        self.rung.check(&Ask { options, ..Ask::of::<W>(on, n) })?;
        Sequence::new(on, n, move |on| sorts.launches(on, n, &options))
    }

    /// The rung ready to sort `n` keys of 32 bits by [`LowHalfDown`].
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] if the rung sorts by the order of words alone; [`Failed::Machine`] if there is no memory.
    pub fn low_half_sorter<W: Width>(&self, on: &dyn Launcher, n: u32) -> Result<Sequence<Keys<W>>> {
        let Some(launches) = W::by_low_half(&self.run) else {
            return Err(Failed::Unsuitable(format!("{} does not sort such keys by their low half", self.rung.name)));
        };
        self.rung.check(&Ask::of::<W>(on, n))?;
        Sequence::new(on, n, move |on| {
            let mut sort = launches(on, n)?;
            Ok(Box::new(move |on, keys: Keys<W>| sort(on, (keys.keys, LowHalfDown))))
        })
    }

    /// The rung ready to sort `n` keys with values.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] if the rung sorts keys alone; [`Failed::Machine`] if there is no memory.
    pub fn pair_sorter(&self, on: &dyn Launcher, n: u32) -> Result<Sequence<Pairs>> {
        let Some(sorts) = self.run.pairs else {
            return Err(Failed::Unsuitable(format!("{} sorts keys without values", self.rung.name)));
        };
        self.rung.check(&Ask::of::<u32>(on, n))?;
        Sequence::new(on, n, move |on| sorts.launches(on, n))
    }
}

/// Launches that sort keys of any order, from launches that sort unsigned words: keys are mapped to such words, sorted,
/// and mapped back. For keys that are not unsigned that is two more launches than the heads of the rungs count.
pub fn unsigned<W: Width>(mut sort: impl FnMut(&dyn Launcher, Global<W>) -> Result + 'static) -> Launches<Keys<W>> {
    Box::new(move |on, keys| {
        if keys.order == keys::UNSIGNED {
            return sort(on, keys.keys);
        }
        W::encode_all(on, keys)?;
        sort(on, keys.keys)?;
        W::decode_all(on, keys)
    })
}
