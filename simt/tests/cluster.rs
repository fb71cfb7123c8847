//! Clusters on the simulator: ranks, their barrier, arrivals at another block's barrier, one box copied to several
//! blocks, reads of another block's shared memory; and what a check finds.

use simt::cluster::Remote;
use simt::mbarrier::{self, Mbarrier};
use simt::sim::{Check, Checked, Kind, LaunchError, Options, check, launch};
use simt::tensor_map::{Described, TensorMap};
use simt::warpgroup::{MORE, Tile};
use simt::{Global, Kernel, bf16, bulk, cluster, kernel, shared, thread};

/// Memory as a device allocates it.
#[repr(align(256))]
struct Aligned<T, const N: usize>([T; N]);

fn view<T: simt::Scalar>(v: &mut [T]) -> Global<T> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

fn run<K: Kernel>(k: K, blocks: u32, threads: u32, args: K::Args) -> Result<(), LaunchError> {
    launch(k, [blocks, 1, 1], [threads, 1, 1], (16 << 10) + MORE, args, Options::default())
}

/// The findings of a launch of one cluster of two blocks of 64 threads, under every kind of schedule.
fn kinds<K: Kernel>(k: K, args: impl FnMut() -> K::Args) -> Vec<Kind> {
    let mut args = args;
    let Checked { report, .. } = check(Check { schedules: 8, ..Check::default() }, || run(k, 2, 64, args()).is_ok());
    report.kinds()
}

/// Each thread writes its block's rank and number; behind the barrier it reads what the other block wrote.
#[kernel(sm_90, cluster = 2)]
fn neighbours(ranks: Global<u32>, read: Global<u32>) {
    let (t, i) = (thread::thread_idx_x(), thread::index_1d());
    ranks.set(i, cluster::rank() * 10 + cluster::blocks());
    cluster::sync(); // both blocks have written
    let other = thread::block_idx_x() ^ 1;
    read.set(i, ranks.get(other * thread::block_dim_x() + t));
}

/// The same with the barrier of the block, which says nothing of the other.
#[kernel(sm_90, cluster = 2)]
fn strangers(ranks: Global<u32>, read: Global<u32>) {
    let (t, i) = (thread::thread_idx_x(), thread::index_1d());
    ranks.set(i, cluster::rank());
    thread::sync_threads();
    let other = thread::block_idx_x() ^ 1;
    read.set(i, ranks.get(other * thread::block_dim_x() + t));
}

#[test]
fn blocks_know_their_ranks_and_meet() {
    // More blocks than one thread of the host runs, and fewer.
    for blocks in [2, 64] {
        let (mut ranks, mut read) = (vec![9; 64 * blocks], vec![9; 64 * blocks]);
        run(neighbours, blocks as u32, 64, (view(&mut ranks), view(&mut read))).unwrap();
        for i in 0..ranks.len() {
            let rank = i as u32 / 64 % 2;
            assert_eq!([ranks[i], read[i]], [rank * 10 + 2, (rank ^ 1) * 10 + 2], "{i}");
        }
    }
}

#[test]
fn a_check_knows_what_the_barrier_orders() {
    let (mut ranks, mut read) = ([0; 128], [0; 128]);
    let mut args = || (view(&mut ranks), view(&mut read));
    assert_eq!(kinds(neighbours, &mut args), []);
    assert_eq!(kinds(strangers, args), [Kind::GlobalRace]);
}

