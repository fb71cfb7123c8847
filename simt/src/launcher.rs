//! The interface between a sequence of launches and the machine that it runs on.
//!
//! A rung's launches are in the same file as its kernels, written against [`Launcher`]: a GPU stream, the simulator, or
//! a machine that only counts. The sequence allocates scratch memory, reads the device's limits if its geometry depends
//! on them, and launches.

use crate::kernel::{Arguments, Kernel, Parameters};
pub use crate::live::Live;
use crate::live::{GONE, is_live};
use crate::tensor_map::{Described, Words};
use crate::{Geometry, Global, Scalar};
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

/// The limits of the device that geometry can depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// SMs of a GPU; cores that the simulator uses.
    pub multiprocessors: u32,
    /// Bytes of shared memory per block, static and dynamic together.
    pub shared_per_block: u32,
    /// Major and minor compute capability whose kernels can be launched: on a GPU that of the PTX, which may be for an
    /// older one. The simulator has the features that kernels for the newest one use.
    pub compute_capability: (u32, u32),
}

/// Bytes of shared memory per block on the devices with the most (compute capability 9.0 and 10.0), static and dynamic
/// together.
pub const MAX_SHARED: u32 = 227 << 10;

/// Devices that PTX for `sm_80` or `sm_90` runs on: the compute capability, and the bytes of shared memory that a
/// block may have there, by the CUDA programming guide.
pub const KNOWN_DEVICES: [((u32, u32), u32); 6] = [
    ((8, 0), 163 << 10),
    ((8, 6), 99 << 10),
    ((8, 9), 99 << 10),
    ((9, 0), MAX_SHARED),
    ((10, 0), MAX_SHARED),
    ((12, 0), 99 << 10),
];

/// The reason why a sequence of launches did not run.
#[derive(Debug)]
pub enum Failed {
    /// The request is beyond the sequence, whatever the machine's state; the text names request and limit.
    Unsuitable(String),
    /// An error of the machine: no memory, a refused launch, a fault.
    Machine(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsuitable(why) => f.write_str(why),
            Self::Machine(error) => error.fmt(f),
        }
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unsuitable(_) => None,
            Self::Machine(error) => error.source(),
        }
    }
}

/// The result of a sequence of launches.
pub type Result<T = ()> = std::result::Result<T, Failed>;

/// A kernel with its arguments, whatever its type.
///
/// # Safety
/// [`Call::parameters`] are those that the entry called [`Call::name`] has, by number and type, and each view among
/// them is in [`Parameters::views`].
pub unsafe trait Call: Sync {
    /// The entry's name in the PTX.
    fn name(&self) -> &'static str;
    /// Most threads per block that the kernel is compiled for; 0 if it sets no bound.
    fn max_threads(&self) -> u32;
    /// Blocks of a cluster, along x; 0 if the kernel has no clusters.
    fn cluster(&self) -> u32;
    /// The arguments in the driver's form.
    fn parameters(&self) -> Parameters;
    /// Runs one thread, on the simulator.
    fn thread(&self);
}

/// A kernel with its arguments.
pub struct With<K: Kernel> {
    args: K::Args,
    kernel: PhantomData<K>,
}

impl<K: Kernel> With<K> {
    /// `kernel` with `args`.
    pub fn new(_kernel: K, args: K::Args) -> Self {
        Self { args, kernel: PhantomData }
    }
}

// SAFETY: name and parameters are those of one kernel, by the promise of `Kernel` and `Arguments`.
unsafe impl<K: Kernel> Call for With<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn max_threads(&self) -> u32 {
        K::MAX_THREADS
    }

    fn cluster(&self) -> u32 {
        K::CLUSTER
    }

    fn parameters(&self) -> Parameters {
        self.args.parameters()
    }

    fn thread(&self) {
        K::thread(self.args)
    }
}

/// Memory of a machine, freed when dropped.
///
/// # Safety
/// As long as the value lives, [`Memory::address`] is that of the requested number of bytes, aligned to 256
/// as a GPU's driver aligns them: tensor maps and vector loads need less. Kernels on
/// that machine may read and write them, and nothing else uses them.
pub unsafe trait Memory {
    /// The address of the first byte, on the machine.
    fn address(&self) -> *mut u8;
}

/// A machine that launches run on.
pub trait Launcher {
    /// The limits of the device that geometry can depend on.
    fn device(&self) -> Device;

    /// Enqueues a kernel after all launches before it; an empty grid does nothing.
    ///
    /// # Errors
    /// [`Failed::Machine`] if the launch is refused or, on a machine that knows at once, the kernel failed.
    fn enqueue(&self, call: &dyn Call, geometry: Geometry) -> Result;

    /// Memory of `bytes` bytes, with unspecified content.
    ///
    /// # Errors
    /// [`Failed::Machine`] if the machine has less memory left.
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Memory>>;

    /// Sets bytes to zero, after all launches before.
    ///
    /// # Errors
    /// [`Failed::Machine`] if the machine refuses.
    ///
    /// # Safety
    /// The `bytes` bytes at `address` are memory of this machine that lives, and that kernels may write.
    unsafe fn clear_bytes(&self, address: *mut u8, bytes: usize) -> Result;

