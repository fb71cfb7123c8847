//! The events that an observer of the simulator gets.

use simt::atomic::{Order, Scope};
use simt::sim::{Access, AccessKind, Event, LaunchError, Options, Space, launch, observe};
use simt::{Dim3, Global, Kernel, kernel, shared, thread};
use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;

shared!(SWAPPED: [u32; 2]);

/// Two threads swap their blocks' two words and count.
#[kernel]
fn swap(data: Global<u32>, count: Global<u32>) {
    let t = thread::thread_idx_x();
    let base = 2 * thread::block_idx_x();
    SWAPPED::view().set(1 - t, data.get(base + t));
    thread::sync_threads(); // both are in before either reads
    data.set(base + t, SWAPPED::view().get(t));
    if t == 0 {
        count.fetch_add(0, 1, Order::Relaxed, Scope::Device);
    }
}

/// Where an event happened, if it happened anywhere.
fn place(event: &Event) -> Option<&'static Location<'static>> {
    match event {
        Event::Access(access) => Some(access.site),
        Event::Barrier { site, .. } => Some(site),
        _ => None,
    }
}

fn with_place(event: Event, site: &'static Location<'static>) -> Event {
    match event {
        Event::Access(access) => Event::Access(Access { site, ..access }),
        Event::Barrier { block, id, .. } => Event::Barrier { block, id, site },
        event => event,
    }
}

/// A line of this file.
fn text(line: u32) -> &'static str {
    include_str!("observe.rs").lines().nth(line as usize - 1).unwrap().trim()
}

/// The events of a kernel, and the result of its launch.
fn events<K: Kernel>(kernel: K, grid: u32, block: u32, args: K::Args) -> (Vec<Event>, Result<(), LaunchError>) {
    let events = Rc::new(RefCell::new(vec![]));
    let log = events.clone();
    let result = observe(
        move |event| log.borrow_mut().push(event),
        || launch(kernel, [grid, 1, 1], [block, 1, 1], 0, args, Options::default()),
    );
    (events.take(), result)
}

fn view(v: &mut [u32]) -> Global<u32> {
    // SAFETY: the slice outlives the launch that the view is passed to.
    unsafe { Global::from_raw(v.as_mut_ptr(), v.len() as u32) }
}

#[test]
fn every_access_and_barrier_is_told_in_order() {
    let (mut data, mut count) = ([10, 11, 20, 21], [0]);
    let (at, counter) = (data.as_ptr() as u64, count.as_ptr() as u64);
    let (events, result) = events(swap, 2, 2, (view(&mut data), view(&mut count)));
    result.unwrap();
    assert_eq!((data, count), ([11, 10, 21, 20], [2]));
    // The places are compared below.
    let site = Location::caller();
    let mut want = vec![Event::Launch { kernel: "swap", grid: Dim3([2, 1, 1]), block: Dim3([2, 1, 1]) }];
    for block in 0..2 {
        let mut access = |thread: u32, space, kind, address: u64, value: u64| {
            want.push(Event::Access(Access { block, thread, space, kind, bytes: 4, address, value, site }));
        };
        let (a, b) = (10 * (block as u64 + 1), 10 * (block as u64 + 1) + 1);
        let base = at + 8 * block as u64;
        access(0, Space::Global, AccessKind::Read, base, a);
        access(0, Space::Shared, AccessKind::Write, 4, a);
        access(1, Space::Global, AccessKind::Read, base + 4, b);
        access(1, Space::Shared, AccessKind::Write, 0, b);
        want.push(Event::Barrier { block, id: 0, site });
        let mut access = |thread: u32, space, kind, address: u64, value: u64| {
            want.push(Event::Access(Access { block, thread, space, kind, bytes: 4, address, value, site }));
        };
        access(0, Space::Shared, AccessKind::Read, 0, b);
        access(0, Space::Global, AccessKind::Write, base, b);
        access(0, Space::Global, AccessKind::Atomic, counter, block as u64 + 1);
        access(1, Space::Shared, AccessKind::Read, 4, a);
        access(1, Space::Global, AccessKind::Write, base + 4, a);
        want.push(Event::BlockEnd { block });
    }
    want.push(Event::LaunchEnd);
    let lines: Vec<_> = events.iter().filter_map(place).map(|place| (place.file(), text(place.line()))).collect();
    let swaps = ["SWAPPED::view().set(1 - t", "SWAPPED::view().set(1 - t"];
    let first = [swaps, swaps].concat();
    let then =
        ["thread::sync_threads()", "data.set(base + t", "data.set(base + t", "count.fetch_add", "data.set(base + t"];
    let of_block = [&first[..], &then, &["data.set(base + t"]].concat();
    assert_eq!(lines.len(), 2 * of_block.len());
    for ((file, line), want) in lines.iter().zip(of_block.iter().cycle()) {
        assert!(file.ends_with("observe.rs") && line.starts_with(want), "{file}: {line}, not {want}");
    }
    let events: Vec<_> = events.into_iter().map(|event| with_place(event, site)).collect();
    assert_eq!(events, want);
}

/// Reads and writes 16 bytes.
#[kernel]
fn copy_pack(data: Global<u32>) {
    data.set_pack(1, data.get_pack(0));
}

#[test]
fn a_pack_is_four_words() {
    let mut words = [0u128; 2];
    // SAFETY: as for `view`; the words are aligned to 16 bytes.
    let view = unsafe { Global::from_raw(words.as_mut_ptr().cast::<u32>(), 8) };
    (0..4).for_each(|i| words[0] |= (i as u128 + 1) << (32 * i));
    let (events, result) = events(copy_pack, 1, 1, (view,));
    result.unwrap();
    let seen: Vec<_> = events
        .iter()
        .filter_map(|e| {
            if let Event::Access(a) = e { Some((a.kind, a.address - words.as_ptr() as u64, a.value)) } else { None }
        })
        .collect();
    let reads = (0..4).map(|i| (AccessKind::Read, 4 * i, i + 1));
    let writes = (0..4).map(|i| (AccessKind::Write, 16 + 4 * i, i + 1));
    assert_eq!(seen, reads.chain(writes).collect::<Vec<_>>());
}

/// Reads past the end.
#[kernel]
fn overrun(data: Global<u32>) {
    data.set(0, data.get(1));
}

#[test]
fn a_launch_that_fails_has_no_end_and_nobody_watches_afterwards() {
    let mut data = [1];
    let (events, result) = events(overrun, 1, 1, (view(&mut data),));
    assert!(matches!(result, Err(LaunchError::Fault(_))), "{result:?}");
    assert_eq!(events, [Event::Launch { kernel: "overrun", grid: Dim3([1, 1, 1]), block: Dim3([1, 1, 1]) }]);
    // A second observation can begin: the first has ended.
    let (again, _) = self::events(overrun, 1, 1, (view(&mut data),));
    assert_eq!(again.len(), 1);
}
