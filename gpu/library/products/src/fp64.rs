//! # Matrix product, tensor cores in f64 by warp MMA
//!
//! **Idea.** An `mma.sync` multiplies 16 × 16 by 16 × 8 matrices of `f64`, each product fused with the sum. It is used
//! as in `tensor-double`, the course's rung: four pairs of tiles arrive by asynchronous copies, and each MMA computes a
//! piece of Cᵀ, because the pairs that a 16-byte load brings are in the order of its registers then.
//!
//! **Bottleneck.** The tensor cores: by ncu on an H200 they are busy 82 % of the time at 4096³. Tiles of 128 × 128,
//! with one block per SM, were 2 to 12 % slower from 3072³ on, and tiles of 64 × 64 as fast.
//!
//! **Cost.** 2·m·n·k operations; 8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global loads; ⌈k/DEPTH⌉ + 1 barriers per
//! block; one launch.
//!
//! **Threads.** Warps have tiles of 64 × 32 or 32 × 16. Packs of 16 bytes are permuted in shared memory by bits of
//! their row, so that no load of a fragment has bank conflicts. Small tiles are used where large ones do not fill
//! the SMs.
//!
//! **Limits.** Any m, n, k and strides; rows that are not aligned to 16 bytes, and transposed operands, are copied
//! element by element; factors and batches. Compute capability 8.0, with 96 KiB of shared memory per block.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", `mma.sync` for f64. Our own prototype in CUDA C++.

use super::copies::copy_rectangle;
use super::{Matrix, Output, Shape, Task};
use simt::mma::{self, FragmentA64, FragmentB64, FragmentC64};
use simt::{Global, Shared, async_copy, kernel, thread, unroll, warp};

/// Depth in K of the tiles in shared memory.
pub const DEPTH: u32 = 16;
/// Pairs of tiles in shared memory.
const STAGES: u32 = 4;
/// Packs of two elements in a row of the tile of A.
const PACKS_A: u32 = DEPTH / 2;

/// The tiles of blocks, of `ROWS` × `COLUMNS`, and of warps, of 8·`DOWN` × 16·`ALONG`.
pub struct Tiling<const ROWS: u32, const COLUMNS: u32, const DOWN: usize, const ALONG: usize>;

/// The large tiles.
pub type Large = Tiling<128, 64, 8, 2>;
/// The small tiles.
pub type Small = Tiling<64, 32, 4, 1>;

/// A lane's sums: for each eight rows of the warp's tile, fragments of sixteen columns.
type Sums<const DOWN: usize, const ALONG: usize> = [[FragmentC64; ALONG]; DOWN];

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = Large::BLOCK, min_blocks = 2)]
pub fn product_fp64(a: Global<f64>, b: Global<f64>, c: Global<f64>, shape: Shape<f64>) {
    Large::product(a, b, c, shape);
}

/// The product with small tiles.
#[kernel(max_threads = Small::BLOCK, min_blocks = 4)]
pub fn product_fp64_small(a: Global<f64>, b: Global<f64>, c: Global<f64>, shape: Shape<f64>) {
    Small::product(a, b, c, shape);
}

impl<const ROWS: u32, const COLUMNS: u32, const DOWN: usize, const ALONG: usize> Tiling<ROWS, COLUMNS, DOWN, ALONG> {
    /// Warps along a row of the block's tile.
    const ACROSS: u32 = COLUMNS / (16 * ALONG as u32);
    /// Threads per block.
    const BLOCK: u32 = ROWS / (8 * DOWN as u32) * Self::ACROSS * 32;
    /// Elements of a tile of A, and of B.
    const SIZE_A: u32 = ROWS * DEPTH;
    const SIZE_B: u32 = COLUMNS * DEPTH;
    /// Bytes of a pair of tiles.
    const STAGE_BYTES: u32 = (Self::SIZE_A + Self::SIZE_B) * 8;
    /// Packs of two elements in a row of the tile of B.
    const PACKS_B: u32 = COLUMNS / 2;

    /// C = alpha·A·B + beta·C, a tile of C per block.
    #[simt::device]
    fn product(a: Global<f64>, b: Global<f64>, c: Global<f64>, shape: Shape<f64>) {
        let task = shape.task_in_groups(ROWS, COLUMNS, a, b, c);
        let packs = (task.a.has_pairs(), task.b.has_pairs());
        let mut sums: Sums<DOWN, ALONG> = [[[0.0; 4]; ALONG]; DOWN];
        let steps = shape.k.div_ceil(DEPTH);
        unroll::<{ STAGES as usize - 1 }>(|step| Self::copy(task, step as u32, steps, packs));
        if steps > 0 {
            async_copy::wait::<{ STAGES - 2 }>();
            thread::sync_threads(); // the copies of all threads to the first stage are complete
            let mut held = Self::load(0);
            let mut step = 0;
            while step < steps {
                async_copy::wait::<{ STAGES - 3 }>();
                // The copies of all threads to the next stage are complete, from which the first fragments are loaded
                // below; and all threads have multiplied the stage before this, which is filled again next.
                thread::sync_threads();
                Self::copy(task, step + STAGES - 1, steps, packs);
                // After the last step, its own stage again: nobody uses what is loaded.
                Self::multiply(step % STAGES, (step + 1).min(steps - 1) % STAGES, &mut held, &mut sums);
                step += 1;
            }
        }
        Self::store(task, &sums);
    }

