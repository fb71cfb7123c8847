//! How ranks exchange a few bytes, and learn of each other's failures.

use rungs::error::{Error, Result};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest time-out, some thirty years: a later time than this from now on the system's clock may not know.
pub(super) const LONGEST: Duration = Duration::from_secs(1 << 30);

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

/// What a meeting of threads is about. Ranks that run the same program agree on it; where they do not, nobody takes for
/// an address what another rank brought as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Bytes of whoever uses the group.
    Bytes,
    /// Contexts of GPUs, which live until all have left the meeting after.
    Contexts,
    /// Memory that others read, until all have left the meeting after.
    Offers,
    /// The meeting after: nobody uses any more what was brought to the one before.
    Done,
}

/// Where the threads of one process meet.
struct Room {
    size: usize,
    timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Meetings that have ended.
    meetings: u64,
    /// What the meeting is about, by who came first.
    purpose: Purpose,
    /// What those have brought who are here.
    here: Vec<Option<Vec<u8>>>,
    /// What all brought to the last meeting. The next one ends only after all have come, and so have read this.
    last: Arc<[Vec<u8>]>,
    failed: Option<String>,
    /// A rank that comes to no further meeting.
    gone: Option<usize>,
    /// Threads that may read the memory of others.
    readers: usize,
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No change of the state can panic half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Ends the group if a rank is missed that comes no more. After its last meeting nobody misses it.
    fn miss(&mut self) {
        if let Some(rank) = self.gone {
            self.failed.get_or_insert_with(|| failed_text(rank, "it has ended, and others wait for it"));
        }
    }

    fn verdict(&self) -> Result<()> {
        self.failed.as_ref().map_or(Ok(()), |why| Err(Error::Group(why.clone())))
    }
}

/// Where a thread of this process meets the others. There is one for each rank: whoever has it is that rank, and what
/// the others read of its memory is what it has offered.
///
/// ```compile_fail,E0599
/// use rungs_group::Seat;
///
/// let seats = Seat::row(2, std::time::Duration::from_secs(1));
/// let second = seats[0].clone();
/// ```
pub struct Seat {
    room: Arc<Room>,
    rank: usize,
}

impl Seat {
    /// The seats of this many threads, by rank.
    pub fn row(size: usize, timeout: Duration) -> Vec<Self> {
        let (purpose, here, last) = (Purpose::Bytes, vec![None; size], Arc::new([]));
        let timeout = timeout.min(LONGEST);
        let state = State { meetings: 0, purpose, here, last, failed: None, gone: None, readers: 0 };
        let room = Arc::new(Room { size, timeout, state: Mutex::new(state), changed: Condvar::new() });
        (0..size).map(|rank| Self { room: Arc::clone(&room), rank }).collect()
    }

    /// Who can say that this rank has failed, once the seat is a group's.
    pub(super) fn witness(&self) -> Witness {
        Witness { room: Arc::clone(&self.room), rank: self.rank }
    }
}

/// Says that a rank has failed, or comes no more.
pub(super) struct Witness {
    room: Arc<Room>,
    pub(super) rank: usize,
}

impl Witness {
    /// Tells all that the rank has failed.
    pub(super) fn fail(&self, why: &str) {
        self.room.lock().failed.get_or_insert_with(|| failed_text(self.rank, why));
        self.room.changed.notify_all();
    }

    /// Tells all that the rank has come to the end of its work.
    pub(super) fn leave(&self) {
        let mut state = self.room.lock();
        state.gone = Some(self.rank);
        if state.here.iter().any(Option::is_some) {
            state.miss();
        }
        drop(state);
        self.room.changed.notify_all();
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
    /// What each rank brings to a meeting for this purpose.
    pub(super) fn meet(&self, purpose: Purpose, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        let mut state = self.room.lock();
        state.miss();
        state.verdict()?;
        if state.here[self.rank].is_some() {
            return Err(Error::Usage(format!("rank {} is at the meeting already, on another thread", self.rank)));
        }
        if state.here.iter().all(Option::is_none) {
            state.purpose = purpose;
        }
        if state.purpose != purpose {
            let why = failed_text(self.rank, "the ranks do not run the same program");
            state.failed = Some(why.clone());
            self.room.changed.notify_all();
            return Err(Error::Group(why));
        }
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
        self.meet(Purpose::Bytes, mine)
    }

    fn look(&self) -> Result<()> {
        self.room.lock().verdict()
    }

    fn fail(&self, why: &str) {
        self.witness().fail(why);
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
