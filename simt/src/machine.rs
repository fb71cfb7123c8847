//! The interface of a backend. The public modules are written once on top of it.

use crate::scalar::{AtomicScalar, Eight, Lies, Operand, Scalar};

/// Lanes of a warp.
pub const WARP: u32 = 32;

/// Most arrivals, and most bytes, that a phase of a barrier in shared memory can wait for.
pub(crate) const MBARRIER_MAX: u32 = (1 << 20) - 1;

/// A thread's sum while products are being added to it. The instruction takes its register as bits. LLVM 7 has other
/// registers for `f32`: it would copy the sums from one kind to the other in each round of a loop, and ptxas would let
/// each product end before the next begins.
#[cfg(feature = "rust-cuda")]
pub(crate) type Sum = u32;
#[cfg(not(feature = "rust-cuda"))]
pub(crate) type Sum = f32;

/// A special register that a thread can read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Register {
    ThreadX,
    ThreadY,
    ThreadZ,
    BlockX,
    BlockY,
    BlockZ,
    BlockDimX,
    BlockDimY,
    BlockDimZ,
    GridDimX,
    GridDimY,
    GridDimZ,
    Lane,
    Multiprocessor,
    DynamicSharedBytes,
    /// The block's number in its cluster, and the blocks of the cluster.
    ClusterRank,
    ClusterBlocks,
}

/// The lane that a shuffle reads from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Xor,
    Index,
}

/// The operation of a warp or block reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reduction {
    Add,
    MinUnsigned,
    MaxUnsigned,
    MinSigned,
    MaxSigned,
    And,
    Or,
    Xor,
}

/// The result of a barrier that also votes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Vote {
    Count,
    And,
    Or,
}

/// The caching of a 16-byte access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cache {
    Default,
    /// The data is used once: first to be evicted.
    Streaming,
    /// The data is not written during the kernel; bypasses L1.
    ReadOnly,
}

/// The order of an atomic access relative to the thread's other accesses.
///
/// On the GPU these become the PTX qualifiers of the same names; plain and relaxed accesses are not ordered at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Atomic, and nothing more.
    Relaxed,
    /// Accesses that follow in program order take effect after this read.
    Acquire,
    /// Accesses that precede in program order are visible to a thread that acquires this write.
    Release,
    /// Both, for read-modify-writes and fences.
    AcqRel,
}

/// The threads among which an order holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// The threads of the block (`.cta`).
    Block,
    /// The threads of the device (`.gpu`).
    Device,
    /// All threads, the host's too (`.sys`).
    System,
}

/// A read-modify-write, or one half of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Operation<T> {
    Load,
    Store(T),
    Add(T),
    Min(T),
    Max(T),
    And(T),
    Or(T),
    Xor(T),
    Exchange(T),
    CompareExchange { current: T, new: T },
}

/// A backend. Functions are associated, not methods: there is one machine, the one the code runs on.
///
/// Shared memory is addressed by 32-bit byte addresses, as the hardware does.
pub(crate) trait Machine {
    fn register(register: Register) -> u32;

    #[track_caller]
    fn sync_threads();
    #[track_caller]
    fn sync_threads_vote(vote: Vote, predicate: bool) -> u32;
    #[track_caller]
    fn barrier(id: u32, threads: u32);
    #[track_caller]
    fn sync_cluster();
    #[track_caller]
    fn sync_warp(mask: u32);
    #[track_caller]
    fn shuffle(kind: Shuffle, mask: u32, value: u32, argument: u32) -> u32;
    #[track_caller]
    fn ballot(mask: u32, predicate: bool) -> u32;
    #[track_caller]
    fn match_any(mask: u32, value: u32) -> u32;
    #[track_caller]
    fn warp_reduce(reduction: Reduction, mask: u32, value: u32) -> u32;
    fn active_mask() -> u32;

