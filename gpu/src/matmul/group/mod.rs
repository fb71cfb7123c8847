//! A product on the tensor cores by groups of four warps, from tiles in shared memory: what its rungs share. They differ
//! in the parts that an element of A or B has, and so in how many products one product takes.

pub(super) mod pack;
mod ring;

use super::{Output, Shape, in_groups};
use simt::warp::{self, FULL};
use simt::{Global, grid, opaque, thread, unroll, warpgroup};

pub use simt::warpgroup::DEPTH;

use ring::{Place, Ring, empty, full};

/// Rows of C that a group of four warps has.
const GROUP: u32 = 64;
/// Rows of a tile of C.
pub const ROWS: u32 = 2 * GROUP;
/// Threads that multiply.
const MULTIPLIERS: u32 = 256;
/// Threads per block: a group of four warps copies.
pub(super) const BLOCK: u32 = MULTIPLIERS + 128;
/// Registers of a thread that copies, and of one that multiplies. Together they have what the block begins with.
const FEW: u32 = 40;
const MANY: u32 = 232;

/// The work of blocks with tiles of C of `ROWS` × 2·`SUMS`·`WIDE`: `SUMS` is the number of sums that a thread gets by one
/// call, `WIDE` how many calls there are side by side. Elements of A and B have `PARTS` parts, one or two. There are
/// `STAGES` pairs of tiles of A and B in shared memory.
pub(super) struct Groups<const SUMS: usize, const WIDE: usize, const PARTS: u32, const STAGES: u32>;

/// A thread's sums.
type Sums<const SUMS: usize, const WIDE: usize> = [[f32; SUMS]; WIDE];

impl<const SUMS: usize, const WIDE: usize, const PARTS: u32, const STAGES: u32> Groups<SUMS, WIDE, PARTS, STAGES> {
    /// Columns of a tile of C.
    pub(super) const COLUMNS: u32 = 2 * SUMS as u32 * WIDE as u32;
    /// The tiles of a stage.
    const RING: Ring = Ring { rows: ROWS, columns: Self::COLUMNS, parts: PARTS, stages: STAGES };
    /// Bytes of dynamic shared memory.
    pub(super) const SHARED_BYTES: u32 = Self::RING.bytes();

    /// C = alpha·A·B + beta·C for one product of the batch. `a` and `b` are copies in tiles, of `steps` steps along k.
    #[inline(always)]
    pub(super) fn product(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
        let thread = thread::thread_idx_x();
        if thread == 0 {
            Self::RING.init_barriers(MULTIPLIERS / 32);
        }
        thread::sync_threads(); // the barriers exist before any thread uses them
        if thread >= MULTIPLIERS {
            warpgroup::release_registers::<FEW>();
            if thread == MULTIPLIERS {
                grid::wait_for_previous(); // for the copies in tiles; C is as it was before them
                Self::produce(a, b, shape);
            }
        } else {
            warpgroup::claim_registers::<MANY>();
            let (_, _, c) = shape.matrices(product, a, b, c);
            Self::multiply(c, shape);
        }
    }

    /// Fills stage after stage, for all tiles of the block.
    #[inline(always)]
    fn produce(a: Global<f32>, b: Global<f32>, shape: Shape) {
        let (steps, mut place) = (shape.k.div_ceil(DEPTH), Place::FIRST);
        let mut tiles = Tiles::of_block(&shape, Self::COLUMNS);
        while let Some((row, column)) = tiles.next() {
            let (first_a, first_b) = (row / ROWS * steps, column / Self::COLUMNS * steps);
            let mut step = 0;
            while step < steps {
                Self::RING.fill(place, a, first_a + step, b, first_b + step);
                place = place.next(STAGES);
                step += 1;
            }
        }
    }

    /// Multiplies what is in the ring, for all tiles of the block.
    #[inline(always)]
    fn multiply(c: Output, shape: Shape) {
        let (steps, mut place) = (shape.k.div_ceil(DEPTH), Place::FIRST);
        let group = thread::thread_idx_x() / 128;
        let mut tiles = Tiles::of_block(&shape, Self::COLUMNS);
        while let Some((row, column)) = tiles.next() {
            let mut sums: Sums<SUMS, WIDE> = [[0.0; SUMS]; WIDE];
            let mut step = 0;
            while step < steps {
                full(place.stage).wait(place.parity);
                // The lanes saw the end of the phase one by one; what follows they do together.
                warp::sync_warp(FULL);
                Self::stage(place.stage, group, &mut sums);
                // The products of all lanes have been made from the stage before it is filled again.
                warp::sync_warp(FULL);
                if warp::lane_id() == 0 {
                    empty(place.stage, STAGES).arrive();
                }
                place = place.next(STAGES);
                step += 1;
            }
            Self::store(c, row + group * GROUP, column, &sums);
        }
    }

    /// Adds the products of a stage.
    #[inline(always)]
    fn stage(stage: u32, group: u32, sums: &mut Sums<SUMS, WIDE>) {
        Self::side(stage, group, 0, sums);
        if WIDE == 2 {
            Self::side(stage, group, 1, sums);
        }
    }

