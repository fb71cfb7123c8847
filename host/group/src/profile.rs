//! A profile of what ranks do together: for each rank a track of the host and one per stream of its device, all with
//! one zero.
//!
//! Three clocks are brought together:
//! - A stream's times are those of events. An event on an idle stream, between two readings of the host's clock, says
//!   where the GPU's clock is on the host's.
//! - Ranks of one process have one clock of the host.
//! - For ranks of several processes, some meetings before the run tell how far their clocks are apart: nobody leaves a
//!   meeting before all have come. So a reading of a rank's clock after a meeting is later than that of another rank's
//!   clock before it.
//!
//! Each says how far off it may be, and [`Member::within_ms`] is the sum. All of this is found just before the run; in
//! it the clocks are taken to go equally fast.

use super::Group;
use rungs::engine::Engine;
use rungs::error::{Error, Result};
use rungs::profile::{Track, tracks};
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::time::Instant;

/// Meetings that tell how far clocks are apart.
const MEETINGS: usize = 32;

/// A run of a group, activity by activity; the same on all ranks. Times are in milliseconds from the moment on at which
/// the first rank began.
#[derive(Clone, Debug, Serialize)]
pub struct GroupProfile {
    /// The ranks.
    pub ranks: Vec<Member>,
    /// The tracks of all ranks, in the order of the ranks.
    pub tracks: Vec<Track>,
}

/// A rank.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Member {
    /// Its number.
    pub rank: usize,
    /// Its device.
    pub device: String,
    /// When the rank began, by the host's clock.
    pub begin_ms: f64,
    /// When all of its work had ended.
    pub end_ms: f64,
    /// By how much its times may be off those of the host of rank 0, at most.
    pub within_ms: f64,
}

/// What a rank tells the others, with times by its own clock.
#[derive(Deserialize, Serialize)]
struct Told {
    member: Member,
    tracks: Vec<Track>,
    /// The number of its process, drawn at random.
    process: u64,
    /// The host's clock before and after each meeting.
    readings: Vec<[f64; 2]>,
}

/// Runs `work`, to which all ranks come together, and notes each launch, copy and exchange of each rank. All ranks call
/// it.
///
/// # Errors
/// The error of `work`; [`Error::Group`] if another rank failed or is late; [`Error::Cuda`] if the driver refuses an
/// event, or a kernel failed.
pub fn profile<R>(group: &dyn Group, engine: &Engine, work: impl FnOnce() -> Result<R>) -> Result<(R, GroupProfile)> {
    let rank = group.rank();
    let readings = readings(|| group.barrier())?;
    let origin = engine.origin()?;
    group.barrier()?;
    let begin_ms = now();
    let (result, activities) = engine.record(|| {
        let result = work()?;
        engine.synchronize()?;
        Ok(result)
    })?;
    let end_ms = now();
    let mut tracks = tracks(engine, &origin, rank, &activities)?;
    let origin_ms = reading(origin.at);
    each_start(&mut tracks, |start| start + origin_ms);
    let device = engine.info().name.clone();
    let member = Member { rank, device, begin_ms, end_ms, within_ms: origin.within_ms };
    let mine = serde_json::to_vec(&Told { member, tracks, process: process(), readings });
    let all = group.all_gather_bytes(mine.map_err(|e| Error::Usage(format!("cannot be written as JSON: {e}")))?)?;
    let told = all.iter().map(|bytes| serde_json::from_slice(bytes)).collect::<serde_json::Result<Vec<Told>>>();
    let told = told.map_err(|_| Error::Group("the ranks do not run the same program".into()))?;
    Ok((result, aligned(told)))
}

/// The host's clock before and after each meeting.
fn readings(mut meet: impl FnMut() -> Result<()>) -> Result<Vec<[f64; 2]>> {
    (0..MEETINGS)
        .map(|_| {
            let before = now();
            meet()?;
            Ok([before, now()])
        })
        .collect()
}

/// Brings what all ranks have told to one clock, that of rank 0, and to one zero.
fn aligned(mut told: Vec<Told>) -> GroupProfile {
    let Some((process, readings)) = told.first().map(|first| (first.process, first.readings.clone())) else {
        return GroupProfile { ranks: vec![], tracks: vec![] };
    };
    for Told { member, tracks, process: own, readings: of } in &mut told {
        let (offset, within) = if *own == process { (0.0, 0.0) } else { between(&readings, of) };
        member.begin_ms += offset;
        member.end_ms += offset;
        member.within_ms += within;
        each_start(tracks, |start| start + offset);
    }
    let zero = told.iter().map(|told| told.member.begin_ms).fold(f64::INFINITY, f64::min);
    let (mut ranks, mut tracks) = (vec![], vec![]);
    for mut told in told {
        told.member.begin_ms -= zero;
        told.member.end_ms -= zero;
        each_start(&mut told.tracks, |start| start - zero);
        ranks.push(told.member);
        tracks.append(&mut told.tracks);
    }
    GroupProfile { ranks, tracks }
}

/// What is to be added to a rank's clock to make it that of rank 0, and by how much that may be wrong at most, from
/// what both showed before and after the same meetings.
fn between(first: &[[f64; 2]], other: &[[f64; 2]]) -> (f64, f64) {
    // Who leaves a meeting does so after the other has come: `left_first >= came_other + offset`, and
    // `left_other + offset >= came_first`.
    let pairs = || first.iter().zip(other);
    let most = pairs().map(|([_, left], [came, _])| left - came).fold(f64::INFINITY, f64::min);
    let least = pairs().map(|([came, _], [_, left])| came - left).fold(f64::NEG_INFINITY, f64::max);
    ((least + most) / 2.0, ((most - least) / 2.0).max(0.0))
}

