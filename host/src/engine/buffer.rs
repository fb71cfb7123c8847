//! Memory on an engine that frees itself.

use super::{Backend, Engine, What};
use crate::data::memory_check;
use crate::error::{Error, Result};
use simt::launcher::{Live, Memory as _};
use simt::sim::{self, HostMemory};
use simt::{Global, Scalar};
use std::marker::PhantomData;
use std::ops::Range;

/// `len` elements in the memory of an engine; freed when dropped.
pub struct Buffer<T> {
    mark: Live,
    engine: Engine,
    memory: Memory,
    len: usize,
    element: PhantomData<T>,
}

enum Memory {
    /// An address of the GPU.
    Device(u64),
    /// The simulator's.
    Host(HostMemory),
}

impl Memory {
    fn address(&self) -> u64 {
        match self {
            Self::Device(address) => *address,
            Self::Host(memory) => memory.address() as u64,
        }
    }
}

/// A [`Buffer`] by its bytes, for those who do not know or mind the type of its elements.
///
/// # Safety
/// Kernels, copies and other devices read and write the memory by what is said here, without a further check. For as
/// long as the value lives:
/// - the [`bytes`](AnyBuffer::bytes) bytes from [`address`](AnyBuffer::address) on are memory of
///   [`engine`](AnyBuffer::engine), which lives and which kernels may write;
/// - the address is a multiple of 16, as much as any scalar needs;
/// - [`mark`](AnyBuffer::mark) is the mark of the allocation that the bytes are part of;
/// - all calls say the same.
///
/// So that nobody promises it unawares:
///
/// ```compile_fail,E0200
/// use rungs::engine::{AnyBuffer, Buffer, Engine};
/// use simt::launcher::Live;
///
/// struct Longer(Buffer<u8>);
///
/// impl AnyBuffer for Longer {
///     fn engine(&self) -> &Engine {
///         self.0.engine()
///     }
///     fn address(&self) -> *mut u8 {
///         self.0.as_ptr()
///     }
///     fn mark(&self) -> &Live {
///         AnyBuffer::mark(&self.0)
///     }
///     fn bytes(&self) -> usize {
///         self.0.len() + 1
///     }
///     fn read_bytes(&self, to: &mut [u8]) -> rungs::Result<()> {
///         self.0.read(to)
///     }
/// }
/// ```
pub unsafe trait AnyBuffer {
    /// The engine that the memory belongs to.
    fn engine(&self) -> &Engine;
    /// The address of the first byte.
    fn address(&self) -> *mut u8;
    /// The mark of the memory, for views.
    fn mark(&self) -> &Live;
    /// How many bytes there are.
    fn bytes(&self) -> usize;
    /// The bytes, once everything asked of the engine before is done; there are as many as in `to`.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the copy, or a kernel launched before it, fails.
    fn read_bytes(&self, to: &mut [u8]) -> Result<()>;
}

// SAFETY: a buffer owns its allocation, whose address is a multiple of 16 and whose mark it has.
unsafe impl<T: Scalar> AnyBuffer for Buffer<T> {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn address(&self) -> *mut u8 {
        self.as_ptr().cast()
    }

    fn mark(&self) -> &Live {
        &self.mark
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    fn read_bytes(&self, to: &mut [u8]) -> Result<()> {
        assert_eq!(to.len(), self.bytes(), "all bytes are read");
        // SAFETY: the bytes are this buffer's.
        unsafe { self.engine.read_at(self.address(), to) }
    }
}

impl dyn AnyBuffer + '_ {
    /// The bytes as elements of a type, as a kernel's argument.
    ///
    /// # Panics
    /// If they are not a whole number of such elements, or too many for a view.
    pub fn view_as<T: Scalar>(&self) -> Global<T> {
        // Every allocation starts on a multiple of 16 bytes, which is enough for all scalars.
        assert!(self.bytes().is_multiple_of(size_of::<T>()), "{} bytes as elements of another type", self.bytes());
        let count = u32::try_from(self.bytes() / size_of::<T>()).expect("a view counts up to 2^32 - 1 elements");
        // SAFETY: as for `Buffer::slice`.
        unsafe { Global::of_live(self.mark(), self.address().cast(), count) }
    }