    /// [`Groups::stage`] for the columns of one call.
    #[inline(always)]
    fn side(stage: u32, group: u32, side: usize, sums: &mut Sums<SUMS, WIDE>) {
        let columns = 2 * SUMS as u32;
        let of_a = |part: u32| Self::RING.a(stage, part).rows(group * GROUP, GROUP);
        let of_b = |part: u32| Self::RING.b(stage, part).rows(side as u32 * columns, columns);
        if PARTS == 1 {
            sums[side] = warpgroup::multiply_add(of_a(0), of_b(0), sums[side]);
        } else {
            sums[side] = warpgroup::multiply_add_split([of_a(0), of_a(1)], [of_b(0), of_b(1)], sums[side]);
        }
    }

    /// Writes the thread's elements of C; (`row`, `column`) is the first of the group's.
    #[inline(always)]
    fn store(c: Output, row: u32, column: u32, sums: &Sums<SUMS, WIDE>) {
        let lane = warp::lane_id();
        let (g, t) = (lane / 4, lane % 4);
        // Of two lanes side by side the even one has four columns of row g, the odd one four of row g + 8.
        let row = row + thread::thread_idx_x() / 32 % 4 * 16 + g + t % 2 * 8;
        let column = column + t / 2 * 4;
        let packs = c.matrix.has_packs();
        let odd = t % 2 == 1;
        store_side(c, row, column, &sums[0], odd, packs);
        if WIDE == 2 {
            store_side(c, row, column + 2 * SUMS as u32, &sums[1], odd, packs);
        }
    }
}

/// [`Groups::store`] for the columns of one call.
#[inline(always)]
fn store_side<const SUMS: usize>(c: Output, row: u32, column: u32, sums: &[f32; SUMS], odd: bool, packs: bool) {
    let whole = packs && column + 2 * SUMS as u32 <= c.columns() + column % 8;
    if warp::all(FULL, whole && c.beta == 0.0) {
        unroll::<32>(|j| {
            if 4 * j < SUMS {
                c.set_4_inside(row, column + 8 * j as u32, exchange(sums, j, odd));
            }
        });
    } else {
        unroll::<32>(|j| {
            if 4 * j < SUMS {
                c.set_4(row, opaque(column) + 8 * j as u32, exchange(sums, j, odd), packs);
            }
        });
    }
}

/// Sums of group `j` of eight columns: a lane and its neighbour have two of row g and two of row g + 8 each, and give
/// each other what makes four of a row.
#[inline(always)]
fn exchange<const SUMS: usize>(sums: &[f32; SUMS], j: usize, odd: bool) -> [f32; 4] {
    let [a0, a1, b0, b1] = [0, 1, 2, 3].map(|i| sums[4 * j + i]);
    let give = if odd { [a0, a1] } else { [b0, b1] };
    let [x0, x1] = give.map(|sum| warp::shuffle_xor(FULL, sum, 1));
    if odd { [x0, x1, b0, b1] } else { [a0, a1, x0, x1] }
}

/// The tiles of C of a block, one after the other: first row and column.
struct Tiles {
    down: u32,
    along: u32,
    columns: u32,
    next: u32,
}

impl Tiles {
    #[inline(always)]
    fn of_block(shape: &Shape, columns: u32) -> Self {
        let (down, along) = (shape.m.div_ceil(ROWS), shape.n.div_ceil(columns));
        Self { down, along, columns, next: thread::block_idx_x() }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<(u32, u32)> {
        let Self { down, along, columns, next } = *self;
        if next >= down * along {
            return None;
        }
        self.next = next + thread::grid_dim_x();
        let (row, column) = in_groups(next, down, along);
        Some((row * ROWS, column * columns))
    }
}

#[cfg(not(target_os = "cuda"))]
pub(super) mod host {
    //! What the rungs launch: A and B are copied; then the product, by the kernel whose tiles suit it.

    use super::pack::{PACK, Panel};
    use super::ring::BARRIER_BYTES;
    use super::*;
    use crate::ladder::matmul::*;
    use std::boxed::Box;

    /// The launch of a kernel with its arguments: of the copies in tiles, and of a product.
    pub type Pack = fn(&dyn Launcher, Geometry, PackArgs) -> Result;
    pub type Multiply = fn(&dyn Launcher, Geometry, ProductArgs) -> Result;
    type PackArgs = (Global<f32>, Global<f32>, Panel, Global<f32>, Global<f32>, Panel);
    type ProductArgs = (Global<f32>, Global<f32>, Global<f32>, Shape, u32);

    /// A product with tiles of one width.
    #[derive(Clone, Copy)]
    pub struct Tiled {
        launch: Multiply,
        /// Columns of a tile of C.
        columns: u32,
        /// Bytes of dynamic shared memory.
        shared: u32,
        /// The time that a column of a tile takes, as a multiple of that of the widest tiles.
        cost: f64,
    }

    impl<const SUMS: usize, const WIDE: usize, const PARTS: u32, const STAGES: u32> Groups<SUMS, WIDE, PARTS, STAGES> {
        /// The product by a kernel with these tiles.
        pub fn by(launch: Multiply, cost: f64) -> Tiled {
            Tiled { launch, columns: Self::COLUMNS, shared: Self::SHARED_BYTES, cost }
        }
    }

