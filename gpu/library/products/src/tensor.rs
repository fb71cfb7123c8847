//! A product on the tensor cores, by `mma.sync`: what its rungs share. They differ in what the tensor cores get of an
//! element of A or B, and in how many of their products are one product.

use super::copies::copy_rectangle;
use super::{Shape, Task};
use simt::mma::FragmentC;
use simt::{Global, Shared, async_copy, opaque, thread, unroll, warp};

/// Depth in K of the tiles in shared memory.
pub const DEPTH: u32 = 32;
/// Pairs of tiles in shared memory.
const STAGES: u32 = 3;
/// Packs of four elements in a row of the tile of A.
const ACROSS_A: u32 = DEPTH / 4;

/// A method to compute `f32` products on the tensor cores.
pub(super) trait Method {
    /// The part of an element of A or B that the tensor cores read.
    type Operand: Copy;
    /// MMAs per product of fragments.
    const PASSES: usize;
    /// Whether the tensor cores sum only sixteen k, and the CUDA cores add these partial sums.
    const PARTS: bool;

    /// Converts an element to that operand.
    fn operand(x: f32) -> Self::Operand;

    /// Adds one of the products of small matrices to sums.
    fn add(pass: usize, a: [Self::Operand; 4], b: [Self::Operand; 2], sums: FragmentC) -> FragmentC;
}

/// The tiles of blocks, of `ROWS` × `COLUMNS`, and of warps, of 16·`DOWN` × 32·`ALONG`.
pub(super) struct Tiling<const ROWS: u32, const COLUMNS: u32, const DOWN: usize, const ALONG: usize>;

/// A lane's sums: fragments of 16 × 8, in groups of four along a row.
type Sums<const DOWN: usize, const ALONG: usize> = [[[FragmentC; 4]; ALONG]; DOWN];

impl<const ROWS: u32, const COLUMNS: u32, const DOWN: usize, const ALONG: usize> Tiling<ROWS, COLUMNS, DOWN, ALONG> {
    /// Warps along a row of the block's tile.
    const ACROSS: u32 = COLUMNS / (32 * ALONG as u32);
    /// Threads per block.
    pub(super) const BLOCK: u32 = ROWS / (16 * DOWN as u32) * Self::ACROSS * 32;
    /// Elements of a tile of A, and of both tiles.
    const SIZE_A: u32 = ROWS * DEPTH;
    const SIZE: u32 = Self::SIZE_A + COLUMNS * DEPTH;
    /// Bytes of dynamic shared memory.
    #[cfg(not(target_os = "cuda"))]
    pub(super) const SHARED_BYTES: u32 = STAGES * Self::SIZE * 4;
    /// Packs of four elements in a row of the tile of B.
    const ACROSS_B: u32 = COLUMNS / 4;

    /// C = alpha·A·B + beta·C, a tile of C per block.
    #[simt::device]
    pub(super) fn product<M: Method>(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
        let task = shape.task_in_groups(ROWS, COLUMNS, a, b, c);
        let packs = (task.a.has_packs(), task.b.has_packs());
        let place = Self::place();
        let mut sums: Sums<DOWN, ALONG> = [[[[0.0; 4]; 4]; ALONG]; DOWN];
        unroll::<{ STAGES as usize - 1 }>(|stage| Self::copy(task, stage as u32, stage as u32 * DEPTH, shape.k, packs));
        let (mut t, mut stage) = (0, 0);
        while t < shape.k {
            async_copy::wait::<{ STAGES - 2 }>();
            // This pair of tiles is complete, of all threads' copies; and all threads are done with the pair before it,
            // whose place is filled next.
            thread::sync_threads();
            let before = if stage == 0 { STAGES - 1 } else { stage - 1 };
            Self::copy(task, before, t + (STAGES - 1) * DEPTH, shape.k, packs);
            let tiles = Self::tiles(stage);
            Self::two_steps::<M>(tiles, place, 0, &mut sums);
            Self::two_steps::<M>(tiles, place, 2, &mut sums);
            t += DEPTH;
            stage = if stage == STAGES - 1 { 0 } else { stage + 1 };
        }
        Self::store(task, place, &sums);
    }

    /// The tiles of a stage in shared memory: of A by rows of `DEPTH` elements, of B by rows of `COLUMNS`.
    #[simt::device]
    fn tiles(stage: u32) -> (Shared<f32>, Shared<f32>) {
        let first = stage * Self::SIZE * 4;
        (Shared::dynamic(first, Self::SIZE_A), Shared::dynamic(first + Self::SIZE_A * 4, Self::SIZE - Self::SIZE_A))
    }

