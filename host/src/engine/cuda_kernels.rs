//! Kernels: looked up once, with the resources that they take. [`super::launches`] launches them.

use super::error::CudaError;
use super::objects::Module;
use super::{Cuda, Result, lock};
use crate::engine::Geometry;
use cuda_driver::{Function, FunctionAttribute, Status, Tensor};
use rungs_ptx::ptx;
use simt::tensor_map::{Described, Words};
use std::collections::HashMap;

/// Shared memory per block, static and dynamic together, that a kernel may use without opting in.
const SHARED_WITHOUT_ASKING: u32 = 48 << 10;

/// Tensor maps that are kept: those of a batch of ten products, and a few more.
const MAPS: usize = 32;

/// A kernel that has been looked up.
#[derive(Clone, Copy)]
pub(super) struct Loaded {
    pub(super) function: Function,
    pub(super) max_threads: u32,
    pub(super) static_shared: u32,
    /// The dynamic shared memory that launches may use; raised when a launch needs more.
    pub(super) dynamic_limit: u32,
    /// Whether it waits for the grid before it.
    pub(super) waits_for_previous: bool,
}

/// The declarations of kernels in PTX, by name.
#[derive(Clone, Default)]
pub(in crate::engine) struct Declared(HashMap<String, ptx::Entry>);

impl Declared {
    pub(in crate::engine) fn of(text: &str) -> Self {
        Self(ptx::entries(text).into_iter().map(|entry| (entry.name.clone(), entry)).collect())
    }

    /// These and further declarations, if no name is in both.
    pub(in crate::engine) fn with(&self, more: Self) -> Result<Self> {
        if let Some(kernel) = more.0.keys().filter(|name| self.0.contains_key(*name)).min() {
            return Err(CudaError::Doubled { kernel: kernel.clone() });
        }
        Ok(Self(self.0.iter().map(|(name, entry)| (name.clone(), entry.clone())).chain(more.0).collect()))
    }

    pub(super) fn waits_for_previous(&self, kernel: &str) -> bool {
        self.0.get(kernel).is_some_and(|entry| entry.waits_for_previous)
    }
}

/// The resources of a kernel as compiled by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelAttributes {
    /// Registers per thread, of 32 bits.
    pub registers: u32,
    /// Static shared memory per block, in bytes.
    pub static_shared: u32,
    /// Local memory per thread, in bytes: stack and spilled registers.
    pub local_bytes: u32,
    /// Most threads per block, by its registers, and by its launch bounds if it has them.
    pub max_threads: u32,
    /// The PTX version that it was compiled from, times ten: compute capability, as `80`.
    pub ptx_version: u32,
    /// The compute capability that it was compiled for, times ten, as `90`.
    pub binary_version: u32,
}

impl Cuda {
    /// The map of a matrix for the GPU's copy engine. Maps are kept for a while: a product that is repeated asks for
    /// the same ones, and the GPU would wait while the driver makes them.
    ///
    /// # Errors
    /// [`CudaError::Driver`], in particular for a driver older than CUDA 12.0.
    pub fn tensor_map(&self, of: &Described) -> Result<Words> {
        let mut maps = lock(&self.gpu.maps);
        if let Some(at) = maps.iter().position(|(known, _)| known == of) {
            let found = maps.remove(at).expect("it has a position");
            maps.push_front(found);
            return Ok(found.1);
        }
        let tensor = Tensor {
            address: of.address(),
            element: of.element().0,
            extents: of.extents(),
            stride: of.stride(),
            box_extents: of.box_extents(),
            swizzled: of.is_swizzled(),
        };
        let map =
            cuda_driver::tensor_map(&tensor).map_err(|status| CudaError::driver("making a tensor map", status))?;
        if maps.len() == MAPS {
            maps.pop_back();
        }
        // SAFETY: the driver made it of what `of` describes.
        let map = unsafe { of.words(map) };
        maps.push_front((*of, map));
        Ok(map)
    }