/// Changes the times at which activities start.
fn each_start(tracks: &mut [Track], to: impl Fn(f64) -> f64) {
    tracks.iter_mut().flat_map(|track| &mut track.profile.trace).for_each(|entry| entry.start_ms = to(entry.start_ms));
}

/// Milliseconds of the clock that all threads of this process have.
fn now() -> f64 {
    zero();
    reading(Instant::now())
}

/// A point in time by the same clock; 0 for one before its zero.
fn reading(at: Instant) -> f64 {
    at.saturating_duration_since(zero()).as_secs_f64() * 1e3
}

fn zero() -> Instant {
    static ZERO: OnceLock<Instant> = OnceLock::new();
    *ZERO.get_or_init(Instant::now)
}

/// A number that tells this process from others.
fn process() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(|| RandomState::new().hash_one("process"))
}

#[cfg(test)]
mod tests {
    use super::super::{Meeting, Rendezvous, Seat, Tcp};
    use super::*;
    use rungs::profile::{Entry, Profile};
    use std::net::TcpListener;
    use std::time::Duration;

    #[test]
    fn meetings_tell_how_far_clocks_are_apart() {
        // The other clock is 100 behind. In the first meeting it comes last, in the second one first; whoever comes
        // first leaves 2 later than the last one has come, and the last one 1 later.
        let (first, other) = ([[0.0, 12.0], [25.0, 26.0]], [[-90.0, -89.0], [-80.0, -73.0]]);
        assert_eq!(between(&first, &other), (100.0, 2.0));
        assert_eq!(between(&other, &first), (-100.0, 2.0));
        // One meeting alone says less.
        assert_eq!(between(&first[..1], &other[..1]), (95.5, 6.5));
        assert_eq!(between(&first, &first).0, 0.0);
    }

    /// The clocks of two threads are one: what their meetings tell of them has to allow for that.
    #[test]
    fn what_meetings_tell_of_one_clock_is_true() {
        fn both<M: Meeting>(join: impl Fn(usize) -> M + Sync) -> [Vec<[f64; 2]>; 2] {
            std::thread::scope(|scope| {
                let rank = |rank| {
                    let join = &join;
                    scope.spawn(move || {
                        let meeting = join(rank);
                        readings(|| meeting.all_gather(vec![]).map(|_| ())).unwrap()
                    })
                };
                [0, 1].map(rank).map(|rank| rank.join().unwrap())
            })
        }
        let patience = Duration::from_secs(60);
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let at = &Rendezvous { host: "127.0.0.1".into(), port, job: "clocks".into(), ..Default::default() };
        let seats = std::sync::Mutex::new(Seat::row(2, patience));
        let by_memory = both(|_| seats.lock().unwrap().remove(0));
        let by_tcp = both(|rank| Tcp::new(rank, 2, at, patience).unwrap());
        for [first, other] in [by_memory, by_tcp] {
            assert_eq!((first.len(), other.len()), (MEETINGS, MEETINGS));
            let (offset, within) = between(&first, &other);
            assert!(offset.abs() <= within, "{offset} is not within {within}");
            // No meeting alone says more than all of them.
            let alone = first.iter().zip(&other).map(|(a, b)| a[1] - a[0] + b[1] - b[0]).fold(f64::INFINITY, f64::min);
            assert!(2.0 * within <= alone + 1e-9, "{within}: {first:?} {other:?}");
        }
    }

    fn told(rank: usize, process: u64, readings: &[[f64; 2]], times: [f64; 3]) -> Told {
        let [begin_ms, start_ms, end_ms] = times;
        let entry = Entry { start_ms, duration_ms: 0.5, name: "kernel".into(), ..Entry::default() };
        let profile = Profile { trace: vec![entry], summary: vec![] };
        let track = Track { rank: Some(rank), name: "stream 1".into(), profile };
        let member = Member { rank, device: "device".into(), begin_ms, end_ms, within_ms: 0.25 };
        Told { member, tracks: vec![track], process, readings: readings.to_vec() }
    }

    #[test]
    fn ranks_have_one_zero() {
        let meetings = [[[0.0, 12.0], [25.0, 26.0]], [[-90.0, -89.0], [-80.0, -73.0]]];
        let times = |of: &GroupProfile| {
            let of_rank = |(member, track): (&Member, &Track)| {
                [member.begin_ms, track.profile.trace[0].start_ms, member.end_ms, member.within_ms]
            };
            of.ranks.iter().zip(&of.tracks).map(of_rank).collect::<Vec<_>>()
        };
        // Rank 1 began at -69.5 + 100 by the clock of rank 0, and rank 0 half a millisecond before that.
        let ranks = |process| {
            vec![told(0, 7, &meetings[0], [30.0, 31.0, 33.0]), told(1, process, &meetings[1], [-69.5, -68.0, -66.0])]
        };
        assert_eq!(times(&aligned(ranks(8))), [[0.0, 1.0, 3.0, 0.25], [0.5, 2.0, 4.0, 2.25]]);
        // Ranks of one process have one clock.
        assert_eq!(times(&aligned(ranks(7))), [[99.5, 100.5, 102.5, 0.25], [0.0, 1.5, 3.5, 0.25]]);
        assert!(aligned(vec![]).ranks.is_empty());
    }
}