    /// The tiles of A and B in a stage.
    #[simt::device]
    fn tiles(stage: u32) -> (Shared<f64>, Shared<f64>) {
        let first = stage * Self::STAGE_BYTES;
        (Shared::dynamic(first, Self::SIZE_A), Shared::dynamic(first + Self::SIZE_A * 8, Self::SIZE_B))
    }

    /// Where in the tile of B pack `pack` of row `k` is. The eight lanes that load together read two packs each from
    /// every second of eight rows, and find them in different banks.
    #[simt::device]
    fn place_b(k: u32, pack: u32) -> u32 {
        k * Self::PACKS_B + (pack ^ (k & 6))
    }

    /// Starts to copy the tiles of a K step to their stage, and closes the group of these copies; the group is
    /// empty after the last step.
    #[simt::device]
    fn copy(task: Task<f64>, step: u32, steps: u32, packs: (bool, bool)) {
        if step < steps {
            let ((tile_a, tile_b), t) = (Self::tiles(step % STAGES), step * DEPTH);
            let thread = (thread::thread_idx_x(), Self::BLOCK);
            copy_rectangle(task.a, (task.row, ROWS), (t, DEPTH), packs.0, tile_a, thread, place_a);
            copy_rectangle(task.b, (t, DEPTH), (task.column, COLUMNS), packs.1, tile_b, thread, Self::place_b);
        }
        async_copy::commit();
    }