    /// # Safety
    /// `p` is valid for reads of a `T` and aligned for it.
    #[track_caller]
    unsafe fn load_global<T: Scalar>(p: *const T) -> T;
    /// # Safety
    /// `p` is valid for writes of a `T` and aligned for it.
    #[track_caller]
    unsafe fn store_global<T: Scalar>(p: *mut T, value: T);
    /// # Safety
    /// As [`Machine::load_global`].
    #[track_caller]
    unsafe fn load_global_streaming<T: Scalar>(p: *const T) -> T;
    /// # Safety
    /// `p` is valid for reads of 16 bytes and aligned to 16.
    #[track_caller]
    unsafe fn load_global_pack(p: *const u8, cache: Cache) -> [u32; 4];
    /// The 16 bytes at `p` where `there`, else `otherwise`; cached as [`Cache::ReadOnly`].
    ///
    /// # Safety
    /// As [`Machine::load_global_pack`] if `there`; else `p` may be anything.
    #[track_caller]
    unsafe fn load_global_pack_or(p: *const u8, there: bool, otherwise: [u32; 4]) -> [u32; 4];
    /// # Safety
    /// `p` is valid for writes of 16 bytes and aligned to 16.
    #[track_caller]
    unsafe fn store_global_pack(p: *mut u8, value: [u32; 4], cache: Cache);

    /// # Safety
    /// `address` lies in the block's shared memory, with room for a `T`, and is aligned for it.
    #[track_caller]
    unsafe fn load_shared<T: Scalar>(address: u32) -> T;
    /// # Safety
    /// As [`Machine::load_shared`].
    #[track_caller]
    unsafe fn store_shared<T: Scalar>(address: u32, value: T);
    /// # Safety
    /// `address` lies in the block's shared memory, with room for 16 bytes, and is aligned to 16.
    #[track_caller]
    unsafe fn load_shared_pack(address: u32) -> [u32; 4];
    /// [`Machine::load_shared_pack`] as two words.
    /// # Safety
    /// As [`Machine::load_shared_pack`].
    #[track_caller]
    unsafe fn load_shared_pair(address: u32) -> [u64; 2];
    /// # Safety
    /// As [`Machine::load_shared_pack`].
    #[track_caller]
    unsafe fn store_shared_pack(address: u32, value: [u32; 4]);
    fn dynamic_shared_address() -> u32;
    /// The address by which the threads of the cluster know what is at `address` of the shared memory of the block of
    /// rank `rank`.
    #[track_caller]
    fn cluster_address(address: u32, rank: u32) -> u32;
    /// # Safety
    /// `address` is by [`Machine::cluster_address`] that of a `T` in the shared memory of a block of the cluster, which
    /// has not ended, and is aligned for it.
    #[track_caller]
    unsafe fn load_cluster<T: Scalar>(address: u32) -> T;
    /// # Safety
    /// As [`Machine::load_cluster`], for 16 bytes, aligned to 16.
    #[track_caller]
    unsafe fn load_cluster_pack(address: u32) -> [u32; 4];

    /// # Safety
    /// `p` is valid for reads and writes of a `T` and aligned for it.
    #[track_caller]
    unsafe fn atomic_global<T: AtomicScalar>(op: Operation<T>, p: *mut T, order: Order, scope: Scope) -> T;
    /// # Safety
    /// `address` lies in the block's shared memory, with room for a `T`, and is aligned for it.
    #[track_caller]
    unsafe fn atomic_shared<T: AtomicScalar>(op: Operation<T>, address: u32, order: Order) -> T;
    #[track_caller]
    fn fence(order: Order, scope: Scope);
    #[track_caller]
    fn fence_sc(scope: Scope);

    #[track_caller]
    fn release_registers<const N: u32>();
    #[track_caller]
    fn claim_registers<const N: u32>();

    #[track_caller]
    fn wait_for_previous_grid();
    fn let_next_grid_start();

