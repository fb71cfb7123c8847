//! Refusals of a view of global memory: accesses from the host, and lengths that do not fit.

use simt::atomic::{Order::*, Scope};
use simt::launcher::Launcher;
use simt::sim::{Gpu, LaunchError, Options, launch};
use simt::{Geometry, Global, kernel};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The message of a call's panic.
fn panic_of<R>(call: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(call)).err().expect("that was allowed");
    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
    text.unwrap_or_else(|| *payload.downcast::<String>().unwrap())
}

/// A view of memory that the host cannot reach, as a GPU's is.
fn of_a_device() -> Global<u32> {
    // SAFETY: no kernel is given the view.
    unsafe { Global::from_raw(std::ptr::without_provenance_mut(1 << 12), 64) }
}

#[test]
fn the_host_cannot_reach_through_a_view() {
    let view = of_a_device();
    let calls: [&dyn Fn(); 8] = [
        &|| _ = view.get(0),
        &|| _ = view.get_streaming(0),
        &|| view.set(0, 1),
        &|| _ = view.get_pack(0),
        &|| _ = view.get_pack_read_only_or(0, true, [0; 4]),
        &|| view.set_pack(0, [0; 4]),
        &|| _ = view.load(0, Relaxed, Scope::Device),
        &|| _ = view.fetch_add(0, 1, Relaxed, Scope::Device),
    ];
    for call in calls {
        let message = panic_of(call);
        assert!(
            message.contains("outside of a kernel") && message.contains("copy the buffer to the host"),
            "{message}"
        );
    }
}

#[kernel]
fn increments(data: Global<u32>) {
    data.set(0, data.get(0) + 1);
}

#[kernel]
fn fails(data: Global<u32>) {
    data.set(data.len(), 1);
}

#[test]
fn nor_after_a_launch_or_one_that_failed() {
    let mut words = [41];
    // SAFETY: the words outlive the launches.
    let view = unsafe { Global::from_raw(words.as_mut_ptr(), 1) };
    launch(increments, [1; 3], [1; 3], 0, (view,), Options::default()).unwrap();
    assert!(panic_of(|| view.get(0)).contains("outside of a kernel"));
    let failed = launch(fails, [1; 3], [1; 3], 0, (view,), Options::default());
    assert!(matches!(failed, Err(LaunchError::Fault(_))));
    assert!(panic_of(|| view.set(0, 1)).contains("outside of a kernel"));
    assert_eq!(words, [42]);
}

#[test]
fn a_cast_keeps_the_length_or_refuses() {
    // SAFETY: the views are not accessed.
    let words = |len| unsafe { Global::from_raw(std::ptr::without_provenance_mut::<u64>(1 << 12), len) };
    let half = 1 << 31;
    assert_eq!(words(half - 1).cast::<u32>().len(), u32::MAX - 1);
    assert_eq!(words(7).cast::<u8>().len(), 56);
    assert_eq!(words(half).cast::<f64>().len(), half);
    for message in [panic_of(|| words(half).cast::<u32>()), panic_of(|| words(u32::MAX).cast::<u8>())] {
        assert!(message.contains("global cast") && message.contains("out of bounds"), "{message}");
    }
    // SAFETY: as above.
    let bytes = unsafe { Global::from_raw(std::ptr::without_provenance_mut::<u8>(1 << 12), 15) };
    assert_eq!(bytes.cast::<u64>().len(), 1);
}

#[kernel]
fn sums(data: Global<u32>, sum: Global<u32>) {
    sum.set(0, (0..data.len()).map(|i| data.get(i)).sum());
}

/// A view may be kept longer than the memory that it is of; launches and `clear` then refuse it, whatever was made of
/// it, and whatever has come to lie at the address since.
#[test]
fn a_view_of_dropped_scratch_memory_is_refused() {
    const N: u32 = 1000;
    let on: &dyn Launcher = &Gpu::default();
    let sum = on.zeros::<u32>(1).unwrap();
    let gone = {
        let scratch = on.zeros::<u32>(N).unwrap();
        on.launch(sums, Geometry::linear(1, 1), (scratch.view(), sum.view())).unwrap();
        scratch.view()
    };
    // As a rule one of these lies where the other memory was.
    let others: Vec<_> = (0..100).map(|_| on.zeros::<u32>(N).unwrap()).collect();
    for view in [gone, gone.slice(1, 2), gone.cast::<u64>().cast()] {
        let args = (view, sum.view());
        let refused = on.launch(sums, Geometry::linear(1, 1), args).unwrap_err().to_string();
        assert!(refused.starts_with("sums: view number 1 is of memory that was freed before"), "{refused}");
        let Err(LaunchError::Refused { kernel, why }) = launch(sums, [1; 3], [1; 3], 0, args, Options::default())
        else {
            panic!("sums ran")
        };
        assert!(kernel == "sums" && why.starts_with("view number 1"), "{why}");
        let refused = on.clear(view).unwrap_err().to_string();
        assert!(refused.starts_with("clear: the view is of memory that was freed"), "{refused}");
    }
    for other in &others {
        on.launch(sums, Geometry::linear(1, 1), (other.view(), sum.view())).unwrap();
    }
}

/// While another thread of the host launches, the owner may drop the memory.
#[test]
fn a_view_of_another_threads_scratch_memory_is_refused() {
    let on: &dyn Launcher = &Gpu::default();
    let scratch = on.zeros::<u32>(2).unwrap();
    let view = scratch.view();
    let refused = std::thread::spawn(move || {
        launch(increments, [1; 3], [1; 3], 0, (view,), Options::default()).unwrap_err().to_string()
    });
    let refused = refused.join().unwrap();
    assert!(refused.contains("another thread of the host holds"), "{refused}");
    on.launch(increments, Geometry::linear(1, 1), (view,)).unwrap();
}
