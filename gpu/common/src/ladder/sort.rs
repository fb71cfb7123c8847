//! Rungs that sort.

pub use super::*;
use crate::encode::{self, keys_decode, keys_encode};
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

/// The scratch memory of a rung that needs none.
///
/// # Errors
/// None.
pub fn no_scratch(_: &dyn Launcher, _: u32, _: &Options) -> Result {
    Ok(())
}

impl<W: Width, M: 'static> Runs<Keys<W>> for Words<W, M> {
    fn prepare(&self, on: &dyn Launcher, n: u32, options: Options) -> Result<Sequence<Keys<W>>> {
        let scratch = self.scratch;
        Ok(Box::new(Prepared::new(on, n, move |on| scratch(on, n, &options), self.sort)?))
    }
}

impl<W: Width, M> Ready<Keys<W>> for Prepared<M, Enqueue<Global<W>, M>> {
    fn run(&mut self, on: &dyn Launcher, keys: Keys<W>) -> Result {
        let mut memory = self.memory(on, &keys)?;
        let mapped = keys.order != keys::UNSIGNED;
        if mapped {
            W::encode_all(on, keys)?;
        }
        (self.run)(on, keys.keys, &mut memory)?;
        if mapped {
            W::decode_all(on, keys)?;
        }
        self.memory = Some(memory);
        Ok(())
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
    /// The functions for keys of this width, if the rung sorts them; by their low half, if that is asked for.
    fn of(sort: &Sort, low_half: bool) -> Option<&'static dyn Runs<Keys<Self>>>;

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
    ($($W:ty: |$sort:ident, $low_half:ident| $of:expr;)*) => {$(
        impl Width for $W {
            fn of($sort: &Sort, $low_half: bool) -> Option<&'static dyn Runs<Keys<Self>>> {
                $of
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
    u32: |sort, low_half| if low_half { sort.low_half } else { sort.narrow };
    u64: |sort, low_half| if low_half { None } else { sort.wide };
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
