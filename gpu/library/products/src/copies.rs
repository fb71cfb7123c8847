//! Asynchronous copies of parts of a matrix to shared memory.

use super::{Element, Matrix};
use simt::{Shared, async_copy, unroll};

/// Starts to copy a rectangle of a matrix, each side given by the first row or column and how many; `at` gives the
/// place of a row's pack. A thread is given by its number, and how many there are.
#[simt::device]
pub(super) fn copy_rectangle<T: Element>(
    from: Matrix<T>,
    (row, rows): (u32, u32),
    (column, columns): (u32, u32),
    has_packs: bool,
    to: Shared<T>,
    (thread, block): (u32, u32),
    at: impl Fn(u32, u32) -> u32,
) {
    if !has_packs {
        let at = |row: u32, column: u32| at(row, column / T::PACK) * T::PACK + column % T::PACK;
        return copy_elements(from, (row, rows), (column, columns), to, (thread, block), at);
    }
    let (y, across) = (thread / (columns / T::PACK), thread % (columns / T::PACK));
    let (apart, copies) = (block / (columns / T::PACK), rows * columns / T::PACK / block);
    let first = from.place(row + y, column + across * T::PACK) / T::PACK;
    let copy = |i: u32, inside: u32| {
        let pack = first.wrapping_add(i * apart * (from.row_step / T::PACK));
        async_copy::pack(to, at(y + i * apart, across), from.data, pack, inside);
    };
    // A copy that may be cut short takes three times as many instructions as one that is known to be whole.
    if row + rows <= from.rows && column + columns <= from.columns {
        unroll::<16>(|i| {
            if (i as u32) < copies {
                copy(i as u32, T::PACK)
            }
        });
    } else {
        let along = from.columns.saturating_sub(column + across * T::PACK).min(T::PACK);
        let inside = |i: u32| if row + y + i * apart < from.rows { along } else { 0 };
        unroll::<16>(|i| {
            if (i as u32) < copies {
                copy(i as u32, inside(i as u32))
            }
        });
    }
}

/// [`copy_rectangle`] element by element; `at` gives the place of an element.
#[simt::device]
fn copy_elements<T: Element>(
    from: Matrix<T>,
    (row, rows): (u32, u32),
    (column, columns): (u32, u32),
    to: Shared<T>,
    (thread, block): (u32, u32),
    at: impl Fn(u32, u32) -> u32,
) {
    let mut i = thread;
    while i < rows * columns {
        // Neighbouring threads copy elements that are neighbours in global memory.
        let (y, x) = if from.row_step == 1 { (i % rows, i / rows) } else { (i / columns, i % columns) };
        let inside = row + y < from.rows && column + x < from.columns;
        async_copy::element(to, at(y, x), from.data, from.place(row + y, column + x), inside);
        i += block;
    }
}
