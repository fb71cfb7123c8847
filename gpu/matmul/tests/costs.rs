//! The costs that the heads of the rungs of `f32` state: counted on the simulator, and looked for in the heads' text.

use rungs_common::ladder::Entry;
use rungs_matmul::ladder::{Multiply, Product};
use rungs_matmul::*;
use rungs_testing::{Buffer, with_multiprocessors};
use simt::sim::{AccessKind, Event, Space, observe};
use std::cell::RefCell;
use std::rc::Rc;

/// SMs that the rungs are told of, so that no count depends on the host.
const MULTIPROCESSORS: u32 = 3;

/// What the launches of a product did.
#[derive(Default)]
struct Cost {
    launches: u32,
    /// Barriers of each block of the last launch.
    barriers: Vec<u32>,
    /// Bytes read from global memory, and written.
    read: u64,
    written: u64,
}

impl Cost {
    fn note(&mut self, event: Event) {
        match event {
            Event::Launch { grid, .. } => {
                self.launches += 1;
                self.barriers = vec![0; grid.0.into_iter().product::<u32>() as usize];
            }
            Event::Access(access) if access.space == Space::Global => match access.kind {
                AccessKind::Read => self.read += u64::from(access.bytes),
                AccessKind::Write => self.written += u64::from(access.bytes),
                AccessKind::Atomic => panic!("no rung adds to C"),
            },
            Event::Barrier { block, .. } => self.barriers[block as usize] += 1,
            _ => {}
        }
    }
}

/// The cost of a product of ones, each element of which is k; and the head says `words`.
fn cost(rung: &Entry<Multiply>, words: &str, (m, n, k): (u32, u32, u32)) -> Cost {
    let name = rung.rung.name;
    let head = rung.rung.head();
    assert!(head.part("Cost").contains(words), "the head of {} does not say: {words}", rung.rung.path());
    let Multiply::F32(multiply) = rung.run else { panic!("{name} is no rung of f32") };
    let ones = |rows, columns| Buffer::new(&vec![1f32; (rows * columns) as usize], 0);
    let (mut a, mut b, mut c) = (ones(m, k), ones(k, n), ones(m, n));
    let product = Product { a: a.view(), b: b.view(), c: c.view(), m, n, k };
    let noted: Rc<RefCell<Cost>> = Rc::default();
    let log = noted.clone();
    observe(move |event| log.borrow_mut().note(event), || multiply(&with_multiprocessors(MULTIPROCESSORS), product))
        .unwrap();
    assert!(c.slice().iter().all(|&element| element == k as f32), "{name}");
    let cost = noted.take();
    assert_eq!(cost.launches, 1, "{name}");
    assert_eq!(cost.written, 4 * u64::from(m * n), "{name}");
    cost
}

fn has_barriers(cost: &Cost, each: u32) {
    assert_eq!(cost.barriers, vec![each; cost.barriers.len()]);
}

#[test]
fn without_shared_memory() {
    let (m, n, k) = (48, 32, 40);
    for rung in [&r1_naive::launches::RUNG, &r2_coalesced::launches::RUNG] {
        let cost = cost(rung, "2·m·n·k operations; 8·m·n·k bytes of loads; no barrier; one launch", (m, n, k));
        has_barriers(&cost, 0);
        assert_eq!(cost.read, 8 * u64::from(m * n * k));
    }
}

#[test]
fn an_element_per_thread() {
    for (rung, tile) in
        [(&r3_shared_tile::launches::RUNG, r3_shared_tile::TILE), (&r4_wide_tile::launches::RUNG, r4_wide_tile::TILE)]
    {
        let (m, n, k) = (3 * tile, 2 * tile, tile + 8);
        let words = "2·m·n·k operations; 8·m·n·k/TILE bytes of global loads; 2·⌈k/TILE⌉ barriers per block; one launch";
        let cost = cost(rung, words, (m, n, k));
        has_barriers(&cost, 2 * k.div_ceil(tile));
        assert_eq!(cost.read, 8 * u64::from(m * n * k / tile));
    }
}

/// Sides of more than a tile, whose last tiles are not full.
#[test]
fn elements_in_registers() {
    for (rung, tile, depth, barriers) in [
        (&r5_thread_column::launches::RUNG, r5_thread_column::TILE, r5_thread_column::DEPTH, 2),
        (&r6_thread_tile::launches::RUNG, r6_thread_tile::TILE, r6_thread_tile::DEPTH, 2),
        (&r7_vector_loads::launches::RUNG, r7_vector_loads::TILE, r7_vector_loads::DEPTH, 2),
        (&r8_warp_tile::launches::RUNG, r8_warp_tile::TILE, r8_warp_tile::DEPTH, 2),
        (&r9_async_copy::launches::RUNG, r9_async_copy::TILE, r9_async_copy::DEPTH, 1),
    ] {
        let each = if barriers == 1 { "" } else { "2·" };
        let bytes = "2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads";
        let (m, n, k) = (tile + 2, 2 * tile + 4, depth + 4);
        let cost = cost(rung, &format!("{bytes}; {each}⌈k/DEPTH⌉ barriers per block; one launch"), (m, n, k));
        has_barriers(&cost, barriers * k.div_ceil(depth));
        assert_eq!(cost.read, 4 * u64::from(k * (m * n.div_ceil(tile) + n * m.div_ceil(tile))), "{}", rung.rung.name);
    }
}

/// Two rows of tiles and three columns, twice as many as blocks.
#[test]
fn a_persistent_kernel() {
    use r10_producer_consumer::{COLUMNS, DEPTH, ROWS, launches::RUNG};
    let (m, n, k) = (ROWS + 2, 2 * COLUMNS + 4, 2 * DEPTH + 4);
    let words = "2·m·n·k operations, with m and n rounded up to tiles and k to DEPTH; 4·k·(m·⌈n/COLUMNS⌉ + \
                 n·⌈m/ROWS⌉) bytes of global loads; one barrier per block; one launch";
    let cost = cost(&RUNG, words, (m, n, k));
    assert_eq!(cost.barriers, vec![1; MULTIPROCESSORS as usize]);
    assert_eq!(cost.read, 4 * u64::from(k * (m * n.div_ceil(COLUMNS) + n * m.div_ceil(ROWS))));
}
