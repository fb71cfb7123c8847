//! Boxes of matrices, products of operands that lie either way, and stores of fragments, on the simulator.

use simt::mbarrier::{self, Mbarrier};
use simt::mma::Tf32;
use simt::sim::{Kind, LaunchError, Options, launch};
use simt::tensor_map::{Described, TensorMap, WORDS, Words};
use simt::warpgroup::{KMajor, Lies, MORE, MnMajor, ROW, Sums, Tile, multiply_add_split_held, store_fragments};
use simt::{Global, Kernel, Shared, bf16, bulk, f16, kernel, shared, thread, warp};

/// Memory as a device allocates it.
#[repr(align(256))]
struct Aligned<T, const N: usize>([T; N]);

fn view<T: simt::Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

fn run<K: Kernel>(k: K, threads: u32, args: K::Args) -> Result<(), LaunchError> {
    launch(k, [1; 3], [threads, 1, 1], (64 << 10) + MORE, args, Options::default())
}

/// The map of a matrix that the copy engine takes.
fn map(described: Option<Described>) -> Words {
    described.expect("the copy engine takes it").simulated()
}

/// Such a map, with another value in one of the simulator's words.
fn forged(described: Option<Described>, word: usize, value: u64) -> Words {
    let described = described.expect("the copy engine takes it");
    let (columns, rows) = (described.box_extents()[0], described.box_extents()[1]);
    let mut words = [0; WORDS];
    words[..8].copy_from_slice(&[
        described.address(),
        described.extents()[0],
        described.extents()[1],
        described.stride(),
        columns.into(),
        rows.into(),
        described.element().0.into(),
        (!described.is_swizzled()).into(),
    ]);
    words[WORDS - 1] = u64::from_le_bytes(*b"simulatd");
    // SAFETY: the same as the simulator's, and of what is described.
    assert_eq!(unsafe { described.words(words) }, described.simulated());
    words[word] = value;
    // SAFETY: not kept, on purpose: the simulator refuses what these words say.
    unsafe { described.words(words) }
}

shared!(BARRIER: [u64; 1]);

/// Has a box of 16 rows copied to shared memory, and from there to another matrix. The launch has views of both.
#[kernel]
fn move_box(
    from: TensorMap<f16>,
    to: TensorMap<f16>,
    _source: Global<f16>,
    _target: Global<f16>,
    row: u32,
    column: u32,
    to_row: u32,
    to_column: u32,
    seen: Global<f16>,
) {
    let (barrier, tile) = (Mbarrier::at(BARRIER::view(), 0), Tile::<f16>::dynamic(0, 16));
    barrier.init(1);
    mbarrier::fence_init();
    from.prefetch();
    barrier.arrive_expecting(16 * 128);
    from.load(tile, row, column, barrier);
    barrier.wait(0);
    for i in 0..16 * 64 {
        seen.set(i, tile.elements().get(Tile::<f16>::place(i / 64, i % 64)));
    }
    to.store(to_row, to_column, tile);
    bulk::commit();
    bulk::wait_read::<0>();
}

/// The value of an element of the first matrix.
fn value(row: usize, column: usize) -> f16 {
    f16::from_f64((row * 100 + column + 1) as f64)
}

