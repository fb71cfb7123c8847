//! The thread of `look-ahead` that draws tiles, and has them copied to the ring and back.

use super::STAGES;
use super::ring::{Job, done, full};
use rungs_common::operator::Operator;
use rungs_common::ring::Place;
use rungs_common::state::{NOTHING, words};
use simt::atomic::{Order::Relaxed, Scope::Device};
use simt::{Global, Scalar, bulk, thread};

/// The thread that draws tiles and has them copied to the ring and back.
pub(super) struct Mover<T> {
    job: Job<T>,
    /// The result of the last [`Job::draw`].
    drawn: u64,
    begun: u32,
    ended: bool,
}

impl<T: Scalar> Mover<T> {
    #[inline(always)]
    pub(super) fn new(job: Job<T>, drawn: u64) -> Self {
        Self { job, drawn, begun: 0, ended: false }
    }

    /// Moves tiles until none are left.
    #[inline(always)]
    pub(super) fn run<O: Operator<T>>(mut self) {
        let mut stage = 0;
        while stage < STAGES {
            self.begin::<O>(stage);
            stage += 1;
        }
        let (mut place, mut ended) = (Place::FIRST, 0);
        while ended < self.begun {
            let number = self.job.number(place.stage);
            done(place.stage).wait(place.parity);
            if self.job.direct {
                self.store(place.stage, number);
            }
            self.begin::<O>(place.stage);
            (place, ended) = (place.next(STAGES), ended + 1);
        }
    }

    /// Draws a tile and has it copied to `stage`. After the last tile, tells the other roles that there is no more.
    #[inline(always)]
    fn begin<O: Operator<T>>(&mut self, stage: u32) {
        if self.ended {
            return;
        }
        let (job, launch, number) = (self.job, (self.drawn >> 32) as u32, self.drawn as u32);
        job.announce(stage, number);
        if self.begun == 0 {
            job.announce_tag(launch + 1);
        }
        if number >= job.tiles {
            self.ended = true;
            if number == job.tiles + thread::grid_dim_x() - 1 {
                // The last draw of the launch: no block reads the control word any more, so it is made ready for the
                // next launch. Launches are numbered from 0 to 2³² - 3, so that a tag, which is one more, is never
                // NOTHING.
                let next = if launch == u32::MAX - 2 { 0 } else { launch + 1 };
                job.control.store(0, (next as u64) << 32, Relaxed, Device);
            }
            full(stage).arrive();
            return;
        }
        if number == 0 {
            forget_one(job.states, launch, job.tiles * words::<T>());
        }
        self.begun += 1;
        let (span, elements) = (job.span(number), job.elements(stage));
        // Places of these packs outside the input get the identity, which changes no sum.
        span.edges::<T>(|i, inside| {
            elements.set(i, if inside { job.input.get(span.base.wrapping_add(i)) } else { O::IDENTITY });
        });
        let (first, len) = span.whole_packs::<T>();
        if len > 0 {
            full(stage).arrive_expecting(len * size_of::<T>() as u32);
            let from = job.input.slice(span.base.wrapping_add(first), len);
            bulk::load(elements.slice(first, len), from, full(stage));
        } else {
            full(stage).arrive();
        }
        // For the next call. It comes last, so that this tile does not wait for the atomic.
        self.drawn = job.draw();
    }

    /// Has a scanned tile stored, and waits until the stage can be used again.
    #[inline(always)]
    fn store(&self, stage: u32, number: u32) {
        let (job, elements) = (self.job, self.job.elements(stage));
        let span = job.span(number);
        let (first, len) = span.whole_packs::<T>();
        if len > 0 {
            bulk::store(job.output.slice(span.base.wrapping_add(first), len), elements.slice(first, len));
        }
        bulk::commit();
        span.edges::<T>(|i, inside| {
            if inside {
                job.output.set(span.base.wrapping_add(i), elements.get(i));
            }
        });
        // The next tile may be copied to the stage once the copy engine has read this one from it.
        bulk::wait_read::<0>();
    }
}

/// Clears one of the words that this launch does not use, a different one in each launch, so that no tag survives until
/// the launch counter wraps.
#[inline(always)]
fn forget_one(states: Global<u64>, launch: u32, used: u32) {
    let word = launch % states.len();
    if word >= used {
        states.store(word, NOTHING as u64, Relaxed, Device);
    }
}
