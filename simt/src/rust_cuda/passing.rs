//! How an argument reaches a kernel's entry.
//!
//! The default backend passes nothing for an argument without bytes, such as the order `Less`. `rustc_codegen_nvvm`
//! passes every struct by its value, and libnvvm refuses a parameter of an empty type. So the entry takes `()` in place
//! of such a struct, for which the code generator has no parameter, and makes the value again.

use core::mem::MaybeUninit;

/// The way of an argument: `EMPTY` if its type has no bytes.
pub struct Way<const EMPTY: bool>;

/// What an entry takes for an argument of type `T`.
pub trait Passing<T> {
    /// The parameter's type.
    type Passed;

    /// The argument.
    fn value(passed: Self::Passed) -> T;
}

impl<T> Passing<T> for Way<false> {
    type Passed = T;

    #[inline(always)]
    fn value(passed: T) -> T {
        passed
    }
}

impl<T: Copy> Passing<T> for Way<true> {
    type Passed = ();

    #[inline(always)]
    fn value((): ()) -> T {
        const { assert!(size_of::<T>() == 0) };
        // SAFETY: there are no bytes to set; the host has made a value of the type, which may be copied.
        unsafe { MaybeUninit::uninit().assume_init() }
    }
}
