//! What launches name, on a GPU. They run on the host, where all of this is [`the_simt`]'s own; here nothing calls
//! them.

use crate::{Geometry, Global, Scalar};

/// The limits of the device that geometry can depend on.
#[derive(Clone, Copy)]
pub struct Device {
    /// SMs of a GPU; cores that the simulator uses.
    pub multiprocessors: u32,
    /// Bytes of shared memory per block.
    pub shared_per_block: u32,
    /// Major and minor compute capability.
    pub compute_capability: (u32, u32),
}

/// The reason why a sequence of launches did not run.
pub struct Failed(());

/// The result of a sequence of launches.
pub type Result<T = ()> = core::result::Result<T, Failed>;

/// A machine that launches run on. Nothing here is one.
pub trait Launcher {
    /// The limits of the device that geometry can depend on.
    fn device(&self) -> Device;
}

impl dyn Launcher + '_ {
    /// Launches `kernel` after all launches before it.
    ///
    /// # Errors
    /// Always: nothing is launched on a GPU.
    pub fn launch<K, A>(&self, _kernel: K, _geometry: Geometry, _args: A) -> Result {
        Err(Failed(()))
    }

    /// Scratch memory for `len` elements.
    ///
    /// # Errors
    /// As for [`launch`](#method.launch).
    pub fn scratch<T: Scalar>(&self, _len: u32) -> Result<Scratch<T>> {
        Err(Failed(()))
    }

    /// Scratch memory for `len` elements, all bytes zero.
    ///
    /// # Errors
    /// As for [`launch`](#method.launch).
    pub fn zeros<T: Scalar>(&self, _len: u32) -> Result<Scratch<T>> {
        Err(Failed(()))
    }

    /// Sets all bytes of a view to zero.
    ///
    /// # Errors
    /// As for [`launch`](#method.launch).
    pub fn clear<T: Scalar>(&self, _view: Global<T>) -> Result {
        Err(Failed(()))
    }
}

/// Scratch memory of a sequence of launches.
pub struct Scratch<T>(Global<T>);

impl<T: Scalar> Scratch<T> {
    /// All elements, as a kernel's argument.
    pub fn view(&self) -> Global<T> {
        self.0
    }
}
