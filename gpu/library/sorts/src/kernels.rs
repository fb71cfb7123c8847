//! The kernels of a sort by an order of your own, in the crate of the order.

/// Bytes per thread of spilled registers that the kernels of an order may need if
/// [`sort_kernels!`](crate::sort_kernels) is told no other number: an order takes registers too.
pub const MAX_SPILLS: u32 = 128;

/// Declares the kernels that sort by an order: `sort_kernels!(pub mod by_distance: <f32, Distance>);` makes a module
/// with the kernels for keys of type `f32` and the order `Distance`, an [`Order`](rungs_common::order::Order), and with
/// the type `Kernels`, which names them for the host:
///
/// ```
/// use rungs_sorts::order::Order;
/// use rungs_sorts::sort_kernels;
///
/// /// The keys that are nearest to a point first.
/// #[simt::argument]
/// #[derive(Clone, Copy)]
/// pub struct Distance {
///     pub from: f32,
/// }
///
/// impl Order<f32> for Distance {
///     #[simt::device]
///     fn before(&self, a: f32, b: f32) -> bool {
///         (a - self.from).abs() < (b - self.from).abs()
///     }
/// }
///
/// sort_kernels!(pub mod by_distance: <f32, Distance>);
/// # fn main() {
/// # use rungs_common::ladder::Launcher;
/// # let mut keys = [1.0f32, 2.0, 3.0, 4.0, 5.0];
/// # let view = unsafe { simt::Global::from_raw(keys.as_mut_ptr(), 5) };
/// # let gpu: &dyn Launcher = &simt::sim::Gpu::default();
/// # let mut sort = rungs_sorts::by_order::sample::launches::sequence::<by_distance::Kernels>(gpu, 5).unwrap();
/// # sort(gpu, (view, Distance { from: 3.9 })).unwrap();
/// # assert_eq!(keys, [4.0, 3.0, 5.0, 2.0, 1.0]);
/// # }
/// ```
///
/// The host then writes `x.sort_by(by_distance::Kernels, Distance { from: 3.9 })`, with `x` a `rungs::vec::DeviceVec`.
/// In the PTX the kernels' names begin with the module's.
///
/// An order that computes much takes more registers. `check-ptx` then reports more spilled bytes than
/// [`MAX_SPILLS`](crate::MAX_SPILLS); `sort_kernels!(pub mod by_distance: <f32, Distance>, max_spills = 256);`
/// accepts them.
#[macro_export]
macro_rules! sort_kernels {
    ($(#[$meta:meta])* $vis:vis mod $name:ident: <$K:ty, $C:ty $(,)?> $(;)?) => {
        $crate::sort_kernels! {
            $(#[$meta])* $vis mod $name: <$K, $C>, max_spills = $crate::MAX_SPILLS
        }
    };
    ($(#[$meta:meta])* $vis:vis mod $name:ident: <$K:ty, $C:ty $(,)?>, max_spills = $spills:expr $(;)?) => {
        #[doc = concat!("The kernels that sort by [`", stringify!($C), "`].")]
        $(#[$meta])*
        $vis mod $name {
            #[allow(unused_imports)]
            use super::*;
            use $crate::by_order::{all_runs, multi_way, sample};
            use $crate::order::Order as IsOrder;
            use $crate::sort_kernel;
            use simt::{Global, Scalar};

            sort_kernel! { $name, $K, $C, $spills, multi_way::BLOCK, multi_way::min_blocks::<K>(),
                tile(
                    input [Global<K>], output [Global<K>], state [Global<u32>]
                ) => multi_way::tile::<K, C>
            }
            sort_kernel! { $name, $K, $C, $spills, multi_way::SMALL_BLOCK, multi_way::SMALL_MIN_BLOCKS,
                small_tile(
                    input [Global<K>], output [Global<K>], state [Global<u32>]
                ) => multi_way::small_tile::<K, C, false>
            }
            sort_kernel! { $name, $K, $C, $spills, multi_way::SMALL_BLOCK, multi_way::SMALL_MIN_BLOCKS,
                stable_small_tile(
                    input [Global<K>], output [Global<K>], state [Global<u32>]
                ) => multi_way::small_tile::<K, C, true>
            }
            sort_kernel! { $name, $K, $C, $spills, multi_way::SPLIT_BLOCK, 0,
                split4(
                    input [Global<K>], run [u32], parts [u32], part [u32], splits [Global<u32>]
                ) => multi_way::find_splits::<K, C, 4, 8>
            }
            sort_kernel! { $name, $K, $C, $spills, multi_way::SPLIT_BLOCK, 0,
                split8(
                    input [Global<K>], run [u32], parts [u32], part [u32], splits [Global<u32>]
                ) => multi_way::find_splits::<K, C, 8, 4>
            }
            sort_kernel! { $name, $K, $C, $spills, multi_way::BLOCK, multi_way::min_blocks::<K>(),
                merge4(
                    input [Global<K>], output [Global<K>], run [u32], parts [u32], splits [Global<u32>],
                    state [Global<u32>], pass [u32]
                ) => multi_way::merge::<K, C, 4, 8>
            }
            sort_kernel! { $name, $K, $C, $spills, multi_way::BLOCK, multi_way::min_blocks::<K>(),
                merge8(
                    input [Global<K>], output [Global<K>], run [u32], parts [u32], splits [Global<u32>],
                    state [Global<u32>], pass [u32]
                ) => multi_way::merge::<K, C, 8, 4>
            }
            sort_kernel! { $name, $K, $C, $spills, multi_way::SMALL_BLOCK, multi_way::SMALL_MIN_BLOCKS,
                small_merge(
                    input [Global<K>], output [Global<K>], run [u32], parts [u32], splits [Global<u32>],
                    state [Global<u32>], pass [u32]
                ) => multi_way::small_merge::<K, C>
            }
            sort_kernel! { $name, $K, $C, $spills, all_runs::TILE_BLOCK, all_runs::TILE_MIN_BLOCKS,
                middle_tile(
                    input [Global<K>], output [Global<K>], state [Global<u32>]
                ) => all_runs::tile::<K, C, false>
            }
            sort_kernel! { $name, $K, $C, $spills, all_runs::TILE_BLOCK, all_runs::TILE_MIN_BLOCKS,
                stable_middle_tile(
                    input [Global<K>], output [Global<K>], state [Global<u32>]
                ) => all_runs::tile::<K, C, true>
            }
            sort_kernel! { $name, $K, $C, $spills, all_runs::FEW_BLOCK, all_runs::FEW_MIN_BLOCKS,
                merge_few(
                    input [Global<K>], output [Global<K>], run [u32], samples [u32], state [Global<u32>]
                ) => all_runs::merge_few::<K, C>
            }
            sort_kernel! { $name, $K, $C, $spills, all_runs::MANY_BLOCK, 0,
                merge_many(
                    input [Global<K>], output [Global<K>], run [u32], samples [u32], state [Global<u32>]
                ) => all_runs::merge_many::<K, C>
            }
            sort_kernel! { $name, $K, $C, $spills, sample::BLOCK, 0,
                splitters(
                    input [Global<K>], starts [Global<u32>], finals [Global<u8>], small [u32], bits [u32],
                    samples [u32], tree [Global<K>], sorted [Global<K>], twins [Global<u8>], modes [Global<u32>],
                    counts [Global<u32>]
                ) => sample::splitters::<K, C>
            }
            sort_kernel! { $name, $K, $C, $spills, sample::BLOCK, sample::count_min_blocks::<K>(),
                count(
                    input [Global<K>], starts [Global<u32>], bits [u32], rows [u32], tree [Global<K>],
                    sorted [Global<K>], twins [Global<u8>], modes [Global<u32>], counts [Global<u32>], ids [Global<u32>]
                ) => sample::count::<K, C>
            }
            sort_kernel! { $name, $K, $C, $spills, sample::BLOCK, sample::buckets_min_blocks::<K>(),
                buckets(
                    keys [Global<K>], starts [Global<u32>], finals [Global<u8>], large [Global<u32>]
                ) => sample::buckets::<K, C, false>
            }
            sort_kernel! { $name, $K, $C, $spills, sample::BLOCK, 0,
                sort_large(
                    keys [Global<K>], other [Global<K>], large [Global<u32>]
                ) => sample::sort_large::<K, C, false>
            }
            sort_kernel! { $name, $K, $C, $spills, sample::BLOCK, sample::buckets_min_blocks::<K>(),
                stable_buckets(
                    keys [Global<K>], starts [Global<u32>], finals [Global<u8>], large [Global<u32>]
                ) => sample::buckets::<K, C, true>
            }
            sort_kernel! { $name, $K, $C, $spills, sample::BLOCK, 0,
                stable_sort_large(
                    keys [Global<K>], other [Global<K>], large [Global<u32>]
                ) => sample::sort_large::<K, C, true>
            }

            /// The kernels of this module.
            #[cfg(not(target_os = "cuda"))]
            #[derive(Clone, Copy, Debug, Default)]
            pub struct Kernels;

            #[cfg(not(target_os = "cuda"))]
            impl Kernels {
                /// The names in the PTX of the kernels but the stable ones.
                pub const NAMES: &'static [&'static [&'static str]] = &[
                    <tile as simt::Instances>::NAMES,
                    <small_tile as simt::Instances>::NAMES,
                    <split4 as simt::Instances>::NAMES,
                    <split8 as simt::Instances>::NAMES,
                    <merge4 as simt::Instances>::NAMES,
                    <merge8 as simt::Instances>::NAMES,
                    <small_merge as simt::Instances>::NAMES,
                    <middle_tile as simt::Instances>::NAMES,
                    <merge_few as simt::Instances>::NAMES,
                    <merge_many as simt::Instances>::NAMES,
                    <splitters as simt::Instances>::NAMES,
                    <count as simt::Instances>::NAMES,
                    <buckets as simt::Instances>::NAMES,
                    <sort_large as simt::Instances>::NAMES,
                ];

                /// The names of the kernels that only a stable sort launches.
                pub const STABLE_NAMES: [&'static [&'static str]; 4] = [
                    <stable_small_tile as simt::Instances>::NAMES,
                    <stable_middle_tile as simt::Instances>::NAMES,
                    <stable_buckets as simt::Instances>::NAMES,
                    <stable_sort_large as simt::Instances>::NAMES,
                ];
            }

            #[cfg(not(target_os = "cuda"))]
            impl multi_way::launches::MergeKernels for Kernels {
                type Key = $K;
                type Order = $C;
                type Tile = tile<$K, $C>;
                type SmallTile = small_tile<$K, $C>;
                type Split4 = split4<$K, $C>;
                type Split8 = split8<$K, $C>;
                type Merge4 = merge4<$K, $C>;
                type Merge8 = merge8<$K, $C>;
                type SmallMerge = small_merge<$K, $C>;
            }

            #[cfg(not(target_os = "cuda"))]
            impl all_runs::launches::AllKernels for Kernels {
                type MiddleTile = middle_tile<$K, $C>;
                type Few = merge_few<$K, $C>;
                type Many = merge_many<$K, $C>;
            }

            #[cfg(not(target_os = "cuda"))]
            impl sample::launches::SampleKernels for Kernels {
                type Splitters = splitters<$K, $C>;
                type Count = count<$K, $C>;
                type Buckets = buckets<$K, $C>;
                type Large = sort_large<$K, $C>;
            }

            #[cfg(not(target_os = "cuda"))]
            impl $crate::stable::launches::StableKernels for Kernels {
                type StableSmallTile = stable_small_tile<$K, $C>;
                type StableMiddleTile = stable_middle_tile<$K, $C>;
                type StableBuckets = stable_buckets<$K, $C>;
                type StableLarge = stable_sort_large<$K, $C>;
            }
        }
    };
}

/// One kernel of [`sort_kernels!`]: its parameters but for the order, each with its type in brackets.
#[doc(hidden)]
#[macro_export]
macro_rules! sort_kernel {
    (
        $module:ident, $K:ty, $C:ty, $spills:expr, $threads:expr, $blocks:expr,
        $name:ident($($parameter:ident [$($type:tt)+]),*) => $body:expr
    ) => {
        #[doc = concat!("The function of that name, for ", stringify!($C), ".")]
        #[simt::kernel(
            max_threads = $threads, min_blocks = $blocks, max_spills = $spills,
            instance($module: <$K, $C>),
        )]
        #[allow(clippy::too_many_arguments)]
        pub fn $name<K: Scalar, C: IsOrder<K>>($($parameter: $($type)+,)* order: C) {
            $body($($parameter,)* order)
        }
    };
}
