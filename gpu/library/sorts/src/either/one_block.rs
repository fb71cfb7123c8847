//! The launch for keys that fit a block, which other sorts have too.

use super::network::network_shared;
use super::{THREADS, radix_either_one_block};
use crate::msd::Key;
use crate::msd::in_block_shared;
use rungs_common::ladder::sort::{Keys, Width};
use rungs_common::ladder::*;

/// Bytes of dynamic shared memory of the sort in one block, whichever way it goes.
const fn one_block_shared<W>() -> u32 {
    let (spread, network) = (in_block_shared::<W>(THREADS), network_shared::<W>());
    if spread > network { spread } else { network }
}

/// Sorts keys that fit a block.
pub(crate) fn one_block<W: Width + Key>(on: &dyn Launcher, Keys { keys, order }: Keys<W>) -> Result
where
    radix_either_one_block<W>: Kernel<Args = (Global<W>, u32)>,
{
    expect_aligned("keys", keys)?;
    if keys.is_empty() {
        return Ok(());
    }
    let geometry = Geometry::linear(1, THREADS).shared(one_block_shared::<W>()).overlapping();
    on.launch(radix_either_one_block::<W>::default(), geometry, (keys, order))
}
