//! What the rungs launch: B is copied, and A unless it is taken as it is; then the product, by the kernel whose tiles
//! suit it.

use super::pack::{PACK, blocks};
use super::ring::BARRIER_BYTES;
use super::*;
use crate::host::{Room, refuses_but_hopper};
use crate::ladder::*;
use crate::panel::Panel;
use simt::tensor_map::{Described, TensorMap};
use std::boxed::Box;

/// The launch of a kernel with its arguments: of the copies in tiles, and of a product.
pub type Pack<T> = fn(&dyn Launcher, Geometry, PackArgs<T>) -> Result;
pub type Multiply<T> = fn(&dyn Launcher, Geometry, ProductArgs<T>) -> Result;
pub type PackArgs<T> = (Global<T>, Global<T>, Panel, Global<T>, Global<T>, Panel);
pub type ProductArgs<T> = (Global<T>, Global<T>, Global<T>, Shape, u32);
/// The launch of a product that reads A in place: with its tensor map and its view.
pub type Hold<T> = fn(&dyn Launcher, Geometry, HeldArgs<T>) -> Result;
pub type HeldArgs<T> = (TensorMap<T>, Global<T>, Global<T>, Global<T>, Shape, u32);

/// How a product reads A.
#[derive(Clone, Copy)]
pub enum By<T> {
    /// As a copy in tiles.
    Copy(Multiply<T>),
    /// As it is, if that is K-major.
    Map(Hold<T>),
}

/// A product with tiles of one width.
#[derive(Clone, Copy)]
pub struct Tiled<T> {
    by: By<T>,
    /// Blocks that have a tile of C together.
    blocks: u32,
    /// Columns of a tile of C.
    columns: u32,
    /// Bytes of dynamic shared memory.
    shared: u32,
    /// The time that a column of a tile takes, as a multiple of that of the widest tiles.
    cost: f64,
}

impl<T: Packed, P: Parts<T>, const SUMS: usize, const WIDE: usize, const STAGES: u32, const BLOCKS: u32>
    Groups<T, P, SUMS, WIDE, STAGES, BLOCKS>
{
    /// The product by a kernel with these tiles.
    pub fn by(launch: Multiply<T>, cost: f64) -> Tiled<T> {
        Self::tiled(By::Copy(launch), cost)
    }

    /// The product by a kernel whose threads hold A in registers.
    pub fn held(launch: Hold<T>, cost: f64) -> Tiled<T> {
        Self::tiled(By::Map(launch), cost)
    }

    fn tiled(by: By<T>, cost: f64) -> Tiled<T> {
        Tiled { by, blocks: BLOCKS, columns: Self::COLUMNS, shared: Self::SHARED_BYTES, cost }
    }
}

/// The kernels that a module launches.
#[derive(Clone, Copy)]
pub struct Kernels<T, const N: usize> {
    /// The copies in tiles.
    pub pack: Pack<T>,
    /// The parts of an element.
    pub parts: u32,
    /// The product, by the width of tiles.
    pub products: [Tiled<T>; N],
}

impl<T: Packed, const N: usize> Kernels<T, N> {
    /// The most rows or columns of a tile: sizes leave room for a tile past the last element.
    fn widest(&self) -> u32 {
        self.products.iter().map(|of| of.columns).fold(ROWS, u32::max)
    }

    /// The product whose tiles take the least time, in rounds of a tile per SM. `held`: whether A may be
    /// taken as it is.
    fn choose(&self, [m, n, k]: [u32; 3], held: bool, sms: u32) -> Tiled<T> {
        let time = |of: &Tiled<T>| {
            let tiles = m.div_ceil(ROWS) * n.div_ceil(of.columns);
            let rounds = f64::from(tiles.div_ceil(sms / of.blocks));
            let steps = f64::from(k.div_ceil(Tile::<T>::DEPTH).div_ceil(of.blocks));
            let adding = if of.blocks > 1 { ADDING } else { 0.0 };
            rounds * f64::from(of.columns) * of.cost * (steps + adding)
        };
        let suits = |of: &&Tiled<T>| of.blocks <= sms && (held || matches!(of.by, By::Copy(_)));
        let there = self.products.iter().filter(suits);
        *there.min_by(|x, y| time(x).total_cmp(&time(y))).expect("a rung has kernels")
    }
}

/// The time that two blocks take to add up a tile, in K steps.
const ADDING: f64 = 1.5;

/// Why a device cannot run kernels with so much dynamic shared memory.
pub fn refuses(name: &str, ask: &Ask, shared: u32) -> Option<String> {
    refuses_but_hopper(name, ask, shared + BARRIER_BYTES)
}

/// The launches of a rung.
pub fn launches<T: Packed, const N: usize>(
    on: &dyn Launcher,
    sizes: Sizes,
    kernels: Kernels<T, N>,
) -> Result<Launches<Product<T>>> {
    let (mut room_a, mut room_b) = (Room::<T>::default(), Room::<T>::default());
    let elements = |panel: Panel| u64::from(kernels.parts) * panel.elements();
    let Sizes { m, n, k } = sizes;
    if m.max(n) > u32::MAX - kernels.widest() {
        return Err(Failed::Unsuitable(format!("{} rows or columns are more than these tiles can count", m.max(n))));
    }
    // For operands without gaps, and A by rows. For others the first product may have to make more room.
    let held = k.is_multiple_of(T::PACK);
    let Tiled { by, columns, .. } = kernels.choose([m, n, k], held, on.device().multiprocessors);
    let (down, along) = (most(&kernels, ROWS, k)?, most(&kernels, columns, k)?);
    if matches!(by, By::Copy(_)) {
        room_a.view(on, elements(panel_of::<T>(ROWS, m.min(down), k, (0, 0))))?;
    }
    room_b.view(on, elements(panel_of::<T>(columns, n.min(along), k, (0, 0))))?;
    Ok(Box::new(move |on, product: Product<T>| {
        let shape = Shape::of(&product);
        (0..shape.batch).try_for_each(|number| one(on, &product, shape, number, &kernels, [&mut room_a, &mut room_b]))
    }))
}

