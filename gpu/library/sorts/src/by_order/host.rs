//! The passes of a merge sort, with their memory.

use super::passes::{Pass, merge_restore, restore_geometry};
use rungs_common::ladder::*;
use std::vec::Vec;

/// The passes over `n` keys after tiles of `tile` keys are sorted. `levels`: for each pass the logarithm of its ways.
/// `part` gives the keys of a block for a number of ways.
pub fn passes_of(n: u32, tile: u32, levels: &[u32], part: impl Fn(u32) -> u32) -> Vec<Pass> {
    let mut run = u64::from(tile);
    let pass = |&level: &u32| {
        let ways = 1 << level;
        let pass = Pass::new(n, run, ways, part(ways));
        run *= u64::from(ways);
        pass
    };
    levels.iter().map(pass).collect()
}

/// The memory of a merge sort: as much as the keys, and a word that tells whether the order is one.
pub struct Buffers<K> {
    other: Scratch<K>,
    state: Scratch<u32>,
    restores: bool,
}

impl<K: Scalar> Buffers<K> {
    /// Memory to sort `n` keys. `restores`: whether the order may turn out to be none.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn new(on: &dyn Launcher, n: u32, restores: bool) -> Result<Self> {
        Ok(Self { other: on.scratch(n)?, state: on.scratch(1)?, restores })
    }

    /// Launches all passes, so that the last one writes to `keys`. `tiles` launches the sort of the tiles from one
    /// array to another, which may be the same; `merge` the pass of a number.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort(
        &self,
        on: &dyn Launcher,
        keys: Global<K>,
        passes: &[Pass],
        tiles: impl Fn(&dyn Launcher, Global<K>, Global<K>, Global<u32>) -> Result,
        merge: impl Fn(&dyn Launcher, u32, &Pass, Global<K>, Global<K>, Global<u32>) -> Result,
    ) -> Result {
        if keys.is_empty() {
            return Ok(());
        }
        let (state, odd) = (self.state.view(), passes.len() % 2);
        let arrays = [keys, self.other.view()];
        tiles(on, keys, arrays[odd], state)?;
        for (number, pass) in passes.iter().enumerate() {
            let from = (odd + number) % 2;
            merge(on, number as u32, pass, arrays[from], arrays[1 - from], state)?;
        }
        if self.restores && !passes.is_empty() {
            restore(on, arrays, state, odd as u32)?;
        }
        Ok(())
    }
}

/// Launches [`merge_restore`] for keys of any size.
fn restore<K: Scalar>(on: &dyn Launcher, [keys, other]: [Global<K>; 2], state: Global<u32>, odd: u32) -> Result {
    fn of<W: Scalar, K: Scalar>(
        on: &dyn Launcher,
        [keys, other]: [Global<K>; 2],
        state: Global<u32>,
        odd: u32,
    ) -> Result
    where
        merge_restore<W>: Kernel<Args = (Global<W>, Global<W>, Global<u32>, u32)>,
    {
        let geometry = restore_geometry(keys.len()).overlapping();
        on.launch(merge_restore::<W>::default(), geometry, (keys.cast(), other.cast(), state, odd))
    }
    match size_of::<K>() {
        1 => of::<u8, K>(on, [keys, other], state, odd),
        2 => of::<u16, K>(on, [keys, other], state, odd),
        4 => of::<u32, K>(on, [keys, other], state, odd),
        _ => of::<u64, K>(on, [keys, other], state, odd),
    }
}
