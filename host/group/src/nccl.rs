//! A group whose data moves by NVIDIA's NCCL, which is found when the program runs.
//!
//! What is looked for is `libnccl.so.2`, by the system's loader, or, first, what `RUNGS_NCCL` names: the file, or its
//! folder. NCCL is 2.14 or newer. Whether NVLink multicast is used is the caller's choice, see [`without_multicast`].

use super::meeting::{LONGEST, Meeting};
use super::{Exchange, Group, noted_meeting};
use libloading::Library;
use rungs::engine::{Engine, What};
use rungs::error::{Error, Result};
use std::cell::Cell;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// The variable that names libnccl, or its folder.
pub const VARIABLE: &str = "RUNGS_NCCL";

const NAME: &str = "libnccl.so.2";

/// The oldest NCCL that is used: the first whose calls need not wait, so that a wait can end.
const OLDEST: u32 = 21_400;

/// Most bytes of one call: NCCL moves larger ones more slowly.
const MOST: usize = 512 << 20;

/// How long the host waits between two looks at a call that has not ended, after it has looked some times in a row.
const PAUSE: Duration = Duration::from_micros(50);
const LOOKS: u32 = 2000;

type Comm = *mut c_void;

/// `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
struct UniqueId([u8; 128]);

/// `ncclConfig_t` as of NCCL 2.14; later versions read as much of it as [`Config::size`] says.
#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
    /// In later versions the first number of what is not set here.
    undefined: c_int,
}

