//! The launches of a product with tensor maps: the kernel whose tiles fit it best.

use super::super::Shape;
use super::super::host::refuses_but_hopper;
use super::Packed;
use super::mapped::Products;
use super::ring::BARRIER_BYTES;
use super::tiles;
use crate::ladder::{Matrix as View, *};
use simt::tensor_map::{Described, TensorMap};
use simt::warpgroup::Tile;
use std::boxed::Box;
use std::vec::Vec;

/// The launch of a kernel with its arguments.
pub type Multiply<T> = fn(&dyn Launcher, Geometry, Args<T>) -> Result;
pub type Args<T> = (TensorMap<T>, TensorMap<T>, TensorMap<T>, Global<T>, Global<T>, Global<T>, Shape, u32);

/// Makes the launches of the fallback.
pub type Otherwise<T> = fn(&dyn Launcher, Sizes) -> Result<Launches<Product<T>>>;

/// How C is divided among a kernel's blocks.
#[derive(Clone, Copy)]
pub struct Tiling {
    /// Blocks of a cluster.
    pub blocks: u32,
    /// Rows of a block's tile of C.
    pub rows: u32,
    /// Columns of a tile.
    pub columns: u32,
    /// Whether there are narrow tiles.
    pub narrow: bool,
}

/// A product by one kernel.
#[derive(Clone, Copy)]
pub struct Way<T> {
    launch: Multiply<T>,
    tiling: Tiling,
    /// Groups that take turns along K.
    turns: u32,
    shared: u32,
    box_rows: [u32; 3],
}

impl<T: Packed> Way<T> {
    /// The product by a kernel whose blocks do `P`.
    pub fn of<P: Products<T>>(launch: Multiply<T>) -> Self {
        Self {
            launch,
            tiling: Tiling { blocks: P::BLOCKS, rows: P::ROWS, columns: P::COLUMNS, narrow: P::NARROW },
            turns: P::TURNS,
            shared: P::SHARED_BYTES,
            box_rows: P::BOX_ROWS,
        }
    }
}

impl Tiling {
    /// Tiles of C that are not narrow, and narrow ones; those of a cluster are counted as one.
    fn tiles(&self, shape: &Shape) -> (u32, u32) {
        let (down, along, narrow) = tiles::count(shape, self.blocks * self.rows, self.columns, self.narrow);
        (down * along, narrow)
    }

    /// Clusters that run at the same time on `sms` SMs.
    pub fn running(&self, shape: &Shape, sms: u32) -> u32 {
        let (wide, narrow) = self.tiles(shape);
        (wide + narrow).min((sms / self.blocks).max(1))
    }

    /// Tiles that the cluster with the most of them has.
    fn rounds(&self, shape: &Shape, sms: u32) -> f64 {
        let ((wide, narrow), clusters) = (self.tiles(shape), self.running(shape, sms));
        let (first, share) = tiles::among(wide, narrow, clusters);
        let narrow = NARROW_COST * f64::from(narrow.div_ceil(share));
        let most = if first > 0 { wide / clusters } else { wide.div_ceil(clusters) };
        (f64::from(most) + narrow).max(wide.div_ceil(clusters).into())
    }

    /// The time of a product with `steps` K steps, in those of a column of the widest tiles: `cost` times it for a
    /// column of these. `astride`: whether rows of an operand begin elsewhere than lines of L2.
    pub fn time(&self, shape: &Shape, sms: u32, steps: u32, (cost, astride): (f64, bool)) -> f64 {
        let cost = if astride && self.blocks == 1 { cost * ASTRIDE } else { cost };
        f64::from(self.columns) * (self.rounds(shape, sms) * cost * f64::from(steps) + STORE)
    }
}

/// Whether rows with a stride of `bytes` begin elsewhere than lines of L2.
pub fn is_astride(bytes: u32) -> bool {
    !bytes.is_multiple_of(LINE)
}

/// Kernels with tiles of one size.
#[derive(Clone, Copy)]
pub struct Width<T> {
    /// By whether A is transposed, and then B; a product of which there is none is made otherwise.
    pub ways: [[Option<Way<T>>; 2]; 2],
    /// The time that a column of a tile takes, as a multiple of that of the widest tiles.
    pub cost: f64,
}

/// The kernels that a module launches.
pub struct Kernels<T: Packed> {
    /// The products.
    pub widths: Vec<Width<T>>,
    /// The product that is made for another: itself, or Cᵀ = Bᵀ·Aᵀ.
    pub turn: fn(Product<T>) -> Product<T>,
    /// Whether TMA writes C that is stored by columns, and not C by rows.
    pub by_columns: bool,
}

/// The time that the last tiles of C take after their products, in K steps.
const STORE: f64 = 1.5;

/// How much longer blocks without clusters take where rows of A or B do not begin on lines of L2:
/// a box then reads more lines than it has rows.
const ASTRIDE: f64 = 1.27;
/// Bytes of a line.
const LINE: u32 = 128;