#[test]
fn what_lies_outside_is_zero_and_stays() {
    const ROWS: usize = 20;
    const COLUMNS: usize = 77;
    const STRIDE: usize = 88;
    let mut from = Aligned([f16::NAN; ROWS * STRIDE]);
    for row in 0..ROWS {
        (0..COLUMNS).for_each(|column| from.0[row * STRIDE + column] = value(row, column));
    }
    for [row, column, to_row, to_column] in
        [[0, 0, 0, 0], [7, 20, 3, 5], [19, 70, 9, 68], [20, 0, 10, 0], [3, 80, 0, 72]]
    {
        let mut to = Aligned([f16::INFINITY; 10 * 72]);
        let maps = [
            Described::of(view(&mut from.0), [ROWS as u32, COLUMNS as u32], STRIDE as u32, 16),
            Described::of(view(&mut to.0), [10, 69], 72, 16),
        ];
        let [map_from, map_to] = maps.map(|of| TensorMap::new(map(of)));
        let mut seen = Aligned([f16::NAN; 16 * 64]);
        let place = (row as u32, column as u32, to_row as u32, to_column as u32);
        let matrices = (view(&mut from.0), view(&mut to.0));
        let seen_view = view(&mut seen.0);
        let args = (map_from, map_to, matrices.0, matrices.1, place.0, place.1, place.2, place.3, seen_view);
        run(move_box, 1, args).unwrap();
        let want = |r: usize, c: usize| {
            let (row, column) = (row + r, column + c);
            if row < ROWS && column < COLUMNS { value(row, column) } else { f16::ZERO }
        };
        for i in 0..16 * 64 {
            assert_eq!(seen.0[i], want(i / 64, i % 64), "{row} {column}: {i}");
        }
        for (i, &got) in to.0.iter().enumerate() {
            let (r, c) = (i / 72, i % 72);
            let inside = r >= to_row && c >= to_column && c < 69.min(to_column + 64);
            let want = if inside { want(r - to_row, c - to_column) } else { f16::INFINITY };
            assert_eq!(got, want, "{to_row} {to_column}: {r} {c}");
        }
    }
}

#[test]
fn the_copy_engine_refuses_what_it_cannot_take() {
    let mut data = Aligned([f16::ZERO; 1024]);
    let view = view(&mut data.0);
    assert!(Described::of(view, [4, 8], 8, 16).is_some());
    assert!(Described::of(view, [4, 8], 12, 16).is_none(), "rows begin on multiples of 16 bytes");
    assert!(Described::of(view.slice(4, 1000), [4, 8], 8, 16).is_none(), "and so does the first");
    assert!(Described::of(view, [4, 16], 8, 16).is_none(), "rows overlap");
    assert!(Described::of(view, [0, 8], 8, 16).is_none() && Described::of(view, [4, 0], 8, 16).is_none());
}

#[test]
fn a_box_without_a_map_is_refused() {
    let none = TensorMap::none();
    let mut seen = Aligned([f16::ZERO; 16 * 64]);
    let seen = view(&mut seen.0);
    match run(move_box, 1, (none, none, seen, seen, 0, 0, 0, 0, seen)) {
        Err(LaunchError::Fault(f)) => assert!(f.what.contains("no tensor map"), "{f}"),
        other => panic!("{other:?}"),
    }
}

/// Memory that no view of the launch keeps is not reached by a map: it may be gone, or the words forged.
#[test]
fn a_box_outside_of_all_views_is_refused() {
    let (mut from, mut to) = (Aligned([f16::ONE; 16 * 64]), Aligned([f16::ZERO; 16 * 64]));
    let mut seen = Aligned([f16::ZERO; 16 * 64]);
    let described = [&mut from, &mut to].map(|matrix| Described::of(view(&mut matrix.0), [16, 64], 64, 16));
    let words = described.map(map);
    let (from, to, seen) = (view(&mut from.0), view(&mut to.0), view(&mut seen.0));
    let run = |words: [Words; 2], from: Global<f16>, to: Global<f16>| {
        let [map_from, map_to] = words.map(TensorMap::new);
        run(move_box, 1, (map_from, map_to, from, to, 0, 0, 0, 0, seen))
    };
    run(words, from, to).unwrap();
    let refused = |words, from, to| match run(words, from, to) {
        Err(LaunchError::Fault(f)) => {
            assert_eq!(f.kind, Kind::OutOfBounds, "{f}");
            assert!(f.what.contains("lie in no view of the launch"), "{f}");
        }
        other => panic!("{other:?}"),
    };
    refused(words, to, to);
    refused(words, from, from);
    refused(words, from.slice(0, 1023), to);
    refused(words, from.slice(1, 1023), to);
    // Other addresses, more rows, and rows further apart.
    for (word, value) in [(0, 4096), (0, u64::MAX << 12), (2, 17), (2, 1 << 30), (3, 1 << 20), (3, (1 << 40) - 16)] {
        refused([forged(described[0], word, value), words[1]], from, to);
    }
    // What no map of the host says is none.
    for (word, value) in [(0, 1), (1, 0), (2, 1 << 40), (3, 8), (3, u64::MAX), (4, 3), (5, 1 << 20), (6, 2), (9, 1)] {
        match run([forged(described[0], word, value), words[1]], from, to) {
            Err(LaunchError::Fault(f)) => assert!(f.what.contains("no tensor map"), "{word} {value}: {f}"),
            other => panic!("{word} {value}: {other:?}"),
        }
    }
}

