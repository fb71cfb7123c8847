//! The launches of one sort, and the memory that they need beside the keys.

use super::*;
use crate::keys::UNSIGNED;
use crate::launcher::{Launcher, Shape};
use crate::radix::steps::Digits;
use simt::Global;

/// What is to be launched for `n` keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Keys.
    pub n: u32,
    /// Bytes of a key.
    pub key_bytes: u32,
    /// Blocks of the histogram.
    pub histogram_blocks: u32,
    /// Tiles of a pass.
    pub tiles: u32,
}

impl Plan {
    /// For `n` keys of type `W` on a device with so many multiprocessors.
    pub const fn new<W: Digits>(n: u32, multiprocessors: u32) -> Self {
        Self {
            n,
            key_bytes: size_of::<W>() as u32,
            histogram_blocks: histogram_blocks(n, multiprocessors),
            tiles: n.div_ceil(pass_tile::<W>()),
        }
    }

    /// Epochs that one sort uses up, one a pass.
    pub const fn epochs(&self) -> u32 {
        passes(self.key_bytes)
    }

    /// 32-bit words of the workspace. The host zeroes them once, when it makes it: the first `passes · 256` are the
    /// histogram, which each sort leaves zero, and the last are what tiles publish, which carries an epoch.
    pub const fn workspace_words(&self) -> u32 {
        self.first_state() + self.tiles * DIGITS * 2
    }

    /// Histogram, starts, tickets, then the states.
    const fn first_state(&self) -> u32 {
        (2 * passes(self.key_bytes) * DIGITS + passes(self.key_bytes)).next_multiple_of(32)
    }
}

/// The memory of one sort: keys (and values) are sorted in place, by way of as many words of any content.
#[derive(Clone, Copy)]
pub struct Memory<W> {
    /// The keys.
    pub keys: Global<W>,
    /// As many words.
    pub scratch: Global<W>,
    /// A value for each key; empty if there are none.
    pub values: Global<u32>,
    /// As many words as there are values.
    pub values_scratch: Global<u32>,
    /// See [`Plan::workspace_words`]. It serves one sort after the other; two sorts at once need two.
    pub workspace: Global<u32>,
}

/// Sorts keys of one word type.
pub trait Sort: Digits {
    /// Sorts keys, and values with them if there are any (32-bit keys only). `order`: see [`crate::keys`]. `epoch`:
    /// the first of [`Plan::epochs`] numbers from 1 to [`LAST_EPOCH`] that the workspace has not seen.
    ///
    /// # Errors
    /// Whatever a launch fails with.
    fn sort<L: Launcher>(
        launcher: &mut L,
        plan: &Plan,
        order: u32,
        memory: Memory<Self>,
        epoch: u32,
    ) -> Result<(), L::Error>;
}

macro_rules! sorts {
    ($word:ty, $($values:literal => $payload:ident),*) => {
        impl Sort for $word {
            fn sort<L: Launcher>(
                launcher: &mut L,
                plan: &Plan,
                order: u32,
                memory: Memory<Self>,
                epoch: u32,
            ) -> Result<(), L::Error> {
                if plan.n == 0 {
                    return Ok(());
                }
                let passes = passes(plan.key_bytes);
                let Memory { keys, scratch, values, values_scratch, workspace } = memory;
                let histogram = workspace.slice(0, passes * DIGITS);
                let starts = workspace.slice(passes * DIGITS, passes * DIGITS);
                let tickets = workspace.slice(2 * passes * DIGITS, passes);
                let states = workspace.slice(plan.first_state(), plan.tiles * DIGITS * 2).cast::<u64>();

                let shape = Shape::new(plan.histogram_blocks, HISTOGRAM_THREADS).shared(HISTOGRAM_SHARED);
                let kernel = radix_onesweep_histogram::<$word>::default();
                launcher.launch(kernel, shape.overlapping(), (keys, order, histogram))?;
                let shape = Shape::new(passes, DIGITS).overlapping();
                launcher.launch(radix_onesweep_starts, shape, (histogram, starts, tickets))?;
                let shape = Shape::new(plan.tiles, PASS_THREADS).shared(PASS_SHARED).overlapping();
                for pass in 0..passes {
                    // An even number of passes ends where it began.
                    let (from, to) = if pass % 2 == 0 { (keys, scratch) } else { (scratch, keys) };
                    let (values_in, values_out) =
                        if pass % 2 == 0 { (values, values_scratch) } else { (values_scratch, values) };
                    let encode = if pass == 0 { order } else { UNSIGNED };
                    let decode = if pass == passes - 1 { order } else { UNSIGNED };
                    let (starts, ticket) = (starts.slice(pass * DIGITS, DIGITS), tickets.slice(pass, 1));
                    let args = (
                        from, to, values_in, values_out, pass * BITS, encode, decode, starts, ticket, states,
                        epoch + pass,
                    );
                    match !values.is_empty() {
                        $($values => launcher.launch(radix_onesweep_pass::<$word, $payload>::default(), shape, args)?,)*
                        #[allow(unreachable_patterns)]
                        _ => unreachable!("values go with keys of 32 bits only"),
                    }
                }
                Ok(())
            }
        }
    };
}
sorts!(u32, false => KeysOnly, true => Pairs);
sorts!(u64, false => KeysOnly);
