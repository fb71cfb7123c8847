//! The properties of a device by its driver.

use super::error::CudaError;
use super::objects::{self, Device, Primary};
use cuda_driver::{Current, Status};

/// A device as its driver describes it. Sizes are in bytes unless another unit is named.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// Its name, for example `NVIDIA H200`.
    pub name: String,
    /// Global memory.
    pub global_memory: u64,
    /// Global memory that was free when this was read; `None` where another process has the device to itself.
    pub free_memory: Option<u64>,
    /// Shared memory per block for any launch.
    pub shared_per_block: u32,
    /// Shared memory per block for kernels that opt in, as `Cuda::launch` makes them.
    pub shared_per_block_optin: u32,
    /// Shared memory that all blocks on an SM share.
    pub shared_per_multiprocessor: u32,
    /// Constant memory.
    pub constant_memory: u32,
    /// Registers per block, of 32 bits.
    pub registers_per_block: u32,
    /// Registers per SM, of 32 bits.
    pub registers_per_multiprocessor: u32,
    /// Threads per warp.
    pub warp_size: u32,
    /// The longest row that a two-dimensional copy takes.
    pub max_pitch: u32,
    /// Most threads per block.
    pub max_threads_per_block: u32,
    /// Most threads per block in x, y and z.
    pub max_block: [u32; 3],
    /// Most blocks per grid in x, y and z.
    pub max_grid: [u32; 3],
    /// Most threads per SM at a time.
    pub max_threads_per_multiprocessor: u32,
    /// Most blocks per SM at a time.
    pub max_blocks_per_multiprocessor: u32,
    /// SMs.
    pub multiprocessors: u32,
    /// Peak clock of the SMs in kHz.
    pub clock_khz: u32,
    /// Peak clock of the memory in kHz; 0 if the driver does not tell.
    pub memory_clock_khz: u32,
    /// Width of the memory bus in bits.
    pub memory_bus_bits: u32,
    /// The memory's theoretical bandwidth in 10⁹ bytes per second: two transfers per clock over the whole bus.
    pub memory_bandwidth_gbs: f64,
    /// Second-level cache.
    pub l2_bytes: u32,
    /// Alignment that textures need.
    pub texture_alignment: u32,
    /// Copies that can run at the same time as kernels: engines that do nothing else.
    pub copy_engines: u32,
    /// Compute capability, for example `(9, 0)`.
    pub compute_capability: (u32, u32),
    /// Whether the memory corrects errors.
    pub ecc: bool,
    /// Whether the device shares the host's memory.
    pub integrated: bool,
    /// Whether the driver ends kernels that run too long.
    pub kernel_timeout: bool,
    /// Its address on the PCI bus, as `domain:bus:device.0` in hexadecimal.
    pub pci: String,
    /// The newest CUDA that the driver supports, for example `13.0`.
    pub driver_version: String,
}

/// `CUdevice_attribute`.
mod attribute {
    pub const MAX_THREADS_PER_BLOCK: i32 = 1;
    pub const MAX_BLOCK_DIM: [i32; 3] = [2, 3, 4];
    pub const MAX_GRID_DIM: [i32; 3] = [5, 6, 7];
    pub const MAX_SHARED_MEMORY_PER_BLOCK: i32 = 8;
    pub const TOTAL_CONSTANT_MEMORY: i32 = 9;
    pub const WARP_SIZE: i32 = 10;
    pub const MAX_PITCH: i32 = 11;
    pub const MAX_REGISTERS_PER_BLOCK: i32 = 12;
    pub const CLOCK_RATE: i32 = 13;
    pub const TEXTURE_ALIGNMENT: i32 = 14;
    pub const MULTIPROCESSOR_COUNT: i32 = 16;
    pub const KERNEL_EXEC_TIMEOUT: i32 = 17;
    pub const INTEGRATED: i32 = 18;
    pub const ECC_ENABLED: i32 = 32;
    pub const PCI_BUS_ID: i32 = 33;
    pub const PCI_DEVICE_ID: i32 = 34;
    pub const MEMORY_CLOCK_RATE: i32 = 36;
    pub const GLOBAL_MEMORY_BUS_WIDTH: i32 = 37;
    pub const L2_CACHE_SIZE: i32 = 38;
    pub const MAX_THREADS_PER_MULTIPROCESSOR: i32 = 39;
    pub const ASYNC_ENGINE_COUNT: i32 = 40;
    pub const PCI_DOMAIN_ID: i32 = 50;
    pub const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
    pub const COMPUTE_CAPABILITY_MINOR: i32 = 76;
    pub const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: i32 = 81;
    pub const MAX_REGISTERS_PER_MULTIPROCESSOR: i32 = 82;
    pub const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: i32 = 97;
    pub const MAX_BLOCKS_PER_MULTIPROCESSOR: i32 = 106;
}

/// Every device that the driver knows of, in the driver's order; none is not an error.
///
/// # Errors
/// [`CudaError::NoDriver`] without a driver; [`CudaError::NotStarted`] or [`CudaError::Driver`] if it does not work.
pub fn devices() -> Result<Vec<Properties>, CudaError> {
    (0..initialise()?)
        .map(|ordinal| {
            let device = device(ordinal)?;
            let mut properties = Properties::read(device)?;
            // The driver tells the free memory only within a context. This context is released at once, unless it
            // existed before.
            if let Ok(context) = Primary::retain(device) {
                // SAFETY: the context is held.
                let current = unsafe { Current::enter(context.handle()) };
                properties.free_memory = current.and_then(|_| objects::memory_info()).ok().map(|(free, _)| free);
            }
            Ok(properties)
        })
        .collect()
}