/// Columns and rows of the flat boxes.
const FLAT: [u32; 2] = [40, 6];

/// Has a flat box copied to shared memory, and tells all that is there.
#[kernel]
fn move_flat(from: TensorMap<f32>, _source: Global<f32>, row: u32, column: u32, len: u32, seen: Global<f32>) {
    let (barrier, to) = (Mbarrier::at(BARRIER::view(), 0), Shared::<f32>::dynamic(128, len));
    barrier.init(1);
    mbarrier::fence_init();
    barrier.arrive_expecting(len * 4);
    from.load_flat(to, row, column, barrier);
    barrier.wait(0);
    for i in 0..len {
        seen.set(i, to.get(i));
    }
}

#[test]
fn flat_boxes_lie_as_in_memory() {
    const ROWS: usize = 20;
    const COLUMNS: usize = 77;
    const STRIDE: usize = 84;
    let mut from = Aligned([f32::NAN; ROWS * STRIDE]);
    let value = |row: usize, column: usize| (row * 100 + column + 1) as f32;
    for row in 0..ROWS {
        (0..COLUMNS).for_each(|column| from.0[row * STRIDE + column] = value(row, column));
    }
    let [columns, rows] = FLAT;
    let matrix = view(&mut from.0);
    let described = Described::flat(matrix, [ROWS as u32, COLUMNS as u32], STRIDE as u32, [rows, columns]);
    let described = described.expect("the copy engine takes it");
    assert_eq!((described.box_extents(), described.is_swizzled()), (FLAT, false));
    let words = described.simulated();
    // Inside, across each edge, and outside.
    for [row, column] in [[0, 0], [3, 5], [17, 60], [19, 76], [20, 0], [3, 80]] {
        let mut seen = Aligned([f32::NAN; (FLAT[0] * FLAT[1]) as usize]);
        let args = (TensorMap::new(words), matrix, row as u32, column as u32, rows * columns, view(&mut seen.0));
        run(move_flat, 1, args).unwrap();
        for (i, &got) in seen.0.iter().enumerate() {
            let (row, column) = (row + i / columns as usize, column + i % columns as usize);
            let want = if row < ROWS && column < COLUMNS { value(row, column) } else { 0.0 };
            assert_eq!(got, want, "{row} {column}");
        }
    }
    let mut seen = Aligned([0.0; 256]);
    let mut refused = |words, len, what| match run(move_flat, 1, (words, matrix, 0, 0, len, view(&mut seen.0))) {
        Err(LaunchError::Fault(f)) => assert!(f.what.contains(what), "{f}"),
        other => panic!("{other:?}"),
    };
    refused(TensorMap::new(words), 200, "has 6 rows, and the tile 5");
    let tiles = Described::of(matrix, [ROWS as u32, COLUMNS as u32], STRIDE as u32, rows);
    refused(TensorMap::new(map(tiles)), rows * 32, "made for tiles, and the copy is of flat boxes");
    // What no map of the host says is none: columns of a box that are none, too many, or no multiple of 16 bytes.
    for (word, value) in [(4, 0), (4, 260), (4, 38), (4, 1 << 40), (5, 257), (7, 2)] {
        refused(TensorMap::new(forged(Some(described), word, value)), rows * columns, "no tensor map");
    }
}