    /// Starts to copy the tiles from k = `t` on to a stage, and closes the group of these copies. What lies outside
    /// the matrices becomes zero; after the last tile nothing is copied.
    #[simt::device]
    fn copy(task: Task, stage: u32, t: u32, k: u32, packs: (bool, bool)) {
        if t < k {
            let (tile_a, tile_b) = Self::tiles(stage);
            // What follows from the thread's number is computed again for each stage: during the products there are no
            // registers for it.
            let thread = opaque(thread::thread_idx_x().wrapping_add(t)).wrapping_sub(t);
            let (rows, depth, columns) = ((task.row, ROWS), (t, DEPTH), (task.column, COLUMNS));
            copy_rectangle(task.a, rows, depth, packs.0, tile_a, (thread, Self::BLOCK), pack_a);
            copy_rectangle(task.b, depth, columns, packs.1, tile_b, (thread, Self::BLOCK), Self::pack_b);
        }
        async_copy::commit();
    }

    /// Where in the tile of B the pack `across` of row `k` is. The lanes that load together, of each second row of
    /// eight with two packs each, then find them in different banks.
    #[simt::device]
    fn pack_b(k: u32, across: u32) -> u32 {
        k * Self::ACROSS_B + (across ^ (k & 6))
    }

    /// Where the thread's elements are.
    #[simt::device]
    fn place() -> Place {
        let (lane, number) = (warp::lane_id(), thread::thread_idx_x() / 32);
        let (row, column) = (number / Self::ACROSS * 16 * DOWN as u32, number % Self::ACROSS * 32 * ALONG as u32);
        Place { row, column, g: lane / 4, t: lane % 4 }
    }

    /// Adds the products of sixteen elements in K: steps `step` and `step` + 1 of the stage.
    #[simt::device]
    fn two_steps<M: Method>(tiles: (Shared<f32>, Shared<f32>), place: Place, step: u32, sums: &mut Sums<DOWN, ALONG>) {
        if !M::PARTS {
            Self::step::<M>(tiles, place, step, sums);
            return Self::step::<M>(tiles, place, step + 1, sums);
        }
        let mut parts: Sums<DOWN, ALONG> = [[[[0.0; 4]; 4]; ALONG]; DOWN];
        Self::step::<M>(tiles, place, step, &mut parts);
        Self::step::<M>(tiles, place, step + 1, &mut parts);
        each::<DOWN, ALONG>(|i, group, j| unroll::<4>(|e| sums[i][group][j][e] += parts[i][group][j][e]));
    }

    /// Adds the products of eight elements in K, step `step` of the stage.
    #[simt::device]
    fn step<M: Method>(tiles: (Shared<f32>, Shared<f32>), place: Place, step: u32, sums: &mut Sums<DOWN, ALONG>) {
        let (mut a, mut b) = ([[M::operand(0.0); 4]; DOWN], [[[M::operand(0.0); 2]; 4]; ALONG]);
        unroll::<ALONG>(|group| b[group] = Self::load_b::<M>(tiles.1, place, step, group as u32));
        unroll::<DOWN>(|i| a[i] = load_a::<M>(tiles.0, place, step, i as u32));
        // An instruction waits for the sums that it adds to: between two for the same sums are those for all others.
        Self::pass::<M>(0, &a, &b, sums);
        Self::pass::<M>(1, &a, &b, sums);
        Self::pass::<M>(2, &a, &b, sums);
    }

    /// Adds product number `pass` of all fragments to their sums, if there is one of that number.
    #[simt::device]
    fn pass<M: Method>(
        pass: usize,
        a: &[[M::Operand; 4]; DOWN],
        b: &[[[M::Operand; 2]; 4]; ALONG],
        sums: &mut Sums<DOWN, ALONG>,
    ) {
        if pass < M::PASSES {
            each::<DOWN, ALONG>(|i, group, j| sums[i][group][j] = M::add(pass, a[i], b[group][j], sums[i][group][j]));
        }
    }

    /// The lane's parts of a group's four fragments of B.
    #[simt::device]
    fn load_b<M: Method>(tile: Shared<f32>, place: Place, step: u32, group: u32) -> [[M::Operand; 2]; 4] {
        let Place { column, g, t, .. } = place;
        let load = |i: u32| tile.get_pack(Self::pack_b(step * 8 + 2 * t + i, column / 4 + group * 8 + g));
        let (first, second) = (load(0), load(1));
        [0, 1, 2, 3].map(|j| [M::operand(first[j]), M::operand(second[j])])
    }

