//! What the host launches: operands are copied where they must be; then the product, by the fastest method.

use super::split::By;
use super::*;
use crate::host::{Room, refuses_but_hopper};
use crate::ladder::*;
use crate::operand::host::Operand;
use crate::operand::{PACK, blocks};
use crate::panel::Panel;

/// The rung.
pub static RUNG: Entry<Matmul> =
    rung!("mod.rs", [product_fp32_hopper, product_fp32_hopper_by, product_fp32_hopper_pack, product_fp32_hopper_sum])
        .refusing(refuses)
        .run_by(&ProducerConsumer);

struct ProducerConsumer;

fn refuses(ask: &Ask) -> Option<String> {
    refuses_but_hopper("fp32-hopper", ask, SHARED_BYTES + ring::BARRIER_BYTES)
}

impl Multiplies for ProducerConsumer {
    fn launches(&self, on: &dyn Launcher, sizes: Sizes) -> Result<Launches<Product>> {
        let mut rooms = [Room::default(), Room::default(), Room::default()];
        let Sizes { m, n, k } = sizes;
        // At once, for a captured sequence may not allocate; whether an operand needs its room is known later.
        rooms[0].view(on, panel_of(ROWS, m, k, 0, 0).elements())?;
        rooms[1].view(on, panel_of(COLUMNS, n, k, 0, 0).elements())?;
        rooms[2].view(on, parts_of(&choose(sizes, on.device().multiprocessors)))?;
        Ok(Box::new(move |on, product| {
            let shape = Shape::of(&product);
            (0..shape.batch).try_for_each(|number| one(on, &product, shape, number, &mut rooms))
        }))
    }
}

/// An operand with `along` rows of A, or columns of B, in tiles of `width`.
fn panel_of(width: u32, along: u32, deep: u32, step: u32, step_deep: u32) -> Panel {
    Panel { along, deep, step, step_deep, width, depth: deep.next_multiple_of(DEPTH) }
}

/// The launches for one product of a batch.
fn one(on: &dyn Launcher, product: &Product, shape: Shape, number: u32, rooms: &mut [Room; 3]) -> Result {
    let Shape { m, n, k, .. } = shape;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let [room_a, room_b, room_parts] = rooms;
    let (c, way) = (product.c.data, choose(Sizes { m, n, k }, on.device().multiprocessors));
    let ((cluster, groups), mut work) = way;
    let parts = room_parts.view(on, parts_of(&way))?;
    let sum =
        |geometry: Geometry, work: Work| on.launch(product_fp32_hopper_sum, geometry, (parts, c, shape, number, work));
    let to_add_up = Geometry::linear((work.tiles() - work.shared) * multiply::PACKS, MULTIPLIERS);
    if k == 0 {
        return sum(to_add_up, work);
    }
    let panel_a = panel_of(work.rows, m, k, shape.a.row, shape.a.column);
    let panel_b = panel_of(COLUMNS, n, k, shape.b.column, shape.b.row);
    let (a, b, batch) = (&product.a, &product.b, &product.batch);
    let a = Operand::new(on, (a, number * batch.a), !a.transposed, (panel_a, DEPTH), room_a)?;
    let b = Operand::new(on, (b, number * batch.b), b.transposed, (panel_b, DEPTH), room_b)?;
    (work.boxes_a, work.boxes_b) = (a.map.is_some().into(), b.map.is_some().into());
    let copying = blocks(&a.panel) + blocks(&b.panel);
    if copying > 0 {
        let args = (a.from, a.to, a.panel, b.from, b.to, b.panel);
        on.launch(product_fp32_hopper_pack, Geometry::linear(copying, PACK).overlapping(), args)?;
    }
    // It begins while the copies end; the thread that needs them waits.
    let geometry = Geometry::linear(work.blocks, BLOCK).shared(SHARED_BYTES).overlapping();
    let map = |of: &Operand| of.map.unwrap_or(TensorMap::none());
    if cluster == 1 {
        on.launch(product_fp32_hopper, geometry, (map(&a), map(&b), a.to, b.to, c, parts, shape, number, work))?;
        return if work.shared < work.tiles() { sum(to_add_up.overlapping(), work) } else { Ok(()) };
    }
    let args = (map(&a), map(&b), a.to, b.to, c, shape, number, work);
    match (cluster, groups) {
        (2, 1) => on.launch(product_fp32_hopper_by::<By<2>>::default(), geometry, args),
        (3, 1) => on.launch(product_fp32_hopper_by::<By<3>>::default(), geometry, args),
        (4, 1) => on.launch(product_fp32_hopper_by::<By<4>>::default(), geometry, args),
        (_, 1) => on.launch(product_fp32_hopper_by::<By<8>>::default(), geometry, args),
        (2, _) => on.launch(product_fp32_hopper_by::<By<2, 4>>::default(), geometry, args),
        (3, _) => on.launch(product_fp32_hopper_by::<By<3, 6>>::default(), geometry, args),
        _ => on.launch(product_fp32_hopper_by::<By<4, 8>>::default(), geometry, args),
    }
}