/// The time that a narrow tile takes, as a multiple of that of the widest ones.
const NARROW_COST: f64 = 0.5;

impl<T: Packed> Kernels<T> {
    /// The kernels whose tiles take the least time, in rounds of a tile per SM. `astride`: whether rows of
    /// an operand begin elsewhere than lines of the cache.
    fn choose(&self, shape: &Shape, sms: u32, astride: bool) -> &Width<T> {
        let time = |of: &&Width<T>| {
            // Tiles of all ways are of one size.
            let way = of.ways.as_flattened().iter().flatten().next().expect("a width has a way");
            let steps = shape.k.div_ceil(Tile::<T>::DEPTH).div_ceil(way.turns);
            way.tiling.time(shape, sms, steps, (of.cost, astride))
        };
        self.widths.iter().min_by(|x, y| time(x).total_cmp(&time(y))).expect("a rung has kernels")
    }
}

/// Why a device cannot run kernels with this much dynamic shared memory.
pub fn refuses(name: &str, ask: &Ask, shared: u32) -> Option<String> {
    refuses_but_hopper(name, ask, shared + BARRIER_BYTES)
}

/// The maps of A, B and C.
type Three = [Option<Described>; 3];

/// The launches of a rung. What TMA cannot take goes to those that `otherwise` makes.
pub fn launches<T: Packed>(
    on: &dyn Launcher,
    sizes: Sizes,
    kernels: Kernels<T>,
    otherwise: Otherwise<T>,
) -> Result<Launches<Product<T>>> {
    // Rows of matrices without gaps are as far apart as a side is long. Where a side does not suit, the other launches
    // are made at once, so that their memory is seen.
    let suits = [sizes.m, sizes.n, sizes.k].iter().all(|side| side.is_multiple_of(T::PACK));
    let mut others = if suits { None } else { Some(otherwise(on, sizes)?) };
    Ok(Box::new(move |on, asked: Product<T>| {
        let product = (kernels.turn)(asked);
        let shape = Shape::of(&product);
        if shape.m == 0 || shape.n == 0 || shape.batch == 0 {
            return Ok(());
        }
        let apart = |of: &View<T>| of.stride.wrapping_mul(size_of::<T>() as u32);
        let astride = [&product.a, &product.b].iter().any(|of| is_astride(apart(of)));
        let width = kernels.choose(&shape, on.device().multiprocessors, astride);
        let way = width.ways[usize::from(product.a.transposed)][usize::from(product.b.transposed)];
        let all = way.filter(|_| shape.k > 0).and_then(|way| {
            let three = |number| described(&product, &shape, number, (way.box_rows, kernels.by_columns));
            Some((way, (0..shape.batch).map(three).collect::<Option<Vec<_>>>()?))
        });
        let Some((way, all)) = all else {
            let launches = match &mut others {
                Some(launches) => launches,
                none => none.insert(otherwise(on, sizes)?),
            };
            return launches(on, asked);
        };
        let running = way.tiling.running(&shape, on.device().multiprocessors);
        let geometry = Geometry::linear(running * way.tiling.blocks, super::BLOCK).shared(way.shared).overlapping();
        for (number, three) in (0..).zip(all) {
            let map =
                |of: Option<Described>| of.map_or(Ok(TensorMap::none()), |of| on.tensor_map(&of).map(TensorMap::new));
            let [of_a, of_b, of_c] = three;
            let boxes = of_c.is_some().into();
            let (of_a, of_b, of_c) = (map(of_a)?, map(of_b)?, map(of_c)?);
            let Product { a, b, c, batch, .. } = product;
            let [a, b, c] = [(a, batch.a), (b, batch.b), (c, batch.c)].map(|(of, apart)| start(&of, apart, number));
            (way.launch)(on, geometry, (of_a, of_b, of_c, a, b, c, shape, boxes))?;
        }
        Ok(())
    }))
}

/// The view of a matrix of the batch.
pub fn start<T: Scalar>(of: &View<T>, apart: u32, number: u32) -> Global<T> {
    let first = number.wrapping_mul(apart).min(of.data.len());
    of.data.slice(first, of.data.len() - first)
}

/// The maps of one product of the batch, if TMA can take A and B. C has one if it takes that, too, and if
/// nothing of the old C is needed.
fn described<T: Packed>(
    product: &Product<T>,
    shape: &Shape,
    number: u32,
    ([rows_a, rows_b, rows_c], by_columns): ([u32; 3], bool),
) -> Option<Three> {
    let Product { a, b, c, batch, .. } = product;
    let map = |of: &View<T>, apart: u32, box_rows: u32| {
        let stored = if of.transposed { [of.columns, of.rows] } else { [of.rows, of.columns] };
        Described::of(start(of, apart, number), stored, of.stride, box_rows)
    };
    let (a, b) = (map(a, batch.a, rows_a)?, map(b, batch.b, rows_b)?);
    let stores = shape.beta == 0.0 && c.transposed == by_columns;
    let c = if stores { map(c, batch.c, rows_c) } else { None };
    Some([Some(a), Some(b), c])
}
