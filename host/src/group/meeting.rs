//! How ranks exchange a few bytes, and learn of each other's failures.

use crate::error::{Error, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where all ranks of a group meet.
pub trait Meeting {
    /// The number of this rank.
    fn rank(&self) -> usize;
    /// How many ranks there are.
    fn size(&self) -> usize;
    /// How long a rank is waited for.
    fn timeout(&self) -> Duration;
    /// What each rank brings.
    ///
    /// # Errors
    /// [`Error::Group`] if a rank failed, or does not come in time.
    fn all_gather(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>>;
    /// Looks whether a rank has failed; for those who wait for something else.
    ///
    /// # Errors
    /// [`Error::Group`] if so.
    fn look(&self) -> Result<()>;
    /// Tells all that this rank has failed.
    fn fail(&self, why: &str);
}

/// Where the threads of one process meet.
pub struct Room {
    size: usize,
    timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Meetings that have ended.
    meetings: u64,
    /// What those have brought who are here.
    here: Vec<Option<Vec<u8>>>,
    /// What all brought to the last meeting. The next one ends only after all have come, and so have read this.
    last: Arc<[Vec<u8>]>,
    failed: Option<String>,
    /// Threads that may read the memory of others.
    readers: usize,
}

impl Room {
    /// A room for so many threads.
    pub fn new(size: usize, timeout: Duration) -> Arc<Self> {
        let state = State { meetings: 0, here: vec![None; size], last: Arc::new([]), failed: None, readers: 0 };
        Arc::new(Self { size, timeout, state: Mutex::new(state), changed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No change of the state can panic half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn verdict(&self) -> Result<()> {
        self.failed.as_ref().map_or(Ok(()), |why| Err(Error::Group(why.clone())))
    }
}

/// A thread's seat in a [`Room`].
#[derive(Clone)]
pub struct Seat {
    room: Arc<Room>,
    rank: usize,
}

impl Seat {
    /// The seat of a rank.
    pub fn new(room: &Arc<Room>, rank: usize) -> Self {
        Self { room: Arc::clone(room), rank }
    }
}

/// A thread may read the memory of others for as long as this lives.
pub(super) struct Reading<'a>(&'a Room);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.lock().readers -= 1;
        self.0.changed.notify_all();
    }
}

impl Seat {
    /// Begins to read the memory of others.
    pub(super) fn read(&self) -> Reading<'_> {
        self.room.lock().readers += 1;
        Reading(&self.room)
    }

    /// Waits until no thread reads the memory of another. Readers wait for nobody but their own device.
    pub(super) fn wait_for_readers(&self) {
        let waited = self.room.changed.wait_while(self.room.lock(), |state| state.readers > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Meeting for Seat {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.room.size
    }

    fn timeout(&self) -> Duration {
        self.room.timeout
    }

    fn all_gather(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        let mut state = self.room.lock();
        state.verdict()?;
        state.here[self.rank] = Some(mine);
        if state.here.iter().all(Option::is_some) {
            let all: Vec<_> = state.here.iter_mut().filter_map(Option::take).collect();
            state.last = all.into();
            state.meetings += 1;
            self.room.changed.notify_all();
            return Ok(Arc::clone(&state.last));
        }
        let before = state.meetings;
        let waits = |state: &mut State| state.meetings == before && state.failed.is_none();
        let waited = self.room.changed.wait_timeout_while(state, self.room.timeout, waits);
        let (mut state, late) = waited.unwrap_or_else(PoisonError::into_inner);
        // A meeting that has ended has ended for all, whatever came after.
        if state.meetings > before {
            return Ok(Arc::clone(&state.last));
        }
        if late.timed_out() && state.failed.is_none() {
            let absent = (0..self.room.size).filter(|&rank| state.here[rank].is_none());
            state.failed = Some(late_text(&absent.collect::<Vec<_>>(), self.room.timeout));
            self.room.changed.notify_all();
        }
        state.verdict()?;
        Err(Error::Group("a meeting ended without a result".into()))
    }

    fn look(&self) -> Result<()> {
        self.room.lock().verdict()
    }

    fn fail(&self, why: &str) {
        let mut state = self.room.lock();
        state.failed.get_or_insert_with(|| failed_text(self.rank, why));
        self.room.changed.notify_all();
    }
}

/// That ranks did not come.
pub(super) fn late_text(ranks: &[usize], timeout: Duration) -> String {
    let names: Vec<_> = ranks.iter().map(usize::to_string).collect();
    let who = if names.len() == 1 { "rank" } else { "ranks" };
    format!("{who} {} did not answer within {} s", names.join(", "), timeout.as_secs_f64())
}

/// That a rank has failed. What was told of another rank is passed on as it is.
pub(super) fn failed_text(rank: usize, why: &str) -> String {
    format!("rank {rank} failed: {why}")
}
