//! Memory of one process that others of the same host map, by CUDA's IPC handles.

use crate::Status;

unsafe extern "C" {
    fn cuIpcCloseMemHandle(address: u64) -> u32;
    fn cuIpcGetMemHandle(handle: *mut IpcHandle, address: u64) -> u32;
    fn cuIpcOpenMemHandle_v2(address: *mut u64, handle: IpcHandle, flags: u32) -> u32;
}

/// `CUipcMemHandle`: the name of an allocation to other processes of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct IpcHandle(pub [u8; 64]);

// `CU_IPC_HANDLE_SIZE`, and no padding: the driver takes it by value.
const _: () = assert!(size_of::<IpcHandle>() == 64 && align_of::<IpcHandle>() == 1);

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`: memory of another device is mapped, too, if the devices reach each other.
const LAZY_ENABLE_PEER_ACCESS: u32 = 1;

/// The handle of the allocation that begins at `address`. Memory that is allocated at the same address later has
/// another one.
///
/// # Errors
/// The driver's status, in particular for memory that did not come from [`objects::allocate`](crate::objects::allocate)
/// in the current context.
pub fn export(address: u64) -> Result<IpcHandle, Status> {
    let mut handle = IpcHandle([0; 64]);
    // SAFETY: the call writes one handle; the driver refuses an address that is no allocation of the context's.
    Status::check(unsafe { cuIpcGetMemHandle(&mut handle, address) })?;
    Ok(handle)
}

/// Maps the allocation of another process into the current context; returns where it begins there. The driver refuses
/// handles of the same process. Each call needs one of [`close`].
///
/// # Errors
/// The driver's status, in particular where the devices, or the processes, have no way to each other.
pub fn open(handle: IpcHandle) -> Result<u64, Status> {
    let mut address = 0;
    // SAFETY: the call writes one address; the driver looks the handle up, and refuses what is none.
    Status::check(unsafe { cuIpcOpenMemHandle_v2(&mut address, handle, LAZY_ENABLE_PEER_ACCESS) })?;
    Ok(address)
}

/// Unmaps what [`open`] mapped. The process that owns the memory frees it after that, and not before.
///
/// # Errors
/// The driver's status: of this call, or of a kernel that failed before it.
///
/// # Safety
/// `address` came from [`open`] in the current context, has not been closed as often as it was opened, and no work uses
/// the memory any more.
pub unsafe fn close(address: u64) -> Result<(), Status> {
    // SAFETY: as the caller says.
    Status::check(unsafe { cuIpcCloseMemHandle(address) })
}