const SUCCESS: c_int = 0;
const IN_PROGRESS: c_int = 7;
/// `ncclUint8`.
const BYTES: c_int = 1;

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*);)*) => {
        /// NCCL's functions.
        struct Slots {
            $($field: unsafe extern "C" fn($($argument),*) -> c_int,)*
            error_text: unsafe extern "C" fn(c_int) -> *const c_char,
            _library: Library,
        }

        impl Slots {
            /// The functions of a library, or the name of one that it lacks.
            fn of(library: Library) -> std::result::Result<Self, &'static str> {
                // SAFETY: the types are those of nccl.h.
                unsafe {
                    Ok(Self {
                        $($field: *library.get(concat!($name, "\0").as_bytes()).map_err(|_| $name)?,)*
                        error_text: *library.get(b"ncclGetErrorString\0").map_err(|_| "ncclGetErrorString")?,
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    unique_id = "ncclGetUniqueId": fn(*mut UniqueId);
    init = "ncclCommInitRankConfig": fn(*mut Comm, c_int, UniqueId, c_int, *mut Config);
    state = "ncclCommGetAsyncError": fn(Comm, *mut c_int);
    finalize = "ncclCommFinalize": fn(Comm);
    destroy = "ncclCommDestroy": fn(Comm);
    abort = "ncclCommAbort": fn(Comm);
    group_start = "ncclGroupStart": fn();
    group_end = "ncclGroupEnd": fn();
    send = "ncclSend": fn(*const c_void, usize, c_int, c_int, Comm, *mut c_void);
    receive = "ncclRecv": fn(*mut c_void, usize, c_int, c_int, Comm, *mut c_void);
}

/// NCCL, opened.
pub struct Found {
    slots: Slots,
    version: u32,
    /// What was opened.
    pub name: String,
}

impl Found {
    /// Its version, as 2.28.9.
    pub fn version(&self) -> String {
        version_text(self.version)
    }
}

fn version_text(version: u32) -> String {
    // From 2.9 on a version has two digits for its second number.
    let (major, minor) = if version < 10_000 { (1_000, 100) } else { (10_000, 100) };
    format!("{}.{}.{}", version / major, version % major / minor, version % minor)
}

/// Finds and opens NCCL, once; later calls return what the first found.
///
/// # Errors
/// Why it cannot be used, one reason for each place where it was looked for.
pub fn load() -> std::result::Result<&'static Found, String> {
    static FOUND: OnceLock<std::result::Result<Found, String>> = OnceLock::new();
    FOUND.get_or_init(|| open(&places(std::env::var_os(VARIABLE)))).as_ref().map_err(Clone::clone)
}

/// Sets `NCCL_NVLS_ENABLE=0`, unless the user has set it: NCCL then does without NVLink multicast, for which not all
/// systems are set up. The program calls it; without it NCCL decides.
///
/// # Safety
/// No other thread of the process reads or writes the environment meanwhile, not in C code either.
pub unsafe fn without_multicast() {
    if std::env::var_os("NCCL_NVLS_ENABLE").is_none() {
        // SAFETY: as the caller says.
        unsafe { std::env::set_var("NCCL_NVLS_ENABLE", "0") };
    }
}

/// Where to look.
fn places(named: Option<OsString>) -> Vec<OsString> {
    let named = named.filter(|name| !name.is_empty()).map(|name| {
        let path = PathBuf::from(name);
        if path.is_dir() { path.join(NAME).into_os_string() } else { path.into_os_string() }
    });
    named.into_iter().chain([OsString::from(NAME)]).collect()
}

fn open(places: &[OsString]) -> std::result::Result<Found, String> {
    let mut tried = vec![];
    for place in places {
        match open_one(place) {
            Ok(found) => return Ok(found),
            Err(why) => tried.push(why),
        }
    }
    Err(format!("{}; install NCCL, or name its file or folder by {VARIABLE}", tried.join("; ")))
}

fn open_one(place: &OsStr) -> std::result::Result<Found, String> {
    let name = place.to_string_lossy().into_owned();
    // SAFETY: opening NCCL runs its initialisers, which expect nothing of the program that opens it.
    let library = unsafe { Library::new(place) }.map_err(|error| {
        let said = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        if said.starts_with(&name) { said } else { format!("{name}: {said}") }
    })?;
    let mut version = 0;
    // SAFETY: the type is that of nccl.h; the call writes one number.
    let told = unsafe {
        type Version = unsafe extern "C" fn(*mut c_int) -> c_int;
        library.get::<Version>(b"ncclGetVersion\0").map(|ask| ask(&mut version))
    };
    if !matches!(told, Ok(SUCCESS)) {
        return Err(format!("{name}: it has no ncclGetVersion, or one that fails"));
    }
    let version = version.unsigned_abs();
    if version < OLDEST {
        let (have, want) = (version_text(version), version_text(OLDEST));
        return Err(format!("{name}: it is NCCL {have}; {want} or newer is needed"));
    }
    let slots = Slots::of(library).map_err(|missing| format!("{name}: it has no {missing}"))?;
    Ok(Found { slots, version, name })
}

/// A rank of a group that communicates by NCCL.
pub struct Nccl {
    meeting: Box<dyn Meeting>,
    nccl: &'static Found,
    /// Null before the rank has joined, and after a failure, when the communicator was given up.
    comm: Cell<Comm>,
    transport: String,
    /// See [`Group::note`].
    note: Option<String>,
    /// Its context has to live as long as the communicator.
    engine: Engine,
}

impl Nccl {
    fn comm(&self) -> Comm {
        self.comm.get()
    }

    /// The rank that this meeting knows, with its GPU. All ranks call it.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on all ranks if one has no GPU, no NCCL, an older one or another one than the others;
    /// [`Error::Group`] if a rank failed or is late, or NCCL finds no way between the GPUs.
    pub fn new(meeting: Box<dyn Meeting>, engine: &Engine) -> Result<Self> {
        let found = if engine.is_simulator() { Err("a simulator has no NCCL".into()) } else { load() };
        // All are told what each has, so that none waits for one that cannot begin.
        let told = found.as_ref().map_or_else(|why| format!("-{why}"), |found| format!("+{}", found.version()));
        let all = meeting.all_gather(told.into_bytes())?;
        let all: Vec<_> = all.iter().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        for (rank, told) in all.iter().enumerate() {
            if let Some(why) = told.strip_prefix('-') {
                return Err(Error::NoDevice(format!("rank {rank} cannot use NCCL: {why}")));
            }
            if *told != all[0] {
                let (first, other) = (&all[0][1..], &told[1..]);
                let why = format!("rank 0 has NCCL {first} and rank {rank} has {other}: all need the same");
                return Err(Error::NoDevice(why));
            }
        }
        let nccl = found.map_err(Error::NoDevice)?;
        let transport = format!("NCCL {}", nccl.version());
        let group =
            Self { meeting, nccl, comm: Cell::new(ptr::null_mut()), transport, note: None, engine: engine.clone() };
        // Told before the group is left: the meeting ends with it.
        group.join().inspect_err(|error| group.abort(&error.to_string()))?;
        Ok(group)
    }

    /// The same rank, with the reason why it is one of NCCL's.
    pub(super) fn because(mut self, why: String) -> Self {
        self.note = Some(why);
        self
    }

    /// Makes the communicator.
    fn join(&self) -> Result<()> {
        let (nccl, mut id) = (self.nccl, UniqueId([0; 128]));
        if self.rank() == 0 {
            // SAFETY: the call writes one identifier.
            nccl.check("making an identifier", unsafe { (nccl.slots.unique_id)(&mut id) })?;
        }
        let told = self.meeting.all_gather(id.0.to_vec())?;
        id.0 = told[0][..].try_into().map_err(|_| Error::Group("rank 0 sent no identifier of NCCL".into()))?;
        let mut config =
            Config { size: size_of::<Config>(), magic: 0xcafe_beef, version: OLDEST, blocking: 0, undefined: i32::MIN };
        let (size, rank) = (self.size() as c_int, self.rank() as c_int);
        // SAFETY: the configuration is as NCCL 2.14 declares it, and the call writes one handle.
        let code = unsafe { (nccl.slots.init)(self.comm.as_ptr(), size, id, rank, &mut config) };
        self.settle("joining the group", code)?;
        self.meeting.all_gather(vec![]).map(|_| ())
    }

    /// Waits until a call has been carried out by the host, which may need the other ranks.
    fn settle(&self, what: &str, code: c_int) -> Result<()> {
        let mut state = code;
        let mut wait = Wait::new(&*self.meeting);
        while state == IN_PROGRESS {
            wait.pause(what)?;
            // SAFETY: the communicator is the one that the call was made on; the call writes one number.
            self.nccl.check(what, unsafe { (self.nccl.slots.state)(self.comm(), &mut state) })?;
        }
        self.nccl.check(what, state)
    }

    /// Waits until a stream's work has ended, or NCCL finds that it will not.
    fn finish(&self, stream: &Engine) -> Result<()> {
        let Some(cuda) = stream.as_cuda() else { return Ok(()) };
        let mut wait = Wait::new(&*self.meeting);
        while !cuda.has_ended()? {
            let mut state = SUCCESS;
            // SAFETY: the communicator lives; the call writes one number.
            self.nccl.check("an exchange", unsafe { (self.nccl.slots.state)(self.comm(), &mut state) })?;
            if state != IN_PROGRESS {
                self.nccl.check("an exchange", state)?;
            }
            wait.pause("an exchange")?;
        }
        Ok(())
    }

    fn exchange_round(&self, exchange: &Exchange<'_>, round: &super::Round) -> Result<()> {
        let (me, size, slots) = (self.rank(), self.size(), &self.nccl.slots);
        let Some(cuda) = exchange.stream.as_cuda() else { return Ok(()) };
        let (stream, comm) = (cuda.stream_handle(), self.comm());
        let (from, to) = (exchange.from.address(), exchange.to.address());
        let peers = || (1..size).map(|k| (me + k) % size);
        let longest = peers().map(|peer| round.sends[peer].len().max(round.receives[peer].len())).max().unwrap_or(0);
        // The k-th pieces of all pairs of ranks together. A pair has as many pieces on both sides.
        let piece = |range: &std::ops::Range<usize>, k: usize| {
            let begin = (range.start + k * MOST).min(range.end);
            (begin, (range.end - begin).min(MOST))
        };
        let bytes = |ranges: &[std::ops::Range<usize>], k| peers().map(|peer| piece(&ranges[peer], k).1).sum();
        for k in 0..longest.div_ceil(MOST) {
            let (sent, received) = (bytes(&round.sends, k), bytes(&round.receives, k));
            let what = What::Exchange { name: "NCCL", peer: None, sent, received };
            // SAFETY: calls between start and end are only noted; the ranges are inside the buffers, which live until
            // the stream has come past them.
            exchange.stream.logged(what, || unsafe {
                self.nccl.check("an exchange", (slots.group_start)())?;
                let mut code = SUCCESS;
                for peer in peers() {
                    let ((at, bytes), rank) = (piece(&round.sends[peer], k), peer as c_int);
                    if bytes > 0 && matches!(code, SUCCESS | IN_PROGRESS) {
                        code = (slots.send)(from.wrapping_add(at).cast(), bytes, BYTES, rank, comm, stream);
                    }
                    let (at, bytes) = piece(&round.receives[peer], k);
                    if bytes > 0 && matches!(code, SUCCESS | IN_PROGRESS) {
                        code = (slots.receive)(to.wrapping_add(at).cast(), bytes, BYTES, rank, comm, stream);
                    }
                }
                let end = (slots.group_end)();
                if code != IN_PROGRESS {
                    self.nccl.check("an exchange", code)?;
                }
                // Only then is the exchange on the stream.
                self.settle("an exchange", end)
            })?;
        }
        let (own, place) = (&round.sends[me], &round.receives[me]);
        if own.len() != place.len() {
            return Err(Error::Usage(format!("rank {me} sends itself other parts than it expects")));
        }
        if own.is_empty() {
            return Ok(());
        }
        exchange.stream.logged(What::Copy { direction: "DtoD", bytes: own.len() }, || {
            // SAFETY: both ranges are inside their buffers.
            Ok(cuda.copy_device(to as u64 + place.start as u64, from as u64 + own.start as u64, own.len())?)
        })
    }
}

impl Group for Nccl {
    fn rank(&self) -> usize {
        self.meeting.rank()
    }

    fn size(&self) -> usize {
        self.meeting.size()
    }

    fn transport(&self) -> &str {
        &self.transport
    }

    fn all_gather_bytes(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        noted_meeting(&self.engine, mine, |mine| self.meeting.all_gather(mine))
    }

    fn exchange(&self, exchange: &Exchange<'_>, after: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        let start = Instant::now();
        exchange.check(self.size())?;
        exchange.from.engine().synchronize()?;
        if self.comm().is_null() {
            return Err(Error::Group("the group has failed before".into()));
        }
        let mut pending = Pending { group: self, stream: exchange.stream, ended: false };
        for (i, round) in exchange.rounds.iter().enumerate() {
            self.exchange_round(exchange, round)?;
            after(i)?;
        }
        self.finish(exchange.stream)?;
        pending.ended = true;
        self.meeting.all_gather(vec![])?;
        exchange.note(start, self.rank());
        Ok(())
    }

    fn abort(&self, why: &str) {
        self.meeting.fail(why);
    }

    fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

/// An exchange that may be on a stream. If it did not come to its end, its kernels may wait for a rank that is gone,
/// and would do so for ever: the communicator is given up, which ends them, before the buffers can be freed.
struct Pending<'a> {
    group: &'a Nccl,
    stream: &'a Engine,
    ended: bool,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let comm = self.group.comm.replace(ptr::null_mut());
            // SAFETY: the communicator is not used afterwards. The failure that led here is the one to report.
            let _ = unsafe { (self.group.nccl.slots.abort)(comm) };
            let _ = self.stream.synchronize();
        }
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        if self.comm().is_null() {
            return;
        }
        // SAFETY: the communicator is not used afterwards. Failures cannot be reported here.
        unsafe {
            let slots = &self.nccl.slots;
            // After a failure other ranks may never answer; then the communicator is given up.
            let is_well = !thread::panicking() && self.meeting.look().is_ok() && {
                let code = (slots.finalize)(self.comm());
                self.settle("leaving the group", code).is_ok()
            };
            let _ = if is_well { (slots.destroy)(self.comm()) } else { (slots.abort)(self.comm()) };
        }
    }
}

impl Found {
    /// NCCL's own words for a failure.
    fn check(&self, what: &str, code: c_int) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: the function takes any code, and returns a constant of NCCL's.
        let text = unsafe { (self.slots.error_text)(code) };
        let text = if text.is_null() {
            "an error without words".into()
        } else {
            // SAFETY: the text is a C string that stays.
            unsafe { CStr::from_ptr(text) }.to_string_lossy()
        };
        Err(Error::Group(format!(
            "{what} failed in NCCL {}: {text} ({code}); NCCL_DEBUG=INFO says more",
            self.version()
        )))
    }
}