/// An operand with `along` rows of A, or columns of B, in tiles of `width`.
fn panel_of<T: Packed>(width: u32, along: u32, deep: u32, (step, step_deep): (u32, u32)) -> Panel {
    Panel { along, deep, step, step_deep, width, depth: deep.next_multiple_of(Tile::<T>::DEPTH) }
}

/// Rows of A, or columns of B, in tiles of `width`, that are copied at once: as many as a view can hold.
fn most<T: Packed, const N: usize>(kernels: &Kernels<T, N>, width: u32, k: u32) -> Result<u32> {
    let each = u64::from(kernels.parts) * u64::from(k.max(1)).next_multiple_of(Tile::<T>::DEPTH.into());
    let tiles = u64::from(u32::MAX) / (each * u64::from(width));
    if tiles == 0 {
        return Err(Failed::Unsuitable(format!("k = {k} is more than a copy of a tile can have")));
    }
    Ok((tiles * u64::from(width)).min((u32::MAX - kernels.widest()).into()) as u32 / width * width)
}

/// The launches for one product of a batch: some rows by some columns of C after the other, if all are too many.
fn one<T: Packed, const N: usize>(
    on: &dyn Launcher,
    product: &Product<T>,
    shape: Shape,
    number: u32,
    kernels: &Kernels<T, N>,
    [room_a, room_b]: [&mut Room<T>; 2],
) -> Result {
    let Shape { m, n, k, .. } = shape;
    let elements = |panel: Panel| u64::from(kernels.parts) * panel.elements();
    if m == 0 || n == 0 {
        return Ok(());
    }
    let sms = on.device().multiprocessors;
    let map = |from: Global<T>, m: u32| {
        let of = &product.a;
        if of.transposed { None } else { Described::of(from, [m, k], of.stride, ROWS) }
    };
    let at = |data: Global<T>, apart: u32| {
        let start = number.wrapping_mul(apart).min(data.len());
        data.slice(start, data.len() - start)
    };
    let held = k > 0 && map(at(product.a.data, product.batch.a), m).is_some();
    let tiled = kernels.choose([m, n, k], held, sms);
    let (down, along) = (most(kernels, ROWS, k)?, most(kernels, tiled.columns, k)?);
    let part = |data: Global<T>, apart: u32, first: u32, step: u32| {
        let start = number.wrapping_mul(apart).wrapping_add(first.wrapping_mul(step)).min(data.len());
        data.slice(start, data.len() - start)
    };
    for row in (0..m).step_by(down as usize) {
        for column in (0..n).step_by(along as usize) {
            let shape = Shape { m: down.min(m - row), n: along.min(n - column), ..shape };
            let Shape { m, n, .. } = shape;
            let from_a = part(product.a.data, product.batch.a, row, shape.a.row);
            let panel_a = panel_of::<T>(ROWS, m, k, (shape.a.row, shape.a.column));
            let panel_b = panel_of::<T>(tiled.columns, n, k, (shape.b.column, shape.b.row));
            let (from_a, a, panel_a) = match tiled.by {
                By::Copy(_) => (from_a, room_a.view(on, elements(panel_a))?, panel_a),
                By::Map(_) => (from_a, from_a, Panel { along: 0, ..panel_a }),
            };
            let b = room_b.view(on, elements(panel_b))?;
            let tiles = m.div_ceil(ROWS) * n.div_ceil(tiled.columns);
            // A cluster has one tile.
            let running = if tiled.blocks > 1 { tiles * tiled.blocks } else { tiles.min(sms) };
            let mut geometry = Geometry::linear(running, BLOCK).shared(tiled.shared);
            if k != 0 {
                let from_b = part(product.b.data, product.batch.b, column, shape.b.column);
                let copies = Geometry::linear(blocks::<T>(&panel_a) + blocks::<T>(&panel_b), PACK).overlapping();
                (kernels.pack)(on, copies, (from_a, a, panel_a, from_b, b, panel_b))?;
                // It begins while the copies end; the thread that needs them waits. Without copies, what would be
                // before it is another's launch, which may be writing C.
                geometry = geometry.overlapping();
            }
            let rows = part(product.c.data, product.batch.c, row, shape.c.row);
            let skipped = column.wrapping_mul(shape.c.column).min(rows.len());
            let c = rows.slice(skipped, rows.len() - skipped);
            match tiled.by {
                By::Copy(launch) => launch(on, geometry, (a, b, c, shape, 0))?,
                By::Map(launch) => {
                    let of = map(from_a, m).ok_or_else(|| Failed::Unsuitable("A has no map".into()))?;
                    launch(on, geometry, (TensorMap::new(on.tensor_map(&of)?), a, b, c, shape, 0))?;
                }
            }
        }
    }
    Ok(())
}
