//! A meeting of the processes of one host over memory that they share: what each brings, it writes there, and all read
//! it. A connection's messages pass through rank 0 in sequence; here all ranks read at the same time, and
//! nobody waits for the system.
//!
//! The connections remain, for failures: a rank that waits looks at them now and then.

use super::{Meeting, Tcp, lead};
use crate::meeting::late_text;
use libc::{MAP_FAILED, MAP_SHARED, MFD_CLOEXEC, PROT_READ, PROT_WRITE};
use rungs::error::Result;
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that a rank shows at a time; more take several meetings.
const SLOT: usize = 1 << 20;

/// Bytes of a rank's head: the number of the meeting that it has come to, the lengths of what it brings to it and to
/// the one before. Heads are apart, so that ranks that write do not disturb those that read others.
const HEAD: usize = 128;

/// How often a rank looks for the others in a row, and how long it then looks again and again before it sleeps.
const LOOKS: u32 = 1000;
const EAGER: Duration = Duration::from_millis(5);
const PAUSE: Duration = Duration::from_micros(20);

/// A process at a meeting over shared memory.
pub struct Board {
    tcp: Tcp,
    memory: Memory,
    /// Meetings that this rank has been at.
    met: Cell<u64>,
}

/// The memory of a board: the numbers that it was made with, a head for each rank, and two slots for each.
struct Memory {
    start: NonNull<u8>,
    size: usize,
}

/// What is shared in words, for the other ranks: who it is by, its file there, and a number drawn at random.
const NAME: usize = 32;

impl Memory {
    fn bytes(size: usize) -> usize {
        HEAD * (1 + size) + 2 * SLOT * size
    }