    fn opaque(value: u32) -> u32;
    fn mul_hi(a: u32, b: u32) -> u32;
    /// # Safety
    /// `address` is that of 8 bytes of the block's shared memory, aligned to 8.
    #[track_caller]
    unsafe fn mbarrier_init(address: u32, arrivals: u32);
    /// # Safety
    /// `address` is that of a barrier of the block.
    #[track_caller]
    unsafe fn mbarrier_arrive(address: u32);
    /// # Safety
    /// `address` is that of a barrier of the block.
    #[track_caller]
    unsafe fn mbarrier_arrive_expecting(address: u32, bytes: u32);
    /// # Safety
    /// `address` is that of a barrier of the block.
    #[track_caller]
    unsafe fn mbarrier_try_wait(address: u32, parity: u32) -> bool;
    /// # Safety
    /// `address` is that of a barrier of the block of rank `rank` in the cluster, which has not ended.
    #[track_caller]
    unsafe fn mbarrier_arrive_at(address: u32, rank: u32);
    /// [`Machine::mbarrier_try_wait`], for what other blocks of the cluster did before they arrived, too.
    ///
    /// # Safety
    /// `address` is that of a barrier of the block.
    #[track_caller]
    unsafe fn mbarrier_try_wait_cluster(address: u32, parity: u32) -> bool;
    #[track_caller]
    fn fence_mbarrier_init();
    /// # Safety
    /// `from` is valid for reads of `bytes` bytes, `to` lies in the block's shared memory with room for them; both and
    /// `bytes` are multiples of 16; `barrier` is the address of a barrier of the block.
    #[track_caller]
    unsafe fn bulk_load(to: u32, from: *const u8, bytes: u32, barrier: u32);
    /// # Safety
    /// `to` is valid for writes of `bytes` bytes, which lie at `from` in the block's shared memory; all are multiples
    /// of 16.
    #[track_caller]
    unsafe fn bulk_store(to: *mut u8, from: u32, bytes: u32);
    /// # Safety
    /// `map` is the address of a map, among the kernel's parameters, of a matrix that is valid for reads, `to` lies in
    /// the block's shared memory with room for a box and is a multiple of 128; `barrier` is the address of a barrier of
    /// the block.
    #[track_caller]
    unsafe fn box_load(to: u32, map: *const u64, place: [u32; 2], barrier: u32);
    /// # Safety
    /// As [`Machine::box_load`], for each block of the cluster whose bit `ranks` has; none of them has ended.
    #[track_caller]
    unsafe fn box_load_multicast(to: u32, map: *const u64, place: [u32; 2], barrier: u32, ranks: u16);
    /// # Safety
    /// `map` is the address of a map, among the kernel's parameters, of a matrix that is valid for writes, `from` that
    /// of a box in the block's shared memory, a multiple of 128.
    #[track_caller]
    unsafe fn box_store(map: *const u64, place: [u32; 2], from: u32);
    /// # Safety
    /// `map` is the address of a map among the kernel's parameters.
    unsafe fn prefetch_map(map: *const u64);
    fn bulk_commit();
    #[track_caller]
    fn bulk_wait_read<const N: u32>();
    #[track_caller]
    fn fence_async_shared();

    /// # Safety
    /// `to` is the address of `BYTES` bytes (4, 8 or 16) of the block's shared memory, `from` is valid for reads of the
    /// first `there` of them; both are aligned to `BYTES`.
    #[track_caller]
    unsafe fn copy_async<const BYTES: u32>(to: u32, from: *const u8, there: u32);
    fn copy_async_commit();
    #[track_caller]
    fn copy_async_wait<const N: u32>();

