//! Where a segment lies.

use simt::Global;

/// Begin and length of segment `number` of a view of `n` elements; nothing beyond the last segment.
#[simt::device]
#[track_caller]
pub fn segment(offsets: Global<u32>, n: u32, number: u32) -> (u32, u32) {
    // `number + 1` does not wrap: it is at most the index of an element.
    if number >= offsets.len().saturating_sub(1) {
        return (0, 0);
    }
    let (begin, end) = (offsets.get(number).min(n), offsets.get(number + 1).min(n));
    (begin, end.saturating_sub(begin))
}
