//! One slot for each of the driver's functions, and under the function's own name a jump through it.

use crate::{Status, load};
use libloading::Library;
use std::mem::transmute;
use std::ptr::fn_addr_eq;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Whether there are jumps for this system; elsewhere a function of the driver's name is there and unavailable.
pub const REACHED: bool = cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));

/// The target of an empty slot. It takes no arguments, and by the C calling convention those of any other function may
/// be passed to it: the caller owns them, in registers and on the stack alike.
extern "C" fn unavailable() -> u32 {
    Status::STUB_LIBRARY.code()
}

/// The driver's `cuInit`.
type Init = extern "C" fn(flags: u32) -> u32;

/// The target of `cuInit`'s empty slot. The driver has to be initialised before anything else, so code that calls it by
/// name and knows nothing of [`load`], as your own calls of cust do, has it loaded here.
extern "C" fn load_and_init(flags: u32) -> u32 {
    // Why there is no driver, the next call of `load` says again.
    let _ = load();
    // SAFETY: the slot holds this function or the driver's, which are of one type.
    let init = unsafe { transmute::<*mut (), Init>(slot::cuInit.load(Ordering::Relaxed)) };
    if fn_addr_eq(init, load_and_init as Init) { unavailable() } else { init(flags) }
}

/// The target of an empty slot: [`unavailable`], or the function that is named.
macro_rules! empty {
    () => {
        unavailable
    };
    ($first:ident) => {
        $first
    };
}

macro_rules! functions {
    ($($name:ident $(= $first:ident)?)*) => {
        #[allow(non_upper_case_globals)]
        mod slot {
            use super::{AtomicPtr, load_and_init, unavailable};
            $(pub static $name: AtomicPtr<()> = AtomicPtr::new(empty!($($first)?) as *mut ());)*
        }

        mod jump {
            $(
                // SAFETY: the name is the driver's, and the driver itself is never linked, so it is defined once. The
                // body jumps without touching an argument register or the stack: what it jumps to sees the caller's
                // call, whatever its parameters are.
                #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                #[allow(non_snake_case)]
                unsafe extern "C" fn $name() {
                    #[cfg(target_arch = "x86_64")]
                    core::arch::naked_asm!("jmp qword ptr [rip + {slot}]", slot = sym super::slot::$name);
                    // x16 is the register that the calling convention leaves to such jumps.
                    #[cfg(target_arch = "aarch64")]
                    core::arch::naked_asm!(
                        "adrp x16, {slot}",
                        "ldr x16, [x16, :lo12:{slot}]",
                        "br x16",
                        slot = sym super::slot::$name
                    );
                }

                // SAFETY: defined once, as above; a C function may be passed arguments that it does not read.
                #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
                #[unsafe(no_mangle)]
                #[allow(non_snake_case)]
                extern "C" fn $name() -> u32 {
                    super::unavailable()
                }
            )*
        }

        /// Each function's name, ended by a zero byte, and its slot.
        const SLOTS: &[(&str, &AtomicPtr<()>)] = &[$((concat!(stringify!($name), "\0"), &slot::$name)),*];
    };
}

/// Why a library is no CUDA driver.
pub enum Unfit {
    /// It has none of a driver's functions.
    NoDriver,
    /// It is the toolkit's stub, whose functions all fail; the address is that of its `cuInit`.
    Stub(usize),
}