    /// What a rung launches.
    #[derive(Clone, Copy)]
    pub struct Kernels<const N: usize> {
        /// The copies in tiles.
        pub pack: Pack,
        /// The parts of an element.
        pub parts: u32,
        /// The product, by the width of tiles.
        pub products: [Tiled; N],
    }

    impl<const N: usize> Kernels<N> {
        /// The product whose tiles take the least time, in rounds of a tile per multiprocessor.
        fn choose(&self, m: u32, n: u32, multiprocessors: u32) -> Tiled {
            let time = |of: &Tiled| {
                let tiles = m.div_ceil(ROWS) * n.div_ceil(of.columns);
                f64::from(tiles.div_ceil(multiprocessors) * of.columns) * of.cost
            };
            *self.products.iter().min_by(|x, y| time(x).total_cmp(&time(y))).expect("a rung has kernels")
        }
    }

    /// Why a device cannot run kernels with so much dynamic shared memory.
    pub fn refuses(name: &str, ask: &Ask, shared: u32) -> Option<String> {
        let Device { compute_capability: (major, minor), shared_per_block, .. } = ask.device;
        if (major, minor) != (9, 0) {
            return Some(format!("{name} needs compute capability 9.0, not {major}.{minor}"));
        }
        let need = shared + BARRIER_BYTES;
        (shared_per_block < need).then(|| format!("{name} needs {need} bytes of shared memory, not {shared_per_block}"))
    }

    /// The launches of a rung.
    pub fn launches<const N: usize>(on: &dyn Launcher, sizes: Sizes, kernels: Kernels<N>) -> Result<Launches<Product>> {
        let (mut room_a, mut room_b) = (Room::default(), Room::default());
        let Sizes { m, n, k } = sizes;
        let columns = kernels.choose(m, n, on.device().multiprocessors).columns;
        panel_of(kernels.parts, ROWS, m, k, 0, 0).room(on, &mut room_a)?;
        panel_of(kernels.parts, columns, n, k, 0, 0).room(on, &mut room_b)?;
        Ok(Box::new(move |on, product| {
            let shape = Shape::of(&product);
            (0..shape.batch)
                .try_for_each(|number| one(on, &product, shape, number, &kernels, [&mut room_a, &mut room_b]))
        }))
    }

    /// An operand of `along` rows of A, or columns of B, as tiles of so many.
    fn panel_of(parts: u32, width: u32, along: u32, deep: u32, step: u32, step_deep: u32) -> Panel {
        Panel { along, deep, step, step_deep, width, parts }
    }

    /// Scratch memory that grows to what the largest product so far needed.
    #[derive(Default)]
    struct Room(Option<Scratch<f32>>);

    impl Panel {
        /// A view of room for the tiles.
        fn room(&self, on: &dyn Launcher, room: &mut Room) -> Result<Global<f32>> {
            let elements = self.elements();
            let len = u32::try_from(elements)
                .map_err(|_| Failed::Unsuitable(format!("a copy of {elements} elements is more than fits a view")))?;
            if room.0.as_ref().is_none_or(|have| have.view().len() < len) {
                room.0 = None; // freed before there is more, so that both need not fit
                room.0 = Some(on.scratch(len)?);
            }
            Ok(room.0.as_ref().map(|have| have.view().slice(0, len)).expect("it was made above"))
        }
    }

    /// The launches for one product of a batch.
    fn one<const N: usize>(
        on: &dyn Launcher,
        product: &Product,
        shape: Shape,
        number: u32,
        kernels: &Kernels<N>,
        [room_a, room_b]: [&mut Room; 2],
    ) -> Result {
        let Shape { m, n, k, .. } = shape;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let multiprocessors = on.device().multiprocessors;
        let tiled = kernels.choose(m, n, multiprocessors);
        let of_batch = |matrix: &Matrix, apart: u32| {
            let start = (number * apart).min(matrix.data.len());
            matrix.data.slice(start, matrix.data.len() - start)
        };
        let (from_a, from_b) = (of_batch(&product.a, product.batch.a), of_batch(&product.b, product.batch.b));
        let panel_a = panel_of(kernels.parts, ROWS, m, k, shape.a.row, shape.a.column);
        let panel_b = panel_of(kernels.parts, tiled.columns, n, k, shape.b.column, shape.b.row);
        let (a, b) = (panel_a.room(on, room_a)?, panel_b.room(on, room_b)?);
        if k != 0 {
            let geometry = Geometry::linear(panel_a.blocks() + panel_b.blocks(), PACK);
            (kernels.pack)(on, geometry, (from_a, a, panel_a, from_b, b, panel_b))?;
        }
        let blocks = (m.div_ceil(ROWS) * n.div_ceil(tiled.columns)).min(multiprocessors);
        // It begins while the copies end; the thread that needs them waits.
        let geometry = Geometry::linear(blocks, BLOCK).shared(tiled.shared).overlapping();
        (tiled.launch)(on, geometry, (a, b, product.c.data, shape, number))
    }
}
