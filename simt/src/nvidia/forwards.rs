//! What both backends do by the same instructions: their methods, which forward to the modules next to this one.

/// The methods of [`Machine`](crate::machine::Machine) that are the same for both backends. The modules that they name
/// are imported where this is used.
macro_rules! forwards {
    () => {
        #[inline(always)]
        unsafe fn load_global<T: Scalar>(p: *const T) -> T {
            // SAFETY: passed on.
            unsafe { *p }
        }

        #[inline(always)]
        unsafe fn store_global<T: Scalar>(p: *mut T, value: T) {
            // SAFETY: passed on.
            unsafe { *p = value }
        }

        #[inline(always)]
        unsafe fn load_global_streaming<T: Scalar>(p: *const T) -> T {
            // SAFETY: passed on.
            unsafe { memory::load_global_streaming(p) }
        }

        #[inline(always)]
        unsafe fn load_global_pack(p: *const u8, cache: Cache) -> [u32; 4] {
            // SAFETY: passed on.
            unsafe { memory::load_global_pack(p, cache) }
        }

        #[inline(always)]
        unsafe fn load_global_pack_or(p: *const u8, there: bool, otherwise: [u32; 4]) -> [u32; 4] {
            // SAFETY: passed on.
            unsafe { memory::load_global_pack_or(p, there, otherwise) }
        }

        #[inline(always)]
        unsafe fn store_global_pack(p: *mut u8, value: [u32; 4], cache: Cache) {
            // SAFETY: passed on.
            unsafe { memory::store_global_pack(p, value, cache) }
        }

        #[inline(always)]
        unsafe fn load_shared<T: Scalar>(address: u32) -> T {
            // SAFETY: passed on.
            unsafe { memory::load_shared(address) }
        }

        #[inline(always)]
        unsafe fn store_shared<T: Scalar>(address: u32, value: T) {
            // SAFETY: passed on.
            unsafe { memory::store_shared(address, value) }
        }

        #[inline(always)]
        unsafe fn load_shared_pack(address: u32) -> [u32; 4] {
            // SAFETY: passed on.
            unsafe { memory::load_shared_pack(address) }
        }

        #[inline(always)]
        unsafe fn load_shared_pair(address: u32) -> [u64; 2] {
            // SAFETY: passed on.
            unsafe { memory::load_shared_pair(address) }
        }

        #[inline(always)]
        unsafe fn store_shared_pack(address: u32, value: [u32; 4]) {
            // SAFETY: passed on.
            unsafe { memory::store_shared_pack(address, value) }
        }

        #[inline(always)]
        fn cluster_address(address: u32, rank: u32) -> u32 {
            cluster::address(address, rank)
        }

        #[inline(always)]
        unsafe fn load_cluster<T: Scalar>(address: u32) -> T {
            // SAFETY: passed on.
            unsafe { memory::load_cluster(address) }
        }

        #[inline(always)]
        unsafe fn load_cluster_pack(address: u32) -> [u32; 4] {
            // SAFETY: passed on.
            unsafe { memory::load_cluster_pack(address) }
        }

        #[inline(always)]
        unsafe fn atomic_global<T: AtomicScalar>(op: Operation<T>, p: *mut T, order: Order, scope: Scope) -> T {
            // SAFETY: passed on.
            unsafe { atomic::global(op, p, order, scope) }
        }

        #[inline(always)]
        unsafe fn atomic_shared<T: AtomicScalar>(op: Operation<T>, address: u32, order: Order) -> T {
            // SAFETY: passed on.
            unsafe { atomic::shared(op, address, order) }
        }

        #[inline(always)]
        fn fence(order: Order, scope: Scope) {
            atomic::fence(order, scope)
        }

        #[inline(always)]
        fn fence_sc(scope: Scope) {
            atomic::fence_sc(scope)
        }

        #[inline(always)]
        unsafe fn mbarrier_init(address: u32, arrivals: u32) {
            // SAFETY: passed on.
            unsafe { bulk::init(address, arrivals) }
        }

        #[inline(always)]
        unsafe fn mbarrier_arrive(address: u32) {
            // SAFETY: passed on.
            unsafe { bulk::arrive(address) }
        }

        #[inline(always)]
        unsafe fn mbarrier_arrive_expecting(address: u32, bytes: u32) {
            // SAFETY: passed on.
            unsafe { bulk::arrive_expecting(address, bytes) }
        }

        #[inline(always)]
        unsafe fn mbarrier_try_wait(address: u32, parity: u32) -> bool {
            // SAFETY: passed on.
            unsafe { bulk::try_wait(address, parity) }
        }

        #[inline(always)]
        unsafe fn mbarrier_arrive_at(address: u32, rank: u32) {
            // SAFETY: passed on.
            unsafe { cluster::arrive_at(address, rank) }
        }

        #[inline(always)]
        unsafe fn mbarrier_try_wait_cluster(address: u32, parity: u32) -> bool {
            // SAFETY: passed on.
            unsafe { cluster::try_wait(address, parity) }
        }

        #[inline(always)]
        fn fence_mbarrier_init() {
            bulk::fence_init()
        }

        #[inline(always)]
        unsafe fn bulk_load(to: u32, from: *const u8, bytes: u32, barrier: u32) {
            // SAFETY: passed on.
            unsafe { bulk::load(to, from, bytes, barrier) }
        }

        #[inline(always)]
        unsafe fn bulk_store(to: *mut u8, from: u32, bytes: u32) {
            // SAFETY: passed on.
            unsafe { bulk::store(to, from, bytes) }
        }

        #[inline(always)]
        unsafe fn box_load(to: u32, map: *const u64, place: [u32; 2], barrier: u32) {
            // SAFETY: passed on.
            unsafe { bulk::load_box(to, map, place, barrier) }
        }

        #[inline(always)]
        unsafe fn box_load_multicast(to: u32, map: *const u64, place: [u32; 2], barrier: u32, ranks: u16) {
            // SAFETY: passed on.
            unsafe { cluster::load_box(to, map, place, barrier, ranks) }
        }

        #[inline(always)]
        unsafe fn box_store(map: *const u64, place: [u32; 2], from: u32) {
            // SAFETY: passed on.
            unsafe { bulk::store_box(map, place, from) }
        }

        #[inline(always)]
        unsafe fn prefetch_map(map: *const u64) {
            // SAFETY: passed on.
            unsafe { bulk::prefetch_map(map) }
        }

        #[inline(always)]
        fn bulk_commit() {
            bulk::commit()
        }

        #[inline(always)]
        fn bulk_wait_read<const N: u32>() {
            bulk::wait_read::<N>()
        }

        #[inline(always)]
        fn fence_async_shared() {
            bulk::fence_async_shared()
        }

        #[inline(always)]
        unsafe fn copy_async<const BYTES: u32>(to: u32, from: *const u8, there: u32) {
            // SAFETY: passed on.
            unsafe { async_copy::copy::<BYTES>(to, from, there) }
        }

        #[inline(always)]
        fn copy_async_commit() {
            async_copy::commit()
        }

        #[inline(always)]
        fn copy_async_wait<const N: u32>() {
            async_copy::wait::<N>()
        }

        #[inline(always)]
        fn round_tf32(value: f32) -> u32 {
            mma::round_tf32(value)
        }

        #[inline(always)]
        fn round_bf16(value: f32) -> u16 {
            convert::round_bf16(value)
        }

        #[inline(always)]
        fn round_bf16_pair(low: f32, high: f32) -> u32 {
            convert::round_bf16_pair(low, high)
        }

        #[inline(always)]
        fn round_f16(value: f32) -> u16 {
            convert::round_f16(value)
        }

        #[inline(always)]
        fn widen_f16(bits: u16) -> f32 {
            convert::widen_f16(bits)
        }

        #[inline(always)]
        unsafe fn wgmma_add<T: Operand, const SUMS: usize>(a: u32, b: u32, sums: [f32; SUMS]) -> [f32; SUMS] {
            // SAFETY: passed on.
            unsafe { wgmma::multiply_add::<T, SUMS>(a, b, sums) }
        }

        #[inline(always)]
        unsafe fn wgmma_add_split<T: Operand, const SUMS: usize>(
            a: [u32; 2],
            b: [u32; 2],
            sums: [f32; SUMS],
        ) -> [f32; SUMS] {
            // SAFETY: passed on.
            unsafe { wgmma::multiply_add_split::<T, SUMS>(a, b, sums) }
        }

        #[inline(always)]
        unsafe fn wgmma_add_split_held<const SUMS: usize>(
            a: [[[u32; 4]; 4]; 2],
            b: [u32; 2],
            sums: [f32; SUMS],
        ) -> [f32; SUMS] {
            // SAFETY: passed on.
            unsafe { wgmma::multiply_add_split_held::<SUMS>(a, b, sums) }
        }

        #[inline(always)]
        unsafe fn wgmma_add_mixed<const SUMS: usize>(bf16: [u32; 2], tf32: [u32; 2], sums: [f32; SUMS]) -> [f32; SUMS] {
            // SAFETY: passed on.
            unsafe { wgmma::multiply_add_mixed::<SUMS>(bf16, tf32, sums) }
        }

        #[inline(always)]
        unsafe fn wgmma_begin<T: Operand, A: Lies, B: Lies, const SUMS: usize>(
            a: u32,
            b: u32,
            sums: [Sum; SUMS],
        ) -> [Sum; SUMS] {
            // SAFETY: passed on.
            unsafe { wgmma::begin::<T, A, B, SUMS>(a, b, sums) }
        }

        #[inline(always)]
        unsafe fn wgmma_begin_held<const SUMS: usize>(
            a: [[u32; 4]; 2],
            b: u32,
            half: u32,
            sums: [Sum; SUMS],
        ) -> [Sum; SUMS] {
            // SAFETY: passed on.
            unsafe { wgmma::begin_held::<SUMS>(a, b, half, sums) }
        }

        #[inline(always)]
        unsafe fn wgmma_begin_eight<S: Eight, T: Eight, const SUMS: usize>(
            a: u32,
            b: u32,
            sums: [Sum; SUMS],
        ) -> [Sum; SUMS] {
            // SAFETY: passed on.
            unsafe { wgmma::begin_eight::<S, T, SUMS>(a, b, sums) }
        }

        #[inline(always)]
        unsafe fn wgmma_add_scaled<S: Eight, T: Eight, const SUMS: usize>(
            a: u32,
            b: u32,
            factors: [[f32; 2]; 2],
            sums: [f32; SUMS],
        ) -> [f32; SUMS] {
            // SAFETY: passed on.
            unsafe { wgmma::add_scaled::<S, T, SUMS>(a, b, factors, sums) }
        }

        #[inline(always)]
        fn wgmma_finish<const SUMS: usize>(sums: [Sum; SUMS]) -> [f32; SUMS] {
            wgmma::finish(sums)
        }

        #[inline(always)]
        unsafe fn store_fragments(row: u32, fragments: [u32; 4]) {
            // SAFETY: passed on.
            unsafe { mma::store_fragments(row, fragments) }
        }
    };
}
pub(crate) use forwards;
