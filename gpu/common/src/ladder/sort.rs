//! Rungs that sort.

pub use super::*;
use crate::encode::{geometry, keys_decode, keys_encode};
use crate::keys::{self, Key, Word};

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

/// The functions of a rung that sorts unsigned words, as a row of data. Other keys are mapped to such words, sorted,
/// and mapped back: that is two more launches than the heads of the rungs count.
pub struct Words<W, M = ()> {
    /// Takes the scratch memory for a number of keys.
    pub scratch: fn(&dyn Launcher, u32, &Options) -> Result<M>,
    /// Enqueues the launches that sort `keys` in place. It allocates nothing.
    pub sort: fn(&dyn Launcher, Global<W>, &mut M) -> Result,
}

impl<W: Width, M: 'static> Runs<Keys<W>> for Words<W, M> {
    fn prepare(&self, on: &dyn Launcher, n: u32, options: Options) -> Result<Sequence<Keys<W>>> {
        let (scratch, sort) = (self.scratch, self.sort);
        let scratch = move |on: &dyn Launcher| Ok((scratch(on, n, &options)?, sort));
        ready(on, n, scratch, |on, Keys { keys, order }: Keys<W>, (memory, sort)| {
            if order == keys::UNSIGNED {
                return sort(on, keys, memory);
            }
            on.launch(W::Encode::default(), geometry(keys.len()), (keys, order))?;
            sort(on, keys, memory)?;
            on.launch(W::Decode::default(), geometry(keys.len()), (keys, order))
        })
    }
}

/// The kinds of keys that a rung sorts, and the functions that sort them.
#[derive(Clone, Copy)]
pub struct Sort {
    /// Keys of 32 bits, if the rung sorts them without values.
    pub narrow: Option<&'static dyn Runs<Keys<u32>>>,
    /// Keys of 64 bits, if the rung sorts them.
    pub wide: Option<&'static dyn Runs<Keys<u64>>>,
    /// Keys of 32 bits with values of 32 bits, if the rung sorts them. Equal keys keep their order.
    pub pairs: Option<&'static dyn Runs<Pairs>>,
    /// Keys of 32 bits by [`LowHalfDown`](crate::order::LowHalfDown), the weak order that is measured, if the rung
    /// sorts stably by any order. These functions do not look at [`Keys::order`].
    pub low_half: Option<&'static dyn Runs<Keys<u32>>>,
}

impl Sort {
    /// Keys of 32 and of 64 bits, without values.
    pub const fn both(narrow: &'static dyn Runs<Keys<u32>>, wide: &'static dyn Runs<Keys<u64>>) -> Self {
        Self { narrow: Some(narrow), wide: Some(wide), pairs: None, low_half: None }
    }

    /// Keys of 32 bits, without values.
    pub const fn narrow(narrow: &'static dyn Runs<Keys<u32>>) -> Self {
        Self { narrow: Some(narrow), wide: None, pairs: None, low_half: None }
    }

    /// Pairs alone.
    pub const fn pairs(pairs: &'static dyn Runs<Pairs>) -> Self {
        Self { narrow: None, wide: None, pairs: Some(pairs), low_half: None }
    }
}

/// A width of keys: `u32` or `u64`.
pub trait Width: Word + Key {
    /// The kernel that maps each key to a word of the same order, in place; it takes the keys and their order.
    type Encode: Kernel<Args = (Global<Self>, u32)> + Default;
    /// The inverse of [`Width::Encode`].
    type Decode: Kernel<Args = (Global<Self>, u32)> + Default;

    /// The functions for keys of this width, if the rung sorts them; by their low half, if that is asked for.
    fn of(sort: &Sort, low_half: bool) -> Option<&'static dyn Runs<Keys<Self>>>;
}

impl Width for u32 {
    type Encode = keys_encode<u32>;
    type Decode = keys_decode<u32>;

    fn of(sort: &Sort, low_half: bool) -> Option<&'static dyn Runs<Keys<Self>>> {
        if low_half { sort.low_half } else { sort.narrow }
    }
}

impl Width for u64 {
    type Encode = keys_encode<u64>;
    type Decode = keys_decode<u64>;

    fn of(sort: &Sort, low_half: bool) -> Option<&'static dyn Runs<Keys<Self>>> {
        if low_half { None } else { sort.wide }
    }
}

impl Entry<Sort> {
    /// The rung ready to sort `n` keys.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] if the rung cannot sort such keys; [`Failed::Machine`] if there is no memory.
    pub fn sorter<W: Width>(&self, on: &dyn Launcher, n: u32, options: Options) -> Result<Sequence<Keys<W>>> {
        let (name, bits) = (self.rung.name, 8 * size_of::<W>());
        let Some(sorts) = W::of(&self.run, false) else {
            return Err(Failed::Unsuitable(format!("{name} does not sort keys of {bits} bits without values")));
        };
        self.rung.check(&Ask { options, ..Ask::of::<W>(on, n) })?;
        sorts.prepare(on, n, options)
    }

    /// The rung ready to sort `n` keys of 32 bits by [`LowHalfDown`](crate::order::LowHalfDown).
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] if the rung sorts by the order of words alone; [`Failed::Machine`] if there is no memory.
    pub fn low_half_sorter<W: Width>(&self, on: &dyn Launcher, n: u32) -> Result<Sequence<Keys<W>>> {
        let Some(sorts) = W::of(&self.run, true) else {
            return Err(Failed::Unsuitable(format!("{} does not sort such keys by their low half", self.rung.name)));
        };
        self.rung.check(&Ask::of::<W>(on, n))?;
        sorts.prepare(on, n, Options::default())
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
        sorts.prepare(on, n, Options::default())
    }
}