    /// First row and column of the warp's tile within the block's; then g = lane / 4 and t = lane % 4.
    #[simt::device]
    fn place_of_lane() -> (u32, u32, u32, u32) {
        let (number, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
        let (row, column) = (number / Self::ACROSS * 8 * DOWN as u32, number % Self::ACROSS * 16 * ALONG as u32);
        (row, column, lane / 4, lane % 4)
    }

    /// The fragments with which a stage begins: the first of A, and all of B.
    #[simt::device]
    fn load(stage: u32) -> (FragmentB64, [FragmentA64; ALONG]) {
        let ((tile_a, tile_b), (row, column, g, t)) = (Self::tiles(stage), Self::place_of_lane());
        let mut of_b = [[0.0; 8]; ALONG];
        unroll::<ALONG>(|j| of_b[j] = Self::load_b(tile_b, t, column / 2 + j as u32 * 8 + g));
        (load_a(tile_a, row + g, t), of_b)
    }

    /// Adds the products of a stage to the lane's sums. Each fragment is loaded while the previous MMAs run. So are the
    /// first fragments of the next stage, so the tensor cores need not wait at the barrier.
    #[simt::device]
    fn multiply(
        stage: u32,
        next: u32,
        (of_a, of_b): &mut (FragmentB64, [FragmentA64; ALONG]),
        sums: &mut Sums<DOWN, ALONG>,
    ) {
        let ((tile_a, _), (next_a, next_b)) = (Self::tiles(stage), Self::tiles(next));
        let (row, column, g, t) = Self::place_of_lane();
        unroll::<DOWN>(|i| {
            let last = i + 1 == DOWN;
            let ahead = if last { load_a(next_a, row + g, t) } else { load_a(tile_a, row + (i as u32 + 1) * 8 + g, t) };
            unroll::<ALONG>(|j| {
                sums[i][j] = mma::multiply_add_f64(of_b[j], *of_a, sums[i][j]);
                if last {
                    of_b[j] = Self::load_b(next_b, t, column / 2 + j as u32 * 8 + g);
                }
            });
            *of_a = ahead;
        });
    }

    /// The lane's part of a fragment of Bᵀ. Its rows g and g + 8 are neighboring columns of the tile, which are one
    /// load; its columns t, t + 4, t + 8, t + 12 are rows 2t, 2t + 1, 8 + 2t and 9 + 2t of the tile.
    #[simt::device]
    fn load_b(tile: Shared<f64>, t: u32, pack: u32) -> FragmentA64 {
        let [first, second, third, fourth] =
            [2 * t, 2 * t + 1, 8 + 2 * t, 9 + 2 * t].map(|k| tile.get_pack(Self::place_b(k, pack)));
        [first[0], first[1], second[0], second[1], third[0], third[1], fourth[0], fourth[1]]
    }

    /// Writes the lane's elements of C. A fragment's columns 2t and 2t + 1 are rows of C, its rows g and g + 8
    /// neighboring columns.
    #[simt::device]
    fn store(task: Task<f64>, sums: &Sums<DOWN, ALONG>) {
        let ((down, across, g, t), pairs) = (Self::place_of_lane(), task.c.matrix.has_pairs());
        unroll::<DOWN>(|i| {
            unroll::<ALONG>(|j| {
                let row = task.row + down + i as u32 * 8 + 2 * t;
                let column = task.column + across + j as u32 * 16 + 2 * g;
                task.c.set_2(row, column, [sums[i][j][0], sums[i][j][2]], pairs);
                task.c.set_2(row + 1, column, [sums[i][j][1], sums[i][j][3]], pairs);
            });
        });
    }
}

/// Where in the tile of A pack `pack` of a row is. The eight lanes that load together read four packs each of two rows,
/// and find them in different banks.
#[simt::device]
fn place_a(row: u32, pack: u32) -> u32 {
    row * PACKS_A + (pack ^ (row % 2 * 4))
}

/// The lane's part of a fragment of Aᵀ, of one row of the tile, with the order in K of B's.
#[simt::device]
fn load_a(tile: Shared<f64>, row: u32, t: u32) -> FragmentB64 {
    let [first, second] = [t, 4 + t].map(|pack| tile.get_pack(place_a(row, pack)));
    [first[0], first[1], second[0], second[1]]
}

impl Matrix<f64> {
    /// Whether rows are contiguous and each second element of a row begins two that are one access.
    #[simt::device]
    pub(super) fn has_pairs(self) -> bool {
        let aligned = (self.data.as_ptr() as usize).is_multiple_of(16);
        aligned && self.column_step == 1 && self.row_step.is_multiple_of(2)
    }
}

impl Output<f64> {
    /// [`Output::set`] for two elements of a row from (`row`, `column`) on, an even number: by one access if C
    /// `has_pairs` and both are inside.
    #[simt::device]
    pub(super) fn set_2(self, row: u32, column: u32, sums: [f64; 2], has_pairs: bool) {
        let c = self.matrix;
        // Behind the last column, two more may be past the end of 32 bits.
        if has_pairs && row < c.rows && column < c.columns & !1 {
            let at = c.place(row, column) / 2;
            let old = if self.beta != 0.0 { c.data.get_pack(at) } else { [0.0; 2] };
            c.data.set_pack(at, [self.combined(old[0], sums[0]), self.combined(old[1], sums[1])]);
        } else {
            self.set(row, column, sums[0]);
            self.set(row, column + 1, sums[1]);
        }
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel whose tiles suit the product, once.

    use super::*;
    use crate::host::by_tiles_with;
    use crate::ladder::*;
    use simt::Kernel;

    /// The rung.
    pub static RUNG: Entry<Matmul> =
        rung!("fp64.rs", [product_fp64, product_fp64_small]).refusing(refuses).run_by(&Fp64);

    struct Fp64;

    fn refuses(ask: &Ask) -> Option<String> {
        let (have, need) = (ask.device.shared_per_block, Large::SHARED_BYTES);
        (have < need).then(|| format!("fp64 needs {need} bytes of shared memory per block, not {have}"))
    }

    impl Multiplies for Fp64 {
        fn f32(&self) -> bool {
            false
        }

        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            Err(Failed::Unsuitable("fp64 multiplies matrices of f64".into()))
        }

        fn f64(&self) -> Option<&dyn MultipliesOf<f64>> {
            Some(self)
        }
    }

    impl MultipliesOf<f64> for Fp64 {
        fn launches_of(&self, on: &dyn Launcher, _: Sizes) -> Result<Launches<Product<f64>>> {
            let (mut large, mut small) = (Large::launches(product_fp64)?, Small::launches(product_fp64_small)?);
            let sms = on.device().multiprocessors;
            Ok(Box::new(move |on, product| {
                let multiply = if prefers_small(&product, sms) { &mut small } else { &mut large };
                multiply(on, product)
            }))
        }
    }

    impl<const R: u32, const C: u32, const DOWN: usize, const ALONG: usize> Tiling<R, C, DOWN, ALONG> {
        /// Bytes of dynamic shared memory.
        const SHARED_BYTES: u32 = STAGES * Self::STAGE_BYTES;

        /// The launch of a kernel with these tiles.
        fn launches<K>(kernel: K) -> Result<Launches<Product<f64>>>
        where
            K: Kernel<Args = (Global<f64>, Global<f64>, Global<f64>, Shape<f64>)>,
        {
            by_tiles_with(kernel, R, C, [Self::BLOCK, 1, 1], Self::SHARED_BYTES)
        }
    }

    /// Whether small tiles are likely to be faster: they fill the SMs more evenly. Measured on an H200, four small
    /// tiles take 0.53 of the time of two large ones, which have twice the elements.
    fn prefers_small(product: &Product<f64>, sms: u32) -> bool {
        let shape = Shape::of(product);
        let rounds = |tiles: u32, blocks: u32| f64::from(tiles.div_ceil(blocks * sms));
        rounds(shape.tiles(64, 32), 4) * 0.53 < rounds(shape.tiles(128, 64), 2)
    }
}
