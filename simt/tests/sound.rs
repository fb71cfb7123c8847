//! Safe code cannot make the simulator do what is undefined, however it is written.
#![forbid(unsafe_code)]

use simt::cluster::{self, Remote};
use simt::launcher::{Launcher, Scratch};
use simt::mbarrier::{self, Mbarrier};
use simt::sim::{self, Check, Event, Gpu, Kind, LaunchError, Options, check, launch, observe};
use simt::tensor_map::{Described, TensorMap};
use simt::warpgroup::Tile;
use simt::{Geometry, Global, Shared, async_copy, f16, kernel, shared, thread};
use std::cell::RefCell;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

const WORDS: u32 = 1 << 16;

thread_local! {
    static OWNER: RefCell<Option<Scratch<u32>>> = const { RefCell::new(None) };
}

/// Scratch memory that a kernel can reach the owner of, as a view.
fn owned() -> Global<u32> {
    let on: &dyn Launcher = &Gpu::default();
    let scratch = on.zeros::<u32>(WORDS).unwrap();
    let view = scratch.view();
    OWNER.set(Some(scratch));
    view
}

fn refusal(result: Result<(), LaunchError>) -> String {
    result.expect_err("the launch ran to its end").to_string()
}

/// Thread 1 drops the owner of the memory, or tries to in a way that would hide a panic; thread 0 goes on.
#[kernel]
fn frees_its_memory(words: Global<u32>, output: Global<u32>, hidden: u32) {
    if thread::thread_idx_x() == 1 {
        let free = || OWNER.set(None);
        if hidden == 1 {
            let _ = catch_unwind(free);
        } else {
            free();
        }
    }
    thread::sync_threads();
    output.set(thread::thread_idx_x(), words.get(WORDS / 4));
}

#[test]
fn a_kernel_that_frees_its_memory_is_stopped() {
    let on: &dyn Launcher = &Gpu::default();
    let output = on.zeros::<u32>(64).unwrap();
    for hidden in [0, 1] {
        let run =
            |words| launch(frees_its_memory, [1; 3], [2, 1, 1], 0, (words, output.view(), hidden), Options::default());
        let words = owned();
        let stopped = refusal(run(words));
        assert!(stopped.contains("thread (1, 0, 0)") && stopped.contains("frees memory of views"), "{stopped}");
        assert!(
            refusal(run(words)).contains("view number 1 is of memory that was freed"),
            "gone once the launch is over"
        );
        let checked = check(Check { schedules: 1, ..Check::default() }, || refusal(run(owned())));
        assert!(checked.results[0].contains("frees memory of views"), "{checked:?}");
        assert_eq!(checked.report.kinds(), [Kind::Fault]);
    }
}

#[kernel]
fn reads(words: Global<u32>, output: Global<u32>) {
    output.set(thread::index_1d(), words.get(WORDS / 4));
}

/// An observer runs between blocks, and within them.
#[test]
fn an_observer_that_frees_the_memory_ends_the_launch() {
    let on: &dyn Launcher = &Gpu::default();
    let output = on.zeros::<u32>(64).unwrap();
    let frees_at: [fn(&Event) -> bool; 3] = [
        |event| matches!(event, Event::Launch { .. }),
        |event| matches!(event, Event::BlockEnd { .. }),
        |event| matches!(event, Event::Access(_)),
    ];
    for (now, what) in frees_at.into_iter().zip(["was freed", "was freed", "frees memory of views"]) {
        let observer = move |event| {
            if now(&event) {
                OWNER.set(None)
            }
        };
        let run = || {
            let args = (owned(), output.view());
            observe(observer, || refusal(launch(reads, [2, 1, 1], [2, 1, 1], 0, args, Options::default())))
        };
        assert!(run().contains(what), "{what}");
        let checked = check(Check { schedules: 1, ..Check::default() }, run);
        assert!(checked.results[0].contains(what), "{what}: {checked:?}");
    }
}

