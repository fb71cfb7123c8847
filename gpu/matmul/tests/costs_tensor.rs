//! The costs that the heads of the rungs on the tensor cores state: counted on the simulator, and looked for in the
//! heads' text.

use rungs_matmul::LADDER;
use rungs_matmul::ladder::{Launcher, Multiply, Product, Result};
use rungs_matmul::{r11_tensor_mma, r12_tensor_group, r13_tensor_map, r14_tensor_cluster, r15_tensor_double};
use rungs_testing::{Buffer, with_multiprocessors};
use simt::sim::stats::{Instruction, statistics};
use simt::sim::{AccessKind, Event, Space, observe};
use simt::{Scalar, bf16};
use std::cell::RefCell;
use std::rc::Rc;

/// What the launches of a product did.
#[derive(Default)]
struct Cost {
    kernels: Vec<&'static str>,
    /// Barriers by block, and those that only some of a block's threads pass.
    barriers: Vec<u32>,
    named: u32,
    /// Bytes of global memory that threads and copies read and wrote.
    read: u64,
    written: u64,
}

impl Cost {
    fn note(&mut self, event: Event) {
        match event {
            Event::Launch { kernel, grid, .. } => {
                self.kernels.push(kernel);
                self.barriers = vec![0; grid.0.into_iter().product::<u32>() as usize];
            }
            Event::Access(access) if access.space == Space::Global => match access.kind {
                AccessKind::Read => self.read += u64::from(access.bytes),
                AccessKind::Write => self.written += u64::from(access.bytes),
                AccessKind::Atomic => panic!("an atomic access"),
            },
            Event::Barrier { block, id: 0, .. } => self.barriers[block as usize] += 1,
            Event::Barrier { .. } => self.named += 1,
            _ => {}
        }
    }
}

/// The cost of a product of ones on three SMs, by the rung of this name, whose head has these words.
fn cost(name: &str, [m, n, k]: [u32; 3], words: &str) -> Cost {
    let entry = LADDER.get(name).unwrap();
    let stated = entry.rung.head().part("Cost").replace('\n', " ");
    assert!(stated == words, "the head of {name} says: {stated}");
    match entry.run {
        Multiply::Bf16(run) => cost_of(run, [m, n, k], bf16::ONE, bf16::from_f32(k as f32)),
        Multiply::Tf32(run) => cost_of(run, [m, n, k], 1.0, k as f32),
        Multiply::F64(run) => cost_of(run, [m, n, k], 1.0, f64::from(k)),
        Multiply::F32(_) => panic!("{name} does not use the tensor cores"),
    }
}

fn cost_of<T: Scalar + PartialEq>(
    run: fn(&dyn Launcher, Product<T>) -> Result,
    [m, n, k]: [u32; 3],
    one: T,
    all: T,
) -> Cost {
    let ones = |len: u32| Buffer::new(&vec![one; len as usize], 0);
    let (mut a, mut b, mut c) = (ones(m * k), ones(k * n), ones(m * n));
    let product = Product { a: a.view(), b: b.view(), c: c.view(), m, n, k };
    let cost: Rc<RefCell<Cost>> = Rc::default();
    let watched = cost.clone();
    observe(move |event| watched.borrow_mut().note(event), || run(&with_multiprocessors(3), product)).unwrap();
    assert!(c.slice().iter().all(|element| *element == all));
    cost.take()
}

/// Bytes of A and B that tiles of C of `rows` rows and `columns` columns take from global memory.
fn copied(bytes: u32, [m, n, k]: [u32; 3], rows: u32, columns: u32) -> u64 {
    u64::from(bytes * k * (m * n.div_ceil(columns) + n * m.div_ceil(rows)))
}

/// A rung whose warps multiply: two rows of tiles and three columns, the last of each not full.
fn by_warps(name: &str, kernel: &str, bytes: u32, [rows, columns, depth]: [u32; 3]) {
    let size @ [m, n, k] = [rows + 66, 2 * columns + 4, 2 * depth + 4];
    let words = format!(
        "2·m·n·k operations; {bytes}·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global loads; ⌈k/DEPTH⌉ barriers per \
         block; one launch."
    );
    let cost = cost(name, size, &words);
    assert_eq!(cost.kernels, [kernel]);
    assert_eq!((cost.barriers, cost.named), (vec![k.div_ceil(depth); 2 * 3], 0));
    assert_eq!((cost.read, cost.written), (copied(bytes, size, rows, columns), u64::from(bytes * m * n)));
}

#[test]
fn warp_mma() {
    use r11_tensor_mma::{COLUMNS, DEPTH, ROWS};
    by_warps("tensor-mma", "matmul_tensor_mma", 4, [ROWS, COLUMNS, DEPTH]);
}

#[test]
fn warp_mma_in_f64() {
    use r15_tensor_double::{COLUMNS, DEPTH, ROWS};
    by_warps("tensor-double", "matmul_tensor_double", 8, [ROWS, COLUMNS, DEPTH]);
}

