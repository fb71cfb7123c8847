//! Tracks as a file that Perfetto and Chrome's about:tracing show: the Trace Event Format, in JSON.

use rungs::error::{Error, Result};
use rungs::profile::{Entry, Track};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The file: a process for each rank, or for the one device, and in it a thread for each track. Times are in
/// microseconds.
///
/// # Errors
/// [`Error::Usage`] if a number cannot be written as JSON.
pub fn timeline(tracks: &[Track]) -> Result<String> {
    let (mut events, mut named) = (vec![], BTreeSet::new());
    let meta = |name: &str, (process, thread): (usize, usize), to: String| {
        let mut event = json!({"ph": "M", "name": name, "pid": process, "tid": thread});
        event["args"] = json!({"name": to});
        event
    };
    for (thread, track) in tracks.iter().enumerate() {
        let process = track.rank.unwrap_or(0);
        if named.insert(process) {
            let device = track.profile.trace.first().map_or("", |entry| &entry.device);
            let rank = track.rank.map_or(String::new(), |rank| format!("rank {rank}: "));
            events.push(meta("process_name", (process, thread), format!("{rank}{device}")));
        }
        events.push(meta("thread_name", (process, thread), track.name.clone()));
        for entry in &track.profile.trace {
            let (start, duration) = (entry.start_ms * 1e3, entry.duration_ms * 1e3);
            events.push(json!({
                "ph": "X", "name": entry.name, "cat": kind(entry), "pid": process, "tid": thread,
                "ts": start, "dur": duration, "args": arguments(entry)?,
            }));
        }
    }
    Ok(json!({"displayTimeUnit": "ns", "traceEvents": events}).to_string() + "\n")
}

/// What is done, for the viewer's filters.
fn kind(entry: &Entry) -> &'static str {
    match entry.size {
        None => "kernel",
        Some(_) if entry.sent.is_some() || entry.peer.is_some() => "exchange",
        Some(_) => "copy",
    }
}

/// All that is known besides name, times and device.
fn arguments(entry: &Entry) -> Result<Map<String, Value>> {
    let all = serde_json::to_value(entry).map_err(|e| Error::Usage(format!("cannot be written as JSON: {e}")))?;
    let Value::Object(mut all) = all else { return Ok(Map::new()) };
    all.retain(|name, value| !value.is_null() && !["name", "start_ms", "duration_ms", "device"].contains(&&**name));
    Ok(all)
}
