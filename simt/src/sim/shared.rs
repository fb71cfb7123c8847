//! Static shared memory: each array has its name as a key, and each block gives a key a place.

/// The item that [`shared!`](crate::shared) declares beside the type: none.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_declaration {
    ($name:ident: [$t:ty; $n:expr]) => {};
}

/// The address of the array.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_array_address {
    ($name:ident: [$t:ty; $n:expr]) => {{
        static ARRAY: &str = stringify!($name);
        $crate::expansion::static_shared(&ARRAY, size_of::<$t>() as u32, ($n) as u32)
    }};
}
