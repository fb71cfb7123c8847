//! An operand of a product by threads: boxes of it as it is, or of a copy in tiles where TMA cannot take it.
//!
//! Threads want the elements of one k side by side. So they lie in A that is transposed and in B that is not; the copy
//! engine takes boxes of those whose address and rows are aligned. Others are copied to tiles before.

use super::panel::Panel;
use simt::mbarrier::Mbarrier;
use simt::tensor_map::TensorMap;
use simt::{Global, Shared, bulk, shared, thread, unroll};

/// An operand as TMA takes it.
#[derive(Clone, Copy)]
pub(super) struct Source {
    map: TensorMap<f32>,
    tiles: Global<f32>,
    /// Whether `map` is that of the operand. Otherwise `tiles` is its copy in tiles.
    boxes: bool,
}

impl Source {
    #[simt::device]
    pub(super) fn new(map: TensorMap<f32>, tiles: Global<f32>, boxes: u32) -> Self {
        Self { map, tiles, boxes: boxes != 0 }
    }

    #[simt::device]
    pub(super) fn prefetch(self) {
        if self.boxes {
            self.map.prefetch();
        }
    }

    /// Has `width` rows of A, or columns of B, from `first` on copied to `to`, for one of the `steps` K steps.
    #[simt::device]
    pub(super) fn load(
        self,
        to: Shared<f32>,
        (first, width): (u32, u32),
        (step, steps): (u32, u32),
        barrier: Mbarrier,
    ) {
        if self.boxes {
            self.map.load_flat(to, step * (to.len() / width), first, barrier);
        } else {
            let len = to.len();
            bulk::load(to, self.tiles.slice((first / width * steps + step) * len, len), barrier);
        }
    }
}

/// Threads of a block that copies.
pub(super) const PACK: u32 = 256;
/// Side of the square that a block copies, and packs along it.
const SIDE: u32 = 64;
const PACKS: u32 = SIDE / 4;
/// Packs of the square that a thread copies, and elements.
const EACH: usize = (SIDE * PACKS / PACK) as usize;

shared!(
    /// The square: an element of k after the other for each row of A, or column of B. Packs are permuted by bits of the
    /// row, so that neither rows nor columns have bank conflicts.
    SQUARE: [f32; SIDE * SIDE]
);

/// Blocks that copy an operand, one per square.
#[simt::device]
pub(super) const fn blocks(panel: &Panel) -> u32 {
    panel.blocks(SIDE, SIDE)
}

/// A part of the operand that a block copies: the square from row `first` of A, or column of B, and `first_k` on.
#[derive(Clone, Copy)]
struct Part {
    from: Global<f32>,
    panel: Panel,
    first: u32,
    first_k: u32,
}

/// Where in the square element `k` of a row is.
#[simt::device]
fn place(row: u32, k: u32) -> u32 {
    row * SIDE + ((k / 4) ^ (row / 4)) * 4 + k % 4
}

impl Part {
    /// An element of the square, zero outside of the operand.
    #[simt::device]
    fn get(self, row: u32, k: u32) -> f32 {
        let (row, k) = (self.first + row, self.first_k + k);
        let Panel { along, deep, step, step_deep, .. } = self.panel;
        if row < along && k < deep { self.from.get(row * step + k * step_deep) } else { 0.0 }
    }

    /// Four elements in K.
    #[simt::device]
    fn get_4(self, row: u32, k: u32) -> [f32; 4] {
        if self.first + row < self.panel.along && self.first_k + k + 4 <= self.panel.deep {
            self.from.get_pack(((self.first + row) * self.panel.step + self.first_k + k) / 4)
        } else {
            [0, 1, 2, 3].map(|e| self.get(row, k + e))
        }
    }

    /// Whether four elements along K, from a multiple of 4 on, are one access.
    #[simt::device]
    fn has_packs(self) -> bool {
        let aligned = (self.from.as_ptr() as usize).is_multiple_of(16);
        aligned && self.panel.step_deep == 1 && self.panel.step.is_multiple_of(4)
    }