/// Whether a device reaches the memory of another one without the host.
///
/// # Errors
/// [`CudaError::NoDriver`] without a driver; [`CudaError::Driver`] for devices that are not there.
pub fn reaches(ordinal: u32, peer: u32) -> Result<bool, CudaError> {
    initialise()?;
    let raw = |ordinal| device(ordinal).map(|device| device.as_raw());
    let told = cuda_driver::can_access_peer(raw(ordinal)?, raw(peer)?);
    told.map_err(|status| CudaError::driver("asking whether devices reach each other", status))
}

/// Loads and initialises the driver, and counts the devices.
pub(in crate::engine) fn initialise() -> Result<u32, CudaError> {
    cuda_driver::load()?;
    let counted = cuda_driver::init().and_then(|()| Device::count());
    match counted {
        Err(Status::NO_DEVICE) => Ok(0),
        other => other.map_err(|status| CudaError::NotStarted { status }),
    }
}

/// The device with this number; the driver is initialised.
pub(super) fn device(ordinal: u32) -> Result<Device, CudaError> {
    Device::get(ordinal).map_err(|status| CudaError::driver(format!("opening device {ordinal}"), status))
}

impl Properties {
    /// All but the free memory, which needs a context.
    pub(super) fn read(device: Device) -> Result<Self, CudaError> {
        Self::ask(device).map_err(|status| CudaError::driver("asking for the device's properties", status))
    }

    fn ask(device: Device) -> Result<Self, Status> {
        use attribute::*;
        // No attribute is negative.
        let of = |number: i32| cuda_driver::device_attribute(device.as_raw(), number).map(i32::unsigned_abs);
        let each = |[x, y, z]: [i32; 3]| -> Result<[u32; 3], Status> { Ok([of(x)?, of(y)?, of(z)?]) };

        let (major, minor) = objects::version()?;
        let (memory_clock_khz, memory_bus_bits) = (of(MEMORY_CLOCK_RATE)?, of(GLOBAL_MEMORY_BUS_WIDTH)?);
        Ok(Self {
            name: device.name()?,
            global_memory: device.total_memory()?,
            free_memory: None,
            shared_per_block: of(MAX_SHARED_MEMORY_PER_BLOCK)?,
            shared_per_block_optin: of(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            shared_per_multiprocessor: of(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            constant_memory: of(TOTAL_CONSTANT_MEMORY)?,
            registers_per_block: of(MAX_REGISTERS_PER_BLOCK)?,
            registers_per_multiprocessor: of(MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            warp_size: of(WARP_SIZE)?,
            max_pitch: of(MAX_PITCH)?,
            max_threads_per_block: of(MAX_THREADS_PER_BLOCK)?,
            max_block: each(MAX_BLOCK_DIM)?,
            max_grid: each(MAX_GRID_DIM)?,
            max_threads_per_multiprocessor: of(MAX_THREADS_PER_MULTIPROCESSOR)?,
            max_blocks_per_multiprocessor: of(MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            multiprocessors: of(MULTIPROCESSOR_COUNT)?,
            clock_khz: of(CLOCK_RATE)?,
            memory_clock_khz,
            memory_bus_bits,
            memory_bandwidth_gbs: bandwidth_gbs(memory_clock_khz, memory_bus_bits),
            l2_bytes: of(L2_CACHE_SIZE)?,
            texture_alignment: of(TEXTURE_ALIGNMENT)?,
            copy_engines: of(ASYNC_ENGINE_COUNT)?,
            compute_capability: (of(COMPUTE_CAPABILITY_MAJOR)?, of(COMPUTE_CAPABILITY_MINOR)?),
            ecc: of(ECC_ENABLED)? != 0,
            integrated: of(INTEGRATED)? != 0,
            kernel_timeout: of(KERNEL_EXEC_TIMEOUT)? != 0,
            pci: format!("{:04x}:{:02x}:{:02x}.0", of(PCI_DOMAIN_ID)?, of(PCI_BUS_ID)?, of(PCI_DEVICE_ID)?),
            driver_version: format!("{major}.{minor}"),
        })
    }
}

/// 10⁹ bytes per second of memory that moves its bus' width twice per clock.
fn bandwidth_gbs(clock_khz: u32, bus_bits: u32) -> f64 {
    2.0 * f64::from(clock_khz) * 1e3 * f64::from(bus_bits) / 8.0 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_the_data_sheets() {
        assert_eq!(bandwidth_gbs(877_000, 4096).round(), 898.0); // V100: 900 GB/s
        assert_eq!(bandwidth_gbs(891_000, 128).round(), 29.0); // the GT 640 with DDR3: 28.5 GB/s
    }

    #[test]
    fn devices_are_listed_or_the_driver_is_missing() {
        match devices() {
            Err(CudaError::NoDriver(missing)) => assert!(!missing.tried.is_empty()),
            Err(other) => panic!("{other}"),
            Ok(devices) => assert!(devices.iter().all(|p| p.warp_size == 32 && p.max_threads_per_block >= 512)),
        }
    }
}