/// A wait of the host for something that other ranks have a part in.
struct Wait<'a> {
    meeting: &'a dyn Meeting,
    until: Instant,
    looks: u32,
}

impl<'a> Wait<'a> {
    fn new(meeting: &'a dyn Meeting) -> Self {
        Self { meeting, until: Instant::now() + meeting.timeout().min(LONGEST), looks: 0 }
    }

    /// Lets some time pass.
    fn pause(&mut self, what: &str) -> Result<()> {
        self.looks += 1;
        if self.looks < LOOKS {
            std::hint::spin_loop();
            return Ok(());
        }
        if self.looks.is_multiple_of(64) {
            self.meeting.look()?;
        }
        if Instant::now() > self.until {
            let seconds = self.meeting.timeout().as_secs_f64();
            let why = format!("{what} did not end within {seconds} s");
            self.meeting.fail(&why);
            return Err(Error::Group(why));
        }
        thread::sleep(PAUSE);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_nccl_writes_them() {
        assert_eq!([2_708, 21_003, 22_809].map(version_text), ["2.7.8", "2.10.3", "2.28.9"]);
    }

    #[test]
    fn what_is_no_nccl_is_named_with_the_reason() {
        // Every Linux program has the C library: it opens, and is no NCCL.
        let places = [OsString::from("/no/such/folder/libnccl.so.2"), OsString::from("libc.so.6")];
        let why = open(&places).err().unwrap();
        assert!(why.starts_with("/no/such/folder/libnccl.so.2: "), "{why}");
        assert!(why.contains("; libc.so.6: it has no ncclGetVersion"), "{why}");
        assert!(why.ends_with("name its file or folder by RUNGS_NCCL"), "{why}");
    }

    #[test]
    fn a_folder_stands_for_the_library_in_it() {
        assert_eq!(places(None), [NAME]);
        let folder = std::env::temp_dir();
        let want = [folder.join(NAME).into_os_string(), NAME.into()];
        assert_eq!(places(Some(folder.clone().into_os_string())), want);
        assert_eq!(places(Some("/no/such/libnccl.so.2".into())), ["/no/such/libnccl.so.2", NAME]);
    }
}