#[test]
fn warpgroup_mma() {
    use r12_tensor_group::{COLUMNS, DEPTH, ROWS};
    let size @ [m, n, k] = [ROWS + 66, 2 * COLUMNS + 8, 5 * DEPTH + 8];
    let cost = cost(
        "tensor-group",
        size,
        "2·m·n·k operations, with m, n and k rounded up to tiles; 2·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global \
         loads; ⌈k/DEPTH⌉ barriers per block; one launch.",
    );
    assert_eq!(cost.kernels, ["matmul_tensor_group"]);
    assert_eq!((cost.barriers, cost.named), (vec![k.div_ceil(DEPTH); 2 * 3], 0));
    assert_eq!((cost.read, cost.written), (copied(2, size, ROWS, COLUMNS), 2 * u64::from(m * n)));
}

/// Six tiles for three blocks.
#[test]
fn tma() {
    use r13_tensor_map::{COLUMNS, DEPTH, ROWS};
    let size @ [m, n, _] = [ROWS + 66, 2 * COLUMNS + 8, 5 * DEPTH + 8];
    let cost = cost(
        "tensor-map",
        size,
        "2·m·n·k operations, with m, n and k rounded up to tiles. Copies of 2·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes to \
         shared memory, and of C from there. One barrier per block; one launch.",
    );
    assert_eq!(cost.kernels, ["matmul_tensor_map"]);
    assert_eq!((cost.barriers, cost.named), (vec![1; 3], 0));
    assert_eq!((cost.read, cost.written), (copied(2, size, ROWS, COLUMNS), 2 * u64::from(m * n)));
}

/// Six tiles for one pair of blocks, three SMs being one pair and one more.
#[test]
fn tma_multicast() {
    use r14_tensor_cluster::{COLUMNS, DEPTH, PAIR_ROWS};
    let size @ [m, n, _] = [PAIR_ROWS + 66, 2 * COLUMNS + 8, 5 * DEPTH + 8];
    let cost = cost(
        "tensor-cluster",
        size,
        "2·m·n·k operations, with m, n and k rounded up to tiles of a pair. Copies of 2·k·(m·⌈n/COLUMNS⌉ + \
         n·⌈m/PAIR_ROWS⌉) bytes to shared memory, of which those of B arrive twice, and of C from there. Two barriers \
         of the cluster; one launch.",
    );
    assert_eq!(cost.kernels, ["matmul_tensor_cluster"]);
    assert_eq!((cost.barriers, cost.named), (vec![2; 2], 0));
    assert_eq!((cost.read, cost.written), (copied(2, size, PAIR_ROWS, COLUMNS), 2 * u64::from(m * n)));
}

/// Shared memory of a product of one tile: the requests of an instruction by all warps, and the bank conflicts.
fn requests<T: Scalar>(run: fn(&dyn Launcher, Product<T>) -> Result, k: u32, what: Instruction) -> (u64, u64) {
    let (m, n) = (128, 128);
    let zeros = |len: u32| Buffer::new(&vec![T::default(); len as usize], 0);
    let (mut a, mut b, mut c) = (zeros(m * k), zeros(k * n), zeros(m * n));
    let product = Product { a: a.view(), b: b.view(), c: c.view(), m, n, k };
    let (result, counted) = statistics(|| run(&with_multiprocessors(1), product));
    result.unwrap();
    let lines = counted.launches.iter().flat_map(|launch| &launch.lines).filter(|line| line.instruction == what);
    let counts = lines.map(|line| (line.counts.requests, line.counts.conflicts()));
    counts.fold((0, 0), |all, line| (all.0 + line.0, all.1 + line.1))
}

/// For every eight k each of four warps loads a pair of A twice for four fragments, and four elements of B twice for
/// two groups of fragments. Warpgroups load nothing. Each of eight warps stores sixteen times four fragments to its
/// boxes of C. In `f64` each of eight warps loads eight fragments of A by two loads and two of B by four for every
/// sixteen k.
#[test]
fn no_access_to_shared_memory_has_bank_conflicts() {
    let loads = requests(r11_tensor_mma::launches::multiply, 64, Instruction::SharedLoad);
    assert_eq!(loads, (4 * 64 / 8 * (4 * 2 + 2 * 2), 0));
    let loads = requests(r15_tensor_double::launches::multiply, 64, Instruction::SharedLoad);
    assert_eq!(loads, (8 * 64 / 16 * (8 * 2 + 2 * 4), 0));
    for run in [r13_tensor_map::launches::multiply, r14_tensor_cluster::launches::multiply] {
        assert_eq!(requests(run, 64, Instruction::SharedLoad), (0, 0));
    }
    assert_eq!(requests(r13_tensor_map::launches::multiply, 64, Instruction::SharedStore), (8 * 16 * 4, 0));
}