    /// The map of a matrix for the machine's copy engine: the simulator's, unless the machine is a GPU. That asks the
    /// driver, which needs neither the device nor a stream for it.
    ///
    /// # Errors
    /// [`Failed::Machine`] if the machine refuses.
    fn tensor_map(&self, of: &Described) -> Result<Words> {
        Ok(of.simulated())
    }
}

impl dyn Launcher + '_ {
    /// Launches `kernel` after all launches before it; an empty grid does nothing.
    ///
    /// # Errors
    /// [`Failed::Machine`] if the launch is refused or, on a machine that knows at once, the kernel failed.
    pub fn launch<K: Kernel>(&self, kernel: K, geometry: Geometry, args: K::Args) -> Result {
        self.enqueue(&With::new(kernel, args), geometry)
    }

    /// Scratch memory for `len` elements, whose values are unspecified.
    ///
    /// # Errors
    /// [`Failed::Machine`] if the machine has less memory left.
    pub fn scratch<T: Scalar>(&self, len: u32) -> Result<Scratch<T>> {
        let memory = self.allocate(len as usize * size_of::<T>())?;
        Ok(Scratch { mark: Live::new(), memory, len, element: PhantomData })
    }

    /// Scratch memory for `len` elements, all bytes zero.
    ///
    /// # Errors
    /// As for [`scratch`](#method.scratch), and [`Failed::Machine`] if the machine refuses to clear it.
    pub fn zeros<T: Scalar>(&self, len: u32) -> Result<Scratch<T>> {
        let scratch = self.scratch(len)?;
        self.clear(scratch.view())?;
        Ok(scratch)
    }

    /// Sets all bytes of a view to zero, after all launches before.
    ///
    /// # Errors
    /// [`Failed::Machine`] if the machine refuses, or the view's memory is gone.
    pub fn clear<T: Scalar>(&self, view: Global<T>) -> Result {
        if !is_live(view.live()) {
            return Err(Failed::Machine(format!("clear: the view is of {GONE}").into()));
        }
        // SAFETY: by the promise of the view's maker, and the check above.
        unsafe { self.clear_bytes(view.as_ptr().cast(), view.len() as usize * size_of::<T>()) }
    }
}

/// Scratch memory of a sequence of launches, freed when dropped.
pub struct Scratch<T> {
    // Fields are dropped in this order: no view is live when the memory is freed.
    mark: Live,
    memory: Box<dyn Memory>,
    len: u32,
    element: PhantomData<T>,
}

impl<T: Scalar> Scratch<T> {
    /// All elements, as a kernel's argument. Launches after the scratch memory was dropped refuse the view.
    pub fn view(&self) -> Global<T> {
        // SAFETY: the memory is that of `len` elements by the promise of `Memory`, and is freed after the mark.
        unsafe { Global::of_live(&self.mark, self.memory.address().cast(), self.len) }
    }
}

/// Launches for arguments of one kind, with their scratch memory, ready to be run again and again on one machine.
pub type Sequence<A> = Box<dyn Ready<A>>;

/// Launches with their scratch memory.
pub trait Ready<A> {
    /// Enqueues all launches, on the machine that the scratch memory is of.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`] for views of other lengths, and for arguments that the launches do not take;
    /// [`Failed::Machine`] if a launch fails or, after a run that failed, an allocation.
    fn run(&mut self, on: &dyn Launcher, args: A) -> Result;
}

/// Arguments of launches that are made for a number of elements.
pub trait Lengths {
    /// Refuses views of other lengths.
    ///
    /// # Errors
    /// [`Failed::Unsuitable`], with both lengths.
    fn check(&self, n: u32) -> Result;
}

/// Launches for arguments of `n` elements: `scratch` takes their memory, here and after a run that failed, and `run`
/// enqueues them and allocates nothing.
///
/// # Errors
/// Those of `scratch`.
pub fn ready<A: Lengths + 'static, M: 'static>(
    on: &dyn Launcher,
    n: u32,
    scratch: impl Fn(&dyn Launcher) -> Result<M> + 'static,
    run: fn(&dyn Launcher, A, &mut M) -> Result,
) -> Result<Sequence<A>> {
    Ok(Box::new(Prepared { n, memory: Some(scratch(on)?), scratch: Box::new(scratch), run }))
}

/// Takes scratch memory.
type Take<M> = Box<dyn Fn(&dyn Launcher) -> Result<M>>;

/// Launches for `n` elements, with scratch memory `M`.
///
/// Many leave their scratch memory ready for the next run. A run that fails may not, so its scratch memory is freed and
/// the next run takes fresh memory.
struct Prepared<A, M> {
    n: u32,
    scratch: Take<M>,
    memory: Option<M>,
    run: fn(&dyn Launcher, A, &mut M) -> Result,
}

impl<A: Lengths, M> Ready<A> for Prepared<A, M> {
    fn run(&mut self, on: &dyn Launcher, args: A) -> Result {
        args.check(self.n)?;
        let mut memory = self.memory.take().map_or_else(|| (self.scratch)(on), Ok)?;
        (self.run)(on, args, &mut memory)?;
        self.memory = Some(memory);
        Ok(())
    }
}
