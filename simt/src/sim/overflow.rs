//! Threads whose stack is too small for them: a page below each stack can be neither read nor written, and the signal
//! that an access there raises ends the thread instead of the process.
//!
//! A check at each access to simulated memory would be simpler and find less: an array that is larger than the stack
//! overflows it before anything is accessed. The handler needs a stack of its own, which Rust gives to every thread
//! that it starts; on another thread, and where the handler is not compiled, an overflow ends the process as it does
//! anywhere. After an overflow inside the host's memory allocator the process does not end but hangs: the allocator's
//! lock stays held for ever.

use corosensei::trap::CoroutineTrapHandler;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use handler::install;

/// The means to end the running thread, if the access at an address that the system refused, with that stack pointer,
/// is an overflow of its stack.
type Find = fn(usize, usize) -> Option<CoroutineTrapHandler<()>>;

/// Nothing is known of this platform's signals.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) fn install(_: Find) {}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod handler {
    use super::Find;
    use libc::{c_int, c_void, siginfo_t, ucontext_t};
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::OnceLock;

    /// The former handler of the signal: Rust's own, in most programs.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    static FIND: OnceLock<Find> = OnceLock::new();

    /// Installs the handler that asks `find` of each fault, at the first call.
    pub(in crate::sim) fn install(find: Find) {
        FIND.get_or_init(|| find);
        BEFORE.get_or_init(|| {
            let mut before = MaybeUninit::zeroed();
            // SAFETY: all zeros are a value of this struct, in which the three fields that matter are then set; the
            // handler calls only functions that a handler may call.
            unsafe {
                let mut ours: libc::sigaction = MaybeUninit::zeroed().assume_init();
                ours.sa_sigaction = on_fault as *const () as usize;
                ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigfillset(&mut ours.sa_mask);
                // The old handler is asked for first, so that it is known when the first signal comes; neither call
                // fails, as the signal exists.
                libc::sigaction(libc::SIGSEGV, ptr::null(), before.as_mut_ptr());
                libc::sigaction(libc::SIGSEGV, &ours, ptr::null_mut());
                before.assume_init()
            }
        });
    }

    /// # Safety
    /// Called by the system, for a signal of the thread's own making.
    unsafe extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the system passes valid pointers; what `find` returns is of the coroutine that was interrupted, as it
        // has checked by the stack pointer.
        unsafe {
            let registers = &mut (*context.cast::<ucontext_t>()).uc_mcontext;
            let find = |find: &Find| find((*info).si_addr() as usize, stack_pointer(registers));
            if let Some(thread) = FIND.get().and_then(find) {
                // The coroutine returns at once; the block, which knows why, reports it.
                leave(registers, thread.setup_trap_handler(|| ()));
                return;
            }
            pass_on(signal, info, context);
        }
    }

    /// Calls the former handler.
    ///
    /// # Safety
    /// As for [`on_fault`].
    unsafe fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        type WithInfo = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
        let handler = BEFORE.get().map_or((libc::SIG_DFL, 0), |before| (before.sa_sigaction, before.sa_flags));
        // SAFETY: a handler that is not one of the two constants is a function of the type that its flags name.
        unsafe {
            match handler {
                (libc::SIG_DFL | libc::SIG_IGN, _) => {
                    // The access is made again when the handler returns, and then ends the process.
                    libc::signal(signal, libc::SIG_DFL);
                }
                (function, flags) if flags & libc::SA_SIGINFO != 0 => {
                    std::mem::transmute::<usize, WithInfo>(function)(signal, info, context)
                }
                (function, _) => std::mem::transmute::<usize, unsafe extern "C" fn(c_int)>(function)(signal),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn stack_pointer(registers: &libc::mcontext_t) -> usize {
        registers.gregs[libc::REG_RSP as usize] as usize
    }

    #[cfg(target_arch = "aarch64")]
    fn stack_pointer(registers: &libc::mcontext_t) -> usize {
        registers.sp as usize
    }

    #[cfg(target_arch = "x86_64")]
    fn leave(registers: &mut libc::mcontext_t, to: corosensei::trap::TrapHandlerRegs) {
        let corosensei::trap::TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = to;
        for (register, value) in [
            (libc::REG_RIP, rip),
            (libc::REG_RSP, rsp),
            (libc::REG_RBP, rbp),
            (libc::REG_RDI, rdi),
            (libc::REG_RSI, rsi),
        ] {
            registers.gregs[register as usize] = value as i64;
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn leave(registers: &mut libc::mcontext_t, to: corosensei::trap::TrapHandlerRegs) {
        let corosensei::trap::TrapHandlerRegs { pc, sp, x0, x1, x29, lr } = to;
        (registers.pc, registers.sp) = (pc, sp);
        for (register, value) in [(0, x0), (1, x1), (29, x29), (30, lr)] {
            registers.regs[register] = value;
        }
    }
}