    /// The bytes as elements of a type.
    ///
    /// # Errors
    /// As for [`AnyBuffer::read_bytes`].
    ///
    /// # Panics
    /// If they are not a whole number of such elements.
    pub fn download_as<T: Scalar>(&self) -> Result<Vec<T>> {
        assert!(self.bytes().is_multiple_of(size_of::<T>()), "{} bytes as elements of another type", self.bytes());
        let mut data = vec![T::default(); self.bytes() / size_of::<T>()];
        self.read_bytes(bytes_of_mut(&mut data))?;
        Ok(data)
    }
}

impl<T: Scalar> Buffer<T> {
    pub(super) fn new(engine: &Engine, len: usize) -> Result<Self> {
        let bytes = len.saturating_mul(size_of::<T>());
        let memory = match &engine.0.backend {
            Backend::Cuda(cuda) => Memory::Device(cuda.alloc(bytes)?),
            Backend::Simulator(_) => {
                let what = format!("elements of {} bytes", size_of::<T>());
                memory_check(&what, len as u64, size_of::<T>())?;
                Memory::Host(HostMemory::new(bytes))
            }
        };
        let buffer = Self { mark: Live::new(), engine: engine.clone(), memory, len, element: PhantomData };
        engine.0.held.update(|held| held + bytes as u64);
        engine.0.live.borrow_mut().insert(buffer.memory.address(), bytes as u64);
        Ok(buffer)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The engine that the memory belongs to.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The address of the first element, for your own kernels and for libraries.
    pub fn as_ptr(&self) -> *mut T {
        self.memory.address() as *mut T
    }

    /// All elements, as a kernel's argument.
    ///
    /// # Panics
    /// If there are more than a view can count, 2³² - 1; [`Buffer::slice`] gives parts.
    pub fn view(&self) -> Global<T> {
        self.slice(0, self.len)
    }

    /// `len` elements from `start` on, as a kernel's argument.
    ///
    /// # Panics
    /// If they are not all there, or more than a view can count.
    pub fn slice(&self, start: usize, len: usize) -> Global<T> {
        assert!(start <= self.len && len <= self.len - start, "{start} + {len} of {}", self.len);
        let count = u32::try_from(len).expect("a view counts up to 2^32 - 1 elements");
        // SAFETY: the elements are inside this buffer, launches after it was dropped refuse the view, and kernels that
        // use it have finished when the memory is reused: CUDA frees in stream order after a synchronisation, the
        // simulator is synchronous.
        unsafe { Global::of_live(&self.mark, self.as_ptr().wrapping_add(start), count) }
    }

    /// Copies `data` to the beginning of the buffer.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the copy, or a kernel launched before it, fails.
    pub fn write(&self, data: &[T]) -> Result<()> {
        self.write_at(0, data)
    }

    /// Copies `data` to the elements from `start` on.
    ///
    /// # Errors
    /// As for [`Buffer::write`].
    pub fn write_at(&self, start: usize, data: &[T]) -> Result<()> {
        let fits = start <= self.len && data.len() <= self.len - start;
        assert!(fits, "{} elements into a buffer of {} from {start} on", data.len(), self.len);
        let skipped = (start * size_of::<T>()) as u64;
        let what = What::Copy { direction: "HtoD", bytes: size_of_val(data) };
        self.engine.logged(what, || match (&self.memory, &self.engine.0.backend) {
            (Memory::Device(address), Backend::Cuda(cuda)) => {
                Ok(cuda.copy_to_device(*address + skipped, bytes_of(data))?)
            }
            _ => {
                // SAFETY: the buffer has room for data.len() elements from `start` on, and `data` is not part of it.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.as_ptr().add(start), data.len()) };
                sim::host_wrote(self.as_ptr().wrapping_add(start).cast(), size_of_val(data));
                Ok(())
            }
        })
    }

    /// The elements, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// As for [`Buffer::read`].
    pub fn download(&self) -> Result<Vec<T>> {
        let mut data = vec![T::default(); self.len];
        self.read(&mut data)?;
        Ok(data)
    }

    /// The first `data.len()` elements, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the copy, or a kernel launched before it, fails.
    pub fn read(&self, data: &mut [T]) -> Result<()> {
        self.read_from(0, data)
    }

    /// The `data.len()` elements from `start` on, once everything asked of the engine before is done.
    ///
    /// # Errors
    /// As for [`Buffer::read`].
    pub fn read_from(&self, start: usize, data: &mut [T]) -> Result<()> {
        let is_there = start <= self.len && data.len() <= self.len - start;
        assert!(is_there, "{} elements out of a buffer of {} from {start} on", data.len(), self.len);
        // SAFETY: the elements are this buffer's.
        unsafe { self.engine.read_at(self.as_ptr().wrapping_add(start).cast(), bytes_of_mut(data)) }
    }

    /// Copies `other`, of the same engine, to the beginning of the buffer.
    ///
    /// # Errors
    /// As for [`Buffer::copy_bytes`].
    pub fn copy_from(&self, other: &Buffer<T>) -> Result<()> {
        self.copy_bytes(other)
    }

    /// Copies the bytes of `other`, of the same engine, to the beginning of the buffer.
    ///
    /// # Errors
    /// [`Error::Usage`] if `other` is of another engine; [`Error::Cuda`] if the copy, or a kernel launched before it,
    /// fails.
    ///
    /// # Panics
    /// If `other` has more bytes.
    pub fn copy_bytes(&self, other: &dyn AnyBuffer) -> Result<()> {
        let bytes = other.bytes();
        assert!(bytes <= self.bytes(), "{bytes} bytes into a buffer of {}", self.bytes());
        if !self.engine.is(other.engine()) {
            let why = "a copy is between buffers of one engine; download from one and write to the other";
            return Err(Error::Usage(why.into()));
        }
        let what = What::Copy { direction: "DtoD", bytes };
        self.engine.logged(what, || match &self.engine.0.backend {
            Backend::Cuda(cuda) => Ok(cuda.copy_device(self.address() as u64, other.address() as u64, bytes)?),
            Backend::Simulator(_) => {
                // SAFETY: both buffers have this many bytes; `copy` allows that they are the same one.
                unsafe { std::ptr::copy(other.address(), self.address(), bytes) };
                sim::host_wrote(self.address(), bytes);
                Ok(())
            }
        })
    }

    /// Copies some elements of `other`, of the same engine, to those from `start` on.
    ///
    /// # Errors
    /// As for [`Buffer::copy_bytes`].
    ///
    /// # Panics
    /// If the elements are not all there.
    pub fn copy_part(&self, start: usize, other: &Buffer<T>, part: Range<usize>) -> Result<()> {
        let is_inside = part.start <= part.end && part.end <= other.len && part.len() <= self.len.saturating_sub(start);
        assert!(is_inside, "{part:?} of {} to {start} of {}", other.len, self.len);
        if !self.engine.is(&other.engine) {
            let why = "a copy is between buffers of one engine; download from one and write to the other";
            return Err(Error::Usage(why.into()));
        }
        let (bytes, size) = (part.len() * size_of::<T>(), size_of::<T>() as u64);
        let (to, from) =
            (self.memory.address() + start as u64 * size, other.memory.address() + part.start as u64 * size);
        self.engine.logged(What::Copy { direction: "DtoD", bytes }, || match &self.engine.0.backend {
            Backend::Cuda(cuda) => Ok(cuda.copy_device(to, from, bytes)?),
            Backend::Simulator(_) => {
                // SAFETY: both ranges are inside their buffers; `copy` allows that they overlap.
                unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
                sim::host_wrote(to as *const u8, bytes);
                Ok(())
            }
        })
    }

    /// Sets every byte to `byte`.
    ///
    /// # Errors
    /// [`Error::Cuda`](crate::Error::Cuda) if the driver refuses it, or a kernel launched before failed.
    pub fn fill(&self, byte: u8) -> Result<()> {
        // SAFETY: the bytes are this buffer's, and every byte pattern is a valid scalar.
        unsafe { fill(&self.engine, self.as_ptr().cast(), byte, self.len * size_of::<T>()) }
    }
}

impl Engine {
    /// Copies bytes at an address of the engine's memory to the host, once everything asked before is done.
    ///
    /// # Errors
    /// [`Error::Cuda`] if the copy, or a kernel launched before it, fails.
    ///
    /// # Safety
    /// The bytes at `address`, as many as in `to`, are memory of this engine which lives.
    pub unsafe fn read_at(&self, address: *const u8, to: &mut [u8]) -> Result<()> {
        self.logged(What::Copy { direction: "DtoH", bytes: to.len() }, || match &self.0.backend {
            Backend::Cuda(cuda) => Ok(cuda.copy_to_host(to, address as u64)?),
            Backend::Simulator(_) => {
                // SAFETY: as the caller says; the simulator has finished whatever was asked of it.
                unsafe { std::ptr::copy_nonoverlapping(address, to.as_mut_ptr(), to.len()) };
                Ok(())
            }
        })
    }
}

/// Sets bytes of an engine's memory to `byte`.
///
/// # Safety
/// The `bytes` bytes at `address` are memory of that engine which lives.
pub(super) unsafe fn fill(engine: &Engine, address: *mut u8, byte: u8, bytes: usize) -> Result<()> {
    engine.logged(What::Copy { direction: "memset", bytes }, || match &engine.0.backend {
        Backend::Cuda(cuda) => Ok(cuda.fill(address as u64, byte, bytes)?),
        Backend::Simulator(_) => {
            // SAFETY: as the caller says.
            unsafe { fill_simulated(address, byte, bytes) };
            Ok(())
        }
    })
}

/// Sets bytes of the simulator's memory to `byte`.
///
/// # Safety
/// The `bytes` bytes at `address` are memory that lives, and that nothing else uses now.
pub(super) unsafe fn fill_simulated(address: *mut u8, byte: u8, bytes: usize) {
    // SAFETY: as the caller says; the simulator has finished whatever was asked of it.
    unsafe { std::ptr::write_bytes(address, byte, bytes) };
    // Zeros are data, and any other byte is there to show what a kernel leaves unwritten.
    if byte == 0 { sim::host_cleared(address, bytes) } else { sim::host_wrote(address, bytes) }
}

// SAFETY: the buffer owns its memory, which the driver and the simulator align to 256 bytes, and frees it when dropped;
// it frees in the order of launches, see `Drop`.
unsafe impl simt::launcher::Memory for Buffer<u8> {
    fn address(&self) -> *mut u8 {
        self.as_ptr()
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        self.engine.0.held.update(|held| held - (self.len * size_of::<T>()) as u64);
        self.engine.0.live.borrow_mut().remove(&self.memory.address());
        if let (Memory::Device(address), Backend::Cuda(cuda)) = (&self.memory, &self.engine.0.backend) {
            // SAFETY: this is the one owner, and launches check that the memory of their views is live.
            let freed = unsafe { cuda.free(*address) };
            // Nothing can be done about a failure here; whatever is wrong shows at the next call.
            let _ = freed;
        }
    }
}

pub(super) fn bytes_of<T: Scalar>(data: &[T]) -> &[u8] {
    // SAFETY: scalars have no padding.
    unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) }
}

pub(super) fn bytes_of_mut<T: Scalar>(data: &mut [T]) -> &mut [u8] {
    // SAFETY: scalars have no padding, and every byte pattern is one.
    unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), size_of_val(data)) }
}