#[test]
fn flat_boxes_have_sizes_that_the_copy_engine_takes() {
    let mut data = Aligned([0f32; 1024]);
    let view = view(&mut data.0);
    assert!(Described::flat(view, [4, 8], 8, [16, 256]).is_some());
    assert!(Described::flat(view, [4, 8], 10, [16, 256]).is_none(), "rows begin on multiples of 16 bytes");
    for sides in [[0, 4], [257, 4], [4, 0], [4, 260], [4, 6]] {
        let refused = std::panic::catch_unwind(|| Described::flat(view, [4, 8], 8, sides));
        assert!(refused.is_err(), "{sides:?}");
    }
}

/// Stores a tile by a map of boxes of 16 rows of `f16`: of so many rows, and of elements of another type.
#[kernel]
fn other_boxes(halves: TensorMap<f16>, others: TensorMap<bf16>, _to: Global<f16>, rows: u32, other_type: u32) {
    if other_type == 1 {
        others.store(0, 0, Tile::<bf16>::dynamic(0, rows));
    } else {
        halves.store(0, 0, Tile::<f16>::dynamic(0, rows));
    }
    bulk::commit();
    bulk::wait_read::<0>();
}

#[test]
fn a_tile_is_a_box_of_the_map() {
    let mut to = Aligned([f16::ZERO; 16 * 64]);
    let to = view(&mut to.0);
    let words = map(Described::of(to, [16, 64], 64, 16));
    let maps = (TensorMap::new(words), TensorMap::new(words));
    run(other_boxes, 1, (maps.0, maps.1, to, 16, 0)).unwrap();
    for (rows, other_type, what) in [(8, 0, "has 16 rows, and the tile 8"), (24, 0, "the tile 24"), (16, 1, "Bf16")] {
        match run(other_boxes, 1, (maps.0, maps.1, to, rows, other_type)) {
            Err(LaunchError::Fault(f)) => assert!(f.what.contains(what), "{f}"),
            other => panic!("{other:?}"),
        }
    }
}

/// Adds the products of two pairs of tiles, of 64 k each: `a` has 64 rows, `b` 128. All of a pair are in memory as they
/// lie in a tile, but for the places of packs.
#[kernel(instances(along_along: <KMajor, KMajor>, along_across: <KMajor, MnMajor>, across_along: <MnMajor, KMajor>,
    across_across: <MnMajor, MnMajor>))]
fn multiply<A: Lies, B: Lies>(a: Global<bf16>, b: Global<bf16>, c: Global<f32>) {
    let t = thread::thread_idx_x();
    let tiles = |pair: u32| (Tile::<bf16>::dynamic(pair * 24576, 64), Tile::<bf16>::dynamic(pair * 24576 + 8192, 128));
    for pair in 0..2 {
        let (to_a, to_b) = tiles(pair);
        for i in (t..64 * 64).step_by(128) {
            to_a.elements().set(Tile::<bf16>::place(i / 64, i % 64), a.get(pair * 4096 + i));
        }
        for i in (t..128 * 64).step_by(128) {
            to_b.elements().set(Tile::<bf16>::place(i / 64, i % 64), b.get(pair * 8192 + i));
        }
    }
    bulk::fence();
    thread::sync_threads(); // the tiles are complete before they are multiplied
    let mut sums = Sums::<64>::ZERO;
    for pair in 0..2 {
        let (a, b) = tiles(pair);
        sums = sums.add::<bf16, A, B>(a, b);
    }
    let (g, q, w) = (t % 32 / 4, t % 4, t / 32);
    for (i, sum) in (0..).zip(sums.finish()) {
        c.set((16 * w + i / 2 % 2 * 8 + g) * 128 + i / 4 * 8 + 2 * q + i % 2, sum);
    }
}

