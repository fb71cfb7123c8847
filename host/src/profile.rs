//! A profile: every copy and launch of a run with its times, and their totals, as nvprof shows them.
//!
//! On a GPU the times are those of events around each activity, and a kernel's resources are those that the driver
//! reports. The simulator has only the host's clock: its times are those of the simulation.
//!
//! `rungs_group::profile` is the same for several devices that work together.

use crate::engine::{Activity, Engine, Origin, What};
use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A run, activity by activity.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Profile {
    /// The activities in order.
    pub trace: Vec<Entry>,
    /// The same by name, longest first.
    pub summary: Vec<Total>,
}

/// What one stream of a device did, or the host for the device: in sequence, so that nothing overlaps.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Track {
    /// The rank of a group, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// `host`, or `stream` and its number.
    pub name: String,
    /// What was done.
    #[serde(flatten)]
    pub profile: Profile,
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = self.rank.map_or(String::new(), |rank| format!("rank {rank}, "));
        write!(f, "{rank}{}", self.name)
    }
}

/// One copy, launch or exchange. Fields that the machine does not know are `None`.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Entry {
    /// Its start, in milliseconds from the beginning of the run.
    pub start_ms: f64,
    /// Its duration, in milliseconds.
    pub duration_ms: f64,
    /// Blocks of a launch along x, y, z.
    pub grid: Option<[u32; 3]>,
    /// Threads per block along x, y, z.
    pub block: Option<[u32; 3]>,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Static shared memory per block, in bytes.
    pub static_shared: Option<u32>,
    /// Dynamic shared memory per block, in bytes.
    pub dynamic_shared: Option<u32>,
    /// Bytes of a copy; of an exchange those that come from other ranks.
    pub size: Option<usize>,
    /// Bytes that an exchange sends to other ranks; a copy from another device is that of the rank that receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<usize>,
    /// The rank that the bytes of a copy come from, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<usize>,
    /// The rate at which a stream copies or receives, in 10⁹ bytes per second.
    pub throughput_gbs: Option<f64>,
    /// The device.
    pub device: String,
    /// The context: the program makes one per device, numbered from 1.
    pub context: Option<u32>,
    /// The stream, numbered likewise.
    pub stream: Option<u32>,
    /// The kernel, or `[HtoD]`, `[DtoH]`, `[DtoD]`, `[memset]`; of a group also `[PtoP]` or `[NCCL]` and, of the host,
    /// `[all-gather]` and `[exchange]`.
    pub name: String,
}

/// All activities of one name.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Total {
    /// Its share of the time of all activities.
    pub percent: f64,
    /// The time of all of them.
    pub time_ms: f64,
    /// Their number.
    pub calls: usize,
    /// The mean.
    pub average_ms: f64,
    /// The shortest.
    pub min_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// The kernel or the kind of copy.
    pub name: String,
}

/// Runs `work` and notes each of its activities.
///
/// # Errors
/// The error of `work`; [`Error::Cuda`](crate::Error::Cuda) if a kernel failed or the driver refuses an event.
pub fn profile<R>(engine: &Engine, work: impl FnOnce() -> Result<R>) -> Result<(R, Profile)> {
    let origin = engine.origin()?;
    let (result, activities) = engine.record(work)?;
    let entries = activities.iter().map(|a| entry(engine, &origin, a)).collect::<Result<Vec<_>>>()?;
    Ok((result, Profile::of(entries)))
}

impl Profile {
    fn of(trace: Vec<Entry>) -> Self {
        let summary = totals(&trace);
        Self { trace, summary }
    }
}

/// What the host did and what each stream did, in this order, with times from `origin` on.
///
/// # Errors
/// As for [`Engine::times`].
pub fn tracks(engine: &Engine, origin: &Origin, rank: usize, activities: &[Activity]) -> Result<Vec<Track>> {
    // The host's, which is of no stream, comes first.
    let mut by_stream = BTreeMap::<Option<u32>, Vec<Entry>>::new();
    for activity in activities {
        by_stream.entry(activity.stream).or_default().push(entry(engine, origin, activity)?);
    }
    let track = |(stream, trace): (Option<u32>, _)| Track {
        rank: Some(rank),
        name: stream.map_or("host".into(), |number| format!("stream {number}")),
        profile: Profile::of(trace),
    };
    Ok(by_stream.into_iter().map(track).collect())
}