    /// The resources of a kernel as compiled by the driver.
    ///
    /// # Errors
    /// [`CudaError::NoKernel`] if the PTX has no such kernel; [`CudaError::Ptx`] if the driver's compiler refuses it;
    /// otherwise [`CudaError::Driver`], or [`CudaError::Fault`] from a kernel before.
    pub fn kernel_attributes(&self, kernel: &str) -> Result<KernelAttributes> {
        let _current = self.enter()?;
        let function = self.look_up(kernel)?;
        let of = |attribute| {
            // SAFETY: the function's module lives as long as self.
            let value = unsafe { cuda_driver::function_attribute(function, attribute) };
            // No attribute is negative.
            value.map(i32::unsigned_abs).map_err(|status| self.error(status, || format!("asking about {kernel}")))
        };
        Ok(KernelAttributes {
            registers: of(FunctionAttribute::Registers)?,
            static_shared: of(FunctionAttribute::StaticShared)?,
            local_bytes: of(FunctionAttribute::LocalBytes)?,
            max_threads: of(FunctionAttribute::MaxThreads)?,
            ptx_version: of(FunctionAttribute::PtxVersion)?,
            binary_version: of(FunctionAttribute::BinaryVersion)?,
        })
    }

    /// The number of blocks of `block` threads and `shared_bytes` of dynamic shared memory that fit on an SM
    /// at a time; 0 if none fits.
    ///
    /// # Errors
    /// [`CudaError::NoKernel`], [`CudaError::Ptx`] and [`CudaError::Refused`] as for a launch; otherwise
    /// [`CudaError::Driver`] or [`CudaError::Fault`].
    pub fn occupancy(&self, kernel: &'static str, block: [u32; 3], shared_bytes: u32) -> Result<u32> {
        let _current = self.enter()?;
        self.ready(kernel, &Geometry { block, ..Geometry::linear(1, 1).shared(shared_bytes) })?;
        let (function, threads) = (self.look_up(kernel)?, block.into_iter().product());
        // SAFETY: the function's module lives as long as self.
        let blocks = unsafe { cuda_driver::occupancy(function, threads, shared_bytes) };
        blocks.map_err(|status| self.error(status, || format!("asking for the occupancy of {kernel}")))
    }

    /// The kernel with this name, by the driver's own table; in one module only, by [`Cuda::add_kernels`]. A kernel
    /// that was not used before is compiled.
    fn look_up(&self, kernel: &str) -> Result<Function> {
        let mut found = Err(Status::NOT_FOUND);
        for module in lock(&self.gpu.more).iter() {
            // SAFETY: the box is neither dropped nor replaced as long as `gpu` lives, which is as long as self.
            let module: &Module = unsafe { &*std::ptr::from_ref(&**module) };
            if let Err(Status::NOT_FOUND) = found {
                found = module.function(kernel);
            }
        }
        if let Err(Status::NOT_FOUND) = found {
            let module = self.gpu.module_of(kernel).map_err(|refused| match refused {
                // A kernel before has failed: it is not this one that the driver refuses.
                CudaError::Ptx { status, .. } if status.is_fault() => {
                    self.error(status, || format!("loading {kernel}"))
                }
                refused => refused,
            })?;
            if let Some(module) = module {
                found = module.function(kernel);
            }
        }
        found.map_err(|status| match status {
            Status::NOT_FOUND => CudaError::NoKernel { kernel: kernel.to_owned(), arch: self.gpu.arch.clone() },
            _ => self.error(status, || format!("looking up {kernel}")),
        })
    }

    /// The kernel with this name, by our table: a launch should not cost the driver's look-up each time.
    pub(super) fn loaded(&self, kernel: &'static str) -> Result<Loaded> {
        if let Some(loaded) = lock(&self.gpu.kernels).get(kernel) {
            return Ok(*loaded);
        }
        let KernelAttributes { max_threads, static_shared, .. } = self.kernel_attributes(kernel)?;
        let function = self.look_up(kernel)?;
        let dynamic_limit = SHARED_WITHOUT_ASKING.saturating_sub(static_shared);
        let waits_for_previous = lock(&self.gpu.declared).waits_for_previous(kernel);
        let loaded = Loaded { function, max_threads, static_shared, dynamic_limit, waits_for_previous };
        lock(&self.gpu.kernels).insert(kernel, loaded);
        Ok(loaded)
    }
}
