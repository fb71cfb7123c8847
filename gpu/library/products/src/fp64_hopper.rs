//! # Matrix product, TMA and warp MMA in f64
//!
//! **Idea.** A warp of its own has TMA copy boxes of A and B to a ring of stages, as in `half-hopper`; `mma.sync` for
//! `f64` takes its operands from registers, so the other warps load fragments from these boxes. They are in the order
//! that TMA swizzles packs of 16 bytes in, and each load of a pack brings two elements to the registers where the MMA
//! wants them: neighboring columns of B, and neighbors in K of A. So it computes pieces of Cᵀ, as in `fp64`. No warp
//! waits for another: each runs ahead as far as the ring goes. Between two MMAs a warp loads what the MMA after the
//! next ones needs.
//!
//! **Bottleneck.** The tensor cores. On an H100, over `cublasDgemm`: 1.10, 1.02, 1.00 and 0.98 at 1024³, 2048³, 4096³
//! and 8192³, 0.96 at 4104³, 0.99 at 5000³. A stage is given back behind a fence, which costs 0.5 to 1.5 %: TMA writes
//! by another proxy, and where warps gave stages back without one, it overtook their last loads.
//!
//! **Cost.** 2·m·n·k operations, with m, n and k rounded up to tiles. Copies of 8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes
//! to shared memory. One barrier per block; one launch.
//!
//! **Threads.** A warp for each 64 × 32 elements of a tile of C, and one that copies. Tiles of C have 128 rows and 128
//! columns; or 64, with a warp for each 32 × 32, where that fills the SMs better. A lane holds 64 or 32 sums.
//!
//! **Limits.** Products of A and B that are both stored by rows, or both by columns, with addresses and row strides
//! that are multiples of 16 bytes; `fp64` makes the others, and small ones. Factors and batches. Compute capability 9.0
//! only.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", `mma.sync` for f64 and tensor copies. Our own prototype in CUDA
//! C++.

use super::Shape;
use super::group::double::Doubles;
use simt::tensor_map::TensorMap;
use simt::{Global, kernel};

/// Rows of a tile of C.
pub const ROWS: u32 = Large::ROWS;
/// Columns of a tile of C.
pub const COLUMNS: u32 = Large::COLUMNS;

type Large = Doubles<8, 2, 4, 6, 1>;
type Middle = Doubles<4, 4, 2, 8, 1>;

/// C = alpha·A·B + beta·C for one product. The views of A and B say what their maps are of.
#[kernel(sm_90a, max_threads = Large::BLOCK, min_blocks = 1)]
pub fn product_fp64_hopper(
    map_a: TensorMap<f32>,
    map_b: TensorMap<f32>,
    _a: Global<f64>,
    _b: Global<f64>,
    c: Global<f64>,
    shape: Shape<f64>,
) {
    Large::product(map_a, map_b, shape.matrices(0, c, c, c).2, shape);
}

