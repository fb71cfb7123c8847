//! Boxes of matrices, as TMA moves them: row by row, pieces of 16 bytes.

use super::block::here;
use super::check::Moved;
use super::cluster::{other_state, reach};
use super::finding::Kind;
use super::memory;
use super::observe::{AccessKind, Space};
use super::stats::Instruction;
use crate::tensor_map::{Described, WORDS};
use crate::warpgroup::ROW;
use std::panic::Location;

/// Bytes of a piece, and pieces of a row of a box that becomes a tile.
const PIECE: u32 = 16;
const PIECES: u32 = ROW / PIECE;

/// A box of a matrix, and its tile in shared memory.
struct Boxed {
    /// The matrix: its address, columns and rows, and the bytes from one row to the next.
    address: u64,
    extents: [u64; 2],
    stride: u64,
    /// Bytes of an element.
    element: u64,
    /// Rows of the box, and the bytes of each.
    rows: u32,
    row_bytes: u32,
    /// Whether pieces are swizzled as in a tile.
    swizzled: bool,
    /// Its first column and row, which may lie before those of the matrix.
    place: [i32; 2],
    /// The tile.
    tile: u32,
}

/// 16 bytes of a box.
#[derive(Clone, Copy)]
struct Piece {
    shared: u32,
    global: u64,
    /// How many of them are in the matrix: the first.
    there: u32,
}

impl Boxed {
    /// The box of a map, which may be of any words: a map of a matrix that lies in no view of the
    /// launch ends the kernel.
    #[track_caller]
    fn new(map: *const u64, place: [u32; 2], tile: u32) -> Self {
        let block = here();
        block.interrupt();
        // SAFETY: the caller of the instruction promises a map among the kernel's parameters, which nothing writes.
        let words = unsafe { map.cast::<[u64; WORDS]>().read() };
        let Some(described) = Described::of_words(words) else {
            panic!("the kernel's parameter is no tensor map of this machine's")
        };
        let [address, bytes] = described.range().expect("a map is of what the copy engine takes");
        let holds = |&(start, len): &(u64, u64)| {
            address.checked_sub(start).is_some_and(|before| before <= len && bytes <= len - before)
        };
        if !block.views.iter().any(holds) {
            block.mistake(Kind::OutOfBounds);
            panic!(
                "the tensor map is of {bytes} bytes at {address:#x}, which lie in no view of the launch: pass the \
                 kernel a view of the matrix beside the map, and keep its memory until the launch"
            );
        }
        assert!(tile.is_multiple_of(ROW), "a box begins on a multiple of {ROW} bytes of shared memory, not at {tile}");
        let ([columns, rows], element) = (described.box_extents(), described.element().1);
        Self {
            address,
            extents: described.extents(),
            stride: described.stride(),
            element: element.into(),
            rows,
            row_bytes: columns * element,
            swizzled: described.is_swizzled(),
            place: place.map(|at| at as i32),
            tile,
        }
    }

    fn bytes(&self) -> u32 {
        self.rows * self.row_bytes
    }

    /// Pieces of a row.
    fn pieces_of_row(&self) -> u32 {
        self.row_bytes / PIECE
    }

    /// Piece `i` of row `row` of the box.
    fn piece(&self, row: u32, i: u32) -> Piece {
        let line = self.tile + row * self.row_bytes;
        let place = if self.swizzled { i ^ (line / ROW % PIECES) } else { i };
        let shared = line + place * PIECE;
        let [x, y] = self.place.map(i64::from);
        let (x, y) = (x + i64::from(i * PIECE) / self.element as i64, y + i64::from(row));
        let [columns, rows] = self.extents.map(|n| n as i64);
        assert!(x >= 0 && y >= 0, "a box begins at column {x} and row {y}");
        let there = if y < rows { (columns - x).max(0) as u64 * self.element } else { 0 };
        // Of a place far outside nothing is there, and nobody goes to the address.
        let down = (y as u64).wrapping_mul(self.stride).wrapping_add(x as u64 * self.element);
        let global = self.address.wrapping_add(down);
        Piece { shared, global, there: there.min(PIECE.into()) as u32 }
    }

    fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        (0..self.rows).flat_map(move |row| (0..self.pieces_of_row()).map(move |i| self.piece(row, i)))
    }

    /// Counts the copy: of each row what is in the matrix.
    #[track_caller]
    fn count(&self, instruction: Instruction) {
        let row = |row| {
            let there = (0..self.pieces_of_row()).map(|i| self.piece(row, i).there).sum();
            (self.piece(row, 0).global, there)
        };
        here().count_copies(instruction, (0..self.rows).map(row).filter(|&(_, bytes)| bytes > 0));
    }
}

