//! `asm!` for the files that both backends share.
//!
//! On a GPU it is the compiler's. On the host, where the feature `rust-cuda` is only type-checked, it looks at the
//! types of the operands and at the classes of their registers, and panics if it is ever run.

#[cfg(target_os = "cuda")]
pub(crate) use core::arch::asm;

/// Ends the kernel with an error.
#[cfg(target_os = "cuda")]
pub(crate) fn trap() -> ! {
    // SAFETY: a trap has no conditions.
    unsafe { core::arch::nvptx::trap() }
}

#[cfg(not(target_os = "cuda"))]
pub(crate) use host::{asm, trap};

#[cfg(not(target_os = "cuda"))]
pub(crate) mod host {
    /// Stands for an instruction.
    ///
    /// # Safety
    /// None; it is unsafe because the instruction is.
    #[cold]
    pub(crate) unsafe fn refuse<T>() -> T {
        trap()
    }

    #[cold]
    pub(crate) fn trap() -> ! {
        panic!("built with the feature rust-cuda this runs only as PTX; host programs do without the feature")
    }

    /// A type that fits the registers of a class.
    pub(crate) trait Operand<Class> {}

    /// Takes an operand that an instruction reads.
    pub(crate) fn read<Class, T: Operand<Class>>(_: T) {}

    /// Gives an operand that an instruction writes.
    ///
    /// # Safety
    /// As [`refuse`].
    pub(crate) unsafe fn written<Class, T: Operand<Class>>() -> T {
        // SAFETY: passed on.
        unsafe { refuse() }
    }

    macro_rules! classes {
        ($($class:ident: $($t:ty)*;)*) => {$(
            #[allow(non_camel_case_types)]
            pub(crate) enum $class {}
            $( impl Operand<$class> for $t {} )*
        )*};
    }
    classes! {
        reg16: u16 i16;
        reg32: u32 i32 f32;
        reg64: u64 i64 f64;
    }
    impl<T> Operand<reg64> for *const T {}
    impl<T> Operand<reg64> for *mut T {}

    macro_rules! asm {
        (@ $(,)?) => {};
        (@ options($($option:ident),*) $(,)?) => {};
        (@ const $e:expr $(, $($rest:tt)*)?) => {
            let _: u32 = $e;
            crate::nvidia::assembly::asm!(@ $($($rest)*)?)
        };
        (@ in($class:ident) $e:expr $(, $($rest:tt)*)?) => {
            crate::nvidia::assembly::host::read::<crate::nvidia::assembly::host::$class, _>($e);
            crate::nvidia::assembly::asm!(@ $($($rest)*)?)
        };
        (@ out($class:ident) $e:expr $(, $($rest:tt)*)?) => {
            $e = crate::nvidia::assembly::host::written::<crate::nvidia::assembly::host::$class, _>();
            crate::nvidia::assembly::asm!(@ $($($rest)*)?)
        };
        (@ inout($class:ident) $e:expr $(, $($rest:tt)*)?) => {
            crate::nvidia::assembly::host::read::<crate::nvidia::assembly::host::$class, _>($e);
            $e = crate::nvidia::assembly::host::written::<crate::nvidia::assembly::host::$class, _>();
            crate::nvidia::assembly::asm!(@ $($($rest)*)?)
        };
        (@ $name:ident = $($rest:tt)*) => {
            crate::nvidia::assembly::asm!(@ $($rest)*)
        };
        (@ $template:expr $(, $($rest:tt)*)?) => {
            let _: &str = $template;
            crate::nvidia::assembly::asm!(@ $($($rest)*)?)
        };
        ($($all:tt)*) => {{
            crate::nvidia::assembly::host::refuse::<()>();
            crate::nvidia::assembly::asm!(@ $($all)*);
        }};
    }
    pub(crate) use asm;
}