#[test]
fn clusters_are_whole_and_small() {
    #[kernel(sm_90, cluster = 9)]
    fn nine() {}

    let mut words = [0; 256];
    let mut refused = |blocks| match run(neighbours, blocks, 1, (view(&mut words), view(&mut []))) {
        Err(LaunchError::Refused { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(3), "a grid of 3 blocks along x does not divide into clusters of 2");
    let why = run(nine, 9, 1, ()).unwrap_err().to_string();
    assert!(why.contains("a cluster of 9 blocks cannot be launched; the limit is 8"), "{why}");
}

#[test]
fn a_thread_that_misses_the_barrier_is_told_of() {
    #[kernel(sm_90, cluster = 2)]
    fn misses() {
        if thread::index_1d() != 33 {
            cluster::sync();
        }
    }
    let says = |result: Result<(), LaunchError>| {
        let why = result.unwrap_err().to_string();
        assert!(why.contains("waits at the barrier of its cluster for 1 of 64 threads"), "{why}");
    };
    says(run(misses, 2, 32, ()));
    let checked = check(Check { schedules: 1, ..Check::default() }, || says(run(misses, 2, 32, ())));
    assert!(checked.report.kinds()[0].hangs(), "{}", checked.report);
}

#[test]
fn a_kernel_without_clusters_is_its_own() {
    #[kernel]
    fn alone(seen: Global<u32>, meets: u32) {
        seen.set(0, cluster::rank());
        seen.set(1, cluster::blocks());
        if meets != 0 {
            cluster::sync();
        }
    }
    let mut seen = [9; 2];
    run(alone, 1, 1, (view(&mut seen), 0)).unwrap();
    assert_eq!(seen, [0, 1]);
    let why = run(alone, 1, 1, (view(&mut seen), 1)).unwrap_err().to_string();
    assert!(why.contains("the kernel has no clusters"), "{why}");
}

shared!(BARRIERS: [u64; 2]);

/// What a variant of [`signals`] does otherwise.
const BEGINS_AT_ONCE: u32 = 1;
const WAITS_FOR_ITS_BLOCK: u32 = 2;
const ENDS_AT_ONCE: u32 = 3;

/// Block 1 writes, and arrives at a barrier of block 0, which then reads.
#[kernel(sm_90, cluster = 2)]
fn signals(words: Global<u32>, variant: u32) {
    let (t, barrier) = (thread::thread_idx_x(), Mbarrier::at(BARRIERS::view(), 0));
    if t == 0 {
        barrier.init(64);
        mbarrier::fence_init();
    }
    if variant == BEGINS_AT_ONCE {
        thread::sync_threads();
    } else {
        cluster::sync(); // both blocks' barriers exist
    }
    if cluster::rank() == 1 {
        words.set(t, t + 100);
        barrier.arrive_at(0);
    } else if variant == WAITS_FOR_ITS_BLOCK {
        barrier.wait(0);
        words.set(64 + t, words.get(63 - t));
    } else if variant != ENDS_AT_ONCE {
        barrier.wait_cluster(0);
        words.set(64 + t, words.get(63 - t));
    }
}

#[test]
fn arrivals_reach_the_other_block() {
    let mut words = [0; 128];
    run(signals, 2, 64, (view(&mut words), 0)).unwrap();
    assert_eq!(words[64..], std::array::from_fn::<_, 64, _>(|i| 163 - i as u32));
    assert_eq!(kinds(signals, || (view(&mut words), 0)), []);
}

#[test]
fn arrivals_that_come_too_early_or_too_late_are_found() {
    let mut words = [0; 128];
    let mut found = |variant| kinds(signals, || (view(&mut words), variant));
    let early = found(BEGINS_AT_ONCE);
    assert!(early.contains(&Kind::MixedAtomic), "the barrier may not exist yet: {early:?}");
    assert_eq!(found(WAITS_FOR_ITS_BLOCK), [Kind::ScopeTooSmall, Kind::CopyInFlight]);
    assert_eq!(found(ENDS_AT_ONCE), [Kind::CopyInFlight]);
}

/// The map of a matrix.
fn map(matrix: &mut [bf16], columns: u32) -> TensorMap<bf16> {
    let rows = matrix.len() as u32 / columns;
    let described = Described::of(view(matrix), [rows, columns], columns, 8);
    TensorMap::new(described.expect("the copy engine takes it").simulated())
}

/// What a variant of [`shares`] does otherwise.
const ASKS_ITS_BLOCK: u32 = 1;
const LEAVES: u32 = 2;

/// Each of two blocks copies eight rows of sixteen to both, and adds up all; `rounds` times, 16 rows further down. The
/// tile of a round is that of the round before, so each block waits until both have read it.
#[kernel(sm_90, cluster = 2)]
fn shares(map: TensorMap<bf16>, _matrix: Global<bf16>, sums: Global<f32>, rounds: u32, variant: u32) {
    let (t, tile) = (thread::thread_idx_x(), Tile::<bf16>::dynamic(0, 16));
    let [full, empty] = [0, 1].map(|i| Mbarrier::at(BARRIERS::view(), i));
    let rank = cluster::rank();
    if t == 0 {
        full.init(1);
        empty.init(if variant == ASKS_ITS_BLOCK { 1 } else { 2 });
        mbarrier::fence_init();
        map.prefetch();
    }
    cluster::sync(); // both blocks' barriers exist
    let mut sum = 0.0;
    for round in 0..rounds {
        if t == 0 {
            if round > 0 {
                empty.wait_cluster(round & 1 ^ 1);
            }
            full.arrive_expecting(16 * 128);
            map.load_multicast(tile.rows(rank * 8, 8), round * 16 + rank * 8, 0, full, 0b11);
        }
        full.wait(round & 1);
        sum += tile.elements().get(Tile::<bf16>::place(t % 16, t)).to_f32();
        bulk::fence(); // what this thread has read, before the next copies overwrite it
        thread::sync_threads(); // the block has read the tile
        if t == 0 {
            empty.arrive();
            if variant != ASKS_ITS_BLOCK {
                empty.arrive_at(rank ^ 1);
            }
        }
    }
    sums.set(thread::index_1d(), sum);
    if variant != LEAVES {
        cluster::sync(); // the other block's arrivals have found this one
    }
}

#[test]
fn a_box_goes_to_both_blocks() {
    const ROUNDS: usize = 5;
    let mut matrix = Aligned(std::array::from_fn::<_, { ROUNDS * 16 * 64 }, _>(|i| bf16::from_f32((i % 97) as f32)));
    let map = map(&mut matrix.0, 64);
    let mut sums = [0.0; 128];
    let args = (map, view(&mut matrix.0), view(&mut sums), ROUNDS as u32, 0);
    run(shares, 2, 64, args).unwrap();
    for (i, sum) in sums.into_iter().enumerate() {
        let at = |round: usize| matrix.0[(round * 16 + i % 16) * 64 + i % 64].to_f32();
        assert_eq!(sum, (0..ROUNDS).map(at).sum::<f32>(), "{i}");
    }
    assert_eq!(kinds(shares, || args), []);
}

#[test]
fn a_block_that_asks_itself_alone_overwrites_what_the_other_reads() {
    let mut matrix = Aligned([bf16::ONE; 3 * 16 * 64]);
    let map = map(&mut matrix.0, 64);
    let mut sums = [0.0; 128];
    let found = |variant| kinds(shares, || (map, view(&mut matrix.0), view(&mut sums), 3, variant));
    let mut found = found;
    assert!(found(ASKS_ITS_BLOCK).contains(&Kind::SharedRace), "{:?}", found(ASKS_ITS_BLOCK));
    assert_eq!(found(LEAVES), [Kind::CopyInFlight], "the last arrivals may come when the block has ended");
}

shared!(NUMBERS: [u32; 64]);
shared!(BYTES: [u8; 64]);

/// What a variant of [`reads`] does otherwise.
const READS_AT_ONCE: u32 = 1;
const ENDS_AFTER_IT: u32 = 2;
const READS_OUTSIDE: u32 = 3;
const READS_OF_NOBODY: u32 = 4;
const WRITES_AGAIN: u32 = 5;

/// Each thread writes a number and a byte; behind the barrier it adds up those that the blocks of its cluster have at
/// its place, and those that the last of them has in a pack.
#[kernel(sm_90, cluster = 3)]
fn reads(sums: Global<u32>, variant: u32) {
    let t = thread::thread_idx_x();
    let value = |rank: u32, t: u32| (rank + 1) * 1000 + t;
    NUMBERS::view().set(t, value(cluster::rank(), t));
    BYTES::view().set(t, cluster::rank() as u8 + 1);
    if variant == READS_AT_ONCE {
        thread::sync_threads();
    } else {
        cluster::sync(); // all blocks have written
    }
    let mut sum = 0;
    for rank in 0..cluster::blocks() + (variant == READS_OF_NOBODY) as u32 {
        let numbers = Remote::of(NUMBERS::view(), rank);
        sum += numbers.get(t + (variant == READS_OUTSIDE) as u32);
        sum += 100_000 * u32::from(Remote::of(BYTES::view(), rank).get(t));
    }
    let last = Remote::of(NUMBERS::view(), cluster::blocks() - 1);
    sum += last.get_pack(t / 4).into_iter().sum::<u32>();
    if variant == WRITES_AGAIN {
        NUMBERS::view().set(t, 0);
    }
    sums.set(thread::index_1d(), sum);
    if variant != ENDS_AFTER_IT {
        cluster::sync(); // no block ends while others read what it has
    }
}

#[test]
fn blocks_read_what_the_others_have() {
    // More clusters than one thread of the host runs, and one.
    for blocks in [3, 60] {
        let mut sums = vec![0; 64 * blocks];
        run(reads, blocks as u32, 64, (view(&mut sums), 0)).unwrap();
        for (i, sum) in sums.into_iter().enumerate() {
            let t = i as u32 % 64;
            let pack: u32 = (0..4).map(|e| 3000 + t / 4 * 4 + e).sum();
            assert_eq!(sum, 6000 + 3 * t + 600_000 + pack, "{i}");
        }
    }
}

#[test]
fn reads_of_another_block_are_checked() {
    let mut sums = [0; 192];
    let mut found = |variant| {
        let args = (view(&mut sums), variant);
        check(Check { schedules: 8, ..Check::default() }, || run(reads, 3, 64, args).is_ok()).report.kinds()
    };
    assert_eq!(found(0), []);
    let early = found(READS_AT_ONCE);
    assert!(early.contains(&Kind::SharedRace), "{early:?}");
    assert_eq!(found(ENDS_AFTER_IT), [Kind::CopyInFlight]);
    assert_eq!(found(READS_OUTSIDE), [Kind::OutOfBounds]);
    let again = found(WRITES_AGAIN);
    assert!(again.contains(&Kind::SharedRace), "{again:?}");
    let why = run(reads, 3, 64, (view(&mut sums), READS_OF_NOBODY)).unwrap_err().to_string();
    assert!(why.contains("a cluster of 3 blocks has none of rank 3"), "{why}");
}