/// The words of a piece in shared memory.
fn words(piece: Piece) -> [u32; 4] {
    // SAFETY: `shared` gives a pointer to 16 bytes, which begin on a multiple of 16.
    unsafe { memory::load_pack(here().shared(piece.shared, PIECE)) }
}

/// Reports what a copy did: `from_global`, or to global memory; with its side in shared memory if that is the running
/// block's.
#[track_caller]
fn tell(piece: Piece, words: [u32; 4], from_global: bool, own: bool) {
    let (watchers, thread) = (&here().watchers, here().current());
    let kind = |reads| if reads { AccessKind::Read } else { AccessKind::Write };
    if piece.there == PIECE {
        watchers.pack(thread, Space::Global, kind(from_global), piece.global, words);
    } else {
        for at in 0..piece.there {
            let byte = (words[at as usize / 4] >> (at % 4 * 8)) as u8;
            watchers.access(thread, Space::Global, kind(from_global), piece.global + u64::from(at), byte);
        }
    }
    if own {
        watchers.pack(thread, Space::Shared, kind(!from_global), piece.shared.into(), words);
    }
}

/// # Safety
/// As [`crate::machine::Machine::box_load`].
#[track_caller]
pub(super) unsafe fn load(to: u32, map: *const u64, place: [u32; 2], barrier: u32, ranks: Option<u16>) {
    let (block, copied) = (here(), Boxed::new(map, place, to));
    block.shared(to, copied.bytes()); // refused here, if it is
    // The blocks that it goes to; the others of a cluster have as much shared memory.
    let own = block.place_in_cluster().0;
    let named = |ranks: u16| (0..16).filter(move |rank| ranks >> rank & 1 == 1);
    let homes: Vec<_> = match ranks {
        Some(ranks) => named(ranks).map(|rank| (rank, reach(rank, "copies a box to"))).collect(),
        None => vec![(own, block)],
    };
    assert!(!homes.is_empty(), "the box is copied to no block");
    copied.count(Instruction::BulkLoad);
    let mut moved = vec![];
    for piece in copied.pieces() {
        let mut bytes = [0; PIECE as usize];
        for (at, byte) in bytes[..piece.there as usize].iter_mut().enumerate() {
            // SAFETY: `new` found the matrix in a view of the launch.
            *byte = unsafe { memory::load((piece.global as *const u8).add(at)) };
        }
        let words = std::array::from_fn(|i| u32::from_le_bytes(std::array::from_fn(|b| bytes[4 * i + b])));
        for (_, home) in &homes {
            // SAFETY: `shared` gives a pointer to 16 bytes, which begin on a multiple of 16.
            unsafe { memory::store_pack(home.shared(piece.shared, PIECE), words) };
        }
        // An observer is told of the running block's memory alone.
        tell(piece, words, true, homes.iter().any(|&(rank, _)| rank == own));
        moved.push(Moved { global: piece.global, shared: piece.shared, there: piece.there, words });
    }
    let place = Location::caller();
    for (rank, home) in homes {
        let ends = home.copied_in_phase(barrier, copied.bytes());
        block.watch.moved_on();
        block.judge(|session, state, thread| {
            session.bulk_load(state, thread, other_state(block, rank, home), &moved, (barrier, ends), place);
        });
    }
}

/// # Safety
/// As [`crate::machine::Machine::box_store`].
#[track_caller]
pub(super) unsafe fn store(map: *const u64, place: [u32; 2], from: u32) {
    let (block, copied) = (here(), Boxed::new(map, place, from));
    block.shared(from, copied.bytes());
    copied.count(Instruction::BulkStore);
    let mut moved = vec![];
    for piece in copied.pieces().filter(|piece| piece.there > 0) {
        let words = words(piece);
        for at in 0..piece.there {
            let byte = (words[at as usize / 4] >> (at % 4 * 8)) as u8;
            // SAFETY: `new` found the matrix in a view of the launch.
            unsafe { memory::store((piece.global as *mut u8).add(at as usize), byte) };
        }
        tell(piece, words, false, true);
        moved.push(Moved { global: piece.global, shared: piece.shared, there: piece.there, words });
    }
    let place = Location::caller();
    block.judge(|session, state, thread| session.bulk_store(state, thread, &moved, place));
}