#[test]
fn operands_lie_either_way() {
    fn check<A: Lies, B: Lies, K: Kernel<Args = (Global<bf16>, Global<bf16>, Global<f32>)>>(kernel: K) {
        // Element (row, k) of pair p: in rows of the tile along K, or across, 64 rows after the other.
        let place = |across: bool, rows: usize, p: usize, row: usize, k: usize| {
            p * rows * 64 + if across { row / 64 * 4096 + k * 64 + row % 64 } else { row * 64 + k }
        };
        let of_a = |p: usize, row: usize, k: usize| ((p * 37 + row * 5 + k * 3) % 17) as f32 - 8.0;
        let of_b = |p: usize, row: usize, k: usize| ((p * 11 + row * 7 + k) % 13) as f32 - 6.0;
        let (mut a, mut b) = (vec![bf16::ZERO; 2 * 4096], vec![bf16::ZERO; 2 * 8192]);
        for p in 0..2 {
            for k in 0..64 {
                (0..64).for_each(|row| a[place(A::ACROSS, 64, p, row, k)] = bf16::from_f32(of_a(p, row, k)));
                (0..128).for_each(|row| b[place(B::ACROSS, 128, p, row, k)] = bf16::from_f32(of_b(p, row, k)));
            }
        }
        let mut c = vec![f32::NAN; 64 * 128];
        run(kernel, 128, (view(&mut a), view(&mut b), view(&mut c))).unwrap();
        for (i, &got) in c.iter().enumerate() {
            let term = |e: usize| of_a(e / 64, i / 128, e % 64) * of_b(e / 64, i % 128, e % 64);
            assert_eq!(got, (0..128).map(term).sum::<f32>(), "{}: {i}", K::NAME);
        }
    }
    check::<KMajor, KMajor, _>(multiply::<KMajor, KMajor>::default());
    check::<KMajor, MnMajor, _>(multiply::<KMajor, MnMajor>::default());
    check::<MnMajor, KMajor, _>(multiply::<MnMajor, KMajor>::default());
    check::<MnMajor, MnMajor, _>(multiply::<MnMajor, MnMajor>::default());
}

/// Adds the products of a tile of 32 k, of 64 columns, and of rows that the threads hold, 64 times 32 in memory; once
/// more of the second half alone.
#[kernel]
fn multiply_held(a: Global<f32>, b: Global<f32>, c: Global<f32>) {
    let (t, tile) = (thread::thread_idx_x(), Tile::<f32>::dynamic(0, 64));
    for i in (t..64 * 32).step_by(128) {
        tile.elements().set(Tile::<f32>::place(i / 32, i % 32), b.get(i));
    }
    bulk::fence();
    thread::sync_threads(); // the tile is complete before it is multiplied
    let (g, q, w) = (t % 32 / 4, t % 4, t / 32);
    let held = |half: u32| {
        [0, 1].map(|step| {
            let places = [(g, q), (g + 8, q), (g, q + 4), (g + 8, q + 4)];
            places.map(|(row, k)| Tf32::truncated(a.get((16 * w + row) * 32 + half * 16 + step * 8 + k)))
        })
    };
    let mut sums = Sums::<32>::ZERO;
    for half in [0, 1, 1] {
        sums = sums.add_held(held(half), tile, half);
    }
    for (i, sum) in (0..).zip(sums.finish()) {
        c.set((16 * w + i / 2 % 2 * 8 + g) * 64 + i / 4 * 8 + 2 * q + i % 2, sum);
    }
}

#[test]
fn the_first_operand_may_be_in_registers() {
    // Elements of f32 with bits that the tensor cores do not see.
    let beyond = 1.0 + 1023.0 * f32::EPSILON;
    let of_a = |row: usize, k: usize| ((row * 5 + k * 3) % 17) as f32 - 8.0;
    let of_b = |row: usize, k: usize| ((row * 7 + k) % 13) as f32 - 6.0;
    let mut a: Vec<f32> = (0..64 * 32).map(|i| of_a(i / 32, i % 32) * beyond).collect();
    let mut b: Vec<f32> = (0..64 * 32).map(|i| of_b(i / 32, i % 32) * beyond).collect();
    let mut c = vec![f32::NAN; 64 * 64];
    run(multiply_held, 128, (view(&mut a), view(&mut b), view(&mut c))).unwrap();
    for (i, &got) in c.iter().enumerate() {
        let term = |k: usize| of_a(i / 64, k) * of_b(i % 64, k);
        assert_eq!(got, (0..32).chain(16..32).map(term).sum::<f32>(), "{i}");
    }
}

