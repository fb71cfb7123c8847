//! The kernels of an operator of your own, in the crate of the operator; and the operator [`Compose`].
//!
//! An operator is a type that implements [`Operator`]. It is associative and has an identity; it need not be
//! commutative. Elements are any [`Scalar`](simt::Scalar), among them a [`Pair`] of numbers of 4 bytes.
//!
//! An operator that is not associative does no harm. Its results combine the right elements, each once and in their
//! order, with any number of identities between them, but in unspecified groups: for `reduce_with` the same in every
//! run, for `scan_with` perhaps not.

use crate::operator_kernels;
pub use rungs_common::operator::Operator;
use simt::Pair;

/// Affine maps in sequence, the first element first: `Pair(a, b)` makes `a * x + b` of x. A scan of the maps
/// `x → a[i]·x + b[i]` solves the recurrence `x[i + 1] = a[i]·x[i] + b[i]`. Integers are taken modulo 2³².
#[derive(Clone, Copy, Debug, Default)]
pub struct Compose;

impl Operator<Pair<f32, f32>> for Compose {
    const IDENTITY: Pair<f32, f32> = Pair(1.0, 0.0);

    #[simt::device]
    fn combine(f: Pair<f32, f32>, g: Pair<f32, f32>) -> Pair<f32, f32> {
        Pair(g.0 * f.0, g.0 * f.1 + g.1)
    }
}

impl Operator<Pair<u32, u32>> for Compose {
    const IDENTITY: Pair<u32, u32> = Pair(1, 0);

    #[simt::device]
    fn combine(f: Pair<u32, u32>, g: Pair<u32, u32>) -> Pair<u32, u32> {
        Pair(g.0.wrapping_mul(f.0), g.0.wrapping_mul(f.1).wrapping_add(g.1))
    }
}

operator_kernels!(pub mod compose_f32: <Pair<f32, f32>, Compose>, max_spills = 0);
operator_kernels!(pub mod compose_u32: <Pair<u32, u32>, Compose>, max_spills = 0);

/// Bytes per thread of spilled registers that the kernels of an operator may need if
/// [`operator_kernels!`](crate::operator_kernels) is told no other number: an operator takes registers too.
pub const MAX_SPILLS: u32 = 128;