/// The clusters that there are kernels for, with one group of warps and with two.
const CLUSTERS: [(u32, u32); 7] = [(2, 1), (3, 1), (4, 1), (8, 1), (2, 2), (3, 2), (4, 2)];

/// The time that the blocks of a cluster take to add up a tile, in elements in K.
const ADDING: u32 = 20;
/// The time that the launch takes which adds up parts of tiles, and blocks to write them, likewise.
const ADDING_UP: u32 = 256;

/// Clusters of the given size that are resident at the same time. SMs form groups of 16 or 18, some of fewer, and a
/// cluster stays in one group, so clusters of more than two blocks cannot use every SM.
fn clusters(sms: u32, blocks: u32) -> u32 {
    (if blocks > 2 { sms * 7 / 8 } else { sms }) / blocks
}

/// The blocks of a cluster, 1 for none, and the groups of warps in a block, and the distribution of the tiles.
type Way = ((u32, u32), Work);

/// Elements of scratch memory for the parts of tiles.
fn parts_of(&((cluster, _), work): &Way) -> u64 {
    let divided = cluster == 1 && work.shared < work.tiles();
    if divided { u64::from(2 * work.blocks) * u64::from(multiply::PART) } else { 0 }
}

/// The way that takes the least time: as elements in K that a block goes through.
fn choose(sizes: Sizes, sms: u32) -> Way {
    let (along, steps) = (sizes.n.div_ceil(COLUMNS), sizes.k.div_ceil(DEPTH));
    let work = |rows, blocks, shared| Work {
        rows,
        down: sizes.m.div_ceil(rows),
        along,
        steps,
        blocks,
        shared,
        boxes_a: 0,
        boxes_b: 0,
    };
    let tiles = work(ROWS, 0, 0).tiles();
    if tiles == 0 || steps == 0 {
        return ((1, 1), work(ROWS, 0, 0));
    }
    let time = |rounds: u32, steps: u32, more: u32| rounds as u64 * (steps as u64 * DEPTH as u64 + more as u64);
    let whole = (time(tiles.div_ceil(sms), steps, 0), (1, 1), work(ROWS, tiles.min(sms), tiles));
    // With one full round among the shared tiles a block has more than a tile's steps, so that no tile has more
    // than two blocks.
    let shared = (tiles / sms).saturating_sub(1) * sms;
    let parts = u64::from(tiles - shared) * u64::from(steps);
    let blocks = parts.min(sms.into()) as u32;
    let longest =
        time(shared / sms, steps, 0) + parts.div_ceil(blocks.into()) * u64::from(DEPTH) + u64::from(ADDING_UP);
    let divided = (longest, (1, 1), work(ROWS, blocks, shared));
    let in_clusters = CLUSTERS.into_iter().filter_map(|(blocks, groups)| {
        let tiles = work(ROWS / groups, 0, 0).tiles();
        let rounds = tiles.div_ceil(Some(clusters(sms, blocks)).filter(|&n| n > 0)?);
        // Halves of tiles are for one round: in more, where clusters begin again, other ways were faster.
        if groups > 1 && rounds > 1 {
            return None;
        }
        let time = time(rounds, steps.div_ceil(blocks).div_ceil(groups), ADDING);
        Some((time, (blocks, groups), work(ROWS / groups, tiles * blocks, 0)))
    });
    let (_, cluster, work) = [whole, divided].into_iter().chain(in_clusters).min_by_key(|of| of.0).expect("two ways");
    (cluster, work)
}