/// The product with tiles of 64 columns.
#[kernel(sm_90a, max_threads = Middle::BLOCK, min_blocks = 1)]
pub fn product_fp64_hopper_middle(
    map_a: TensorMap<f32>,
    map_b: TensorMap<f32>,
    _a: Global<f64>,
    _b: Global<f64>,
    c: Global<f64>,
    shape: Shape<f64>,
) {
    Middle::product(map_a, map_b, shape.matrices(0, c, c, c).2, shape);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the product, once per matrix of a batch.

    use super::*;
    use crate::fp64;
    use crate::group::mapped_host::{refuses, start};
    use crate::ladder::*;
    use simt::tensor_map::Described;
    use std::boxed::Box;
    use std::vec;
    use std::vec::Vec;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("fp64_hopper.rs", [product_fp64_hopper, product_fp64_hopper_middle])
        .refusing(|ask| refuses("fp64-hopper", ask, Large::SHARED_BYTES))
        .run_by(&Fp64Hopper);

    struct Fp64Hopper;

    pub(crate) type Args = (TensorMap<f32>, TensorMap<f32>, Global<f64>, Global<f64>, Global<f64>, Shape<f64>);

    /// The time that each SM takes for a small tile of `fp64`, where a tile of 128 columns takes 1.
    const SMALL: f64 = 0.146;

    /// A kernel with its tiles.
    #[derive(Clone, Copy)]
    pub(crate) struct Way {
        launch: fn(&dyn Launcher, Geometry, Args) -> Result,
        /// Rows and columns of a tile of C.
        tile: [u32; 2],
        /// Blocks of a cluster.
        cluster: u32,
        geometry: Geometry,
        box_rows: [u32; 2],
        /// The time of a K step.
        cost: f64,
    }

    impl Way {
        /// The blocks that are resident at the same time, and how many tiles each of them has at most.
        fn rounds(&self, shape: &Shape<f64>, sms: u32) -> (u32, u32) {
            let tiles = shape.m.div_ceil(self.tile[0] * self.cluster) * shape.n.div_ceil(self.tile[1]);
            let clusters = (sms / self.cluster).max(1).min(tiles);
            (clusters * self.cluster, tiles.div_ceil(clusters.max(1)))
        }

        fn time(&self, shape: &Shape<f64>, sms: u32) -> f64 {
            self.cost * f64::from(self.rounds(shape, sms).1)
        }
    }

    impl<const DOWN: usize, const HIGH: u32, const WIDE: u32, const STAGES: u32, const BLOCKS: u32>
        Doubles<DOWN, HIGH, WIDE, STAGES, BLOCKS>
    {
        pub(crate) fn by(launch: fn(&dyn Launcher, Geometry, Args) -> Result, cost: f64) -> Way {
            let geometry = Geometry::linear(0, Self::BLOCK).shared(Self::SHARED_BYTES).overlapping();
            let tile = [Self::ROWS, Self::COLUMNS];
            Way { launch, tile, cluster: BLOCKS, geometry, box_rows: Self::BOX_ROWS, cost }
        }
    }

    /// The map of a matrix, stored by rows, for boxes of `box_rows` rows; none if TMA cannot take it. To TMA an element
    /// is two of `f32`.
    fn described(data: Global<f64>, [rows, columns]: [u32; 2], stride: u32, box_rows: u32) -> Option<Described> {
        let (elements, twice) = (u64::from(rows) * u64::from(stride), |n: u32| n.checked_mul(2));
        twice(u32::try_from(elements).ok()?)?; // a view has fewer than 2³² elements
        let data = data.slice(0, data.len().min(elements as u32));
        Described::of(data.cast::<f32>(), [rows, twice(columns)?], twice(stride)?, box_rows)
    }

    /// Cᵀ = Bᵀ·Aᵀ if both operands are stored by columns, so that they are stored by rows.
    fn turned(product: Product<f64>) -> Product<f64> {
        let Product { a, b, c, batch, .. } = product;
        if !(a.transposed && b.transposed) {
            return product;
        }
        let turn = |of: Matrix<f64>| Matrix { rows: of.columns, columns: of.rows, transposed: !of.transposed, ..of };
        let batch = Batch { a: batch.b, b: batch.a, ..batch };
        Product { a: turn(b), b: turn(a), c: turn(c), batch, ..product }
    }

    impl MultipliesOf<f64> for Fp64Hopper {
        fn launches_of(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product<f64>>> {
            let ways = vec![
                Large::by(|on, geometry, args| on.launch(product_fp64_hopper, geometry, args), 1.0),
                Middle::by(|on, geometry, args| on.launch(product_fp64_hopper_middle, geometry, args), 0.52),
            ];
            launches_by(on, sizes, ways, SMALL)
        }
    }

    /// The launches by whichever of these ways is the fastest, or by `fp64`, whose small tiles take so much time.
    pub(crate) fn launches_by(
        on: &dyn Launcher,
        sizes: Sizes,
        ways: Vec<Way>,
        small: f64,
    ) -> Result<Launches<Product<f64>>> {
        let others = fp64::launches::RUNG.run.f64().expect("it multiplies matrices of f64");
        let mut otherwise = others.launches_of(on, sizes)?;
        Ok(Box::new(move |on, asked| {
            let product = turned(asked);
            let (shape, sms) = (Shape { batch: 1, ..Shape::of(&product) }, on.device().multiprocessors);
            let Product { a, b, c, batch, .. } = product;
            let best = ways.iter().min_by(|x, y| x.time(&shape, sms).total_cmp(&y.time(&shape, sms)));
            let way = best.expect("there are ways");
            let maps = |number: u32| {
                let map = |of: Matrix<f64>, sides, apart, box_rows| {
                    let data = start(&of, apart, number);
                    Some((described(data, sides, of.stride, box_rows)?, data))
                };
                let [rows_a, rows_b] = way.box_rows;
                let of_a = map(a, [shape.m, shape.k], batch.a, rows_a)?;
                Some((of_a, map(b, [shape.k, shape.n], batch.b, rows_b)?, start(&c, batch.c, number)))
            };
            let suits = !a.transposed && !b.transposed && shape.k > 0;
            let small = small * f64::from(Shape { batch: batch.count, ..shape }.tiles(64, 32).div_ceil(sms));
            let large = way.time(&shape, sms) * f64::from(batch.count);
            let all = if suits && large <= small { (0..batch.count).map(maps).collect() } else { None };
            let Some(all): Option<Vec<_>> = all else { return otherwise(on, asked) };
            let (blocks, _) = way.rounds(&shape, sms);
            let geometry = Geometry { grid: [blocks, 1, 1], ..way.geometry };
            all.into_iter().try_for_each(|((of_a, a), (of_b, b), c)| {
                let maps = (TensorMap::new(on.tensor_map(&of_a)?), TensorMap::new(on.tensor_map(&of_b)?));
                (way.launch)(on, geometry, (maps.0, maps.1, a, b, c, shape))
            })
        }))
    }

    impl Multiplies for Fp64Hopper {
        fn f32(&self) -> bool {
            false
        }

        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            Err(Failed::Unsuitable("fp64-hopper multiplies matrices of f64".into()))
        }

        fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
            Some(self)
        }
    }
}