/// Declares the kernels of an operator: `operator_kernels!(pub mod last: <u32, LastSet>);` makes a module with the
/// kernels that combine elements of that type by the operator `LastSet`, and with the type `Kernels`, which names them
/// for the host:
///
/// ```
/// use rungs_selections::operator_kernels;
/// use rungs_selections::operators::Operator;
///
/// /// The last element that is not 0.
/// #[derive(Clone, Copy)]
/// pub struct LastSet;
///
/// impl Operator<u32> for LastSet {
///     const IDENTITY: u32 = 0;
///
///     #[simt::device]
///     fn combine(a: u32, b: u32) -> u32 {
///         if b != 0 { b } else { a }
///     }
/// }
///
/// operator_kernels!(pub mod last: <u32, LastSet>);
/// # fn main() {}
/// ```
///
/// The host then writes `x.scan_with(last::Kernels, false)`, `x.reduce_with(last::Kernels)` or
/// `keys.reduce_by_key_with(&x, last::Kernels)`, with `x` and `keys` each a `rungs::vec::DeviceVec`. In the PTX the
/// kernels' names begin with the module's.
///
/// `operator_kernels!(pub mod last: <u32, LastSet>, max_spills = 256);` accepts more spilled bytes than
/// [`MAX_SPILLS`](crate::operators::MAX_SPILLS).
#[macro_export]
macro_rules! operator_kernels {
    ($(#[$meta:meta])* $vis:vis mod $name:ident: <$T:ty, $O:ty $(,)?> $(;)?) => {
        $crate::operator_kernels! {
            $(#[$meta])* $vis mod $name: <$T, $O>, max_spills = $crate::operators::MAX_SPILLS
        }
    };
    ($(#[$meta:meta])* $vis:vis mod $name:ident: <$T:ty, $O:ty $(,)?>, max_spills = $spills:expr $(;)?) => {
        #[doc = concat!("The kernels that combine by [`", stringify!($O), "`].")]
        $(#[$meta])*
        // The condition is one of PTX, which a crate of kernels for the host need not know.
        #[allow(unexpected_cfgs)]
        $vis mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[cfg(any(sm_90, not(target_os = "cuda")))]
            use $crate::look_ahead::BLOCK as AHEAD;
            use $crate::operators::Operator as IsOperator;
            use simt::{Global, Scalar};

            #[doc = concat!("Combines all elements by ", stringify!($O), ".")]
            #[simt::kernel(
                max_threads = $crate::BLOCK, min_blocks = $crate::reduce::RESIDENT, max_spills = $spills,
                instance($name: <$T, $O>),
            )]
            pub fn reduce<T: Scalar, O: IsOperator<T>>(input: Global<T>, output: Global<T>, workspace: Global<u32>) {
                $crate::reduce::reduce::<T, O>(input, output, workspace)
            }

            #[doc = concat!("Scans by ", stringify!($O), ".")]
            #[simt::kernel(max_threads = $crate::BLOCK, max_spills = $spills, instance($name: <$T, $O>))]
            pub fn scan<T: Scalar, O: IsOperator<T>>(
                input: Global<T>,
                output: Global<T>,
                workspace: Global<u64>,
                exclusive: u32,
            ) {
                $crate::scan::scan::<T, O>(input, output, workspace, exclusive)
            }

            #[doc = concat!("Scans by ", stringify!($O), ", on compute capability 9.0.")]
            #[simt::kernel(
                sm_90, max_threads = $crate::scan::AHEAD_BLOCK, min_blocks = 1, max_spills = $spills,
                instance($name: <$T, $O>),
            )]
            pub fn scan_ahead<T: Scalar, O: IsOperator<T>>(
                input: Global<T>,
                output: Global<T>,
                workspace: Global<u64>,
                exclusive: u32,
            ) {
                $crate::scan::scan_ahead::<T, O>(input, output, workspace, exclusive)
            }

            const BACK_SPILLS: u32 = $crate::by_key::spills_with($spills);
            $crate::operator_by_key!($name, $T, $O, $spills, BACK_SPILLS, u32, reduce_by_u32, reduce_by_u32_ahead);
            $crate::operator_by_key!($name, $T, $O, $spills, BACK_SPILLS, u64, reduce_by_u64, reduce_by_u64_ahead);

            /// The kernels of this module.
            #[cfg(not(target_os = "cuda"))]
            #[derive(Clone, Copy, Debug, Default)]
            pub struct Kernels;

            #[cfg(not(target_os = "cuda"))]
            impl Kernels {
                /// The names of the kernels in the PTX.
                pub const NAMES: &'static [&'static [&'static str]] = &[
                    <reduce as simt::Instances>::NAMES,
                    <scan as simt::Instances>::NAMES,
                    <scan_ahead as simt::Instances>::NAMES,
                    <reduce_by_u32 as simt::Instances>::NAMES,
                    <reduce_by_u32_ahead as simt::Instances>::NAMES,
                    <reduce_by_u64 as simt::Instances>::NAMES,
                    <reduce_by_u64_ahead as simt::Instances>::NAMES,
                ];
            }

            #[cfg(not(target_os = "cuda"))]
            impl $crate::operators::launches::OperatorKernels for Kernels {
                type Element = $T;
                type Operator = $O;
                type Reduce = reduce<$T, $O>;
                type Scan = scan<$T, $O>;
                type ScanAhead = scan_ahead<$T, $O>;
            }
        }
    };
}