fn entry(engine: &Engine, origin: &Origin, activity: &Activity) -> Result<Entry> {
    let (start_ms, duration_ms) = engine.times(origin, activity)?;
    let on_stream = engine.as_cuda().and(activity.stream);
    let (context, device) = (on_stream.map(|_| 1), engine.info().name.clone());
    let blank = Entry { start_ms, duration_ms, device, context, stream: on_stream, ..Entry::default() };
    let rate = |bytes: usize| (duration_ms > 0.0).then(|| bytes as f64 / duration_ms * 1e-6);
    Ok(match &activity.what {
        What::Launch { kernel, geometry, .. } => {
            let attributes = engine.as_cuda().map(|cuda| cuda.kernel_attributes(kernel)).transpose()?;
            Entry {
                grid: Some(geometry.grid),
                block: Some(geometry.block),
                registers: attributes.map(|a| a.registers),
                static_shared: attributes.map(|a| a.static_shared),
                dynamic_shared: Some(geometry.shared_bytes),
                name: kernel.to_string(),
                ..blank
            }
        }
        What::Copy { direction, bytes } => {
            Entry { size: Some(*bytes), throughput_gbs: rate(*bytes), name: format!("[{direction}]"), ..blank }
        }
        What::Exchange { name, peer, sent, received } => Entry {
            size: Some(*received),
            sent: peer.is_none().then_some(*sent),
            peer: *peer,
            // The time of a call of the host is for the most part that of a wait.
            throughput_gbs: activity.stream.and_then(|_| rate(*received)),
            name: format!("[{name}]"),
            ..blank
        },
    })
}

/// Adds up the activities of each name.
fn totals(entries: &[Entry]) -> Vec<Total> {
    let all: f64 = entries.iter().map(|e| e.duration_ms).sum();
    let mut totals: Vec<Total> = vec![];
    for Entry { name, duration_ms: ms, .. } in entries {
        let at = totals.iter().position(|t| t.name == *name).unwrap_or_else(|| {
            let (min_ms, max_ms, name) = (f64::INFINITY, 0.0, name.clone());
            totals.push(Total { percent: 0.0, time_ms: 0.0, calls: 0, average_ms: 0.0, min_ms, max_ms, name });
            totals.len() - 1
        });
        let total = &mut totals[at];
        total.calls += 1;
        total.time_ms += ms;
        total.min_ms = total.min_ms.min(*ms);
        total.max_ms = total.max_ms.max(*ms);
    }
    for total in &mut totals {
        total.average_ms = total.time_ms / total.calls as f64;
        total.percent = if all > 0.0 { total.time_ms / all * 100.0 } else { 0.0 };
    }
    totals.sort_by(|a, b| b.time_ms.total_cmp(&a.time_ms));
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, duration_ms: f64) -> Entry {
        Entry { duration_ms, name: name.into(), ..Entry::default() }
    }

    #[test]
    fn activities_add_up_by_name_with_the_longest_first() {
        let totals = totals(&[entry("a", 1.0), entry("[HtoD]", 6.0), entry("a", 3.0)]);
        let total = |name: &str, percent, time_ms, calls, average_ms, min_ms, max_ms| Total {
            percent,
            time_ms,
            calls,
            average_ms,
            min_ms,
            max_ms,
            name: name.into(),
        };
        assert_eq!(totals, [total("[HtoD]", 60.0, 6.0, 1, 6.0, 6.0, 6.0), total("a", 40.0, 4.0, 2, 2.0, 1.0, 3.0)]);
        assert_eq!(super::totals(&[]), []);
    }
}