    fn fma_f32(a: f32, b: f32, c: f32) -> f32;
    fn fma_f64(a: f64, b: f64, c: f64) -> f64;
    fn minimum_f32(a: f32, b: f32) -> f32;
    fn maximum_f32(a: f32, b: f32) -> f32;
    fn round_tf32(value: f32) -> u32;
    fn round_bf16(value: f32) -> u16;
    fn round_bf16_pair(low: f32, high: f32) -> u32;
    fn round_f16(value: f32) -> u16;
    fn widen_f16(bits: u16) -> f32;
    #[track_caller]
    fn mma_tf32(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4];
    #[track_caller]
    fn mma_f64(a: [f64; 8], b: [f64; 4], c: [f64; 4]) -> [f64; 4];
    /// Adds the products of two tiles of `T` in shared memory to the thread's sums.
    ///
    /// # Safety
    /// `a` and `b` are the addresses of tiles in the block's shared memory, multiples of 1024: `a` of 64 rows, `b` of
    /// two for each sum.
    #[track_caller]
    unsafe fn wgmma_add<T: Operand, const SUMS: usize>(a: u32, b: u32, sums: [f32; SUMS]) -> [f32; SUMS];
    /// Adds to the sums what the products of two pairs of tiles of `T` sum up to by themselves: rest·large, large·rest,
    /// large·large.
    ///
    /// # Safety
    /// As for [`Machine::wgmma_add`], for each of the tiles.
    #[track_caller]
    unsafe fn wgmma_add_split<T: Operand, const SUMS: usize>(
        a: [u32; 2],
        b: [u32; 2],
        sums: [f32; SUMS],
    ) -> [f32; SUMS];
    /// As [`Machine::wgmma_add_split`] of `f32`, where `a` are fragments that the threads hold, large parts and rests.
    ///
    /// # Safety
    /// As for [`Machine::wgmma_add`], for each of the tiles.
    #[track_caller]
    unsafe fn wgmma_add_split_held<const SUMS: usize>(
        a: [[[u32; 4]; 4]; 2],
        b: [u32; 2],
        sums: [f32; SUMS],
    ) -> [f32; SUMS];
    /// As [`Machine::wgmma_add_split`]: first the products of the two tiles of [`bf16`](crate::bf16), then those of the
    /// two of `f32`.
    ///
    /// # Safety
    /// As for [`Machine::wgmma_add`], for each of the tiles.
    #[track_caller]
    unsafe fn wgmma_add_mixed<const SUMS: usize>(small: [u32; 2], large: [u32; 2], sums: [f32; SUMS]) -> [f32; SUMS];
    /// Begins to add the products of two tiles of `T`, of 16 bits, to the thread's sums, and waits for the additions
    /// begun before. `A` and `B`: how the tiles hold the operands.
    ///
    /// # Safety
    /// As for [`Machine::wgmma_add`]; nothing looks at the sums before [`Machine::wgmma_finish`].
    #[track_caller]
    unsafe fn wgmma_begin<T: Operand, A: Lies, B: Lies, const SUMS: usize>(
        a: u32,
        b: u32,
        sums: [Sum; SUMS],
    ) -> [Sum; SUMS];
    /// As [`Machine::wgmma_begin`], for sixteen k: of fragments of `f32` that the threads hold, and of that half of the
    /// tile `b`.
    ///
    /// # Safety
    /// As for [`Machine::wgmma_begin`]; `half` is 0 or 1.
    #[track_caller]
    unsafe fn wgmma_begin_held<const SUMS: usize>(
        a: [[u32; 4]; 2],
        b: u32,
        half: u32,
        sums: [Sum; SUMS],
    ) -> [Sum; SUMS];
    /// [`Machine::wgmma_begin`] for tiles of elements of 8 bits, `S` and `T`, both K-major.
    ///
    /// # Safety
    /// As for [`Machine::wgmma_begin`].
    #[track_caller]
    unsafe fn wgmma_begin_eight<S: Eight, T: Eight, const SUMS: usize>(
        a: u32,
        b: u32,
        sums: [Sum; SUMS],
    ) -> [Sum; SUMS];
    /// Sums the products of two tiles by themselves, and adds these sums times their factors to the thread's: of each
    /// 128 columns, those for rows g and g + 8.
    ///
    /// # Safety
    /// As for [`Machine::wgmma_add`].
    #[track_caller]
    unsafe fn wgmma_add_scaled<S: Eight, T: Eight, const SUMS: usize>(
        a: u32,
        b: u32,
        factors: [[f32; 2]; 2],
        sums: [f32; SUMS],
    ) -> [f32; SUMS];
    /// Waits for all additions.
    #[track_caller]
    fn wgmma_finish<const SUMS: usize>(sums: [Sum; SUMS]) -> [f32; SUMS];
    /// Stores four fragments of 8 × 8 elements of 16 bits: lanes 8·i and following have the addresses of the rows of
    /// fragment i.
    ///
    /// # Safety
    /// `row` is the address of 16 bytes of the block's shared memory, a multiple of 16.
    #[track_caller]
    unsafe fn store_fragments(row: u32, fragments: [u32; 4]);
    fn clock() -> u64;
    fn global_timer() -> u64;
    #[track_caller]
    fn nanosleep(nanoseconds: u32);

    /// Ends the kernel with an error because of an access at `index` of a view of `len` elements.
    #[track_caller]
    fn out_of_bounds(space: &'static str, index: u64, len: u64) -> !;
    /// Ends the kernel with an error because an address is not a multiple of `alignment`.
    #[track_caller]
    fn misaligned(space: &'static str, address: u64, alignment: u32) -> !;
}