    /// Fills the square. All loads come before the first store, and neighbouring threads read neighbouring elements.
    #[simt::device]
    fn load(self) {
        let (square, thread) = (SQUARE::view(), thread::thread_idx_x());
        let mut values = [[0.0; 4]; EACH];
        if self.has_packs() {
            let (x, y) = (thread % PACKS, thread / PACKS);
            let row = |i: usize| i as u32 * (PACK / PACKS) + y;
            unroll::<EACH>(|i| values[i] = self.get_4(row(i), x * 4));
            unroll::<EACH>(|i| square.set_pack(place(row(i), x * 4) / 4, values[i]));
        } else {
            let along_k = self.panel.step_deep == 1;
            let (x, y) = (thread % SIDE, thread / SIDE);
            let at = |i: usize, e: usize| {
                let y = (4 * i + e) as u32 * (PACK / SIDE) + y;
                if along_k { (y, x) } else { (x, y) }
            };
            unroll::<EACH>(|i| {
                unroll::<4>(|e| values[i][e] = self.get(at(i, e).0, at(i, e).1));
            });
            unroll::<EACH>(|i| {
                unroll::<4>(|e| square.set(place(at(i, e).0, at(i, e).1), values[i][e]));
            });
        }
    }

    /// Writes what of the square is in the tile.
    #[simt::device]
    fn store(self, to: Global<f32>) {
        let Self { panel: Panel { width, depth, .. }, first, first_k, .. } = self;
        let (square, warp, lane) = (SQUARE::view(), thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        let tile = first / width * width * depth + first % width;
        // A warp has eight packs of four k: it reads all banks, and writes whole lines of L2.
        let row = (warp % 2 * 8 + lane % 8) * 4;
        unroll::<EACH>(|i| {
            let k = (i as u32 * (PACKS / EACH as u32) + warp / 2) * 4 + lane / 8;
            if first_k + k < depth {
                let four = [0, 1, 2, 3].map(|e| square.get(place(row + e, k)));
                to.set_pack((tile + (first_k + k) * width + row) / 4, four);
            }
        });
    }
}

/// Copies a square of an operand, the one of that number, to tiles; what lies outside of the operand becomes zero. All
/// threads of the block make the call.
#[simt::device]
pub(super) fn pack(from: Global<f32>, to: Global<f32>, panel: Panel, number: u32) {
    let squares = panel.depth.div_ceil(SIDE);
    let part = Part { from, panel, first: number / squares * SIDE, first_k: number % squares * SIDE };
    part.load();
    thread::sync_threads(); // the square is complete before any thread reads it
    part.store(to);
}

#[cfg(not(target_os = "cuda"))]
pub(super) mod host {
    //! Operands on the host.

    use super::super::host::Room;
    use super::*;
    use crate::ladder::{Matrix as View, *};
    use simt::tensor_map::Described;

    /// An operand of one product: what the kernel gets, and what is copied before.
    pub(in super::super) struct Operand {
        pub(in super::super) map: Option<TensorMap<f32>>,
        pub(in super::super) from: Global<f32>,
        pub(in super::super) to: Global<f32>,
        pub(in super::super) panel: Panel,
    }

    impl Operand {
        /// The operand that begins at `start`. `deep_rows`: whether its rows, as it is stored, are K-major. Stages have
        /// `depth` k.
        pub(in super::super) fn new(
            on: &dyn Launcher,
            (of, start): (&View, u32),
            deep_rows: bool,
            (panel, depth): (Panel, u32),
            room: &mut Room,
        ) -> Result<Self> {
            let start = start.min(of.data.len());
            let from = of.data.slice(start, of.data.len() - start);
            let (sides, boxes) = ([panel.deep, panel.along], [depth, panel.width]);
            // Only elements of one k that are neighbours become neighbours in shared memory.
            let described = if deep_rows { None } else { Described::flat(from, sides, of.stride, boxes) };
            let map = described.map(|of| on.tensor_map(&of).map(TensorMap::new)).transpose()?;
            Ok(match map {
                Some(_) => Self { map, from, to: from, panel: Panel { along: 0, ..panel } },
                None => Self { map, from, to: room.view(on, panel.elements())?, panel },
            })
        }
    }
}
