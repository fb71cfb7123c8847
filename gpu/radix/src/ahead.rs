//! The next tile of a block, where a block moves one after the other.

use super::r7_onesweep::ITEMS;
use super::steps::Digits;

/// What a block prepares for its next tile while it moves one.
pub(crate) trait Ahead<W> {
    /// Draws the number of the next tile, in one thread.
    fn draw(&self) -> u32;
    /// Tells the block the number that the thread has drawn; a barrier follows.
    fn tell(&self, number: u32);
    /// The keys of this thread in the next tile.
    fn load(&self) -> [W; ITEMS];
}

/// There is no next tile.
pub(crate) struct Nothing;

impl<W: Digits> Ahead<W> for Nothing {
    #[inline(always)]
    fn draw(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn tell(&self, _: u32) {}

    #[inline(always)]
    fn load(&self) -> [W; ITEMS] {
        [W::LARGEST; ITEMS]
    }
}
