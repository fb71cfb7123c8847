//! The worker of docs/services.md: its order against the host's, on two threads at once.

use std::thread;

/// Keys of a request.
const N: usize = 1000;

// begin
use rungs::engine::PinnedVec;
use rungs::plan::Plan;
use rungs::{DeviceChoice, Engine};
use std::ptr::null_mut;

/// Answers requests of `n` keys, each with the places of its keys in ascending order.
fn worker(n: usize, requests: Vec<Vec<f32>>, mut answer: impl FnMut(&[u32])) -> rungs::Result<()> {
    // Once per thread: an engine with its own stream, the plan, and all memory.
    let engine = Engine::open(DeviceChoice::Auto)?;
    let stream = engine.as_cuda().map_or(null_mut(), |cuda| cuda.stream_handle());
    let sort = Plan::sort_pairs(&engine, n)?;
    let (keys, places) = (engine.alloc::<f32>(n)?, engine.alloc::<u32>(n)?);
    let scratch = engine.alloc::<u8>(sort.scratch_bytes())?;
    let unsorted = engine.upload(&(0..n as u32).collect::<Vec<_>>())?;
    let (mut input, mut output) = (PinnedVec::zeros(&engine, n)?, PinnedVec::zeros(&engine, n)?);

    // Once per request: nothing is allocated, and the host waits only for the end.
    for request in requests {
        input.copy_from_slice(&request);
        let upload = keys.start_write(0, input)?;
        places.copy_from(&unsorted)?;
        // SAFETY: the buffers are of this engine, as large as the plan asks, and used by this stream alone.
        unsafe { sort.run(stream, keys.as_ptr(), places.as_ptr(), scratch.as_ptr(), scratch.len()) }?;
        let download = places.start_read(0, output)?;
        (input, output) = (upload.wait()?, download.wait()?);
        answer(&output);
    }
    Ok(())
}
// end

#[test]
fn two_workers_answer_in_order() {
    let answered = |seed: u32| {
        let key = |i: u32| f32::from((i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 20) as u16);
        let requests: Vec<Vec<f32>> = (0..3).map(|r| (0..N as u32).map(|i| key(i + r * 7919)).collect()).collect();
        let mut answers = vec![];
        worker(N, requests.clone(), |places| answers.push(places.to_vec())).unwrap();
        let expected = requests.iter().map(|keys| {
            let mut places: Vec<u32> = (0..N as u32).collect();
            places.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
            places
        });
        assert_eq!(answers, expected.collect::<Vec<_>>(), "seed {seed}");
    };
    thread::scope(|scope| {
        scope.spawn(|| answered(1));
        scope.spawn(|| answered(2));
    });
}

#[test]
fn the_page_has_the_worker() {
    crate::assert_page_has("services.md", include_str!("services.rs"));
}