    /// Writes the lane's elements of C.
    #[simt::device]
    fn store(task: Task, place: Place, sums: &Sums<DOWN, ALONG>) {
        Self::store_row(task, place, 0, sums);
        Self::store_row(task, place, 1, sums);
        Self::store_row(task, place, 2, sums);
        Self::store_row(task, place, 3, sums);
    }

    /// [`Tiling::store`] for row `fragment` of fragments, if there is one.
    #[simt::device]
    fn store_row(task: Task, place: Place, fragment: usize, sums: &Sums<DOWN, ALONG>) {
        let packs = task.c.matrix.has_packs();
        if fragment < DOWN {
            let row = task.row + place.row + fragment as u32 * 16 + place.g;
            unroll::<ALONG>(|group| {
                let column = task.column + place.column + group as u32 * 32 + place.t * 8;
                let four = |i: usize| [0, 1, 2, 3].map(|j| sums[fragment][group][j][i]);
                task.c.set_4(row, column, four(0), packs);
                task.c.set_4(row, column + 4, four(1), packs);
                task.c.set_4(row + 8, column, four(2), packs);
                task.c.set_4(row + 8, column + 4, four(3), packs);
            });
        }
    }
}

/// Calls `f` for each fragment of a lane's sums: its row, its group, and its number there.
#[simt::device]
fn each<const DOWN: usize, const ALONG: usize>(mut f: impl FnMut(usize, usize, usize)) {
    unroll::<DOWN>(|i| unroll::<ALONG>(|group| unroll::<4>(|j| f(i, group, j))));
}

/// Where in the tile of A the pack `across` of a row is. The lanes that load together, of four rows with two packs
/// each, then find them in different banks.
#[simt::device]
fn pack_a(row: u32, across: u32) -> u32 {
    row * ACROSS_A + (across ^ (row % 4 * 2))
}

/// Where a lane's fragments are.
///
/// Element t of the first half of a fragment in K is really element 2·t of the step, and element t of the second
/// half element 2·t + 1: the two are neighbours in A. Column g of fragment j of a group is really column 4·g + j: the
/// four are neighbours in B and in C.
#[derive(Clone, Copy)]
struct Place {
    /// First row and column of the warp's tile.
    row: u32,
    column: u32,
    /// lane / 4 and lane % 4.
    g: u32,
    t: u32,
}

/// The lane's part of a fragment of A.
#[simt::device]
fn load_a<M: Method>(tile: Shared<f32>, place: Place, step: u32, fragment: u32) -> [M::Operand; 4] {
    let Place { row, g, t, .. } = place;
    // Rows of the same remainder by 8 have their packs in the same order.
    let pair = pack_a(row + g, (t / 2) ^ (step * 2)) * 2 + t % 2;
    let load = |down: u32| {
        let both = tile.cast::<u64>().get(pair + (fragment * 16 + down) * (DEPTH / 2));
        (M::operand(f32::from_bits(both as u32)), M::operand(f32::from_bits((both >> 32) as u32)))
    };
    let ((a0, a2), (a1, a3)) = (load(0), load(8));
    [a0, a1, a2, a3]
}

#[cfg(not(target_os = "cuda"))]
pub(super) mod host {
    //! The launches.

    use super::Tiling;
    use crate::Shape;
    use crate::host::by_tiles_with;
    use crate::ladder::*;

    impl<const R: u32, const C: u32, const DOWN: usize, const ALONG: usize> Tiling<R, C, DOWN, ALONG> {
        /// Why a device cannot run a kernel with these tiles.
        pub fn refuses(ask: &Ask) -> Option<String> {
            let (have, need) = (ask.device.shared_per_block, Self::SHARED_BYTES);
            (have < need).then(|| format!("the tiles need {need} bytes of shared memory, not {have}"))
        }

        /// The launch of a kernel with these tiles.
        pub fn launches<K>(kernel: K) -> Result<Launches<Product>>
        where
            K: Kernel<Args = (Global<f32>, Global<f32>, Global<f32>, Shape)>,
        {
            by_tiles_with(kernel, R, C, [Self::BLOCK, 1, 1], Self::SHARED_BYTES)
        }
    }
}