    /// The memory of a file that has as many bytes.
    fn map(file: &File, size: usize) -> io::Result<Self> {
        let (protection, nowhere) = (PROT_READ | PROT_WRITE, ptr::null_mut());
        // SAFETY: a new mapping, at a place that the system chooses.
        let start = unsafe { libc::mmap(nowhere, Self::bytes(size), protection, MAP_SHARED, file.as_raw_fd(), 0) };
        if start == MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(start.cast()).map(|start| Self { start, size }).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// New memory, all zero, that other processes find by the name. The file has no name and no folder; it goes with
    /// the last process that has it.
    fn create(size: usize) -> io::Result<(Self, File, [u8; NAME])> {
        // SAFETY: the call reads a C string.
        let file = unsafe { libc::memfd_create(c"rungs".as_ptr(), MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nobody else's.
        let file = unsafe { File::from_raw_fd(file) };
        file.set_len(Self::bytes(size) as u64)?;
        let memory = Self::map(&file, size)?;
        let mut name = [0; NAME];
        name[..8].copy_from_slice(&u64::from(std::process::id()).to_le_bytes());
        name[8..16].copy_from_slice(&(file.as_raw_fd() as u64).to_le_bytes());
        name[16..].copy_from_slice(&super::door::nonce());
        // SAFETY: the first head is the board's, and nobody else has the memory yet.
        unsafe { ptr::copy_nonoverlapping(name.as_ptr(), memory.start.as_ptr(), NAME) };
        Ok((memory, file, name))
    }

    /// The memory that another process of this host has created.
    fn open(name: &[u8; NAME], size: usize) -> io::Result<Self> {
        let [process, file] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|i| name[at + i])));
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{file}"))?;
        // A process of another host, or container, may have these numbers: then this is another file.
        if file.metadata()?.len() != Self::bytes(size) as u64 {
            return Err(io::ErrorKind::NotFound.into());
        }
        let memory = Self::map(&file, size)?;
        // SAFETY: the first head is in the memory; rank 0 wrote it before it told the name, and nobody does later.
        let found = unsafe { memory.start.cast::<[u8; NAME]>().read() };
        if found == *name { Ok(memory) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// A number of a rank's head.
    fn number(&self, rank: usize, which: usize) -> &AtomicU64 {
        assert!(rank < self.size && which < 3);
        // SAFETY: the head is in the memory, which is aligned to pages; its numbers are used as atomics alone.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(HEAD * (1 + rank)).cast::<u64>().add(which)) }
    }

    /// The meeting that a rank has come to.
    fn come(&self, rank: usize) -> &AtomicU64 {
        self.number(rank, 0)
    }

    /// The length of what a rank brings to meetings with this slot.
    fn length(&self, rank: usize, slot: usize) -> &AtomicU64 {
        self.number(rank, 1 + slot)
    }

    /// Where a rank's slot begins.
    fn slot(&self, rank: usize, slot: usize) -> *mut u8 {
        assert!(rank < self.size && slot < 2);
        self.start.as_ptr().wrapping_add(HEAD * (1 + self.size) + SLOT * (2 * rank + slot))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nobody uses it afterwards. A failure cannot be reported here.
        let _ = unsafe { libc::munmap(self.start.as_ptr().cast(), Self::bytes(self.size)) };
    }
}

/// The meeting over shared memory if all ranks find the same, as processes of one host do; otherwise the one over
/// connections.
///
/// # Errors
/// As for [`Meeting::all_gather`].
pub fn share(tcp: Tcp) -> Result<Box<dyn Meeting>> {
    let created = if tcp.rank() == 0 { Memory::create(tcp.size()).ok() } else { None };
    let name = created.as_ref().map_or(vec![], |(_, _, name)| name.to_vec());
    let told = tcp.all_gather(name)?;
    // The file stays open until all have opened it, too.
    let (memory, _file) = match (created, told[0].first_chunk()) {
        (Some((memory, file, _)), _) => (Some(memory), Some(file)),
        (None, Some(name)) => (Memory::open(name, tcp.size()).ok(), None),
        (None, None) => (None, None),
    };
    let all = tcp.all_gather(vec![u8::from(memory.is_some())])?;
    Ok(match memory.filter(|_| all.iter().all(|told| *told == [1])) {
        Some(memory) => Box::new(Board { tcp, memory, met: Cell::new(0) }),
        None => Box::new(tcp),
    })
}

impl Board {
    /// Waits until all ranks have come to a meeting.
    fn wait(&self, meeting: u64) -> Result<()> {
        // Acquire: what a rank wrote before it came is read after this.
        let is_here = |rank: usize| self.memory.come(rank).load(Ordering::Acquire) >= meeting;
        let are_here = || (0..self.tcp.size).all(is_here);
        let (begun, mut looks) = (Instant::now(), 0_u32);
        let early = if self.tcp.rank == 0 { lead(self.tcp.timeout) } else { Duration::ZERO };
        while !are_here() {
            looks = looks.wrapping_add(1);
            if looks < LOOKS {
                std::hint::spin_loop();
                continue;
            }
            if looks.is_multiple_of(64)
                && let Err(error) = self.tcp.look()
            {
                // A rank that has been at its last meeting may be gone before this one looks.
                return if are_here() { Ok(()) } else { Err(error) };
            }
            let waited = begun.elapsed();
            if waited + early > self.tcp.timeout {
                let absent: Vec<_> = (0..self.tcp.size).filter(|&rank| !is_here(rank)).collect();
                return Err(self.tcp.end(late_text(&absent, self.tcp.timeout)));
            }
            if waited < EAGER { thread::yield_now() } else { thread::sleep(PAUSE) }
        }
        Ok(())
    }
}

impl Meeting for Board {
    fn rank(&self) -> usize {
        self.tcp.rank
    }

    fn size(&self) -> usize {
        self.tcp.size
    }

    fn timeout(&self) -> Duration {
        self.tcp.timeout
    }

    fn all_gather(&self, mine: Vec<u8>) -> Result<Arc<[Vec<u8>]>> {
        // So that a late rank does not take for a meeting what the others have given up.
        self.tcp.look()?;
        let (me, mut all, mut rest) = (self.tcp.rank, vec![vec![]; self.tcp.size], &mine[..]);
        loop {
            let meeting = self.met.get() + 1;
            let slot = (meeting % 2) as usize;
            let (part, after) = rest.split_at(rest.len().min(SLOT));
            // SAFETY: the slot has room. Others read it at this meeting, after all have come. They read it last at the
            // meeting before the last one, and have come to the last one since.
            unsafe { ptr::copy_nonoverlapping(part.as_ptr(), self.memory.slot(me, slot), part.len()) };
            self.memory.length(me, slot).store(mine.len() as u64, Ordering::Relaxed);
            // Release: who sees this sees the slot and its length.
            self.memory.come(me).store(meeting, Ordering::Release);
            self.wait(meeting)?;
            self.met.set(meeting);
            let mut is_last = true;
            for (rank, brought) in all.iter_mut().enumerate() {
                let length = self.memory.length(rank, slot).load(Ordering::Relaxed) as usize;
                let part = length.saturating_sub(brought.len()).min(SLOT);
                // SAFETY: a slot has this number of bytes, and its rank writes there next after this one has come to
                // the next meeting.
                brought.extend_from_slice(unsafe { slice::from_raw_parts(self.memory.slot(rank, slot), part) });
                is_last &= brought.len() >= length;
            }
            if is_last {
                return Ok(all.into());
            }
            rest = after;
        }
    }

    fn look(&self) -> Result<()> {
        self.tcp.look()
    }

    fn fail(&self, why: &str) {
        self.tcp.fail(why);
    }
}