/// Declares the kernels that combine runs by an operator, for keys of one word; for
/// [`operator_kernels!`](crate::operator_kernels).
#[doc(hidden)]
#[macro_export]
macro_rules! operator_by_key {
    ($name:ident, $T:ty, $O:ty, $spills:expr, $back_spills:expr, $K:ty, $back:ident, $ahead:ident) => {
        #[doc = concat!("Combines the values of each run of equal keys by ", stringify!($O), ".")]
        #[simt::kernel(max_threads = $crate::BLOCK, max_spills = $back_spills, instance($name: <$K, $T, $O>))]
        pub fn $back<K: Scalar, T: Scalar, O: IsOperator<T>>(
            keys: Global<K>,
            values: Global<T>,
            limit: Global<u32>,
            unique: Global<K>,
            sums: Global<T>,
            count: Global<u32>,
            workspace: Global<u64>,
        ) {
            $crate::by_key::reduce::<K, T, O>(keys, values, limit, (unique, sums, count), workspace)
        }

        /// The same on compute capability 9.0.
        #[simt::kernel(sm_90, max_threads = AHEAD, min_blocks = 1, max_spills = $spills, instance($name: <$K, $T, $O>))]
        pub fn $ahead<K: Scalar, T: Scalar, O: IsOperator<T>>(
            keys: Global<K>,
            values: Global<T>,
            limit: Global<u32>,
            unique: Global<K>,
            sums: Global<T>,
            count: Global<u32>,
            workspace: Global<u64>,
        ) {
            $crate::look_ahead::runs::reduce::<K, T, O>(keys, values, limit, (unique, sums, count), workspace)
        }

        #[cfg(not(target_os = "cuda"))]
        impl $crate::operators::launches::ByKeys<$K> for Kernels {
            type Back = $back<$K, $T, $O>;
            type Ahead = $ahead<$K, $T, $O>;
        }
    };
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches.

    use super::Operator;
    use crate::reduce::launches::Prepared;
    use crate::runs::{Grouping, ReduceArgs, Views};
    use crate::{BLOCK, scan};
    use rungs_common::ladder::*;
    use rungs_common::ladder::{reduce, scan as scans};
    use rungs_scan::r6_look_ahead::launches as look_ahead;
    use std::boxed::Box;

    /// The arguments of a scan: input, output, workspace, whether it is exclusive.
    pub type ScanArgs<T> = (Global<T>, Global<T>, Global<u64>, u32);

    /// The kernels of one operator, which [`operator_kernels!`](crate::operator_kernels) declares.
    #[allow(missing_docs, reason = "each is the kernel of that name")]
    pub trait OperatorKernels: 'static {
        type Element: Scalar;
        type Operator: Operator<Self::Element>;
        type Reduce: Kernel<Args = (Global<Self::Element>, Global<Self::Element>, Global<u32>)> + Default;
        type Scan: Kernel<Args = ScanArgs<Self::Element>> + Default;
        type ScanAhead: Kernel<Args = ScanArgs<Self::Element>> + Default;
    }

    /// The kernels that combine the values of each run of keys of type `K`.
    pub trait ByKeys<K: Scalar>: OperatorKernels {
        /// The kernel that looks back.
        type Back: Kernel<Args = ReduceArgs<K, Self::Element>> + Default;
        /// The kernel that looks ahead.
        type Ahead: Kernel<Args = ReduceArgs<K, Self::Element>> + Default;

        /// Writes the key of each run, and its values, combined.
        ///
        /// # Errors
        /// Those of the launch.
        fn reduce_by_key(
            on: &dyn Launcher,
            scratch: &Grouping<K, Self::Element>,
            views: Views<K, Self::Element>,
        ) -> Result {
            scratch.reduce::<Self::Element, _, _>(on, (Self::Back::default(), Self::Ahead::default()), views)
        }
    }

    /// The launches that reduce `n` elements.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn reduce<S: OperatorKernels>(on: &dyn Launcher, n: u32) -> Result<Launches<reduce::Elements<S::Element>>> {
        let prepared = Prepared::new::<S::Element>(on, n)?;
        Ok(Box::new(move |on, reduce::Elements { input, output }| {
            on.launch(S::Reduce::default(), prepared.geometry, (input, output, prepared.workspace()))
        }))
    }

    /// The launches that scan `n` elements.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn scan<S: OperatorKernels>(on: &dyn Launcher, n: u32) -> Result<Launches<scans::Elements<S::Element>>> {
        let ask = Ask::of::<S::Element>(on, n);
        if scan::ahead::<S::Element>() && look_ahead::RUNG.rung.check(&ask).is_ok() {
            let blocks = look_ahead::grid::<S::Element>(n, on.device().multiprocessors);
            let geometry = Geometry::linear(blocks, scan::AHEAD_BLOCK).shared(look_ahead::SHARED_BYTES);
            // Cleared once: each launch leaves the workspace ready for the next.
            let workspace = on.zeros::<u64>(look_ahead::workspace::<S::Element>(n))?;
            return Ok(Box::new(move |on, scans::Elements { input, output, exclusive }| {
                on.launch(S::ScanAhead::default(), geometry, (input, output, workspace.view(), exclusive as u32))
            }));
        }
        let workspace = on.scratch(scan::workspace::<S::Element, S::Operator>(n))?;
        let geometry = Geometry::linear(scan::grid(n), BLOCK).shared(scan::shared_bytes::<S::Element>());
        Ok(Box::new(move |on, scans::Elements { input, output, exclusive }| {
            // The states of the scan before.
            on.clear(workspace.view())?;
            on.launch(S::Scan::default(), geometry, (input, output, workspace.view(), exclusive as u32))
        }))
    }
}