/// Adds the products of rows that the threads hold and of a tile, each in large parts and rests, to sums of 1.
#[kernel]
fn multiply_split_held(a: Global<f32>, b: Global<f32>, c: Global<f32>) {
    let t = thread::thread_idx_x();
    let tiles = [0, 1].map(|part| Tile::<f32>::dynamic(part * 64 * ROW, 64));
    for i in (t..64 * 32).step_by(128) {
        let (large, rest) = Tf32::split(b.get(i));
        let place = Tile::<f32>::place(i / 32, i % 32);
        tiles[0].elements().set(place, large.value());
        tiles[1].elements().set(place, rest.value());
    }
    bulk::fence();
    thread::sync_threads(); // the tiles are complete before they are multiplied
    let (g, q, w) = (t % 32 / 4, t % 4, t / 32);
    let held = [0, 1, 2, 3].map(|step| {
        let places = [(g, q), (g + 8, q), (g, q + 4), (g + 8, q + 4)];
        places.map(|(row, k)| Tf32::split(a.get((16 * w + row) * 32 + step * 8 + k)))
    });
    let parts = [held.map(|of| of.map(|(large, _)| large)), held.map(|of| of.map(|(_, rest)| rest))];
    let sums = multiply_add_split_held(parts, tiles, [1.0; 32]);
    for (i, sum) in (0..).zip(sums) {
        c.set((16 * w + i / 2 % 2 * 8 + g) * 64 + i / 4 * 8 + 2 * q + i % 2, sum);
    }
}

#[test]
fn the_first_operand_in_registers_may_have_parts() {
    // Twelve bits: the last is the rest.
    let of_a = |row: usize, k: usize| 1.0 + ((row * 5 + k * 3) % 17) as f32 / 2048.0;
    let of_b = |row: usize, k: usize| 1.0 + ((row * 7 + k) % 13) as f32 / 2048.0;
    let mut a: Vec<f32> = (0..64 * 32).map(|i| of_a(i / 32, i % 32)).collect();
    let mut b: Vec<f32> = (0..64 * 32).map(|i| of_b(i / 32, i % 32)).collect();
    let mut c = vec![f32::NAN; 64 * 64];
    run(multiply_split_held, 128, (view(&mut a), view(&mut b), view(&mut c))).unwrap();
    for (i, &got) in c.iter().enumerate() {
        let term = |k: usize| f64::from(of_a(i / 64, k)) * f64::from(of_b(i % 64, k));
        let want = 1.0 + (0..32).map(term).sum::<f64>();
        // Without the rests of A or of B the error would be about a hundred times that.
        assert!((f64::from(got) - want).abs() < 1e-4, "{i}: {got} for {want}");
    }
}

shared!(SQUARES: [f16; 16 * 16]);

/// Each lane has the places of its elements as their bits.
#[kernel]
fn store_places(to: Global<u16>) {
    let lane = warp::lane_id();
    let (g, q) = (lane / 4, lane % 4);
    let fragment = |i: u32| {
        let place = (i % 2 * 8 + g) * 16 + i / 2 * 8 + 2 * q;
        place | (place + 1) << 16
    };
    let row = SQUARES::view().slice(lane % 16 * 16 + lane / 16 * 8, 8);
    store_fragments(row, [fragment(0), fragment(1), fragment(2), fragment(3)]);
    warp::sync_warp(u32::MAX); // all rows are complete
    for i in (lane..256).step_by(32) {
        to.set(i, SQUARES::view().get(i).to_bits());
    }
}

#[test]
fn fragments_become_rows() {
    let mut to = [0u16; 256];
    run(store_places, 32, (view(&mut to),)).unwrap();
    assert_eq!(to, std::array::from_fn(|i| i as u16));
}