/// A payload of a panic is the user's, and dropped when the kernel has ended.
#[kernel]
fn panics_with_an_owner(_words: Global<u32>) {
    struct Frees;
    impl Drop for Frees {
        fn drop(&mut self) {
            OWNER.set(None);
        }
    }
    std::panic::panic_any(Frees);
}

#[test]
fn a_payload_that_frees_the_memory() {
    let words = owned();
    let run = || launch(panics_with_an_owner, [1; 3], [1; 3], 0, (words,), Options::default());
    assert!(refusal(run()).contains("the kernel panicked"));
    assert!(refusal(run()).contains("was freed before the launch"));
}

static ENDED: AtomicBool = AtomicBool::new(false);

/// Thread 0 waits at a barrier while a thread of the host uses its stack; thread 1 ends the launch.
#[kernel]
fn abandons_a_scope(words: Global<u32>) {
    if thread::thread_idx_x() == 1 {
        words.get(words.len());
    }
    let on_the_stack = 7;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(on_the_stack, 7);
            ENDED.store(true, SeqCst);
        });
        thread::sync_threads();
    });
}

#[test]
fn a_stack_is_not_used_again_before_it_is_left() {
    let fault = refusal(launch(abandons_a_scope, [1; 3], [2, 1, 1], 0, (owned(),), Options::default()));
    assert!(fault.contains("out of bounds"), "{fault}");
    assert!(ENDED.load(SeqCst), "the scope's thread has ended before the launch");
}

#[kernel]
fn launches(words: Global<u32>, checks: u32) {
    let inner = || launch(reads, [1; 3], [1; 3], 0, (words, words), Options::default());
    if checks == 1 {
        check(Check::default(), inner);
    } else {
        panic!("{}", refusal(inner()));
    }
}

#[test]
fn a_kernel_launches_nothing() {
    let run = |checks| launch(launches, [1; 3], [1; 3], 0, (owned(), checks), Options::default());
    assert!(refusal(run(0)).contains("a kernel launches no other"));
    assert!(refusal(run(1)).contains("a kernel launches none"));
    let checked = check(Check { schedules: 1, ..Check::default() }, || refusal(run(0)));
    assert!(checked.results[0].contains("a kernel launches no other"), "{checked:?}");
}

#[kernel]
fn dynamic(offset: u32, kind: u32) {
    match kind {
        0 => Shared::<u32>::dynamic(offset, 4).set(3, 5),
        1 => Mbarrier::at(Shared::<u64>::dynamic(offset, 1), 0).init(1),
        2 => _ = Tile::<f32>::dynamic(offset, 8).elements().get(0),
        3 => Shared::<f16>::dynamic(offset, 4).fetch(),
        _ => Shared::<u8>::dynamic(offset, 4).set(3, 5),
    }
}

/// Any use of a view.
trait Fetch {
    fn fetch(self);
}

impl Fetch for Shared<f16> {
    fn fetch(self) {
        self.get(0);
    }
}

#[test]
fn dynamic_shared_memory_is_aligned() {
    let run = |offset, kind| launch(dynamic, [1; 3], [1; 3], 4096, (offset, kind), Options::default());
    let refused = |offset, kind| match run(offset, kind) {
        Err(LaunchError::Fault(f)) => {
            assert_eq!((f.kind, f.location().starts_with("simt/tests/sound.rs")), (Kind::Misaligned, true), "{f}");
            assert!(f.what.starts_with("dynamic shared view is not aligned"), "{f}");
        }
        other => panic!("{offset} {kind}: {other:?}"),
    };
    for (kind, alignment) in [(0, 4), (1, 8), (2, 4), (3, 2), (4, 1)] {
        for offset in 0..16 {
            match offset % alignment {
                0 => run(offset, kind).unwrap(),
                _ => refused(offset, kind),
            }
        }
    }
}

shared!(HALVES: [u16; 64]);

/// Copies the first elements of a pack, which end within a word.
#[kernel]
fn copies_three(input: Global<u16>, output: Global<u16>) {
    let halves = HALVES::view();
    async_copy::pack(halves, 0, input, 0, 3);
    async_copy::commit();
    async_copy::wait::<0>();
    (0..8).for_each(|i| output.set(i, halves.get(i)));
}