/// Points the slots at `library`'s functions. A function that the library lacks keeps its empty slot.
///
/// # Errors
/// With nothing changed, if it is no CUDA driver.
pub fn fill(library: &Library) -> Result<(), Unfit> {
    // SAFETY: the driver's headers declare it so.
    let init = unsafe { library.get::<Init>(b"cuInit\0") }.map_err(|_| Unfit::NoDriver)?;
    if init(0) == Status::STUB_LIBRARY.code() {
        return Err(Unfit::Stub(*init as usize));
    }
    for (name, slot) in SLOTS {
        // SAFETY: the address is kept as an address; its callers declare it as the driver's headers do.
        if let Ok(function) = unsafe { library.get::<*mut ()>(name.as_bytes()) } {
            // Relaxed: a thread that has not been told of `load`'s end may see the empty slot, which is harmless.
            slot.store(*function, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// The address of the driver's `cuInit`, once there is a driver.
pub fn address() -> Option<usize> {
    let address = slot::cuInit.load(Ordering::Relaxed) as usize;
    (address != load_and_init as Init as usize).then_some(address)
}

// The first block is what cust 0.3.2 calls, the second what this crate adds, the third what is left of stream capture,
// for those who call it by cust's declarations, `cust::sys`.
functions! {
    cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayDestroy cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxGetApiVersion
    cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetDevice cuCtxGetFlags cuCtxGetLimit cuCtxGetSharedMemConfig
    cuCtxGetStreamPriorityRange cuCtxPopCurrent_v2 cuCtxPushCurrent_v2 cuCtxSetCacheConfig cuCtxSetCurrent
    cuCtxSetLimit cuCtxSetSharedMemConfig cuCtxSynchronize cuDestroyExternalMemory cuDeviceGet cuDeviceGetAttribute
    cuDeviceGetCount cuDeviceGetName cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxRetain
    cuDevicePrimaryCtxSetFlags_v2 cuDeviceTotalMem_v2 cuDriverGetVersion cuEventCreate cuEventDestroy_v2
    cuEventElapsedTime cuEventQuery cuEventRecord cuEventSynchronize cuExternalMemoryGetMappedBuffer cuFuncGetAttribute
    cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuGetErrorString cuGraphAddKernelNode cuGraphCreate
    cuGraphDebugDotPrint cuGraphDestroy cuGraphGetEdges cuGraphGetNodes cuGraphKernelNodeGetParams cuGraphNodeGetType
    cuImportExternalMemory cuInit = load_and_init
    cuLaunchHostFunc cuLaunchKernel cuLinkAddData_v2 cuLinkComplete cuLinkCreate_v2
    cuLinkDestroy cuMemAdvise cuMemAllocAsync cuMemAllocHost_v2 cuMemAllocManaged cuMemAlloc_v2 cuMemFreeAsync
    cuMemFreeHost cuMemFree_v2 cuMemGetInfo_v2 cuMemPrefetchAsync cuMemcpy2D_v2 cuMemcpyAtoH_v2 cuMemcpyDtoDAsync_v2
    cuMemcpyDtoD_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoH_v2 cuMemcpyHtoA_v2 cuMemcpyHtoDAsync_v2 cuMemcpyHtoD_v2
    cuMemsetD16Async cuMemsetD16_v2 cuMemsetD32Async cuMemsetD32_v2 cuMemsetD8Async cuMemsetD8_v2 cuModuleGetFunction
    cuModuleGetGlobal_v2 cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleUnload
    cuOccupancyAvailableDynamicSMemPerBlock cuOccupancyMaxActiveBlocksPerMultiprocessor
    cuOccupancyMaxPotentialBlockSize cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamGetFlags
    cuStreamGetPriority cuStreamSynchronize cuStreamWaitEvent cuSurfObjectCreate cuSurfObjectDestroy
    cuSurfObjectGetResourceDesc cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
    cuTexObjectGetResourceViewDesc

    cuCtxEnablePeerAccess cuDeviceCanAccessPeer cuFuncSetAttribute cuGetErrorName cuIpcCloseMemHandle cuIpcGetMemHandle
    cuIpcOpenMemHandle_v2 cuLaunchKernelEx cuMemcpyPeerAsync cuStreamIsCapturing cuStreamQuery cuTensorMapEncodeTiled

    cuGraphExecDestroy cuGraphInstantiateWithFlags cuGraphLaunch cuStreamBeginCapture_v2 cuStreamEndCapture
}

#[cfg(test)]
mod tests {
    use super::SLOTS;

    #[test]
    fn every_function_has_one_slot() {
        let mut names: Vec<_> = SLOTS.iter().map(|(name, _)| *name).collect();
        assert!(names.iter().all(|name| name.starts_with("cu") && name.ends_with('\0')));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SLOTS.len());
        assert_eq!(SLOTS.len(), 105 + 12 + 5);
    }
}
