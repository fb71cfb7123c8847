//! Static shared memory as module-level assembly.

/// The item that [`shared!`](crate::shared) declares next to the type: the array.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_declaration {
    ($name:ident: [$t:ty; $n:expr]) => {
        $crate::expansion::global_asm!(
            concat!(".shared .align 16 .b8 ", stringify!($name), "_{module}[{bytes}];"),
            module = const $crate::shared_symbol(module_path!()),
            bytes = const ($n) as usize * size_of::<$t>(),
        );
    };
}

/// The address of the array.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_array_address {
    ($name:ident: [$t:ty; $n:expr]) => {{
        let address: u32;
        // SAFETY: reads the address of the array declared next to the type.
        unsafe {
            $crate::expansion::asm!(
                concat!("mov.u32 {address}, ", stringify!($name), "_{module};"),
                module = const $crate::shared_symbol(module_path!()),
                address = out(reg32) address,
                options(pure, nomem, nostack),
            )
        };
        address
    }};
}