/// What is behind the elements is neither read nor copied.
#[test]
fn a_copy_of_a_part_of_a_word_reads_no_more() {
    let on: &dyn Launcher = &Gpu::default();
    let work = || {
        let (input, output) = (on.scratch::<u16>(8).unwrap(), on.zeros::<u16>(8).unwrap());
        on.launch(fill_halves, Geometry::linear(1, 3), (input.view(),)).unwrap();
        on.launch(copies_three, Geometry::linear(1, 1), (input.view().slice(0, 3), output.view())).unwrap();
        on.launch(halves_are, Geometry::linear(1, 1), (output.view(),)).unwrap();
    };
    let checked = check(Check { schedules: 1, ..Check::default() }, work);
    assert!(checked.report.is_clean(), "{}", checked.report);
}

#[kernel]
fn fill_halves(to: Global<u16>) {
    to.set(thread::index_1d(), 0x1234);
}

#[kernel]
fn halves_are(from: Global<u16>) {
    (0..8).for_each(|i| assert_eq!(from.get(i), if i < 3 { 0x1234 } else { 0 }, "element {i}"));
}

shared!(BARRIER: [u64; 1]);

#[kernel]
fn loads_a_box(map: TensorMap<f16>, _view: Global<f16>) {
    let (barrier, tile) = (Mbarrier::at(BARRIER::view(), 0), Tile::<f16>::dynamic(0, 16));
    barrier.init(1);
    mbarrier::fence_init();
    barrier.arrive_expecting(16 * 128);
    map.load(tile, 0, 0, barrier);
    barrier.wait(0);
}

/// A map may be kept longer than its matrix.
#[test]
fn a_map_of_dropped_memory_is_refused() {
    let on: &dyn Launcher = &Gpu::default();
    let geometry = Geometry::linear(1, 1).shared(4096);
    let other = on.zeros::<f16>(1024).unwrap();
    let map = {
        let matrix = on.zeros::<f16>(1024).unwrap();
        let map = on.tensor_map(&Described::of(matrix.view(), [16, 64], 64, 16).unwrap()).unwrap();
        on.launch(loads_a_box, geometry, (TensorMap::new(map), matrix.view())).unwrap();
        map
    };
    let refused = on.launch(loads_a_box, geometry, (TensorMap::new(map), other.view())).unwrap_err().to_string();
    assert!(refused.starts_with("loads_a_box: tensor map number 1 is of memory that was freed"), "{refused}");
}

#[kernel(sm_90, cluster = 2)]
fn reads_rank(rank: u32, output: Global<u32>) {
    let words = HALVES::view().cast::<u32>();
    words.set(0, 100 + cluster::rank());
    cluster::sync();
    output.set(cluster::rank(), Remote::of(words, rank).get(0));
    cluster::sync();
}

#[test]
fn a_rank_is_not_taken_modulo_anything() {
    let on: &dyn Launcher = &Gpu::default();
    let output = on.zeros::<u32>(2).unwrap();
    let run = |rank| launch(reads_rank, [2, 1, 1], [1; 3], 0, (rank, output.view()), Options::default());
    run(1).unwrap();
    for rank in [2, 255, 256, 257, u32::MAX] {
        let refused = refusal(run(rank));
        assert!(refused.contains(&format!("of rank {rank}")), "{refused}");
    }
}

/// The host's own memory, which launches only borrow, is not kept from being freed between them.
#[test]
fn memory_is_freed_as_ever_between_launches() {
    let words = owned();
    let output = owned_output();
    launch(reads, [1; 3], [1; 3], 0, (words, output.view()), Options::default()).unwrap();
    OWNER.set(None);
    sim::expect_written(output.view());
    assert!(
        refusal(launch(reads, [1; 3], [1; 3], 0, (words, output.view()), Options::default())).contains("was freed")
    );
}

fn owned_output() -> Scratch<u32> {
    let on: &dyn Launcher = &Gpu::default();
    on.zeros(64).unwrap()
}
